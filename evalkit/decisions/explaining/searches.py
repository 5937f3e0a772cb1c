"""Counterfactuals for a whole run, within a bound."""

from __future__ import annotations

from evalkit.contract import Metric
from evalkit.decisions.counterfactual import Counterfactual, counterfactual
from evalkit.decisions.explaining.run_facts import RunFacts
from evalkit.scoring.records import Record

__all__ = ["Search"]

_MOST_SEARCHES = 50


class Search:
    """Counterfactuals for the first rows that do not pass: each costs many calls of the metric."""

    def __init__(self, metric: Metric | None, facts: RunFacts) -> None:
        self._metric, self._decide = metric, facts.decide
        self._left, self._skipped = _MOST_SEARCHES, 0

    def of(self, record: Record) -> Counterfactual | None:
        """Search what would make a row pass; ``None`` for one that passes, or where it cannot be asked."""
        if self._metric is None or self._decide is None or record.decision not in ("fail", "review"):
            return None
        if self._left == 0:
            self._skipped += 1
            return None
        self._left -= 1
        return counterfactual(self._metric, record, self._decide)

    def notes(self) -> list[str]:
        """Say what was left out."""
        if not self._skipped:
            return []
        return [
            f"what would flip a row was searched for the first {_MOST_SEARCHES} rows; {self._skipped} were left out"
        ]
