"""The certificate: known answers by hand, and how often it is wrong when the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from evalkit.decisions.calibrating.certificate import certify, family_of, labels_needed, upper_bound
from evalkit.decisions.calibrating.sweep import sweep


def fails(n: int, passing: int = 0, goods: int = 10) -> tuple[list[float], list[bool]]:
    """`n` bad rows of which `passing` reach 1.0 and the rest 0.0, and good rows at 1.0."""
    return [1.0] * passing + [0.0] * (n - passing) + [1.0] * goods, [True] * n + [False] * goods


def test_59_labelled_fails_without_an_error_certify_five_per_cent_at_95_and_58_do_not() -> None:
    # 0.95**59 = 0.0485 <= 0.05 < 0.0510 = 0.95**58
    assert certify(sweep(*fails(59)), 0.05, 0.05).certified == 1.0
    short = certify(sweep(*fails(58)), 0.05, 0.05)
    assert (short.certified, short.labels_needed) == (None, 1)


def test_labels_needed_is_exact_and_assumes_no_further_error() -> None:
    assert labels_needed(0, 0, 0.05, 0.05) == 59
    assert labels_needed(0, 40, 0.05, 0.05) == 19
    # One error among 59: 0.95**93 + 93 * 0.05 * 0.95**92 = 0.0500 at 93, 0.0521 at 92: 34 more.
    assert labels_needed(1, 59, 0.05, 0.05) == 34
    for errors in range(6):
        k = labels_needed(errors, 10, 0.1, 0.1)
        assert binom.cdf(errors, 10 + k, 0.1) <= 0.1 < binom.cdf(errors, 10 + k - 1, 0.1)
    assert labels_needed(0, 500, 0.05, 0.05) == 0


def test_the_bound_is_the_strongest_true_statement() -> None:
    # 0 of 20 at 95 %: 1 - 0.05**(1/20) = 0.1391
    assert upper_bound(0, 20, 0.05) == pytest.approx(1 - 0.05 ** (1 / 20))
    assert upper_bound(20, 20, 0.05) == 1.0
    assert upper_bound(0, 0, 0.05) is None
    bound = upper_bound(3, 40, 0.05)
    assert binom.cdf(3, 40, bound) == pytest.approx(0.05)


def test_fixed_sequence_stops_at_the_first_threshold_that_is_not_certified() -> None:
    # 60 bad rows: none at 0.9 or above, two at 0.8, and 58 at 0.1. P(X <= 0) = 0.046, P(X <= 2) = 0.417.
    values = [0.8] * 2 + [0.1] * 58 + [1.0] * 5 + [0.9] * 5
    found = certify(sweep(values, [True] * 60 + [False] * 10), 0.05, 0.05)
    assert (found.certified, found.n_certified) == (0.9, 2)


def test_lower_is_better_certifies_a_maximum() -> None:
    values, bad = fails(59)
    found = certify(sweep([1 - value for value in values], bad, better="lower"), 0.05, 0.05)
    assert found.certified == 0.0


def test_without_a_labelled_fail_nothing_is_known_and_nothing_certified() -> None:
    found = certify(sweep([0.5, 1.0], [False, False]), 0.05, 0.05)
    assert (found.certified, found.bound, found.labels_needed) == (None, None, 59)
    nothing = certify(sweep([], []), 0.05, 0.05)
    assert (nothing.certified, nothing.strictest, nothing.labels_needed) == (None, None, 59)


def test_a_slice_outside_of_the_family_is_not_certified_but_its_bound_is_stated() -> None:
    found = certify(sweep(*fails(100)), 0.05, 0.05, is_tested=False)
    assert found.certified is None
    assert found.bound == pytest.approx(1 - 0.05 ** (1 / 100))


def test_slices_share_the_error_and_one_that_cannot_be_certified_takes_no_share() -> None:
    # At 20 % and 90 %, two slices get 0.05 each and need 14 fails (0.8**14 = 0.044); the third has 5.
    family = family_of({"a": 30, "b": 14, "small": 5}, 0.2, 0.1)
    assert family.levels == {"a": 0.05, "b": 0.05}
    assert family.level("small") == pytest.approx(0.1 / 3)
    assert "Bonferroni over 2" in family.method
    # 13 are too few for a half, and then "a" stands alone with the whole.
    assert family_of({"a": 30, "b": 13}, 0.2, 0.1).levels == {"a": 0.1}
    assert family_of({}, 0.2, 0.1).levels == {}


def truth(threshold: float) -> float:
    """False-pass rate of scores that are standard normal for bad rows."""
    return float(norm.sf(threshold))


@pytest.mark.parametrize(("n", "risk", "level"), [(59, 0.05, 0.05), (120, 0.1, 0.05), (40, 0.2, 0.1)])
def test_seeded_simulation_a_certified_threshold_is_wrong_at_most_as_often_as_it_says(
    n: int, risk: float, level: float
) -> None:
    rng, rounds = np.random.default_rng(7), 4_000
    wrong = made = 0
    for _ in range(rounds):
        values = np.concatenate([rng.normal(0, 1, n), rng.normal(1.5, 1, 60)])
        found = certify(sweep(values, [True] * n + [False] * 60), risk, level)
        if found.certified is not None:
            made += 1
            wrong += truth(found.certified) > risk
    # Three standard errors of the simulation; the certificate must also say something, or it would pass by silence.
    assert wrong / rounds <= level + 3 * (level * (1 - level) / rounds) ** 0.5
    assert made > rounds / 2


def test_seeded_simulation_several_slices_are_wrong_together_at_most_as_often_as_they_say() -> None:
    rng, rounds, risk, delta = np.random.default_rng(8), 3_000, 0.2, 0.1
    sizes = {"a": 40, "b": 60, "c": 25, "too small": 6}
    wrong = 0
    for _ in range(rounds):
        family = family_of(sizes, risk, delta)
        is_wrong = False
        for name, n in sizes.items():
            values = np.concatenate([rng.normal(0, 1, n), rng.normal(1, 1, 30)])
            sweep_ = sweep(values, [True] * n + [False] * 30)
            found = certify(sweep_, risk, family.level(name), is_tested=name in family.levels)
            is_wrong |= found.certified is not None and truth(found.certified) > risk
        wrong += is_wrong
    assert wrong / rounds <= delta + 3 * (delta * (1 - delta) / rounds) ** 0.5


def test_seeded_simulation_the_bound_covers_at_least_as_often_as_it_says() -> None:
    rng, rounds, rate = np.random.default_rng(9), 20_000, 0.07
    counts = np.bincount(rng.binomial(50, rate, rounds), minlength=51)
    covered = sum(n for k, n in enumerate(counts) if n and rate <= upper_bound(k, 50, 0.05))  # type: ignore[operator]
    assert covered / rounds >= 0.95 - 3 * 0.0015


def test_the_best_cut_off_on_the_same_rows_flatters_and_the_certificate_does_not() -> None:
    # J04: 20 random scores with 20 coin-flip labels; the best in-sample cut-off shows about 0.66 accuracy.
    rng, rounds = np.random.default_rng(10), 500
    best = []
    certified = 0
    for _ in range(rounds):
        values, bad = rng.random(20), rng.random(20) < 0.5
        found = sweep(values, bad)
        right = found.true_passes + found.n_fail - found.false_passes
        best.append(right.max() / 20 if len(right) else 0.0)
        certified += certify(found, 0.2, 0.1).certified is not None
    assert np.mean(best) == pytest.approx(0.66, abs=0.03)
    # With scores that mean nothing, 20 % of bad rows pass only where about 20 % of all do: rarely provable.
    assert certified / rounds < 0.5
