"""What an audit of an adapter found: checks, planted faults, untouched controls, and the outcome they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalkit.cases.adapters.declare import Adapter
from evalkit.cases.adapters.profile import FileProfile
from evalkit.contract import Outcome
from evalkit.mutate.controls import Control, Sight
from evalkit.mutate.matrix import KillMatrix

__all__ = ["EXAMPLES", "Audit", "CheckResult", "Example"]

EXAMPLES = 50
"""Findings of one check that are kept; all of them are counted."""


class Example(NamedTuple):
    """One finding."""

    case_id: str
    where: str
    sentence: str


@dataclass(slots=True)
class CheckResult:
    """One check over the whole file."""

    name: str
    asks: str
    rows: int = 0
    """Rows it could be asked of."""
    failed: int = 0
    examples: list[Example] = field(default_factory=list)
    unasked: str = ""
    """Why it could not be asked of any row."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "asks": self.asks,
            "rows": self.rows,
            "failed": self.failed,
            "unasked": self.unasked or None,
            "examples": [example._asdict() for example in self.examples],
        }


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What an audit found."""

    adapter: Adapter
    traces: str
    """The file's name."""
    traces_sha256: str
    rows: int
    checks: tuple[CheckResult, ...]
    """Of rows, of the file, and of what the metrics receive."""
    profile: FileProfile
    matrix: KillMatrix
    controls: tuple[Control, ...]
    applicability: tuple[Mapping[str, Any], ...]
    sights: Mapping[str, Mapping[str, Sight]]
    """By metric and corruption, how often the metric told the corrupted row from the clean one."""
    unseen: tuple[str, ...]
    """Meanings that go to a metric although the trace keeps no record to hold them against."""
    notes: tuple[str, ...]

    @property
    def failed(self) -> list[CheckResult]:
        """The checks that do not hold."""
        return [check for check in self.checks if check.failed]

    @property
    def outcome(self) -> Outcome:
        """*Incomplete* where the mapping cannot be trusted, *quality_failed* where a planted fault came through."""
        is_void = not self.rows or self.matrix.score is None
        if self.failed or is_void or not all(control.ok for control in self.controls):
            return Outcome.incomplete
        if self.matrix.of("survived"):
            return Outcome.quality_failed
        return Outcome.review_required if self.unseen else Outcome.passed

    def blind(self) -> dict[str, list[str]]:
        """Return, by metric, the faults that changed none of its results."""
        return {
            metric: [name for name, sight in sights.items() if sight.rows and not sight.changed]
            for metric, sights in self.sights.items()
        }

    def facts(self) -> dict[str, Any]:
        """Return the audit as plain JSON values (``audit --json``)."""
        matrix = self.matrix.to_json()
        return {
            "schema": 1,
            "adapter": {**self.adapter.facts(), "fingerprint": self.adapter.fingerprint},
            "traces": self.traces,
            "traces_sha256": self.traces_sha256,
            "rows": self.rows,
            "outcome": self.outcome.name,
            "exit_code": int(self.outcome),
            "fields": {name: profile.facts() for name, profile in self.profile.fields.items()},
            "checks": [check.facts() for check in self.checks],
            "mutants": matrix.pop("mutants"),
            "kill_matrix": matrix,
            "controls": [control.facts() for control in self.controls],
            "applicability": list(self.applicability),
            "blind": self.blind(),
            "unseen": list(self.unseen),
            "notes": list(self.notes),
        }
