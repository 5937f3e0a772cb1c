"""The corrected pass rate: by hand, by simulation, and refused where the metric knows nothing."""

from __future__ import annotations

import numpy as np
import pytest

from evalkit.contract import EvalkitError
from evalkit.decisions.calibrating.prevalence import Judged, corrected_pass_rate


def test_the_correction_by_hand() -> None:
    # s = 0.9, t = 0.8, p = 0.6: (0.6 + 0.8 - 1) / (0.9 + 0.8 - 1) = 0.4 / 0.7
    found = corrected_pass_rate(600, 1000, Judged(90, 100, 80, 100))
    assert found.rate == pytest.approx(0.4 / 0.7)
    assert found.interval.low < found.rate < found.interval.high


def test_a_perfect_metric_is_not_corrected() -> None:
    assert corrected_pass_rate(300, 1000, Judged(50, 50, 50, 50)).rate == pytest.approx(0.3)


def test_the_rate_stays_between_none_and_all_and_inside_its_interval() -> None:
    for passes in (0, 5, 995, 1000):
        found = corrected_pass_rate(passes, 1000, Judged(45, 50, 45, 50))
        assert 0 <= found.interval.low <= found.rate <= found.interval.high <= 1


def test_labels_widen_the_interval_even_when_the_population_is_huge() -> None:
    few = corrected_pass_rate(600_000, 1_000_000, Judged(18, 20, 16, 20)).interval
    many = corrected_pass_rate(600_000, 1_000_000, Judged(1800, 2000, 1600, 2000)).interval
    assert few.high - few.low > 0.3 > 0.05 > many.high - many.low


@pytest.mark.parametrize(
    ("labels", "number"),
    [(Judged(50, 100, 50, 100), "0.000"), (Judged(30, 100, 60, 100), "-0.100"), (Judged(6, 10, 5, 10), "0.100")],
)
def test_a_metric_no_better_than_chance_is_refused_with_the_number(labels: Judged, number: str) -> None:
    with pytest.raises(EvalkitError, match=f"no better than chance .* = {number}, Fisher p"):
        corrected_pass_rate(60, 100, labels)


def test_nothing_to_estimate_from_is_refused() -> None:
    with pytest.raises(EvalkitError, match="0 passes of 0"):
        corrected_pass_rate(0, 0, Judged(9, 10, 9, 10))
    with pytest.raises(EvalkitError, match="10 good and 0 bad"):
        corrected_pass_rate(5, 10, Judged(9, 10, 0, 0))


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.7, 0.97])
@pytest.mark.parametrize(("s", "t", "n", "good", "bad"), [(0.95, 0.9, 400, 60, 40), (0.85, 0.8, 2000, 100, 80)])
def test_seeded_simulation_the_interval_covers_as_often_as_it_says(
    rate: float, s: float, t: float, n: int, good: int, bad: int
) -> None:
    rng, rounds = np.random.default_rng(2026), 1_500
    p = rate * s + (1 - rate) * (1 - t)
    draws = zip(rng.binomial(n, p, rounds), rng.binomial(good, s, rounds), rng.binomial(bad, t, rounds), strict=True)
    covered = 0
    for passes, good_passing, bad_failing in draws:
        labels = Judged(int(good_passing), good, int(bad_failing), bad)
        low, high, _ = corrected_pass_rate(int(passes), n, labels).interval
        covered += low <= rate <= high
    # Three standard errors of the simulation: 3 * sqrt(0.95 * 0.05 / 1500) = 0.017
    assert covered / rounds >= 0.95 - 0.017


def test_seeded_simulation_the_naive_interval_that_takes_the_labels_as_exact_does_not_cover() -> None:
    # Why the interval above is as wide as it is: with s and t taken as known, 95 % covers far less.
    rng, rounds, rate, s, t, n, good, bad = np.random.default_rng(1), 2_000, 0.7, 0.85, 0.8, 2_000, 60, 40
    p = rate * s + (1 - rate) * (1 - t)
    x, a, b = rng.binomial(n, p, rounds), rng.binomial(good, s, rounds) / good, rng.binomial(bad, t, rounds) / bad
    middle, half = (x / n + b - 1) / (a + b - 1), 1.96 * np.sqrt(p * (1 - p) / n) / (a + b - 1)
    assert np.mean(np.abs(middle - rate) <= half) < 0.6
