"""The finite-sample certificate of a threshold, and how many labels are missing where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from evalkit.decisions.calibrating.sweep import Sweep

__all__ = ["Certificate", "Family", "certify", "family_of", "labels_needed", "upper_bound"]


class Family(NamedTuple):
    """Which slices are tested together, and at which level each, so that all certificates hold at once."""

    method: str
    levels: Mapping[str, float]
    """Error level of each slice that is tested."""
    next_level: float
    """The level of one more slice, should it get enough labels."""
    delta: float
    """The chance, over all slices together, that any certificate is wrong."""

    def level(self, name: str) -> float:
        """Return the level at which a slice is tested, or would be."""
        return self.levels.get(name, self.next_level)


class Certificate(NamedTuple):
    """What the labels of one slice prove about its thresholds."""

    certified: float | None
    """The lowest certified threshold (the highest, where lower is better); ``None``: cannot certify."""
    n_certified: int
    """How many thresholds, from the strictest on, are certified."""
    n_fail: int
    risk: float
    """The largest false-pass rate that is acceptable."""
    level: float
    p_values: tuple[float, ...]
    """One for each threshold of the sweep, strictest first."""
    labels_needed: int
    """Labelled fails still missing at the strictest threshold, if none of them passes it; 0 where certified."""
    strictest: float | None
    strictest_errors: int
    bound: float | None
    """The strongest true statement at this level: at most this share of bad answers passes the strictest threshold.
    ``None`` without a labelled fail: nothing is known."""


def labels_needed(errors: int, n: int, risk: float, level: float) -> int:
    """Return how many more labelled fails certify `risk`, assuming that none of them passes.

    Examples
    --------
    59 without an error show 5 % at 95 %: ``0.95**59 = 0.0485``, ``0.95**58 = 0.0510``.

    >>> labels_needed(0, 0, 0.05, 0.05), labels_needed(0, 40, 0.05, 0.05), labels_needed(1, 59, 0.05, 0.05)
    (59, 19, 34)
    """
    from scipy.special import bdtr
    from scipy.stats import binom

    low, high = n, max(n, 1)
    while bdtr(errors, high, risk) > level:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bdtr(errors, middle, risk) <= level else (middle, high)
    # The plain function is fifty times faster; the one that certifies has the last word.
    while high > n and binom.cdf(errors, high - 1, risk) <= level:
        high -= 1
    while binom.cdf(errors, high, risk) > level:
        high += 1
    return high - n


def upper_bound(errors: int, n: int, level: float) -> float | None:
    """Return the exact one-sided upper bound of an error rate; ``None`` over nothing.

    >>> round(upper_bound(0, 59, 0.05), 4)  # 1 - 0.05**(1/59)
    0.0495
    """
    from scipy.stats import beta

    if n == 0:
        return None
    return 1.0 if errors == n else float(beta.ppf(1.0 - level, errors + 1, n - errors))


def family_of(fails: Mapping[str, int], risk: float, delta: float) -> Family:
    """Share the error level `delta` among the slices that can be certified at all.

    A slice with so few labelled fails that not even a perfect score could certify it is not tested, and takes no share.
    That choice looks at the number of labels only, never at a score, so it costs nothing. The others get ``delta / m``
    each (Bonferroni): with probability ``1 - delta`` or more, every certificate of the family holds.

    Examples
    --------
    With 20 % and 90 %, one slice alone needs 11 fails (``0.8**11 = 0.086``), two need 14 each (``0.8**14 = 0.044``):

    >>> family_of({"a": 30, "b": 20, "c": 5}, 0.2, 0.1).levels
    {'a': 0.05, 'b': 0.05}
    """
    ranked = sorted(fails, key=lambda name: (-fails[name], name))
    for m in range(len(ranked), 0, -1):
        if all((1.0 - risk) ** fails[name] <= delta / m for name in ranked[:m]):
            break
    else:
        m = 0
    tested = ranked[:m]
    share = delta / m if m else delta
    method = f"Bonferroni over {m} slices" if m > 1 else "one slice" if m else "no slice has enough labels"
    return Family(method, {name: share for name in fails if name in tested}, delta / (m + 1), delta)


def certify(found: Sweep, risk: float, level: float, *, is_tested: bool = True) -> Certificate:
    """Certify the lowest threshold whose false-pass rate is at most `risk`, at one-sided error `level`.

    Learn-then-Test in fixed sequence: from the strictest threshold on, "more than `risk` of bad answers pass" is tested
    by the exact binomial p-value ``P(X <= errors), X ~ Binomial(n_fail, risk)`` until a test does not reject. No
    correction for the number of thresholds is needed, and none for the fact that they were read off the data: the
    false-pass rate and the counted errors both only grow as the threshold is lowered, so a wrong certificate needs the
    one test at the true limit to fail.

    When it misleads: the labelled rows must be a random draw, independent of each other, scored by this very metric.

    Parameters
    ----------
    found : Sweep
    risk, level : float
        For 5 % at 95 %: 0.05 and 0.05.
    is_tested : bool
        False where `family_of` left the slice out: nothing is certified, the bound is stated all the same.

    Source: Angelopoulos, Bates, Candès, Jordan and Lei, Learn then Test, Annals of Applied Statistics 19 (2025).
    """
    from scipy.stats import binom

    n = found.n_fail
    p_values = binom.cdf(found.false_passes, n, risk) if n else np.ones(len(found.thresholds))
    # Without a labelled fail nothing is known: a p-value of 1, which is what the binomial over nothing is.
    rejected = p_values <= level
    count = int(len(rejected) if rejected.all() else np.argmin(rejected)) if is_tested else 0
    errors = int(found.false_passes[0]) if len(found.false_passes) else 0
    return Certificate(
        certified=float(found.thresholds[count - 1]) if count else None,
        n_certified=count,
        n_fail=n,
        risk=risk,
        level=level,
        p_values=tuple(float(p) for p in p_values),
        labels_needed=0 if count else labels_needed(errors, n, risk, level),
        strictest=float(found.thresholds[0]) if len(found.thresholds) else None,
        strictest_errors=errors,
        bound=upper_bound(errors, n, level),
    )
