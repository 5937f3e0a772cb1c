"""Every threshold that this data can tell apart, with the errors at each: sorted counts, no loop over rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.contract.words import Better

__all__ = ["Bounds", "Sweep", "auroc", "clopper_pearson", "sweep"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


class Sweep(NamedTuple):
    """Errors at each distinguishable threshold; arrays of one length, strictest threshold first.

    A row passes where its value is at least the threshold (at most, where lower is better). Thresholds between two
    observed values decide like the stricter of the two, so the observed values are all there is.
    """

    thresholds: Floats
    """The distinct observed values."""
    false_passes: Counts
    """Rows labelled fail that pass."""
    true_passes: Counts
    """Rows labelled pass that pass."""
    n_fail: int
    """Rows labelled fail: the denominator of the false-pass rate."""
    n_pass: int
    """Rows labelled pass: the denominator of the false-fail rate."""
    better: Better

    @property
    def false_fails(self) -> Counts:
        """Rows labelled pass that do not pass."""
        return self.n_pass - self.true_passes

    @property
    def passes(self) -> Counts:
        """All rows that pass."""
        return self.true_passes + self.false_passes


class Bounds(NamedTuple):
    """Two-sided interval ends, one pair for each count."""

    low: Floats
    high: Floats


def sweep(values: ArrayLike, is_fail: ArrayLike, *, better: Better = "higher") -> Sweep:
    """Count the errors at every distinguishable threshold.

    Parameters
    ----------
    values : array of float, shape (n,)
        Finite scores.
    is_fail : array of bool, shape (n,)
        The labels: whether people call the row bad.
    better : {"higher", "lower"}
        Whether a high value is a good one.

    Examples
    --------
    >>> found = sweep([0.2, 0.5, 0.5, 1.0], [True, True, False, False])
    >>> found.thresholds.tolist(), found.false_passes.tolist(), found.false_fails.tolist()
    ([1.0, 0.5, 0.2], [0, 1, 2], [1, 0, 0])

    Notes
    -----
    The two classes are sorted apart and counted by bisection: sorting plain numbers is several times faster than
    sorting an index, which a receiver-operating curve needs.
    """
    oriented = np.asarray(values, dtype=np.float64)
    bad = np.asarray(is_fail, dtype=bool)
    if oriented.shape != bad.shape or oriented.ndim != 1:
        msg = f"values and labels must be two lists of one length; got shapes {oriented.shape} and {bad.shape}"
        raise ValueError(msg)
    if not np.isfinite(oriented).all():
        msg = "every value must be finite: leave out rows without a score and say how many"
        raise ValueError(msg)
    if better == "lower":
        oriented = -oriented
    fails, goods = np.sort(oriented[bad]), np.sort(oriented[~bad])
    cuts = _distinct(fails, goods)[::-1]
    thresholds = -cuts if better == "lower" else cuts
    return Sweep(
        thresholds=thresholds + 0.0,  # -0.0 is 0.0 to a reader
        false_passes=len(fails) - np.searchsorted(fails, cuts, side="left"),
        true_passes=len(goods) - np.searchsorted(goods, cuts, side="left"),
        n_fail=len(fails),
        n_pass=len(goods),
        better=better,
    )


def _distinct(a: Floats, b: Floats) -> Floats:
    both = np.concatenate([a, b])
    both.sort(kind="stable")  # two sorted runs: merged in one pass
    if not len(both):
        return both
    is_new = np.ones(len(both), dtype=bool)
    np.not_equal(both[1:], both[:-1], out=is_new[1:])
    distinct: Floats = both[is_new]
    return distinct


def auroc(found: Sweep) -> float | None:
    """Return how often a good row scores better than a bad one, ties counting half; ``None`` without rows of both.

    0.5 is a score that knows nothing. When it misleads: it averages over thresholds nobody would use.

    >>> auroc(sweep([0.2, 0.5, 0.5, 1.0], [True, True, False, False]))  # 3 of 4 pairs, and a tie
    0.875
    """
    if not found.n_fail or not found.n_pass:
        return None
    bad = np.concatenate([[0], found.false_passes])
    good = np.concatenate([[0], found.true_passes])
    area = np.sum(np.diff(bad) * (good[1:] + good[:-1])) / 2.0
    return float(area / (found.n_fail * found.n_pass))


def clopper_pearson(k: ArrayLike, n: ArrayLike, confidence: float) -> Bounds:
    """Return exact (Clopper-Pearson) two-sided intervals for k of n, for whole arrays.

    When it misleads: the rows must be independent draws; near-copies of one case make it too narrow.

    Parameters
    ----------
    k, n : array of int
        ``0 <= k <= n``; where n is 0 there is no rate and both ends are NaN (inside arrays only: nothing prints them).
    confidence : float
        Two-sided, in (0, 1).

    Examples
    --------
    >>> bounds = clopper_pearson([18], [20], 0.95)
    >>> round(float(bounds.low[0]), 3), round(float(bounds.high[0]), 3)
    (0.683, 0.988)

    Source: Clopper and Pearson, Biometrika 26 (1934), 404-413.
    """
    from scipy.stats import beta

    hits, trials = np.broadcast_arrays(np.asarray(k, dtype=np.int64), np.asarray(n, dtype=np.int64))
    tail = (1.0 - confidence) / 2.0
    quantile: Any = beta.ppf
    low = np.where(hits == 0, 0.0, quantile(tail, np.maximum(hits, 1), trials - hits + 1))
    high = np.where(hits == trials, 1.0, quantile(1.0 - tail, hits + 1, np.maximum(trials - hits, 1)))
    nothing = trials == 0
    return Bounds(np.where(nothing, np.nan, low), np.where(nothing, np.nan, high))
