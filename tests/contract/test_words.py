from __future__ import annotations

import pytest

from evalkit.contract import Outcome, canonical_json, example_list, sha256_of
from evalkit.contract.faults import EvalkitError


@pytest.mark.parametrize(
    ("outcomes", "worst"),
    [([], 0), ([0, 3], 3), ([3, 1, 0], 1), ([1, 2, 3], 2), ([0, 0], 0)],
)
def test_incomplete_beats_quality_failed_beats_review_required(outcomes: list[int], worst: int):
    assert Outcome.worst([Outcome(code) for code in outcomes]) == Outcome(worst)


def test_the_hash_is_of_the_value_not_of_its_layout():
    assert canonical_json({"b": 1.0, "a": ["é"]}) == '{"a":["é"],"b":1.0}'.encode()
    assert sha256_of({"b": 1, "a": 2}) == sha256_of({"a": 2, "b": 1})
    assert sha256_of(1) != sha256_of("1")


def test_a_message_says_where_what_and_what_to_do():
    assert str(EvalkitError("minimum must be a number; got 'x'", where="p.toml", do="write 0.85")) == (
        "p.toml: minimum must be a number; got 'x'; write 0.85"
    )


def test_at_most_five_examples_are_listed():
    assert example_list(list("abcdefg")) == "a, b, c, d, e (and 2 more)"
    assert example_list(list("abcde")) == "a, b, c, d, e"
