"""Scores beside labels: each scored row with what people said of it, and every labelled case in exactly one fate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from evalkit.cases.identity import fold
from evalkit.cases.labels import Label, Provenance, Selection
from evalkit.cases.near_duplicates import text_of
from evalkit.cases.settle import Settled, settle
from evalkit.contract import EvalkitError, Metric, example_list
from evalkit.contract.words import Better
from evalkit.scoring.ledger import denominator_of
from evalkit.scoring.records import Record
from evalkit.scoring.repeats import is_tie

__all__ = ["FATES", "Fate", "LabelledRow", "Pairing", "Reading", "better_of", "pair"]

Fate = Literal["paired", "not_scored", "stale", "conflict", "other_label", "no_case"]
FATES: tuple[Fate, ...] = get_args(Fate)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How labels and values are read as good or bad."""

    passes: frozenset[str] = frozenset({"pass"})
    """Labels that call a row good; numbers are written as text here."""
    fails: frozenset[str] = frozenset({"fail"})
    pass_values: frozenset[str] = frozenset({"pass"})
    """Values of a discrete metric that pass."""
    criterion: str | None = None
    rubric_version: str | None = None


class LabelledRow(NamedTuple):
    """One scored row, with its label where it has one."""

    case_id: str
    slice: str
    value: float
    """The score; of a discrete metric, 1.0 where its value passes and 0.0 where not."""
    is_bad: bool | None
    """What people call it; ``None`` without a settled label."""
    how: str | None
    """How the label was settled, or why there is none; ``None`` where nobody labelled the case."""
    selection: Selection
    provenance: Provenance
    family: str | None
    partition: str | None
    seen_hash: str | None
    text: str
    """Question and answer, for near-duplicates; empty where the run kept only hashes."""
    of: int | None
    """How many claims a ratio is out of."""
    missing: tuple[str, ...]
    stratum: str | None
    source: str | None
    weight: float | None


class Pairing(NamedTuple):
    """Records and labels joined by case id, one to one; nothing is dropped without being counted."""

    rows: tuple[LabelledRow, ...]
    """Every scored row, in input order."""
    states: Mapping[str, Counter[str]]
    """Lines of each slice by state."""
    fates: Mapping[str, Counter[Fate]]
    """Labelled cases of each slice by what became of them; under ``""`` those that no case has."""
    settled: Mapping[str, Settled]
    better: Better
    is_discrete: bool
    findings: tuple[str, ...]

    @property
    def slices(self) -> list[str]:
        """The slices that occur, sorted."""
        return sorted(self.states)


def better_of(metric: Metric) -> Better:
    """Return whether a high value is a good one (it is, where no contract says otherwise)."""
    return metric.contract.better if metric.contract and metric.kind == "numeric" else "higher"


def pair(metric: Metric, records: Iterable[Record], labels: Iterable[Label], reading: Reading) -> Pairing:
    """Join the records of a run with settled labels.

    A label whose ``seen_hash`` no longer fits its case is stale and not paired; a case whose reviewers disagree is a
    conflict until somebody adjudicates it; a row that was not scored, or whose judge was evenly split, has no value to
    pair, and is never given one.

    Raises
    ------
    EvalkitError
        For a ranking metric, overlapping pass and fail labels, or a choice of criterion or rubric that is missing.
    """
    if metric.kind == "ranking":
        msg = f"{metric.name} ranks: there is no threshold on a ranking"
        raise EvalkitError(msg, do="calibrate a numeric or discrete metric")
    if both := sorted(reading.passes & reading.fails):
        msg = f"the label {both[0]!r} is named both as a pass and as a fail"
        raise EvalkitError(msg, do="name each label once: --passes or --fails")
    records = list(records)
    seen = {record.case_id: record.seen_hash for record in records if record.case_id is not None}
    settled = settle(labels, criterion=reading.criterion, rubric_version=reading.rubric_version, seen=seen)
    rows = [
        _row(metric, record, settled.get(str(record.case_id)), reading)
        for record in records
        if record.value is not None and not is_tie(record)
    ]
    states: dict[str, Counter[str]] = {}
    for record in records:
        states.setdefault(record.slice, Counter())[record.state] += 1
    return Pairing(
        rows=tuple(rows),
        states=states,
        fates=_fates(records, rows, settled),
        settled=settled,
        better=better_of(metric),
        is_discrete=metric.kind == "discrete",
        findings=tuple(_findings(settled, seen, reading)),
    )


def _row(metric: Metric, record: Record, case: Settled | None, reading: Reading) -> LabelledRow:
    value = record.value
    if metric.kind == "discrete":
        score = float(str(value) in reading.pass_values)
    else:
        assert isinstance(value, int | float)  # noqa: S101 - a numeric metric's values were checked when it was measured
        score = float(value)
    lineage = record.lineage
    own = lineage.get("provenance", "production")
    reviewed = metric.contract.reviewed if metric.contract else ()
    missing = record.detail.get("missing") if record.detail else None
    return LabelledRow(
        case_id=str(record.case_id),
        slice=record.slice,
        value=score,
        is_bad=_is_bad(case, reading),
        how=case.how if case else None,
        selection=case.selection if case else "unknown",
        provenance=case.provenance if case and case.provenance != "production" else own,
        family=record.family,
        partition=record.partition,
        seen_hash=record.seen_hash,
        text=text_of(record.inputs, record.evidence),
        of=denominator_of(record.detail, record.inputs, reviewed),
        missing=tuple(map(str, missing)) if isinstance(missing, list) else (),
        stratum=lineage.get("stratum"),
        source=lineage.get("source"),
        weight=lineage.get("prevalence_weight"),
    )


def _is_bad(case: Settled | None, reading: Reading) -> bool | None:
    if case is None or case.label is None:
        return None
    word = str(case.label)
    return True if word in reading.fails else False if word in reading.passes else None


def _fates(
    records: Iterable[Record], rows: Iterable[LabelledRow], settled: Mapping[str, Settled]
) -> dict[str, Counter[Fate]]:
    scored = {row.case_id: row for row in rows}
    slice_of = {record.case_id: record.slice for record in records}
    fates: dict[str, Counter[Fate]] = {}
    for case_id, case in settled.items():
        name = slice_of.get(case_id, "")
        fates.setdefault(name, Counter())[_fate(case, case_id in slice_of, scored.get(case_id))] += 1
    return fates


def _fate(case: Settled, has_case: bool, row: LabelledRow | None) -> Fate:
    if not has_case:
        return "no_case"
    if case.how == "stale":
        return "stale"
    if case.how == "conflict":
        return "conflict"
    if row is None:
        return "not_scored"
    return "other_label" if row.is_bad is None else "paired"


def _findings(settled: Mapping[str, Settled], seen: Mapping[str, str | None], reading: Reading) -> Iterator[str]:
    strangers = [case_id for case_id in settled if case_id not in seen]
    if strangers:
        known = {fold(case_id): case_id for case_id in seen}
        twins = [f"{name!r} looks like {known[fold(name)]!r}" for name in strangers if fold(name) in known]
        hint = f"; {example_list(twins)}" if twins else ""
        yield f"{len(strangers)} labelled cases are not in the file: {example_list(strangers)}{hint}"
    words = {str(case.label) for case in settled.values() if case.label is not None}
    known_words = reading.passes | reading.fails
    for word in sorted(words - known_words):
        near = next((name for name in sorted(known_words) if fold(name) == fold(word)), None)
        hint = f", which differs from {near!r} in case or width only" if near else ""
        yield f"the label {word!r}{hint} is read neither as a pass nor as a fail (--passes, --fails)"
    loose = sum(not case.is_bound for case in settled.values() if case.labels)
    if loose:
        of = f"{loose} of {len(settled)} labelled cases"
        yield f"{of} have labels without seen_hash: a changed answer would go unnoticed"
