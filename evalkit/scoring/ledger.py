"""The ledger: every line of an input counted exactly once, by state and decision, with the values of each slice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.contract import Decision, State
from evalkit.contract.words import DECISIONS, STATES
from evalkit.scoring.records import Record

__all__ = ["Cell", "Count", "Ledger", "Values", "cell_of", "denominator_of"]


def denominator_of(
    detail: Mapping[str, Any] | None, inputs: Mapping[str, Any] | None, reviewed: Sequence[str] = ()
) -> int | None:
    """Return how many claims a row's ratio is out of; ``None`` where nothing says so.

    ``detail["required"]`` counts first; else the length of the only reviewed input that is a list.

    >>> denominator_of({"required": 3}, None), denominator_of({}, {"wanted": ["a", "b"]}, ["wanted"])
    (3, 2)
    """
    stated = detail.get("required") if detail else None
    if isinstance(stated, int) and not isinstance(stated, bool):
        return stated if stated > 0 else None
    lists = [inputs[name] for name in reviewed if isinstance(inputs.get(name), list)] if inputs else []
    return len(lists[0]) or None if len(lists) == 1 else None


Count = tuple[str, bool, State, Decision | None]
"""What rows are counted by: slice, blocking, state, decision."""


class Cell(NamedTuple):
    """All that the ledger counts a row by; rows alike in it are added up together, which is most of a file."""

    slice: str
    blocking: bool
    state: State
    decision: Decision | None
    value: float | str | None
    """``None`` also for a ranking, which has no place on an axis."""
    denominator: int | None
    revision: str | None


def cell_of(record: Record, decision: Decision | None, reviewed: Sequence[str] = ()) -> Cell:
    """Return what a record is counted by; `reviewed` names the inputs that may say how many claims it has."""
    state, value = record.state, record.value
    return Cell(
        record.slice, record.blocking, state, decision,
        None if type(value) is list else value,  # type: ignore[arg-type] # told apart by its exact type, for speed
        denominator_of(record.detail, record.inputs, reviewed) if state == "scored" else None,
        record.lineage.get("system_revision"),
    )  # fmt: skip


class Values:
    """The scored values of one slice: how many, how often each occurs under each decision, and out of what."""

    MOST_DISTINCT = 5_000

    def __init__(self) -> None:
        self.scored = 0
        self.n = 0
        """Scored rows with a number or a label; a ranking is neither."""
        self.total = 0.0
        self.counts: Counter[tuple[float | str, Decision | None]] = Counter()
        """How often each value was decided how; of more than `MOST_DISTINCT` different ones only the first."""
        self.denominators: Counter[int] = Counter()
        """How many rows have each number of claims, as far as it is known."""

    def add(
        self, value: float | str | None, decision: Decision | None = None, denominator: int | None = None, rows: int = 1
    ) -> None:
        """Count rows that are alike."""
        self.scored += rows
        if denominator is not None:
            self.denominators[denominator] += rows
        if value is None:
            return
        self.n += rows
        if not isinstance(value, str):
            self.total += value * rows
        self._count((value, decision), rows)

    def _count(self, key: tuple[float | str, Decision | None], rows: int) -> None:
        if key in self.counts or len(self.counts) < self.MOST_DISTINCT:
            self.counts[key] += rows

    def merge(self, other: Values) -> None:
        """Add the values of another part of the same slice, or of another slice."""
        self.scored += other.scored
        self.n += other.n
        self.total += other.total
        self.denominators.update(other.denominators)
        for key, rows in other.counts.items():
            self._count(key, rows)

    @property
    def uncounted(self) -> int:
        """Scored rows that `counts` leaves out: rankings, and values beyond the first `MOST_DISTINCT`."""
        return self.scored - sum(self.counts.values())

    def by_value(self) -> Counter[float | str]:
        """Return how often each counted value occurs, whatever was decided."""
        found: Counter[float | str] = Counter()
        for (value, _), rows in self.counts.items():
            found[value] += rows
        return found

    def mean(self) -> float | None:
        """Return the mean of the scored numbers; ``None`` over nothing or over labels.

        Where every value is counted, the sum is exact: the order of the rows does not show in the last digit.
        """
        if not self.n or any(isinstance(value, str) for value, _ in self.counts):
            return None
        if sum(self.counts.values()) < self.n:
            return self.total / self.n
        numbers = ((value, rows) for value, rows in self.by_value().items() if not isinstance(value, str))
        try:
            return math.fsum(value * rows for value, rows in numbers) / self.n
        except OverflowError:  # the numbers are finite, their sum is not
            return None


class Ledger:
    """Row counts by state and decision; every line of the input is in it exactly once."""

    def __init__(self) -> None:
        self.lines = 0
        self.blank = 0
        self.counts: Counter[Count] = Counter()
        self.values: dict[str, Values] = {}
        self.revisions: Counter[str | None] = Counter()
        """System revisions of blocking rows."""

    def add(self, record: Record) -> None:
        """Count one record (its line is counted by whoever read it)."""
        self.count(cell_of(record, record.decision), 1)

    def count(self, cell: Cell, rows: int) -> None:
        """Count rows that are alike."""
        self.counts[cell[:4]] += rows
        if cell.state == "scored":
            if (values := self.values.get(cell.slice)) is None:
                values = self.values[cell.slice] = Values()
            values.add(cell.value, cell.decision, cell.denominator, rows)
        if cell.blocking:
            self.revisions[cell.revision] += rows

    def merge(self, other: Ledger) -> None:
        """Add the counts of another part of the same input."""
        self.lines += other.lines
        self.blank += other.blank
        self.counts.update(other.counts)
        self.revisions.update(other.revisions)
        for name, values in other.values.items():
            self.values.setdefault(name, Values()).merge(values)

    def total(
        self,
        *,
        state: State | None = None,
        decision: Decision | None = None,
        slice: str | None = None,  # noqa: A002 - the word of the file format
        blocking: bool | None = None,
    ) -> int:
        """Count the rows that match everything given."""
        return sum(
            n
            for (of_slice, is_blocking, in_state, decided), n in self.counts.items()
            if (state is None or in_state == state)
            and (decision is None or decided == decision)
            and (slice is None or of_slice == slice)
            and (blocking is None or is_blocking == blocking)
        )

    def slices(self) -> list[str]:
        """Return the slices that occur, sorted."""
        return sorted({name for name, *_ in self.counts})

    def check(self) -> None:
        """Hold the law ``lines == blank + scored + invalid + error + unrun``.

        A breach is a fault inside evalkit, so it raises rather than becoming an outcome.
        """
        rows = self.total()
        if self.lines != self.blank + rows:
            msg = f"the ledger does not add up: {self.lines} lines, {self.blank} blank, {rows} records"
            raise AssertionError(msg)

    def facts(self) -> dict[str, Any]:
        """Return the ledger as plain JSON values."""
        return {
            "lines": self.lines,
            "blank": self.blank,
            **self._block(),
            "blocking": self._block(blocking=True),
            "slices": {name: {**self._block(slice=name), **self._figures([name])} for name in self.slices()},
            **self._figures(self.slices()),
        }

    def _block(self, **where: Any) -> dict[str, int]:
        states = {state: self.total(state=state, **where) for state in STATES}
        return states | {decision: self.total(decision=decision, **where) for decision in DECISIONS}

    def _figures(self, slices: Iterable[str]) -> dict[str, Any]:
        merged = Values()
        for name in slices:
            if name in self.values:
                merged.merge(self.values[name])
        mean = merged.mean()
        return {"mean": None if mean is None or not math.isfinite(mean) else mean, "mean_of": merged.n}
