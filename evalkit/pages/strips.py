"""The distribution of a slice's values as bars: geometry for a page that draws without scripts or chart libraries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from evalkit.pages.plain import shown
from evalkit.scoring.ledger import Values

__all__ = ["BINS", "HEIGHT", "WIDTH", "Bar", "Rule", "Strip", "strip_of"]

WIDTH, HEIGHT = 640, 72
"""Of the drawing area, in the units of the picture."""

BINS = 20
_MOST_BARS = 24
"""More different values than this are drawn as a histogram."""


class Bar(NamedTuple):
    """Rows of one value (or one bin) that were decided alike; bars of one place stand on each other."""

    x: float
    y: float
    width: float
    height: float
    rows: int
    decision: str
    """``pass``, ``fail``, ``review``, or ``none`` where no policy decided."""
    label: str
    """The value or the bin, for the tooltip and the table."""


class Rule(NamedTuple):
    """The policy's bound, drawn as a line."""

    x: float
    label: str


class Strip(NamedTuple):
    """One slice's picture."""

    slice: str
    scored: int
    uncounted: int
    """Scored rows without a bar."""
    bars: list[Bar]
    rule: Rule | None
    low: str
    high: str
    """What the ends of the axis are."""
    most: int
    """Rows of the highest stack."""
    labels: list[tuple[str, str, int]]
    """Instead of bars, for a metric of labels: label, decision, rows."""


def strip_of(name: str, values: Values, bound: float | None, allowed: tuple[float, float] | None) -> Strip:
    """Return the picture of one slice.

    Parameters
    ----------
    name : str
    values : Values
    bound : float or None
        The policy's minimum or maximum.
    allowed : (low, high) or None
        The metric's range; the axis spans it, so that two slices or two runs can be compared by eye.
    """
    numbers: Counter[tuple[float, str]] = Counter()
    words: list[tuple[str, str, int]] = []
    for (value, decision), rows in values.counts.items():
        if isinstance(value, str):
            words.append((value, decision or "none", rows))
        else:
            numbers[value, decision or "none"] += rows
    if not numbers:
        return Strip(name, values.scored, values.uncounted, [], None, "", "", 0, sorted(words))
    seen = [value for value, _ in numbers]
    low, high = allowed if allowed and allowed[0] < allowed[1] else (min(seen), max(seen))
    span = (high - low) or 1.0
    stacks = _stacks(numbers, low, span)
    most = max(sum(stack.values()) for stack in stacks.values())
    bars = [bar for place, stack in stacks.items() for bar in _stacked(place, stack, most)]
    rule = Rule(_x(bound, low, span), repr(bound)) if bound is not None and low <= bound <= high else None
    return Strip(name, values.scored, values.uncounted, bars, rule, shown(low), shown(high), most, [])


class _Place(NamedTuple):
    x: float
    width: float
    label: str


def _x(value: float, low: float, span: float) -> float:
    return round((value - low) / span * WIDTH, 2)


def _stacks(numbers: Mapping[tuple[float, str], int], low: float, span: float) -> dict[_Place, Counter[str]]:
    distinct = {value for value, _ in numbers}
    stacks: dict[_Place, Counter[str]] = {}
    for (value, decision), rows in sorted(numbers.items()):
        place = _bin(value, low, span) if len(distinct) > _MOST_BARS else _own(value, low, span)
        stacks.setdefault(place, Counter())[decision] += rows
    return stacks


def _own(value: float, low: float, span: float) -> _Place:
    width = 10.0
    return _Place(round(_x(value, low, span) - width / 2, 2), width, shown(value))


def _bin(value: float, low: float, span: float) -> _Place:
    index = min(int((value - low) / span * BINS), BINS - 1)
    edges = [low + span * i / BINS for i in (index, index + 1)]
    return _Place(index * WIDTH / BINS + 1, WIDTH / BINS - 2, f"{shown(edges[0])} to {shown(edges[1])}")


def _stacked(place: _Place, stack: Mapping[str, int], most: int) -> list[Bar]:
    bars, top = [], float(HEIGHT)
    for decision in ("pass", "review", "fail", "none"):
        if rows := stack.get(decision, 0):
            height = round(max(rows / most * HEIGHT, 2.0), 2)
            top = round(top - height, 2)
            bars.append(Bar(place.x, max(top, 0.0), place.width, height, rows, decision, place.label))
    return bars
