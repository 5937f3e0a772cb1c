from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evalkit.decisions.binomial import exact_interval, mcnemar_p, tail_at_least, tail_at_most

SIZES = [1, 2, 3, 5, 20, 101, 1_000, 99_999, 100_000]
RATES = [1e-9, 1e-4, 0.05, 0.3, 0.5, 0.85, 0.999, 1 - 1e-9]


def counts(n: int) -> list[int]:
    """Both ends, the middle, and some on either side."""
    return sorted({k for k in (0, 1, 2, n // 100, n // 3, n // 2, n - n // 20, n - 2, n - 1, n) if 0 <= k <= n})


@pytest.mark.parametrize("n", SIZES)
def test_tails_are_those_of_scipy(n: int):
    for k, p in itertools.product(counts(n), RATES):
        at_most, at_least = stats.binom.cdf(k, n, p), stats.binom.sf(k - 1, n, p)
        # An absolute error of 1e-300 lets both call the underflow of a hopeless tail zero.
        assert tail_at_most(k, n, p) == pytest.approx(at_most, rel=2e-9, abs=1e-300), (k, n, p)
        assert tail_at_least(k, n, p) == pytest.approx(at_least, rel=2e-9, abs=1e-300), (k, n, p)


def test_tails_are_those_of_exact_fractions():
    for n, k, p in itertools.product((1, 4, 11), range(-1, 13), (Fraction(1, 8), Fraction(1, 2), Fraction(3, 4))):
        exact = sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(min(k, n) + 1))
        assert tail_at_most(k, n, float(p)) == pytest.approx(float(exact), rel=1e-13)
        assert tail_at_least(k, n, float(p)) == pytest.approx(float(1 - exact) + float(
            math.comb(n, k) * p**k * (1 - p) ** (n - k) if 0 <= k <= n else 0), rel=1e-12)  # fmt: skip


def test_tails_at_the_ends():
    assert (tail_at_most(-1, 5, 0.5), tail_at_most(5, 5, 0.5), tail_at_most(6, 5, 0.5)) == (0.0, 1.0, 1.0)
    assert (tail_at_least(0, 5, 0.5), tail_at_least(6, 5, 0.5)) == (1.0, 0.0)
    assert (tail_at_most(3, 5, 0.0), tail_at_most(3, 5, 1.0)) == (1.0, 0.0)
    assert (tail_at_least(1, 5, 0.0), tail_at_least(5, 5, 1.0)) == (0.0, 1.0)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.9999])
@pytest.mark.parametrize("n", SIZES)
def test_intervals_are_those_of_scipy(n: int, confidence: float):
    alpha = (1 - confidence) / 2
    for k in counts(n):
        low, high, told = exact_interval(k, n, confidence)
        # Clopper-Pearson by quantiles of the beta distribution, an altogether different way.
        expected_low = 0.0 if k == 0 else stats.beta.ppf(alpha, k, n - k + 1)
        expected_high = 1.0 if k == n else stats.beta.ppf(1 - alpha, k + 1, n - k)
        assert low == pytest.approx(expected_low, rel=1e-7, abs=1e-12), k
        assert high == pytest.approx(expected_high, rel=1e-7, abs=1e-12), k
        assert told == confidence
        assert 0.0 <= low <= k / n <= high <= 1.0


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        # Nothing in n: the upper end is 1 - (alpha / 2)**(1 / n); all of n mirrors it.
        (10, 10, 0.025 ** (1 / 10), 1.0),
        (0, 10, 0.0, 1 - 0.025 ** (1 / 10)),
        (1, 1, 0.025, 1.0),
        (0, 1, 0.0, 0.975),
    ],
)
def test_j05_intervals_that_can_be_reckoned_by_hand(k: int, n: int, low: float, high: float):
    assert exact_interval(k, n, 0.95)[:2] == pytest.approx((low, high), rel=1e-12)


def test_j05_eighteen_of_twenty_may_be_anything_from_two_thirds_to_nearly_all():
    low, high, _ = exact_interval(18, 20, 0.95)
    assert (round(low, 3), round(high, 3)) == (0.683, 0.988)


@settings(max_examples=60)
@given(st.integers(1, 400), st.data())
def test_an_interval_widens_with_confidence_and_moves_with_the_count(n: int, data: st.DataObject):
    k = data.draw(st.integers(0, n))
    narrow, wide = exact_interval(k, n, 0.8), exact_interval(k, n, 0.99)
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    if k < n:
        more = exact_interval(k + 1, n, 0.8)
        assert more.low > narrow.low
        assert more.high > narrow.high or narrow.high == 1.0
    mirrored = exact_interval(n - k, n, 0.8)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((narrow.low, narrow.high), abs=1e-12)


def test_an_exact_interval_covers_the_truth_at_least_as_often_as_it_says():
    # No simulation is needed: for each true rate the probabilities of all counts are known. n = 30, 90 %.
    n = 30
    intervals = [exact_interval(k, n, 0.9) for k in range(n + 1)]
    for percent in range(1, 100):
        p = percent / 100
        covered = sum(stats.binom.pmf(k, n, p) for k in range(n + 1) if intervals[k].low <= p <= intervals[k].high)
        assert covered >= 0.9 - 1e-12, p


@pytest.mark.parametrize(("k", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_over_nothing_there_is_no_interval(k: int, n: int):
    with pytest.raises(ValueError, match=f"an interval needs 0 <= k <= n and n > 0; got k={k}, n={n}"):
        exact_interval(k, n, 0.95)


def test_an_interval_over_a_hundred_thousand_rows_takes_no_time_to_speak_of():
    began = time.perf_counter()
    for k in (1, 50_000, 85_000, 99_999):
        exact_interval(k, 100_000, 0.95)
    assert time.perf_counter() - began < 1.0


def test_mcnemar_is_the_exact_binomial_test_of_scipy():
    for only_old, only_new in itertools.product((0, 1, 2, 5, 13, 200), repeat=2):
        if n := only_old + only_new:
            expected = stats.binomtest(only_old, n, 0.5).pvalue
            assert mcnemar_p(only_old, only_new) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_by_hand():
    assert mcnemar_p(0, 0) is None
    assert mcnemar_p(0, 1) == 1.0  # 2 * 1/2
    assert mcnemar_p(0, 6) == pytest.approx(2 / 64)
    assert mcnemar_p(1, 5) == pytest.approx(2 * (1 + 6) / 64)
    assert mcnemar_p(3, 3) == 1.0
    assert mcnemar_p(5, 1) == mcnemar_p(1, 5)
    assert mcnemar_p(50_000, 50_000) == 1.0
