"""The whole of ``evalkit calibrate``: load, calibrate, write what was asked for."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.card import CARD_NAME, card_problems
from evalkit.cases.holdout import LEDGER_NAME, SpentSlice, read_looks, spent
from evalkit.cases.labels import LabelFile, read_labels
from evalkit.cases.settle import one_criterion, rubric_versions, settle
from evalkit.contract import EvalkitError, Metric, example_list, sha256_file
from evalkit.decisions.calibrate import CalibrateOptions, Calibration, calibrate
from evalkit.decisions.calibrating.calibration_record import Basis, calibration_facts
from evalkit.decisions.calibrating.flips import Move, moved_labels
from evalkit.decisions.calibrating.policy_out import Approval, PolicyOut, write_policy
from evalkit.decisions.calibrating.scored import ScoredCases, scored_cases
from evalkit.pages.calibrate_text import calibration_screen
from evalkit.pages.progress import counting
from evalkit.scoring.load import load_metric

__all__ = ["CalibrateDone", "CalibrateFiles", "Loaded", "load_all", "run_calibrate", "spend_screen"]


@dataclass(frozen=True, kw_only=True)
class CalibrateFiles:
    """What a calibration reads besides metric and cases, and what it leaves behind."""

    labels: Path
    policy_out: Path | None = None
    ledger: Path | None = None
    """Beside the policy by default."""
    approval: Approval = field(default_factory=Approval)
    card: Path | None = None
    """``card.md`` beside the labels by default."""
    as_of: date | None = None
    feeds: Mapping[str, str] = field(default_factory=dict)

    @property
    def ledger_path(self) -> Path | None:
        """Where held-out looks are recorded; ``None``: held-out rows stay unseen."""
        if self.ledger is not None:
            return self.ledger
        return self.policy_out.with_name(LEDGER_NAME) if self.policy_out else None


class Loaded(NamedTuple):
    """Metric, records and labels."""

    metric: Metric
    cases: ScoredCases
    labels: LabelFile


class CalibrateDone(NamedTuple):
    """A finished calibration."""

    found: Calibration
    facts: dict[str, Any]
    screen: str
    exit_code: int


def load_all(spec: str, cases: Path, labels: Path, feeds: Mapping[str, str]) -> Loaded:
    """Load the metric, score the cases (or read the run) and read the labels."""
    metric = load_metric(spec)
    label_file = read_labels(labels)  # first: it is quick, and scoring may not be
    with counting("rows scored") as on_rows:
        return Loaded(metric, scored_cases(metric, cases, feeds=feeds, on_rows=on_rows), label_file)


def run_calibrate(spec: str, cases: Path, options: CalibrateOptions, files: CalibrateFiles) -> CalibrateDone:
    """Calibrate `spec` on `cases` and write policy, record and ledger as asked."""
    loaded = load_all(spec, cases, files.labels, files.feeds)
    made_on = (files.as_of or datetime.now(UTC).date()).isoformat()
    rubrics = rubric_versions(one_criterion(loaded.labels.labels, options.reading.criterion))
    several = options.reading.rubric_version is None and len(rubrics) > 1
    if several and files.policy_out:
        msg = f"the labels follow {len(rubrics)} rubric versions: {', '.join(map(repr, rubrics))}"
        raise EvalkitError(msg, do="name the one that the policy rests on with --rubric")
    options = replace(
        options,
        ledger=None if several else files.ledger_path,
        looked_on=made_on,
        metric_fingerprint=loaded.cases.metric_fingerprint,
    )
    results = [_calibrate(loaded, options, version) for version in (rubrics if several else [None])]
    found = results[-1]
    notes = [*loaded.labels.findings, *_card_notes(found, files)]
    if files.ledger and found.partition is None:
        notes.append("the cases have no partitions, so there are no held-out rows and no look to record")
    written = _write(found, loaded, files, made_on) if files.policy_out else None
    notes += _written_notes(written, files) if written else []
    facts = calibration_facts(found) | {
        "card": _card_notes(found, files),
        "label_findings": list(loaded.labels.findings),
        "policy": {"mode": written.mode, "calibration": written.record_sha256} if written else None,
    }
    screen = calibration_screen(found, notes)
    if several:
        facts |= _rubric_facts(results, loaded)
        screen = "\n\n".join([*(_rubric_screen(result) for result in results), _moves_screen(facts["moved"], rubrics)])
    return CalibrateDone(found, facts, screen, int(found.outcome))


def _calibrate(loaded: Loaded, options: CalibrateOptions, version: str | None) -> Calibration:
    if version is not None:
        options = replace(options, reading=replace(options.reading, rubric_version=version))
    return calibrate(loaded.metric, loaded.cases.records, loaded.labels.labels, options)


def _card_notes(found: Calibration, files: CalibrateFiles) -> list[str]:
    path = files.card or files.labels.with_name(CARD_NAME)
    return [f"dataset card: {problem}" for problem in card_problems(path, is_synthetic=found.is_synthetic)]


def _write(found: Calibration, loaded: Loaded, files: CalibrateFiles, made_on: str) -> PolicyOut:
    assert files.policy_out is not None  # noqa: S101 - the caller has just looked
    ledger = files.ledger_path
    basis = Basis(
        cases=loaded.cases.name,
        cases_sha256=loaded.cases.cases_sha256,
        metric_fingerprint=loaded.cases.metric_fingerprint,
        judge=loaded.cases.judge,
        labels=loaded.labels,
        ledger_sha256=sha256_file(ledger) if ledger and ledger.exists() else None,
        made_on=made_on,
    )
    return write_policy(files.policy_out, found, basis, files.approval)


def _written_notes(written: PolicyOut, files: CalibrateFiles) -> list[str]:
    missing = files.approval.missing()
    why = f" ({', '.join(missing)} not given: it shows the outcome and blocks nothing)" if missing else ""
    notes = [f"wrote {written.policy}, mode {written.mode}{why}, and {written.record}, which it names by hash"]
    ledger = files.ledger_path
    if ledger and ledger.exists():
        notes.append(f"the look at the held-out rows is in {ledger}: keep it under version control")
    return notes


def _rubric_facts(results: Sequence[Calibration], loaded: Loaded) -> dict[str, Any]:
    versions = [str(result.options.reading.rubric_version) for result in results]
    slices = {str(record.case_id): record.slice for record in loaded.cases.records}
    seen = {record.case_id: record.seen_hash for record in loaded.cases.records if record.case_id is not None}
    settled = [
        settle(
            loaded.labels.labels,
            criterion=result.options.reading.criterion,
            rubric_version=result.options.reading.rubric_version,
            seen=seen,
        )
        for result in results
    ]
    moved: list[Move] = moved_labels(settled[0], settled[-1], slices)
    return {
        "rubrics": {version: calibration_facts(result) for version, result in zip(versions, results, strict=True)},
        "moved": [move._asdict() for move in moved],
    }


def _rubric_screen(found: Calibration) -> str:
    version = found.options.reading.rubric_version
    return f"######## rubric version {version!r}\n\n{calibration_screen(found)}"


def _moves_screen(moved: Sequence[Mapping[str, Any]], rubrics: Sequence[str | None]) -> str:
    from evalkit.pages.plain import plain

    shown = example_list([f"{move['case_id']} ({move['old']} -> {move['new']})" for move in moved], most=10)
    return plain(f"{len(moved)} cases are settled differently under {rubrics[0]!r} and {rubrics[-1]!r}: {shown or '-'}")


def spend_screen(spec: str, cases: Path, options: CalibrateOptions, files: CalibrateFiles) -> str:
    """Say what is left of the held-out rows, without looking at any score of theirs."""
    from evalkit.decisions.calibrating.pairing import pair
    from evalkit.decisions.calibrating.sample import sample_of
    from evalkit.pages.plain import plain

    path = files.ledger_path
    if path is None:
        msg = "which ledger? there is one beside each policy"
        raise EvalkitError(msg, do=f"name it: --ledger FOLDER/{LEDGER_NAME}")
    loaded = load_all(spec, cases, files.labels, files.feeds)
    pairing = pair(loaded.metric, loaded.cases.records, loaded.labels.labels, options.reading)
    rows = {name: sample_of(pairing, name, "held_out").rows for name in pairing.slices}
    looks = read_looks(path)
    lines = [f"hold-out ledger: {len(looks)} looks"]
    for look in looks:
        results = ", ".join(f"{name} {value}" for name, value in look.result.items()) or "nothing tested"
        lines.append(
            f"  {look.looked_on}  {look.purpose}: {look.metric}, metric {look.metric_fingerprint[:19]}…, {results}"
        )
    left = spent(looks, {name: [row.case_id for row in group] for name, group in rows.items()})
    lines += ["slice: labelled held-out rows, fresh rows, looks", *map(_spent_line, left)]
    return "\n".join(wrapped for line in lines for wrapped in textwrap.wrap(plain(line), 80, subsequent_indent="    "))


def _spent_line(row: SpentSlice) -> str:
    state = "unspent" if not row.seen else "spent: only the same metric, rows and question may be repeated"
    return f"  {row.slice}: {row.labelled} labelled, {row.fresh} fresh, {row.looks} looks ({state})"
