"""One metric of an analysis in figures: each with its denominator, and none where nothing was scored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit.contract.words import DECISIONS, STATES
from evalkit.decisions.analysing.side import MetricSide
from evalkit.scoring.ledger import Ledger
from evalkit.scoring.records import Record

__all__ = ["MetricSummary", "SliceFigures", "summary_of"]


class SliceFigures(NamedTuple):
    """The rows of one slice, or of all of them."""

    slice: str | None
    """``None`` for all rows."""
    rows: int
    states: Mapping[str, int]
    """Out of `rows`."""
    decisions: Mapping[str, int] | None
    """Out of the scored rows; ``None`` where no policy decided."""
    labels: Mapping[str, int]
    """Of a metric of labels: how many scored rows have each of its labels, those that never came included."""
    mean: float | None
    """Of a metric of numbers, over `mean_of` rows; ``None`` over nothing."""
    mean_of: int
    lowest: float | None
    highest: float | None

    @property
    def scored(self) -> int:
        """Rows with a value."""
        return self.states["scored"]

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "rows": self.rows,
            **self.states,
            "decisions": dict(self.decisions) if self.decisions is not None else None,
            "labels": dict(self.labels) or None,
            "mean": self.mean,
            "mean_of": self.mean_of,
            "lowest": self.lowest,
            "highest": self.highest,
        }


class MetricSummary(NamedTuple):
    """What one metric says of all rows."""

    metric: str
    kind: str
    measures: str | None
    """``None`` where nobody wrote a contract."""
    cannot_establish: str | None
    better: str
    total: SliceFigures
    slices: tuple[SliceFigures, ...]
    unscored: tuple[Record, ...]
    """Rows without a value, in input order: each says its state, its reason and its owner."""
    policy: str | None
    """Name and version of the policy that decided."""
    outcome: str | None
    """What the gate says under it."""
    blocking: int
    """Blocking rows with a value: those that the gate counts."""
    blocking_passed: int | None
    """Of these; ``None`` without a policy."""
    judge: str | None
    """Which model gave the values; ``None`` for a metric that computes."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        keys = ("case_id", "line", "state", "reason", "owner")
        return {
            "kind": self.kind,
            "measures": self.measures,
            "cannot_establish": self.cannot_establish,
            "better": self.better,
            **self.total.facts(),
            "slices": {str(figures.slice): figures.facts() for figures in self.slices},
            "unscored": [{key: getattr(record, key) for key in keys} for record in self.unscored],
            "policy": self.policy,
            "outcome": self.outcome,
            "blocking": self.blocking,
            "blocking_passed": self.blocking_passed,
            "judge": self.judge,
        }


def summary_of(side: MetricSide) -> MetricSummary:
    """Sum up one metric."""
    contract = side.metric.contract
    policy = side.gated.policy if side.gated else None
    return MetricSummary(
        metric=side.name,
        kind=side.metric.kind,
        measures=contract.measures if contract else None,
        cannot_establish=contract.cannot_establish if contract else None,
        better=contract.better if contract else "higher",
        total=_figures(side, None),
        slices=tuple(_figures(side, name) for name in side.ledger.slices()),
        unscored=tuple(record for record in side.records if record.state != "scored"),
        policy=f"{policy.name} {policy.version}" if policy else None,
        outcome=side.gated.outcome.name if side.gated else None,
        blocking=side.ledger.total(state="scored", blocking=True),
        blocking_passed=side.ledger.total(decision="pass", blocking=True) if side.gated else None,
        judge=_judge(side.records),
    )


def _figures(side: MetricSide, name: str | None) -> SliceFigures:
    ledger = side.ledger
    facts = ledger.facts()
    block = facts if name is None else facts["slices"][name]
    values = [record.value for record in side.records if record.state == "scored" and name in (None, record.slice)]
    numbers = [value for value in values if isinstance(value, int | float)]
    labels = side.metric.allowed_values if isinstance(side.metric.allowed_values, list) else []
    return SliceFigures(
        slice=name,
        rows=ledger.total(slice=name),
        states={state: block[state] for state in STATES},
        decisions=_decisions(ledger, name) if side.gated else None,
        labels={label: sum(value == label for value in values) for label in labels},
        mean=block["mean"],
        mean_of=len(numbers),
        lowest=min(numbers, default=None),
        highest=max(numbers, default=None),
    )


def _decisions(ledger: Ledger, name: str | None) -> dict[str, int]:
    found: dict[str, int] = {word: ledger.total(decision=word, slice=name) for word in DECISIONS}
    return found | {"undecided": ledger.total(state="scored", slice=name) - sum(found.values())}


def _judge(records: tuple[Record, ...]) -> str | None:
    asked = {(record.judge["model"], record.judge.get("provider")) for record in records if record.judge}
    return ", ".join(f"{model} ({provider})" for model, provider in sorted(asked, key=str)) or None
