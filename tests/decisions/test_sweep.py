"""The sweep and its intervals: known counts, scikit-learn's curve, scipy's intervals, seeded coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score, roc_curve

from evalkit.decisions.binomial import exact_interval
from evalkit.decisions.calibrating.sweep import auroc, clopper_pearson, sweep


def test_known_counts() -> None:
    # values: bad 0.2, 0.5; good 0.5, 1.0. At 1.0 one good row passes; at 0.5 a bad one too; at 0.2 all do.
    found = sweep([0.2, 0.5, 0.5, 1.0], [True, True, False, False])
    assert found.thresholds.tolist() == [1.0, 0.5, 0.2]
    assert found.false_passes.tolist() == [0, 1, 2]
    assert found.false_fails.tolist() == [1, 0, 0]
    assert found.passes.tolist() == [1, 3, 4]
    assert (found.n_fail, found.n_pass) == (2, 2)


def test_lower_is_better_turns_the_comparison_round() -> None:
    # A maximum: 0.1 is the strictest; at 0.3 the bad row 0.3 passes as well.
    found = sweep([0.1, 0.3, 0.9], [False, True, True], better="lower")
    assert found.thresholds.tolist() == [0.1, 0.3, 0.9]
    assert found.false_passes.tolist() == [0, 1, 2]
    assert found.false_fails.tolist() == [0, 0, 0]


def test_counts_are_those_of_scikit_learns_roc_curve() -> None:
    rng = np.random.default_rng(1)
    values, bad = rng.integers(0, 50, 2_000) / 49, rng.random(2_000) < 0.3
    found = sweep(values, bad)
    false_rate, true_rate, cuts = roc_curve(~bad, values, drop_intermediate=False)
    assert found.thresholds.tolist() == cuts[1:].tolist()
    assert found.false_passes / found.n_fail == pytest.approx(false_rate[1:])
    assert found.true_passes / found.n_pass == pytest.approx(true_rate[1:])
    assert auroc(found) == pytest.approx(roc_auc_score(~bad, values))


@pytest.mark.parametrize("is_fail", [[True, True], [False, False]])
def test_one_class_gives_counts_and_no_area(is_fail: list[bool]) -> None:
    found = sweep([0.1, 0.2], is_fail)
    assert len(found.thresholds) == 2
    assert auroc(found) is None


def test_nothing_and_one_row_and_equal_values() -> None:
    assert sweep([], []).thresholds.tolist() == []
    assert sweep([0.4], [True]).false_passes.tolist() == [1]
    assert sweep([0.4, 0.4, 0.4], [True, False, True]).thresholds.tolist() == [0.4]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_value_that_is_no_number_is_refused_rather_than_counted(bad: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        sweep([0.1, bad], [True, False])


def test_lists_of_two_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="two lists of one length"):
        sweep([0.1], [True, False])


@pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 20), (18, 20), (10, 10), (1, 1), (24, 50), (180, 200)])
def test_exact_intervals_agree_with_scipy_and_with_the_gates_own(k: int, n: int) -> None:
    bounds = clopper_pearson([k], [n], 0.95)
    wanted = binomtest(k, n).proportion_ci(0.95, method="exact")
    gate = exact_interval(k, n, 0.95)
    assert float(bounds.low[0]) == pytest.approx(wanted.low, abs=1e-9) == pytest.approx(gate.low, abs=1e-9)
    assert float(bounds.high[0]) == pytest.approx(wanted.high, abs=1e-9) == pytest.approx(gate.high, abs=1e-9)


def test_an_interval_known_by_hand() -> None:
    # 0 of n: the upper end solves (1 - p)**n = 0.025; n = 10: 1 - 0.025**0.1 = 0.30850
    assert float(clopper_pearson([0], [10], 0.95).high[0]) == pytest.approx(1 - 0.025**0.1)


def test_over_nothing_there_is_no_interval() -> None:
    bounds = clopper_pearson([0], [0], 0.95)
    assert math.isnan(bounds.low[0])
    assert math.isnan(bounds.high[0])


@pytest.mark.parametrize(("n", "rate"), [(8, 0.1), (20, 0.5), (59, 0.05), (200, 0.02)])
def test_seeded_simulation_exact_intervals_cover_at_least_as_often_as_they_say(n: int, rate: float) -> None:
    rounds = 20_000
    k = np.random.default_rng(2026).binomial(n, rate, rounds)
    bounds = clopper_pearson(k, n, 0.95)
    covered = np.mean((bounds.low <= rate) & (rate <= bounds.high))
    # Three standard errors of the simulation itself: sqrt(0.95 * 0.05 / 20000) = 0.0015.
    assert covered >= 0.95 - 3 * 0.0015
