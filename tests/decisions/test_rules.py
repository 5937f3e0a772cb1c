from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.contract import Contract, make_metric
from evalkit.decisions.policy import Policy, SliceLimits
from evalkit.decisions.rules import covers, rule_of
from evalkit.scoring.records import Record, Ruling, is_knife_edge

PLAIN = Record(
    1, "a", "default", True, None, None, "scored", 0.5, "r", {}, None, None, None, None, {}, None, "h", None, "s", "1",
    None, {}, None, None,
)  # fmt: skip


def policy(**slices: SliceLimits) -> Policy:
    content = {"schema": 1, "name": "n", "version": "v7", "mode": "report", "metric": "m", "contract_version": "1"}
    return Policy.model_validate(content | {"slices": slices})


def ruled(limits: SliceLimits, value: Any, **record: Any) -> Ruling:
    return rule_of(policy(default=limits), None)(PLAIN._replace(value=value, **record))


@pytest.mark.parametrize(
    ("value", "decision"),
    [
        (1.0, "pass"),
        (0.85, "pass"),
        (0.8500000000000001, "pass"),
        (0.8499999999999999, "review"),  # one step of the float below: exact, no rounding towards green
        (0.8, "review"),
        (0.7999999999999999, "fail"),
        (0.0, "fail"),
        (1, "pass"),
        (0, "fail"),
    ],
)
def test_at_the_minimum_a_row_passes_in_the_band_a_person_decides_below_it_fails(value: float, decision: str):
    ruling = ruled(SliceLimits(minimum=0.85, review_band=0.05), value)
    owner = None if decision == "pass" else "answer"
    assert ruling == Ruling(decision, 0.85, "v7", owner)


@pytest.mark.parametrize(
    ("value", "decision"),
    [
        (0.0, "pass"),
        (0.2, "pass"),
        (0.20000000000000004, "review"),
        (0.25, "review"),
        (0.25000000000000006, "fail"),
        (1, "fail"),
    ],
)
def test_where_lower_is_better_all_is_mirrored(value: float, decision: str):
    assert ruled(SliceLimits(maximum=0.2, review_band=0.05), value)[:3] == (decision, 0.2, "v7")


@pytest.mark.parametrize(
    ("minimum", "band", "value"),
    [
        # In binary floats 0.8 - 0.1 is 0.7000000000000001, and 0.7 would fail in a band that is written [0.7, 0.8).
        (0.8, 0.1, 0.7),
        (0.9, 0.2, 0.7),
        (0.6, 0.5, 0.1),
        (0.3, 0.1, 0.2),
        (1.0, 0.9, 0.1),
    ],
)
def test_the_lower_edge_of_the_band_is_the_one_that_people_reckon(minimum: float, band: float, value: float):
    assert ruled(SliceLimits(minimum=minimum, review_band=band), value).decision == "review"
    assert ruled(SliceLimits(minimum=minimum, review_band=band), value - 1e-12).decision == "fail"


@settings(max_examples=300)
@given(st.integers(0, 1000), st.integers(0, 300), st.integers(0, 1000))
def test_decisions_on_three_decimals_are_those_of_decimal_arithmetic(minimum: int, band: int, value: int):
    limits = SliceLimits(minimum=minimum / 1000, review_band=band / 1000)
    expected = "pass" if value >= minimum else "review" if value >= minimum - band else "fail"
    assert ruled(limits, value / 1000).decision == expected
    mirrored = SliceLimits(maximum=minimum / 1000, review_band=band / 1000)
    expected = "pass" if value <= minimum else "review" if value <= minimum + band else "fail"
    assert ruled(mirrored, value / 1000).decision == expected


@settings(max_examples=500)
@given(st.floats(0, 1), st.floats(0, 1))
def test_the_digits_that_are_shown_never_contradict_the_decision(minimum: float, value: float):
    ruling = ruled(SliceLimits(minimum=minimum), value)
    # Shown are value and minimum by their repr, which is what a reader compares.
    assert (ruling.decision == "pass") == (Decimal(repr(value)) >= Decimal(repr(ruling.minimum)))
    record = PLAIN._replace(value=value).ruled(ruling)
    if is_knife_edge(record):
        assert record.decision == "fail"
        assert repr(value) != repr(minimum)


def test_without_a_band_nothing_goes_to_a_person():
    assert ruled(SliceLimits(minimum=0.5), 0.49999999999999994).decision == "fail"


@pytest.mark.parametrize(
    ("value", "decision"), [("good", "pass"), ("fair", "pass"), ("unsure", "review"), ("bad", "fail"), ("Good", "fail")]
)
def test_labels_pass_wait_or_fail(value: str, decision: str):
    limits = SliceLimits(require=("good", "fair"), review=("unsure",))
    assert ruled(limits, value) == Ruling(decision, None, "v7", None if decision == "pass" else "answer")


@pytest.mark.parametrize("value", [0.0, 1.0, "pass", ["a", "b"]], ids=repr)
def test_what_is_not_certified_is_for_people(value: Any):
    assert ruled(SliceLimits(decide="review"), value) == Ruling("review", None, "v7", "policy")
    assert ruled(SliceLimits(decide="review", minimum=0.5), value) == Ruling("review", 0.5, "v7", "policy")


@pytest.mark.parametrize("state", ["invalid", "error", "unrun"])
def test_a02_what_was_not_scored_is_not_decided(state: str):
    ruling = ruled(SliceLimits(minimum=0.0), None, state=state, owner="test-data")
    assert ruling == Ruling(None, None, "v7", "test-data")


def test_an_unknown_slice_has_no_default():
    ruling = ruled(SliceLimits(minimum=0.0), 1.0, slice="other", owner="answer")
    assert ruling == Ruling(None, None, "v7", None)
    assert covers(policy(default=SliceLimits(minimum=0.0)), "default")
    assert not covers(policy(default=SliceLimits(minimum=0.0)), "other")


def test_each_slice_has_its_own_limits():
    rule = rule_of(policy(a=SliceLimits(minimum=0.4), b=SliceLimits(minimum=0.6)), None)
    assert [rule(PLAIN._replace(slice=name)).decision for name in "ab"] == ["pass", "fail"]


def test_the_contract_may_name_another_owner_of_failing_rows():
    contract = Contract(
        version="1", measures="m", reviewed=(), produced=("text",), invalid_when=("never",), consumed_by="g",
        cannot_establish="t", owners={"fail": "retrieval"},
    )  # fmt: skip

    def score(text: str) -> float:
        return 0.0

    rule = rule_of(policy(default=SliceLimits(minimum=0.6)), make_metric(score, (0.0, 1.0), contract=contract))
    assert rule(PLAIN).owner == "retrieval"
