"""The rows just below and just above a threshold, and the agenda of a meeting: those rows with far ones among them."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evalkit.contract.words import Better
from evalkit.scoring.records import Record

__all__ = ["Borderline", "RankedRows", "agenda_rows"]


class Borderline(NamedTuple):
    """The rows nearest to a threshold, on each side nearest first."""

    below: tuple[Record, ...]
    """Rows that do not pass."""
    above: tuple[Record, ...]
    """Rows that pass."""
    n_below: int
    """How many rows do not pass in all."""
    n_above: int


class RankedRows:
    """The scored rows of one slice, sorted once: a slider asks for their neighbourhoods again and again.

    Parameters
    ----------
    records : iterable of Record
        Of one slice; rows without a number are left out.
    better : {"higher", "lower"}
    seed : int
        Rows of one value are many where the score is a share of few claims. Which of them are looked at is drawn by
        lot, from the seed and the case id alone, so that neither file order nor a glance decides it.
    """

    def __init__(self, records: Iterable[Record], better: Better, seed: int = 0) -> None:
        self._sign = 1.0 if better == "higher" else -1.0
        numbers = [r for r in records if r.state == "scored" and isinstance(r.value, int | float)]
        self._rows = sorted(numbers, key=lambda r: (self._sign * float(r.value), _lot(seed, r)))  # type: ignore[arg-type]
        self._values = [self._sign * float(r.value) for r in self._rows]  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> Sequence[Record]:
        """All of them, worst value first."""
        return self._rows

    def around(self, threshold: float, n: int) -> Borderline:
        """Return the `n` rows just below and the `n` just above a threshold; a row at the threshold passes."""
        bound = self._sign * threshold
        cut = bisect_left(self._values, bound)
        above = self._rows[cut : cut + n]
        return Borderline(self._lowest_lots(cut, n), tuple(above), cut, len(self._rows) - cut)

    def _lowest_lots(self, cut: int, n: int) -> tuple[Record, ...]:
        """Walk down from the cut; within one value the lot counts, as above the cut, not the reversed order."""
        taken: list[Record] = []
        end = cut
        while end and len(taken) < n:
            start = bisect_left(self._values, self._values[end - 1])
            taken += self._rows[start : min(end, start + n - len(taken))]
            end = start
        return tuple(taken)

    def far(self, near: Borderline, n: int, seed: int) -> list[Record]:
        """Draw `n` rows that are not in `near`, by lot, half of them from each side where both have some."""
        known = {record.case_id for record in (*near.below, *near.above)}
        sides = [
            sorted((r for r in rows if r.case_id not in known), key=lambda r: _lot(seed + 1, r))
            for rows in (self._rows[: near.n_below], self._rows[near.n_below :])
        ]
        low = min(n // 2, len(sides[0]))
        high = min(n - low, len(sides[1]))
        return sides[0][: min(n - high, len(sides[0]))] + sides[1][:high]

    def count_at(self, value: float) -> int:
        """Count the rows of one value."""
        at = self._sign * value
        return bisect_right(self._values, at) - bisect_left(self._values, at)


def _lot(seed: int, record: Record) -> bytes:
    return hashlib.sha256(f"{seed}\0{record.case_id}".encode()).digest()


def agenda_rows(
    slices: Mapping[str, RankedRows], thresholds: Mapping[str, float], *, n: int, far: int, seed: int
) -> list[Record]:
    """Return the rows that a meeting votes on, in the order in which everybody sees them.

    Parameters
    ----------
    slices : mapping of slice name to RankedRows
    thresholds : mapping of slice name to float
        The threshold under review, for each slice that is.
    n : int
        Rows just below and just above each threshold.
    far : int
        Rows a slice that lie elsewhere: without them whoever votes would know that every row is a close call.
    seed : int
        Of the order and of the draw.
    """
    chosen: list[Record] = []
    for name, threshold in thresholds.items():
        near = slices[name].around(threshold, n)
        chosen += [*near.below, *near.above, *slices[name].far(near, far, seed)]
    return sorted(chosen, key=lambda record: _lot(seed, record))
