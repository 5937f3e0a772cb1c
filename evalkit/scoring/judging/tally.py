"""What a judge run came to, added up from its finished rows and the calls its store has noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from evalkit.scoring.judging.attempt import Attempt
from evalkit.scoring.judging.verdicts import VerdictStore
from evalkit.scoring.ledger import Ledger
from evalkit.scoring.records import Record
from evalkit.scoring.repeats import is_tie, is_unstable

__all__ = ["Tally"]


_KEPT = ("cache", "cost", "finish_reason", "repeats")
_DETAIL = ("normalised", "undeclared", "repeats")


class Tally:
    """The last record of each line, without inputs and evidence, and sums over them."""

    def __init__(self) -> None:
        self._rows: dict[int, Record] = {}

    def add(self, record: Record) -> None:
        """Count a record; a later one of its line replaces it."""
        judge = {key: record.judge[key] for key in _KEPT if key in record.judge} if record.judge else None
        if judge and "repeats" in judge:
            judge["repeats"] = [{key: one[key] for key in _KEPT if key in one} for one in judge["repeats"]]
        detail = {key: record.detail[key] for key in _DETAIL if key in record.detail}
        revision = {key: value for key, value in record.lineage.items() if key == "system_revision"}
        # Of thousands of rows only what is added up stays in memory; the rest is in the folder.
        self._rows[record.line] = record._replace(
            inputs=None, evidence=None, reason="", detail=detail, lineage=revision, judge=judge
        )

    def in_order(self) -> Iterable[Record]:
        """Return the rows in input order."""
        return (self._rows[line] for line in sorted(self._rows))

    def ledger(self, *, lines: int, blank: int) -> Ledger:
        """Count every line; one that has no record is a fault inside evalkit, and raises."""
        ledger = Ledger()
        ledger.lines, ledger.blank = lines, blank
        for record in self.in_order():
            ledger.add(record)
        ledger.check()
        return ledger

    def facts(self, store: VerdictStore | None, run_id: str, *, is_priced: bool) -> dict[str, Any]:
        """Return calls, tokens and cost of this run as plain JSON values; what is not known is ``None``."""
        rows = store.attempts(run_id) if store else []
        preflight = store.attempts(run_id, kind="preflight") if store else []
        used = store.used(run_id) if store else None
        cache = Counter(one["cache"] for record in self._rows.values() for one in _replies(record))
        return {
            "calls": len(rows) + len(preflight),
            "preflight_calls": len(preflight),
            "attempts": len(rows),
            "failed_attempts": dict(Counter(attempt.error_kind for attempt in rows if attempt.error_kind)),
            "cache_hits": cache["hit"],
            "replayed": cache["replay"],
            "tokens": _tokens([*rows, *preflight]),
            "cost": _sum(attempt.cost for attempt in (*rows, *preflight)),
            "charged": str(used.cost) if used and is_priced else None,
            "cost_by_slice": self._cost_by_slice(),
            "error_kinds": dict(Counter(r.error_kind for r in self._rows.values() if r.state == "error")),
            "unrun": [record.case_id for record in self.in_order() if record.state == "unrun"],
            "in_doubt": [doubt._asdict() for doubt in store.doubts(run_id)] if store else [],
            "repeated": self._repeated(),
        }

    def _repeated(self) -> dict[str, Any] | None:
        """Count the rows that were judged several times, and name those whose verdicts differ."""
        rows = [record for record in self.in_order() if "repeats" in record.detail]
        if not rows:
            return None
        return {
            "asked": max(record.detail["repeats"]["asked"] for record in rows),
            "rows": len(rows),
            "unstable": [record.case_id for record in rows if is_unstable(record)],
            "ties": [record.case_id for record in rows if is_tie(record)],
        }

    def _cost_by_slice(self) -> dict[str, str | None]:
        paid = [record for record in self.in_order() if record.judge and record.judge["cache"] == "miss"]
        slices = sorted({record.slice for record in paid})
        return {name: _sum(_cost(record) for record in paid if record.slice == name) for name in slices}

    def findings(self) -> list[str]:
        """Return a sentence for each thing that a reviewer should look at, with how many rows it concerns."""
        details = [record.detail for record in self._rows.values()]
        rules = Counter(str(detail["normalised"]["rule"]) for detail in details if "normalised" in detail)
        found = [f"{count} verdicts were read by the declared rule {rule!r}" for rule, count in sorted(rules.items())]
        undeclared = Counter(key for detail in details for key in detail.get("undeclared", ()))
        found += [
            f"{count} replies held the undeclared field {key!r}, which decided nothing: look whether it contradicts"
            for key, count in sorted(undeclared.items())
        ]
        return found


def _replies(record: Record) -> list[Mapping[str, Any]]:
    """Return the completions that a record rests on: one, or one a repeat."""
    judge: Mapping[str, Any] = record.judge or {}
    return [one for one in judge.get("repeats", [judge]) if "finish_reason" in one]


def _cost(record: Record) -> str | None:
    judge: Mapping[str, Any] = record.judge or {}
    cost = judge.get("cost")
    return cost if isinstance(cost, str) else None


def _sum(costs: Iterable[str | None]) -> str | None:
    known = [Decimal(cost) for cost in costs if cost is not None]
    return str(sum(known, Decimal(0))) if known else None


_MOST_TOKENS = 10**12
"""More than any call reads or writes: what a provider says beyond it is no count, and is not added to one."""


def _tokens(attempts: Iterable[Attempt]) -> dict[str, int] | None:
    """Add up what the provider reported; ``None`` where it reported nothing."""
    totals: Counter[str] = Counter()
    for attempt in attempts:
        for name in ("prompt_tokens", "completion_tokens"):
            count = (attempt.usage or {}).get(name)
            if type(count) is int and 0 <= count < _MOST_TOKENS:
                totals[name] += count
    return dict(totals) or None
