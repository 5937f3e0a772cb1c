"""What an explanation holds: each row with its first diverging evidence and owner, and what did not change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from evalkit.decisions.counterfactual import Counterfactual
from evalkit.decisions.explaining.claims import Finding
from evalkit.decisions.explaining.divergence import Divergence
from evalkit.decisions.explaining.kept import Difference
from evalkit.decisions.explaining.rollup import Rollup, roll_up
from evalkit.decisions.explaining.run_facts import RunFact, RunFacts
from evalkit.scoring.records import Record

__all__ = ["Change", "Explained", "Explanation", "Standing", "standing_of"]

Change = Literal[
    "state", "decision", "value", "appeared", "vanished", "fail", "review", "missing", "invalid", "error", "unrun"
]


class Standing(NamedTuple):
    """How a row stood in one run."""

    line: int
    state: str
    value: Any
    decision: str | None
    minimum: float | None
    policy_version: str | None
    reason: str

    @property
    def word(self) -> str:
        """Decision, or else state."""
        return self.decision or self.state


class Explained(NamedTuple):
    """One row that changed (two runs) or is not green (one run), and why."""

    case_id: str | None
    change: Change
    """Two runs: what changed. One run: what the row is (``missing``: scored without a policy, and not complete)."""
    first_divergence: Divergence
    owner: str | None
    old: Standing | None
    new: Standing | None
    sentence: str
    difference: Difference | None = None
    also: tuple[Divergence, ...] = ()
    findings: tuple[Finding, ...] = ()
    """One run: what became of each missing claim."""
    would_flip: Counterfactual | None = None

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        difference = self.difference
        return {
            "case_id": self.case_id,
            "change": self.change,
            "first_divergence": self.first_divergence,
            "owner": self.owner,
            "old": self.old._asdict() if self.old else None,
            "new": self.new._asdict() if self.new else None,
            "sentence": self.sentence,
            "evidence": {"what": difference.what, **difference.shown._asdict()} if difference else None,
            "also": list(self.also),
            "findings": [finding.facts() for finding in self.findings],
            "would_flip": self.would_flip.facts() if self.would_flip else None,
        }


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What happened, row by row, and what did not."""

    new: RunFacts
    old: RunFacts | None
    rows: tuple[Explained, ...]
    total: int
    """Rows looked at; of two runs, rows that either has."""
    unchanged: int
    """Rows whose state, value and decision are the same (one run: rows that need no explanation)."""
    unchanged_throughout: int
    """Of these, rows with the same inputs and evidence as well (one run: the same number)."""
    differ: tuple[RunFact, ...] = ()
    same: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def rollup(self) -> Rollup:
        """The rows by owner and by kind."""
        return roll_up(self.rows)

    def facts(self) -> dict[str, Any]:
        """Return what ``--json`` writes."""
        rollup = self.rollup
        return {
            "schema": 1,
            "run_id": self.new.run_id,
            "older_run_id": self.old.run_id if self.old else None,
            "metric": {key: self.new.metric.get(key) for key in ("name", "contract_version")},
            "total": self.total,
            "rows": [row.facts() for row in self.rows],
            "by_owner": rollup.by_owner,
            "by_kind": rollup.by_kind,
            "unchanged": self.unchanged,
            "unchanged_with_other_evidence": self.unchanged - self.unchanged_throughout,
            "runs_differ_in": [fact._asdict() for fact in self.differ],
            "runs_agree_in": list(self.same),
            "notes": list(self.notes),
        }


def standing_of(record: Record | None) -> Standing | None:
    """Return how a row stood; ``None`` for a row that a run does not have."""
    if record is None:
        return None
    return Standing(
        record.line, record.state, record.value, record.decision, record.minimum, record.policy_version, record.reason
    )
