"""What a threshold can tell apart on this data, and what it means in claims: a ratio over k claims has k + 1 values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from evalkit.contract.words import Better

__all__ = ["Meaning", "Resolution", "Step", "allowed", "needed", "resolution_of"]


class Step(NamedTuple):
    """A stretch of thresholds that all decide alike: no observed value lies between them."""

    above: float | None
    """Open lower end; ``None`` where the stretch has none."""
    upto: float | None
    """Closed upper end for a minimum; ``None`` where the stretch has none: no row passes."""
    passing: int
    """Rows that pass under every threshold of the stretch."""
    of: int
    """Rows with a value."""


class Meaning(NamedTuple):
    """What a threshold asks of the rows that have `of` claims."""

    of: int
    needed: int
    """How many claims a row must have (where lower is better: may have at most)."""
    rows: int
    words: str


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """What one slice's values can tell apart."""

    slice: str
    threshold: float | None
    better: Better
    n: int
    """Rows with a value: what every count here is out of."""
    n_denominators: int
    """Rows whose number of claims is known."""
    steps: tuple[Step, ...]
    """Every stretch of thresholds that decides differently from the next, lowest first."""
    meanings: tuple[Meaning, ...]
    """What the threshold means in claims, by number of claims; empty without a threshold or known numbers."""
    advice: tuple[str, ...]

    def current(self) -> Step | None:
        """Return the stretch in which the threshold lies: moving it inside changes nothing."""
        if self.threshold is None:
            return None
        return next((step for step in self.steps if _is_in(self.threshold, step, self.better)), None)


def needed(threshold: float, k: int) -> int:
    """Return the smallest number of k claims whose share reaches a minimum, as the gate compares it.

    The product only gives a first guess (``0.28 * 25`` is 7.000000000000001, whose ceiling is 8); the comparison of
    ``m / k`` with the threshold, which is what decides a row, has the last word. ``k + 1`` where no share reaches it.

    >>> needed(0.85, 3), needed(0.6, 3), needed(0.28, 25)
    (3, 2, 7)
    """
    m = min(max(math.ceil(threshold * k), 0), k + 1)
    while m > 0 and (m - 1) / k >= threshold:
        m -= 1
    while m <= k and m / k < threshold:
        m += 1
    return m


def allowed(threshold: float, k: int) -> int:
    """Return the largest number of k claims whose share stays within a maximum; ``-1`` where none does.

    >>> allowed(0.1, 10), allowed(0.15, 3)
    (1, 0)
    """
    m = max(min(math.floor(threshold * k), k), -1)
    while m < k and (m + 1) / k <= threshold:
        m += 1
    while m >= 0 and m / k > threshold:
        m -= 1
    return m


def resolution_of(
    slice_name: str,
    values: Mapping[float, int],
    denominators: Mapping[int, int] | None = None,
    *,
    threshold: float | None = None,
    better: Better = "higher",
    unit: str = "claims",
) -> Resolution:
    """Say which thresholds differ on these values and what the one in use asks for.

    When it misleads: it speaks of the rows at hand. A threshold that changes nothing here may decide tomorrow's rows.

    Parameters
    ----------
    slice_name : str
    values : mapping
        How many rows have each value.
    denominators : mapping, optional
        How many rows have each number of claims; rows whose number is unknown are left out.
    threshold : float, optional
        The policy's minimum, or maximum where lower is better.
    better : {"higher", "lower"}
    unit : str
        What is counted, in the plural.

    Examples
    --------
    >>> found = resolution_of("default", {2 / 3: 1, 1.0: 4}, {3: 5}, threshold=0.85)
    >>> found.meanings[0].words
    '0.85 on 3 claims = all 3'
    >>> [(step.passing, step.of) for step in found.steps]
    [(5, 5), (4, 5), (0, 5)]
    """
    known = dict(sorted((denominators or {}).items()))
    meanings = () if threshold is None else tuple(_meaning(threshold, k, n, better, unit) for k, n in known.items())
    return Resolution(
        slice=slice_name,
        threshold=threshold,
        better=better,
        n=sum(values.values()),
        n_denominators=sum(known.values()),
        steps=tuple(_steps(values, better)),
        meanings=meanings,
        advice=tuple(_advice(values, known, threshold, meanings, unit)),
    )


def _steps(values: Mapping[float, int], better: Better) -> Iterable[Step]:
    total = sum(values.values())
    if not total:
        return
    ordered = sorted(values)
    edges: list[float | None] = [None, *ordered, None]
    passing = total if better == "higher" else 0
    for above, upto in pairwise(edges):
        if better == "lower" and above is not None:
            passing += values[above]
        yield Step(above, upto, passing, total)
        if better == "higher" and upto is not None:
            passing -= values[upto]


def _is_in(threshold: float, step: Step, better: Better) -> bool:
    # A row passes a minimum that equals its value, and a maximum that does: the flip lies on different sides of it.
    if better == "higher":
        return (step.above is None or step.above < threshold) and (step.upto is None or threshold <= step.upto)
    return (step.above is None or step.above <= threshold) and (step.upto is None or threshold < step.upto)


def _meaning(threshold: float, k: int, rows: int, better: Better, unit: str) -> Meaning:
    one = {"claims": "claim", "items": "item"}.get(unit, unit)
    head = f"{threshold!r} on {k} {one if k == 1 else unit} = "
    if better == "lower":
        most = allowed(threshold, k)
        return Meaning(k, most, rows, head + ("no value is low enough" if most < 0 else f"at most {most} of {k}"))
    least = needed(threshold, k)
    if least > k:
        return Meaning(k, least, rows, head + "out of reach")
    if least == 0:
        return Meaning(k, least, rows, head + f"0 of {k}, so every row passes")
    return Meaning(k, least, rows, head + (f"all {k}" if least == k > 1 else f"{least} of {k}"))


def _advice(
    values: Mapping[float, int],
    denominators: Mapping[int, int],
    threshold: float | None,
    meanings: Sequence[Meaning],
    unit: str,
) -> Iterable[str]:
    if set(denominators) == {1} and sum(denominators.values()) == sum(values.values()):
        yield (
            f"every row has exactly one of the {unit} to reach, so the value is only ever 0 or 1: make this a discrete "
            "metric (pass or fail), which needs no threshold"
        )
    elif meanings and threshold is not None and threshold < 1 and all(m.needed == m.of for m in meanings):
        yield (
            f"{threshold!r} asks for all {unit} of every row here, like 1.0: write 1.0, or say what may be missing "
            "from rows that are longer"
        )
    elif len(values) == 1:
        (value,) = values
        yield f"all {sum(values.values())} rows have the value {value!r}: no threshold tells them apart"
