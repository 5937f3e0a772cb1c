"""What several verdicts about one row come to: a majority of all repeats, a tie, or too few verdicts."""

from __future__ import annotations

from typing import Any

import pytest
from labelled_rows import record

from evalkit.decisions.policy import Policy
from evalkit.decisions.rules import rule_of
from evalkit.scoring.repeats import is_tie, is_unstable, vote


@pytest.mark.parametrize(
    ("values", "chosen", "tie", "unstable"),
    [
        (["pass", "pass", "pass"], 0, False, False),
        (["fail", "pass", "pass"], 1, False, True),
        (["pass", "fail"], 0, True, True),
        (["pass", "fail", "pass", "fail"], 0, True, True),
        (["a", "b", "c"], 0, True, True),  # no majority: the most frequent label is not good enough
        (["pass", None, "pass"], 0, False, False),  # 2 of 3 is a majority of all
        (["pass", None, None], None, False, False),  # 1 of 3 is none, whatever the others would have said
        (["pass", "fail", None], None, False, True),  # not a tie: one repeat is missing
        ([None, None], None, False, False),
    ],
)
def test_a_majority_of_all_repeats_speaks(values: list[Any], chosen: int | None, tie: bool, unstable: bool) -> None:
    found = vote("discrete", values)
    assert (found.chosen, found.is_tie, found.is_unstable) == (chosen, tie, unstable)


def test_of_numbers_the_median_speaks_and_never_ties() -> None:
    assert vote("numeric", [0.9, 0.1, 0.5]).chosen == 2
    assert vote("numeric", [0.9, 0.1]).chosen == 1  # the lower middle: no number that nobody gave
    assert vote("numeric", [0.9, None, None]).chosen is None
    assert not vote("numeric", [0.9, 0.1]).is_tie
    assert vote("ranking", [["a", "b"], ["b", "a"], ["b", "a"]]).chosen == 1


def test_the_spread_is_said_with_its_number() -> None:
    assert vote("discrete", ["pass", "fail", "pass"]).words() == "2 of 3 repeats say pass, 1 fail"
    assert vote("discrete", [None, "fail", None]).words() == "2 of 3 repeats gave no verdict, 1 fail"


def test_a_tie_goes_to_a_person_whatever_its_value_says() -> None:
    head = {"schema": 1, "name": "p", "version": "1", "metric": "m", "contract_version": "1", "mode": "report"}
    policy = Policy(**head, slices={"s": {"require": ["pass"]}})  # type: ignore[arg-type]  # as the file has them
    rule = rule_of(policy, None)
    detail = {"repeats": vote("discrete", ["pass", "fail"]).facts()}
    tied = record("c", "pass", detail=detail, judge={})
    assert is_tie(tied)
    assert is_unstable(tied)
    assert (rule(tied).decision, rule(tied).owner) == ("review", "judge")
    assert rule(record("c", "pass", judge={})).decision == "pass"
    # A metric of one's own may call something else "repeats" in its detail.
    assert rule(record("c", "pass", detail=detail)).decision == "pass"
