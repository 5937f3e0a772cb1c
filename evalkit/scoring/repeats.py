"""Several verdicts of one judge about one row: what they come to, and whether the row is stable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.contract import canonical_json
from evalkit.contract.words import Kind
from evalkit.scoring.records import Record

__all__ = ["MOST_REPEATS", "Vote", "is_tie", "is_unstable", "vote"]

MOST_REPEATS = 25

Value = float | int | str | list[Any]


class Vote(NamedTuple):
    """What the repeats of one row come to."""

    chosen: int | None
    """Which repeat speaks for the row; ``None`` where too many gave no verdict for any value to have a majority."""
    values: tuple[Value | None, ...]
    """In the order in which they were asked; ``None`` where a repeat gave no verdict."""
    is_tie: bool

    @property
    def is_unstable(self) -> bool:
        """Whether two repeats gave different verdicts."""
        return len({canonical_json(value) for value in self.values if value is not None}) > 1

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values, as a record's ``detail`` keeps them."""
        return {
            "asked": len(self.values), "values": list(self.values), "unstable": self.is_unstable, "tie": self.is_tie,
        }  # fmt: skip

    def words(self) -> str:
        """Say how the repeats are spread, with their number.

        >>> print(vote("discrete", ["pass", "fail", "pass"]).words())
        2 of 3 repeats say pass, 1 fail
        """
        n = len(self.values)
        counts = Counter("no verdict" if value is None else str(value) for value in self.values)
        (first, count), *rest = counts.most_common()
        others = "".join(f", {times} {word}" for word, times in rest)
        return f"{count} of {n} repeats say {first}{others}" if first != "no verdict" else _none(count, n, others)


def _none(count: int, n: int, others: str) -> str:
    return f"{count} of {n} repeats gave no verdict{others}"


def vote(kind: Kind, values: Sequence[Value | None]) -> Vote:
    """Count the verdicts of one row: a majority of all repeats speaks, and of numbers the median.

    A repeat that gave no verdict stays in the denominator: two passes of five, with three errors, are no majority.
    Where every repeat gave a verdict and none has a majority, it is a tie: the first verdict stands in the record, and
    a person decides.

    Examples
    --------
    >>> vote("discrete", ["pass", "fail"]).is_tie, vote("discrete", ["fail", "pass", "fail"]).chosen
    (True, 0)
    >>> vote("discrete", ["pass", None, None]).chosen is None
    True
    """
    given = [i for i, value in enumerate(values) if value is not None]
    if kind == "numeric":
        ranked = sorted(given, key=lambda i: (values[i], i))
        enough = 2 * len(given) > len(values)
        return Vote(ranked[(len(ranked) - 1) // 2] if enough else None, tuple(values), is_tie=False)
    counts = Counter(canonical_json(values[i]) for i in given)
    winner = next((i for i in given if 2 * counts[canonical_json(values[i])] > len(values)), None)
    is_tie = winner is None and len(given) == len(values)
    return Vote(given[0] if is_tie else winner, tuple(values), is_tie)


def _repeats(record: Record) -> Mapping[str, Any]:
    found = record.detail.get("repeats") if record.judge is not None else None
    return found if isinstance(found, Mapping) else {}


def is_tie(record: Record) -> bool:
    """Tell whether a judge's repeats were evenly split: whatever its value says, a person decides the row."""
    return _repeats(record).get("tie") is True


def is_unstable(record: Record) -> bool:
    """Tell whether a judge's repeats gave different verdicts."""
    return _repeats(record).get("unstable") is True
