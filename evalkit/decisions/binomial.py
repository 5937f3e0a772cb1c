"""Exact binomial tails and intervals without scipy: all that a gate needs, and it must start in a tenth of a second."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Interval", "exact_interval", "mcnemar_p", "tail_at_least", "tail_at_most"]


class Interval(NamedTuple):
    """An exact (Clopper-Pearson) two-sided interval for a rate."""

    low: float
    high: float
    confidence: float


def tail_at_most(k: int, n: int, p: float) -> float:
    """P(X <= k) for X ~ Binomial(n, p).

    Summed outwards from the largest term until the terms no longer count; relative error below 1e-9 up to n = 100,000,
    and about 1e-12 for a hundred rows.

    >>> round(tail_at_most(1, 4, 0.5), 4)  # (1 + 4) / 16
    0.3125
    """
    if k < 0:
        return 0.0
    if k >= n or p <= 0.0:
        return 1.0
    if p >= 1.0:
        return 0.0
    return _at_most(k, n, math.log(p), math.log1p(-p))


def tail_at_least(k: int, n: int, p: float) -> float:
    """P(X >= k) for X ~ Binomial(n, p): at most n - k failures, whose rate is never rounded to 1 - p.

    >>> tail_at_least(4, 4, 0.5)  # 1 / 16
    0.0625
    """
    if k <= 0:
        return 1.0
    if k > n or p <= 0.0:
        return 0.0
    if p >= 1.0:
        return 1.0
    return _at_most(n - k, n, math.log1p(-p), math.log(p))


def _at_most(k: int, n: int, log_p: float, log_q: float) -> float:
    if k >= n:
        return 1.0
    if k > n * math.exp(log_p):
        return 1.0 - _tail_down(n - k - 1, n, log_q, log_p)
    return _tail_down(k, n, log_p, log_q)


def _tail_down(k: int, n: int, log_p: float, log_q: float) -> float:
    """Sum P(X = k), P(X = k - 1), ... for k at or below the mean, where the terms only shrink."""
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    term = math.exp(ways + k * log_p + (n - k) * log_q)
    odds = math.exp(min(log_q - log_p, 700.0))  # beyond that only k = 0 is at or below the mean: one term
    total = 0.0
    for i in range(k, -1, -1):
        total += term
        if term <= total * 1e-17:  # a first term of zero has underflowed, and those after it are smaller
            break
        term *= i / (n - i + 1) * odds
    return min(1.0, total)


def exact_interval(k: int, n: int, confidence: float) -> Interval:
    """Return the Clopper-Pearson interval of `k` successes in `n` trials.

    Parameters
    ----------
    k, n : int
        ``0 <= k <= n`` and ``n > 0``: over nothing there is no rate and no interval.
    confidence : float
        Two-sided, in (0, 1).

    Examples
    --------
    >>> [round(end, 3) for end in exact_interval(18, 20, 0.95)[:2]]
    [0.683, 0.988]
    """
    if not 0 <= k <= n or n == 0:
        msg = f"an interval needs 0 <= k <= n and n > 0; got k={k}, n={n}"
        raise ValueError(msg)
    alpha = (1.0 - confidence) / 2.0
    low = 0.0 if k == 0 else _solve(lambda p: tail_at_least(k, n, p) < alpha)
    high = 1.0 if k == n else _solve(lambda p: tail_at_most(k, n, p) >= alpha)
    return Interval(low, high, confidence)


def _solve(is_below: Callable[[float], bool]) -> float:
    """Bisect for the point where `is_below` turns from true to false on [0, 1]."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if is_below(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def mcnemar_p(only_old: int, only_new: int) -> float | None:
    """Exact two-sided McNemar p-value for rows that only one of two runs fails; ``None`` where no row differs.

    >>> mcnemar_p(0, 5)  # 2 * (1/2)**5
    0.0625
    """
    n = only_old + only_new
    if n == 0:
        return None
    return min(1.0, 2.0 * tail_at_most(min(only_old, only_new), n, 0.5))
