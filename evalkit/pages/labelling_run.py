"""What the labelling commands do: next labels, splits, flips and corrected pass rates, from files to screens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalkit.cases.labels import read_labels
from evalkit.cases.near_duplicates import text_of
from evalkit.cases.partitions import SHARES, Member, split_by_family
from evalkit.cases.read import Case, CaseFile
from evalkit.cases.settle import settle
from evalkit.contract import EvalkitError, Metric
from evalkit.decisions.calibrate import CalibrateOptions, calibrate
from evalkit.decisions.calibrating.estimate import estimate_pass_rates
from evalkit.decisions.calibrating.flips import flips_between, threshold_rule
from evalkit.decisions.calibrating.next_labels import next_labels, reviewer_sheet
from evalkit.decisions.calibrating.pairing import pair
from evalkit.decisions.calibrating.scored import scored_cases
from evalkit.decisions.policy import read_policy
from evalkit.decisions.rules import rule_of
from evalkit.pages.calibrate_run import load_all
from evalkit.pages.labelling_text import flips_screen, next_labels_screen, rates_screen, split_screen
from evalkit.scoring.load import load_metric
from evalkit.scoring.parts import Rule
from evalkit.scoring.run import write_whole

__all__ = ["Done", "run_estimate", "run_flips", "run_next_labels", "run_partition"]


class Done(NamedTuple):
    """A finished command."""

    facts: dict[str, Any]
    screen: str


def run_next_labels(
    spec: str,
    cases: Path,
    labels: Path,
    options: CalibrateOptions,
    *,
    most: int,
    seed: int,
    out: Path | None,
    feeds: Mapping[str, str],
) -> Done:
    """Rank the cases to label next and, with `out`, write the sheet for the reviewer."""
    import numpy as np

    loaded = load_all(spec, cases, labels, feeds)
    found = calibrate(loaded.metric, loaded.cases.records, loaded.labels.labels, options)
    chosen = next_labels(found, rng=np.random.default_rng(seed), most=most)
    if out is not None:
        criterion = options.reading.criterion or next((label.criterion for label in loaded.labels.labels), "default")
        sheet = reviewer_sheet(chosen, loaded.cases.records, criterion=criterion)
        write_whole(out, b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in sheet))
    return Done({"seed": seed, "next": [item._asdict() for item in chosen]}, next_labels_screen(chosen))


def run_partition(cases: Path, labels: Path | None, out: Path, *, shares: str, seed: int) -> Done:
    """Split a file of cases by family and write it again with its partitions; nothing else of a row changes."""
    import numpy as np

    if out.exists():
        msg = "exists already; a split that was used must not be replaced"
        raise EvalkitError(msg, where=str(out), do="give --out a new name")
    rows = _all_cases(cases)
    settled = settle(read_labels(labels).labels) if labels else {}
    members = [
        Member(
            case_id=case.case_id,
            slice=case.slice,
            family=case.fields.get("family"),
            partition=None,
            text=text_of(case.fields, case.fields.get("evidence")),
            label=settled[case.case_id].label if case.case_id in settled else None,
        )
        for case in rows
    ]
    split = split_by_family(members, rng=np.random.default_rng(seed), shares=_shares(shares))
    lines = [
        orjson.dumps(case.fields | {"partition": split.partition[case.case_id]}, option=orjson.OPT_APPEND_NEWLINE)
        for case in rows
    ]
    write_whole(out, b"".join(lines))
    facts = {"seed": seed, "partition": dict(split.partition), "groups": split.groups}
    return Done(facts, split_screen(split, members))


def _all_cases(path: Path) -> list[Case]:
    rows = []
    for item in CaseFile(path):
        if not isinstance(item, Case):
            do = "mend it first: a split must hold every row"
            raise EvalkitError(item.reason, where=f"{path}, line {item.line}", do=do)
        rows.append(item)
    return rows


def _shares(text: str) -> dict[str, float]:
    parts = text.split(",")
    try:
        return dict(zip(SHARES, map(float, parts), strict=True))
    except ValueError as error:
        msg = f"--shares must be three numbers, for {', '.join(SHARES)}; got {text!r}"
        raise EvalkitError(msg, do="for example --shares 0.2,0.4,0.4") from error


def run_flips(
    spec: str,
    cases: Path,
    old: str,
    new: str,
    *,
    labels: Path | None,
    criterion: str | None,
    rubric: str | None,
    feeds: Mapping[str, str],
) -> Done:
    """List the rows whose decision changes between two thresholds or two policies."""
    metric = load_metric(spec)
    rules = (_rule(metric, old, "--from"), _rule(metric, new, "--to"))
    records = scored_cases(metric, cases, feeds=feeds).records
    seen = {record.case_id: record.seen_hash for record in records if record.case_id is not None}
    settled = (
        settle(read_labels(labels).labels, criterion=criterion, rubric_version=rubric, seen=seen) if labels else {}
    )
    found = flips_between(records, *rules, settled)
    return Done(found.facts() | {"from": Path(old).name, "to": Path(new).name}, flips_screen(found))


def _rule(metric: Metric, text: str, option: str) -> Rule:
    try:
        return threshold_rule(metric, float(text))
    except ValueError:
        pass
    file = read_policy(text) if Path(text).suffix == ".toml" else None
    if file is None:
        msg = f"{option} must be a threshold or a policy.toml; got {text!r}"
        raise EvalkitError(msg, do="for example --from 0.75 --to 0.85")
    if file.policy is None or file.policy.metric != metric.name:
        problem = file.problems[0] if file.problems else f"it is a policy of another metric than {metric.name!r}"
        raise EvalkitError(problem, where=text, do="give a policy of this metric")
    return rule_of(file.policy, metric)


def run_estimate(
    spec: str,
    cases: Path,
    labels: Path,
    options: CalibrateOptions,
    *,
    population: Path | None,
    threshold: float | None,
    feeds: Mapping[str, str],
) -> Done:
    """Estimate the pass rate of unlabelled rows: those of `cases`, or a population of its own."""
    loaded = load_all(spec, cases, labels, feeds)
    found = calibrate(loaded.metric, loaded.cases.records, loaded.labels.labels, options)
    rows, lost = None, None
    if population is not None:
        other = scored_cases(loaded.metric, population, feeds=feeds).records
        rows = pair(loaded.metric, other, [], options.reading).rows
        lost = sum(record.state != "scored" for record in other)
    rates = estimate_pass_rates(found, rows, threshold=threshold, not_scored=lost)
    facts = {"synthetic": found.is_synthetic, "slices": {rate.slice: rate.facts() for rate in rates}}
    return Done(facts, rates_screen(rates, is_synthetic=found.is_synthetic))
