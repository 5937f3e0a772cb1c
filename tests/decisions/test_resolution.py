from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contract.words import Better
from evalkit.decisions.resolution import allowed, needed, resolution_of
from evalkit.scoring.ledger import denominator_of

RATIOS = st.integers(1, 400).flatmap(lambda k: st.integers(0, k).map(lambda m: m / k))
SHARES = st.floats(0, 1) | st.integers(0, 1000).map(lambda n: n / 1000) | RATIOS
SHARES = (
    SHARES | RATIOS.map(lambda ratio: math.nextafter(ratio, 2)) | RATIOS.map(lambda ratio: math.nextafter(ratio, -1))
)


@pytest.mark.parametrize(
    ("threshold", "k", "words"),
    [
        (0.85, 3, "0.85 on 3 claims = all 3"),  # 2/3 = 0.667 is too low
        (0.6, 3, "0.6 on 3 claims = 2 of 3"),  # 1/3 = 0.333, 2/3 = 0.667
        (0.75, 4, "0.75 on 4 claims = 3 of 4"),  # 3/4 is exactly 0.75
        (0.75, 1, "0.75 on 1 claim = 1 of 1"),
        (0.0, 5, "0.0 on 5 claims = 0 of 5, so every row passes"),
        (1.0, 7, "1.0 on 7 claims = all 7"),
        (1.2, 2, "1.2 on 2 claims = out of reach"),
    ],
)
def test_s113_a_minimum_in_claims(threshold: float, k: int, words: str) -> None:
    (meaning,) = resolution_of("s", {1.0: 1}, {k: 1}, threshold=threshold).meanings
    assert meaning.words == words


def test_needed_does_not_suffer_from_float_products() -> None:
    # 0.28 * 25 is 7.000000000000001, whose ceiling is 8; but 7/25 is the very float 0.28, and the gate passes it.
    assert math.ceil(0.28 * 25) == 8
    assert needed(0.28, 25) == 7
    assert needed(0.07, 100) == 7  # 0.07 * 100 is 7.000000000000001 as well
    assert allowed(0.29, 100) == 29  # 0.29 * 100 is 28.999999999999996
    # A minimum that was copied from a value asks for that value, though its decimals lie above 5/6.
    assert needed(0.8333333333333334, 6) == 5
    assert needed(math.nextafter(1 / 3, 1), 3) == 2  # the product rounds down to 1.0


@given(SHARES, st.integers(1, 400))
def test_needed_and_allowed_agree_with_the_gates_own_comparison(threshold: float, k: int) -> None:
    assert needed(threshold, k) == min((m for m in range(k + 1) if m / k >= threshold), default=k + 1)
    assert allowed(threshold, k) == max((m for m in range(k + 1) if m / k <= threshold), default=-1)


@given(st.dictionaries(SHARES, st.integers(1, 5), max_size=8), SHARES, st.sampled_from(["higher", "lower"]))
def test_a_threshold_lies_in_one_step_and_the_step_counts_what_it_passes(
    values: dict[float, int], threshold: float, better: Better
) -> None:
    found = resolution_of("s", values, threshold=threshold, better=better)
    passing = sum(n for v, n in values.items() if (v >= threshold if better == "higher" else v <= threshold))
    current = found.current()
    if not values:
        assert current is None
        assert found.steps == ()
        return
    assert current is not None
    assert (current.passing, current.of) == (passing, sum(values.values()))
    assert len(found.steps) == len(values) + 1  # k values cut the line into k + 1 stretches
    counts = [step.passing for step in found.steps]
    assert len(set(counts)) == len(counts), "two neighbouring stretches that decide alike are one"


def test_steps_of_a_known_slice() -> None:
    # Values 0.5 (2 rows), 0.75 (1) and 1.0 (3): a minimum up to 0.5 passes 6, up to 0.75 passes 4, up to 1.0 passes 3.
    found = resolution_of("s", {1.0: 3, 0.5: 2, 0.75: 1}, threshold=0.6)
    assert [(s.above, s.upto, s.passing, s.of) for s in found.steps] == [
        (None, 0.5, 6, 6), (0.5, 0.75, 4, 6), (0.75, 1.0, 3, 6), (1.0, None, 0, 6),
    ]  # fmt: skip
    assert found.current() == (0.5, 0.75, 4, 6)
    # Where lower is better, a maximum below 0.5 passes none, below 0.75 the two, below 1.0 three, from 1.0 all.
    lower = resolution_of("s", {1.0: 3, 0.5: 2, 0.75: 1}, threshold=0.5, better="lower")
    assert [s.passing for s in lower.steps] == [0, 2, 3, 6]
    assert lower.current() == (0.5, 0.75, 2, 6)


def test_a_maximum_in_claims() -> None:
    found = resolution_of("s", {0.0: 2}, {4: 1, 10: 1}, threshold=0.1, better="lower", unit="items")
    assert [m.words for m in found.meanings] == ["0.1 on 4 items = at most 0 of 4", "0.1 on 10 items = at most 1 of 10"]


def test_s113_one_claim_everywhere_is_told_to_become_discrete() -> None:
    assert "discrete metric" in resolution_of("s", {0.0: 1, 1.0: 4}, {1: 5}, threshold=0.85).advice[0]
    assert resolution_of("s", {0.0: 1, 1.0: 4}, {1: 4, 2: 1}, threshold=0.5).advice == ()
    # Of one row the number of claims is unknown: nothing is claimed about it.
    assert resolution_of("s", {0.0: 1, 1.0: 4}, {1: 4}, threshold=0.0).advice == ()


def test_a_threshold_that_asks_for_everything_is_named() -> None:
    (advice,) = resolution_of("s", {2 / 3: 1, 1.0: 4}, {2: 2, 3: 3}, threshold=0.85).advice
    assert "0.85 asks for all claims of every row here, like 1.0" in advice
    assert resolution_of("s", {2 / 3: 1, 1.0: 4}, {2: 2, 3: 3}, threshold=1.0).advice == ()


def test_every_count_has_its_denominator_and_unknown_ones_are_told_apart() -> None:
    found = resolution_of("s", {0.5: 4}, {2: 3}, threshold=0.5)
    assert (found.n, found.n_denominators) == (4, 3)
    assert resolution_of("s", {}, {}).steps == ()
    assert "all 4 rows have the value 0.5" in resolution_of("s", {0.5: 4}).advice[0]


@pytest.mark.parametrize(
    ("detail", "inputs", "reviewed", "expected"),
    [
        ({"required": 3}, {"a": ["x"]}, ("a",), 3),
        ({"required": 0}, None, (), None),
        ({"required": True}, None, (), None),
        ({}, {"a": ["x", "y"], "b": "text"}, ("a", "b"), 2),
        ({}, {"a": ["x"], "b": ["y"]}, ("a", "b"), None),  # two lists: which one it is out of is not known
        ({}, {"a": []}, ("a",), None),
        ({}, {"a": {"sha256": "…", "excerpt": None}}, ("a",), None),
        (None, None, ("a",), None),
    ],
)
def test_denominators(detail: object, inputs: object, reviewed: tuple[str, ...], expected: int | None) -> None:
    assert denominator_of(detail, inputs, reviewed) == expected  # type: ignore[arg-type]
