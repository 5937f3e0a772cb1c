"""The flip ledger: exactly which rows are decided otherwise when a threshold, a policy or a rubric changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from evalkit.cases.settle import Settled
from evalkit.contract import EvalkitError, Metric
from evalkit.decisions.calibrating.pairing import better_of
from evalkit.decisions.calibrating.thresholds import is_pass
from evalkit.scoring.parts import Rule
from evalkit.scoring.records import Record, Ruling

__all__ = ["Flip", "FlipLedger", "Move", "flips_between", "moved_labels", "threshold_rule"]


class Flip(NamedTuple):
    """One row whose decision changes."""

    case_id: str
    slice: str
    value: Any
    old: str
    new: str
    label: str | int | float | None
    """What people settled on; ``None`` where nobody labelled the row or they disagree."""


class FlipLedger(NamedTuple):
    """All of them, beside the number of rows that were compared."""

    flips: tuple[Flip, ...]
    compared: int
    """Scored rows that both sides decide."""
    undecided: int
    """Scored rows that at least one side has no limits for."""
    transitions: Mapping[str, int]
    """Rows by ``old -> new`` and label."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "compared": self.compared,
            "undecided": self.undecided,
            "transitions": dict(self.transitions),
            "flips": [flip._asdict() for flip in self.flips],
        }


class Move(NamedTuple):
    """One case that two rubric versions settle differently."""

    case_id: str
    slice: str | None
    """``None`` where no case has the id."""
    old: str | int | float | None
    new: str | int | float | None


def threshold_rule(metric: Metric, threshold: float) -> Rule:
    """Return the rule "a row passes at `threshold`", for every slice alike.

    Raises
    ------
    EvalkitError
        For a metric without numbers, or a threshold outside of its range.
    """
    allowed = metric.allowed_values
    if metric.kind != "numeric" or not isinstance(allowed, tuple | range):
        msg = f"{metric.name} gives {metric.kind} values: it has no threshold"
        raise EvalkitError(msg, do="compare two policies with --from FILE --to FILE")
    if not allowed[0] <= threshold <= allowed[-1]:
        msg = f"the threshold {threshold!r} lies outside the range of {metric.name}, {allowed[0]!r} to {allowed[-1]!r}"
        raise EvalkitError(msg, do="give a threshold inside the range")
    better = better_of(metric)

    def rule(record: Record) -> Ruling:
        value = record.value
        if not isinstance(value, int | float):
            return Ruling(None, None, None, record.owner)
        return Ruling("pass" if is_pass(value, threshold, better) else "fail", threshold, None, None)

    return rule


def flips_between(
    records: Iterable[Record], old: Rule, new: Rule, settled: Mapping[str, Settled] | None = None
) -> FlipLedger:
    """List the rows that `old` and `new` decide differently, in input order.

    Rows without a score are on neither side; rows of a slice that one policy does not know are counted as undecided.

    Examples
    --------
    >>> from evalkit import evidence_coverage, score_cases, Case
    >>> row = Case(1, "a", "default", True, {"required_claim_ids": ["x", "y"], "supported_claim_ids": ["x"]})
    >>> low, high = threshold_rule(evidence_coverage, 0.5), threshold_rule(evidence_coverage, 0.75)
    >>> flips_between(score_cases(evidence_coverage, [row]), low, high).transitions
    {'pass -> fail, unlabelled': 1}
    """
    flips: list[Flip] = []
    compared = undecided = 0
    for record in records:
        if record.state != "scored":
            continue
        before, after = old(record).decision, new(record).decision
        if before is None or after is None:
            undecided += 1
            continue
        compared += 1
        if before != after:
            case = (settled or {}).get(str(record.case_id))
            label = case.label if case else None
            flips.append(Flip(str(record.case_id), record.slice, record.value, before, after, label))
    named = Counter(
        f"{flip.old} -> {flip.new}, {'unlabelled' if flip.label is None else f'labelled {flip.label}'}"
        for flip in flips
    )
    return FlipLedger(tuple(flips), compared, undecided, dict(sorted(named.items())))


def moved_labels(old: Mapping[str, Settled], new: Mapping[str, Settled], slices: Mapping[str, str]) -> list[Move]:
    """List the cases that both rubric versions settle, and settle differently."""
    return [
        Move(case_id, slices.get(case_id), old[case_id].label, new[case_id].label)
        for case_id in old
        if case_id in new and old[case_id].label != new[case_id].label
    ]
