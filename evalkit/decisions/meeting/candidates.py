"""The thresholds worth talking about: one for each stretch that decides differently, as a number people can say."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import NamedTuple

from evalkit.contract.words import Better
from evalkit.decisions.calibrating.thresholds import in_claims
from evalkit.decisions.resolution import Step, resolution_of

__all__ = ["MOST_CANDIDATES", "Candidate", "candidates_of", "nearest_candidate", "said"]

MOST_CANDIDATES = 200
"""A slider with more stops cannot be moved by keyboard; beyond it they are spread evenly by rank."""


class Candidate(NamedTuple):
    """A threshold that decides these rows differently from the next one."""

    threshold: float
    meaning: str
    """In claims, where the score is a share of them; empty otherwise."""
    passing: int
    of: int


def candidates_of(
    values: Mapping[float, int],
    denominators: Iterable[int],
    *,
    better: Better,
    keep: Iterable[float | None] = (),
    most: int = MOST_CANDIDATES,
) -> list[Candidate]:
    """Return the distinguishable thresholds, most lenient first.

    Parameters
    ----------
    values : mapping
        How many rows have each value.
    denominators : iterable of int
        The numbers of claims that occur; empty where the score is no share of claims.
    better : {"higher", "lower"}
    keep : iterable of float
        Thresholds that stand as they are written (the policy's, a parameter's): the stretch they lie in is named by
        them, and they are never thinned out.
    most : int

    Examples
    --------
    2 of 3 claims is 0.6666666666666666; nobody writes that into a policy:

    >>> [c.threshold for c in candidates_of({1.0: 5, 2 / 3: 1, 0.0: 1}, [3], better="higher", keep=[0.75])]
    [0.0, 0.66, 0.75]
    """
    steps = [step for step in resolution_of("", values, better=better).steps if _is_real(step, better)]
    kept: dict[Step, set[float]] = {}
    for number in keep:
        step = None if number is None else resolution_of("", values, threshold=number, better=better).current()
        if step is not None and number is not None:
            kept.setdefault(step, set()).add(number)
    chosen = _thinned(steps, kept, most)
    sizes = sorted(set(denominators))
    found = []
    for step in chosen:
        names = sorted(kept.get(step, ())) or [said(step, better)]
        found += [
            Candidate(number, in_claims(number, sizes, better) if sizes else "", step.passing, step.of)
            for number in names
        ]
    return sorted(found, key=lambda candidate: candidate.threshold, reverse=better == "lower")


def nearest_candidate(candidates: Sequence[Candidate], threshold: float) -> int:
    """Return the position of the candidate that is, or lies nearest to, a threshold."""
    return min(range(len(candidates)), key=lambda place: abs(candidates[place].threshold - threshold))


def said(step: Step, better: Better) -> float:
    """Return the roundest number of a stretch: few decimals, as near as possible to the value that just passes."""
    bound, beyond = (step.upto, step.above) if better == "higher" else (step.above, step.upto)
    assert bound is not None  # noqa: S101 - the caller leaves out the stretch in which nothing passes
    exact, rounding = Decimal(repr(bound)), ROUND_FLOOR if better == "higher" else ROUND_CEILING
    for decimals in range(1, 8):
        number = float(exact.quantize(Decimal(1).scaleb(-decimals), rounding=rounding))
        is_inside = beyond is None or (number > beyond if better == "higher" else number < beyond)
        # A number with one decimal that is far from its bound would say something else of rows to come.
        if is_inside and (decimals >= 2 or number == bound):
            return number
    return bound


def _is_real(step: Step, better: Better) -> bool:
    """Leave out the stretch that lets no row pass: no observed value bounds it."""
    return (step.upto if better == "higher" else step.above) is not None


def _thinned(steps: Sequence[Step], kept: Container[Step], most: int) -> list[Step]:
    if len(steps) <= most:
        return list(steps)
    spread = {round(place * (len(steps) - 1) / (most - 1)) for place in range(most)}
    return [step for place, step in enumerate(steps) if place in spread or step in kept]
