"""A migration rehearsed: every row on which an old and a new metric disagree, and what it is attributed to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, NamedTuple

from evalkit.contract import EvalkitError, Outcome
from evalkit.decisions.binomial import exact_interval
from evalkit.decisions.explaining.differences import COMPARISONS
from evalkit.decisions.explaining.divergence import Divergence
from evalkit.decisions.explaining.dual_run import DualRun, Side
from evalkit.decisions.explaining.explanation import Standing, standing_of
from evalkit.decisions.explaining.paired_runs import RowPair
from evalkit.decisions.explaining.preparation_changes import preparation
from evalkit.decisions.explaining.sides import Sides
from evalkit.decisions.policy import Policy
from evalkit.scoring.records import Record

__all__ = ["Comparison", "Disagreement", "check_observation", "compare"]

ABSENT = "absent"
"""The word of a row that only one side has."""

_CONFIDENCE = 0.95
_ATTRIBUTED: tuple[Divergence, ...] = (
    "policy", "metric", "adapter", "rubric", "prompt", "judge_model", "provider_settings", "ragas_version", "labels",
    "parser",
)  # fmt: skip
_COMPARISONS = COMPARISONS | {"adapter": preparation}
"""Both sides read one stored row, so of what lies between trace and metric only the hooks can differ."""


class Disagreement(NamedTuple):
    """One row on which the two sides do not agree."""

    case_id: str | None
    kind: Literal["state", "decision", "value"]
    old: Standing | None
    new: Standing | None
    attributed_to: Divergence

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "case_id": self.case_id,
            "kind": self.kind,
            "old": self.old._asdict() if self.old else None,
            "new": self.new._asdict() if self.new else None,
            "attributed_to": self.attributed_to,
        }


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What a dual run came to."""

    old: Side
    new: Side
    n: int
    """Rows that either side has."""
    n_scored: int
    """Rows scored by both."""
    transitions: Counter[tuple[str, str]]
    """Rows by what they are (decision, or else state) on the old and the new side."""
    disagreements: tuple[Disagreement, ...]
    """Every one: rows that were not scored on both sides first, then decisions, then values; each in input order."""
    largest_difference: float | None
    """Over the rows scored by both; ``None`` for labels, rankings, or nothing in common."""
    within: float
    """Values that differ by no more than this agree."""
    notes: tuple[str, ...]

    @property
    def rate_at_most(self) -> float | None:
        """Exact upper bound (95 %, one-sided) of the share of rows that disagree, were these drawn at random."""
        if self.n == 0:
            return None
        return exact_interval(len(self.disagreements), self.n, 2 * _CONFIDENCE - 1).high

    @property
    def equivalent_within(self) -> float | None:
        """The largest difference between two values, where no row changed its state or decision; else ``None``."""
        is_moved = any(found.kind != "value" for found in self.disagreements)
        return None if is_moved else self.largest_difference

    @property
    def outcome(self) -> Outcome:
        """Passed without a disagreement; incomplete where nothing was scored by both."""
        if self.n_scored == 0:
            return Outcome.incomplete
        return Outcome.quality_failed if self.disagreements else Outcome.passed

    def facts(self) -> dict[str, Any]:
        """Return what ``--json`` writes."""
        table: dict[str, dict[str, int]] = {}
        for (before, after), count in sorted(self.transitions.items()):
            table.setdefault(before, {})[after] = count
        attributed = Counter(found.attributed_to for found in self.disagreements)
        return {
            "schema": 1,
            "old": _side_facts(self.old),
            "new": _side_facts(self.new),
            "rows_compared": self.n,
            "scored_by_both": self.n_scored,
            "transitions": table,
            "rows": [found.facts() for found in self.disagreements],
            "by_attribution": dict(attributed.most_common()),
            "equivalent_within": self.equivalent_within,
            "largest_difference": self.largest_difference,
            "tolerance": self.within,
            "disagree_at_most": self.rate_at_most,
            "confidence": _CONFIDENCE,
            "outcome": self.outcome.name,
            "notes": list(self.notes),
        }


def _side_facts(side: Side) -> dict[str, Any]:
    keys = ("name", "contract_version", "fingerprint")
    return {key: side.facts.metric.get(key) for key in keys} | {"run_id": side.run and side.facts.run_id}


def check_observation(policy: Policy | None, old_names: tuple[str, ...], as_of: date) -> list[str]:
    """Refuse the old metric once its observation window is over; before that, say how long it still runs.

    Parameters
    ----------
    policy : Policy or None
    old_names : tuple of str
        How the old metric may be named in ``[observation] old_metric``: its name, or as it was given.
    as_of : date
    """
    observation = policy.observation if policy else None
    if observation is None or observation.old_metric not in old_names:
        return []
    if observation.until < as_of:
        msg = f"the observation window of {observation.old_metric!r} ended on {observation.until}: it is refused now"
        raise EvalkitError(msg, where="[observation]", do="use the new metric alone, and remove [observation]")
    days = (observation.until - as_of).days
    return [f"the observation window of {observation.old_metric!r} ends on {observation.until}, in {days} days"]


def compare(
    pairs: DualRun,
    *,
    within: float = 0.0,
    notes: tuple[str, ...] = (),
    on_rows: Callable[[int], object] = lambda _: None,
) -> Comparison:
    """Run both sides over the stored cases and list every disagreement.

    Parameters
    ----------
    pairs : DualRun
        From `dual_run`.
    within : float, optional
        Values that differ by no more than this agree.
    notes : tuple of str, optional
        What the result shall carry besides.
    on_rows : callable, optional
        Told how many more rows were compared.
    """
    transitions: Counter[tuple[str, str]] = Counter()
    found: list[Disagreement] = []
    scored, largest = 0, None
    for pair in pairs:
        on_rows(1)
        transitions[_word(pair.old), _word(pair.new)] += 1
        if pair.old and pair.new and pair.old.state == pair.new.state == "scored":
            scored += 1
            largest = _larger(largest, _distance(pair.old, pair.new))
        if (kind := _kind(pair, within)) is not None:
            found.append(_disagreement(pair, kind, pairs))
    order = ("state", "decision", "value")
    found.sort(key=lambda one: order.index(one.kind))
    return Comparison(
        old=pairs.old,
        new=pairs.new,
        n=transitions.total(),
        n_scored=scored,
        transitions=transitions,
        disagreements=tuple(found),
        largest_difference=largest,
        within=within,
        notes=(*notes, *pairs.notes()),
    )


def _disagreement(pair: RowPair, kind: Literal["state", "decision", "value"], pairs: DualRun) -> Disagreement:
    record = pair.new or pair.old
    case_id = record.case_id if record else None
    return Disagreement(case_id, kind, standing_of(pair.old), standing_of(pair.new), _attributed(pair, pairs))


def _attributed(pair: RowPair, pairs: DualRun) -> Divergence:
    """Name what differs between the sides; with the same stored row on both, the row itself cannot be it."""
    if pair.old is None or pair.new is None:
        return "dataset"
    old, new = pairs.old.facts, pairs.new.facts
    is_stored_once = pairs.old.run is None and pairs.new.run is None
    if not is_stored_once and (pair.old.input_hash, pair.old.evidence_hash) != (
        pair.new.input_hash,
        pair.new.evidence_hash,
    ):
        return "dataset"
    # The same inputs, so whatever an edited source moved is the metric's; a new contract is part of a new metric.
    sides = Sides(pair.old, pair.new._replace(input_hash=pair.old.input_hash), old, new)
    if (word := next((word for word in _ATTRIBUTED if _COMPARISONS[word](sides)), None)) is not None:
        return word
    return "metric" if old.contract_terms != new.contract_terms else "none"


def _word(record: Record | None) -> str:
    return ABSENT if record is None else record.decision or record.state


def _kind(pair: RowPair, within: float) -> Literal["state", "decision", "value"] | None:
    old, new = pair
    if old is None or new is None or old.state != new.state:
        return "state"
    if old.decision != new.decision:
        return "decision"
    if old.value == new.value:
        return None
    distance = _distance(old, new)
    return None if distance is not None and distance <= within else "value"


def _distance(old: Record, new: Record) -> float | None:
    if isinstance(old.value, int | float) and isinstance(new.value, int | float):
        return abs(float(new.value) - float(old.value))
    return None


def _larger(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else max(one, other)
