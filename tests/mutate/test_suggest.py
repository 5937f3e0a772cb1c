from __future__ import annotations

import orjson
import pytest

from evalkit.mutate.expect import Oracle
from evalkit.mutate.source import Unit
from evalkit.mutate.suggest import candidates, hints_in, variations
from evalkit.mutate.trials import Trial


def trial(**inputs) -> Trial:
    return Trial("a", orjson.dumps(inputs), Oracle("scored", 1.0))


@pytest.mark.parametrize(
    ("value", "near"),
    [
        (["a", "b"], [[], ["b"], ["a"], ["b", "a"], ["a", "b", "a"], ["a", "b", "another"], [" a", "b"]]),
        ([], [["another"]]),
        ("red bus", ["", " ", "r", "bus", "red", "RED BUS", " red bus", "red bus "]),
        ("Red", ["red", "RED"]),
        (3, [0, 1, 2, 4, -3]),
        (0.5, [0.0, 1.0, 0.49, 0.51]),
        (True, [False]),
        ({"a": 1, "b": "x"}, [{"b": "x"}, {"a": 1}, {"a": 0, "b": "x"}]),
    ],
)
def test_variations_are_near_and_of_the_same_type(value, near):
    found = list(variations(value))
    assert all(item in found for item in near)
    assert {type(item) for item in found} == {type(value)}


def test_null_stays_null():
    assert list(variations(None)) == []


def test_hints_are_what_the_source_speaks_of_and_the_numbers_beside_it():
    unit = Unit("f", "function", "def f(n):\n    return 'yes' if n > 90 or n == 0.5 else ''", 1)
    assert hints_in([unit]) == (0.49, 0.5, 0.51, 89, 90, 91, "yes")
    assert {89, 90, 91} <= set(variations(5, hints_in([unit])))
    assert "no yes" in set(variations("no", hints_in([unit])))


def test_candidates_are_sorted_by_size_without_duplicates_and_always_the_same():
    trials = (trial(a=["x", "y"], b=["x"]), trial(a=["z"], b=[]))
    found = candidates(trials)
    assert found == candidates(trials)
    assert found == sorted(set(found), key=lambda raw: (len(raw), raw))
    assert orjson.loads(found[0]) == {"a": [], "b": []}
    assert {"a": ["z"], "b": ["x"]} in [orjson.loads(raw) for raw in found]  # of two cases


def test_candidates_are_bounded():
    trials = tuple(trial(a=[f"{i}-{j}" for j in range(6)], b=f"text {i} of many") for i in range(40))
    assert 1_000 < len(candidates(trials)) <= 3_000
