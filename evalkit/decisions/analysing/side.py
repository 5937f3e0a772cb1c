"""One metric of an analysis: its run, its records as the policy sees them, and what the gate said of them."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import NamedTuple

from evalkit.contract import Metric
from evalkit.decisions.gate import GateOptions, GateResult, gate
from evalkit.decisions.policy import PolicyFile
from evalkit.scoring.ledger import Ledger
from evalkit.scoring.parts import MemorySink
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run

__all__ = ["MetricSide", "is_favourable", "side_of"]


class MetricSide(NamedTuple):
    """A metric with everything that an analysis asks of it."""

    metric: Metric
    run: Run
    records: tuple[Record, ...]
    """In input order; with decisions where there is a policy."""
    ledger: Ledger
    gated: GateResult | None
    """``None`` without a policy."""

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    def by_case(self) -> dict[str, Record]:
        """Return the records of the lines that gave a case."""
        return {record.case_id: record for record in self.records if record.case_id is not None}


def side_of(metric: Metric, run: Run, policy: PolicyFile | None, as_of: date) -> MetricSide:
    """Read a run; with a policy, through the same gate that `evalkit gate` asks."""
    if policy is None:
        records = tuple(run.records())
        ledger = Ledger()
        for record in records:
            ledger.lines += 1
            ledger.add(record)
        return MetricSide(metric, run, records, ledger, None)
    kept = MemorySink()
    result = gate(metric, Path(run.folder), policy.path, options=GateOptions(as_of=as_of), sink=kept)
    return MetricSide(metric, run, tuple(kept.records()), result.ledger, result)


def is_favourable(record: Record, metric: Metric) -> bool | None:
    """Tell whether a row is well by a metric: by the policy, else by its first label; ``None`` where neither says so.

    A number without a policy is neither good nor bad.
    """
    if record.state != "scored" or record.decision == "review":
        return None
    if record.decision is not None:
        return record.decision == "pass"
    labels = metric.allowed_values
    return record.value == labels[0] if isinstance(labels, list) else None
