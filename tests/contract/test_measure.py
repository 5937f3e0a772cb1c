from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

import pytest

from evalkit.contract import Contract, InvalidRow, MetricResult, make_metric, numeric_metric


def contract(**changed: Any) -> Contract:
    answers: dict[str, Any] = {
        "version": "1", "measures": "recall of one passage", "reviewed": ("reference",), "produced": ("retrieved",),
        "invalid_when": ("there is no reference",), "consumed_by": "the gate", "cannot_establish": "use of the passage",
    }  # fmt: skip
    return Contract(**(answers | changed))


def recall(retrieved: list[str], reference: str) -> float:
    return sum(reference in passage for passage in retrieved) / len(retrieved)


@numeric_metric()
def typed(text: str = "", number: float = 0.0, count: int = 0, flag: bool = False, ids: list[str] = []) -> float:  # noqa: B006
    return 1.0


# --- inputs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ({"number": True}, "number: input should be a valid number; got bool True"),
        ({"number": "0.9"}, "number: input should be a valid number; got str '0.9'"),
        ({"number": float("nan")}, "number: input should be a finite number; got float nan"),
        ({"number": float("inf")}, "number: input should be a finite number; got float inf"),
        ({"count": True}, "count: input should be a valid integer; got bool True"),
        ({"count": 1.0}, "count: input should be a valid integer; got float 1.0"),
        ({"count": "1"}, "count: input should be a valid integer; got str '1'"),
        ({"flag": 1}, "flag: input should be a valid boolean; got int 1"),
        ({"flag": "no"}, "flag: input should be a valid boolean; got str 'no'"),
        ({"text": 1}, "text: input should be a valid string; got int 1"),
        ({"text": ["a"]}, "text: input should be a valid string; got list ['a']"),
        ({"ids": "a"}, "ids: input should be a valid list; got str 'a'"),
        ({"ids": {"a": 1}}, "ids: input should be a valid list; got dict {'a': 1}"),
        ({"ids": ["a", 1]}, "ids[1]: input should be a valid string; got int 1"),
        ({"ids": ["a", None]}, "ids[1]: input should be a valid string; got NoneType None"),
        ({"ids": [1] * 9}, "ids[2]: input should be a valid string; got int 1 (and 6 more)"),
        ({"text": 1, "count": "x"}, "got int 1, count: input should be a valid integer; got str 'x'"),
    ],
    ids=repr,
)
def test_no_input_is_converted_or_guessed(inputs: dict[str, Any], reason: str):
    result = typed.measure(inputs)
    assert (result.state, result.value, result.error_kind) == ("invalid", None, "wrong_type")
    assert result.reason.endswith(reason)


def test_an_int_is_a_number_and_unknown_keys_are_none_of_the_metrics_business():
    assert typed.measure({"number": 1, "case_id": "a", "anything": object()}).value == 1.0


def test_any_mapping_is_a_row():
    assert typed.measure(MappingProxyType({"number": 1})).state == "scored"
    assert typed.measure(MappingProxyType({"number": "1"})).state == "invalid"


def test_the_rows_own_lists_are_not_handed_to_the_metric():
    @numeric_metric()
    def careless(ids: list[str], anything: list) -> float:  # type: ignore[type-arg]
        ids.clear()
        anything.clear()
        return 1.0

    row: dict[str, Any] = {"ids": ["a"], "anything": [1]}
    assert careless.measure(row).state == "scored"
    assert row == {"ids": ["a"], "anything": [1]}


# --- missing inputs: field cases C08 and C09 ------------------------------------------------------------------------

NOT_DECLARED = "retrieved is []: the contract does not say what an empty list means for it"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({}, "retrieved is absent: the metric cannot be computed without it"),
        (
            {"retrieved": None},
            "retrieved is null (lost or never recorded): the contract does not allow it to be missing",
        ),
        ({"retrieved": []}, NOT_DECLARED),
        ({"retrieved": ["a", None]}, "retrieved[1]: input should be a valid string; got NoneType None"),
    ],
    ids=repr,
)
def test_c09_each_kind_of_missing_is_its_own_invalid_row(row: dict[str, Any], reason: str):
    result = make_metric(recall, (0.0, 1.0), contract=contract()).measure(row | {"reference": "Paris"})
    assert (result.state, result.value, result.reason) == ("invalid", None, reason)


@pytest.mark.parametrize("retrieved", [[""], ["  "]], ids=repr)
def test_c09_a_blank_passage_is_a_passage_that_does_not_hold_the_reference(retrieved: list[str]):
    result = make_metric(recall, (0.0, 1.0), contract=contract()).measure(
        {"retrieved": retrieved, "reference": "Paris"}
    )
    assert (result.state, result.value) == ("scored", 0.0)


def test_c09_a_declared_empty_list_is_scored_as_the_author_says():
    def declared(retrieved: list[str], reference: str) -> float:
        return recall(retrieved, reference) if retrieved else 0.0

    meaning = contract(allows_missing={"retrieved": {"[]": "nothing was retrieved: 0.0"}})
    row = {"retrieved": [], "reference": "Paris"}
    assert make_metric(declared, (0.0, 1.0), contract=meaning).measure(row).value == 0.0
    assert make_metric(declared, (0.0, 1.0), contract=contract()).measure(row).reason == NOT_DECLARED
    # The metric's own division by zero is not blamed on the metric, but the list that nobody declared on the row.
    assert make_metric(recall, (0.0, 1.0), contract=contract()).measure(row).reason == NOT_DECLARED


def test_c09_a_declared_null_reaches_the_metric_and_an_undeclared_one_does_not():
    def nullable(retrieved: list[str] | None, reference: str) -> float:
        return 0.0 if retrieved is None else 1.0

    row = {"retrieved": None, "reference": "Paris"}
    declared = contract(allows_missing={"retrieved": {"null": "the trace was lost"}})
    assert make_metric(nullable, (0.0, 1.0), contract=declared).measure(row).value == 0.0
    assert make_metric(nullable, (0.0, 1.0), contract=contract()).measure(row).state == "invalid"
    assert make_metric(nullable, (0.0, 1.0)).measure(row).value == 0.0  # no contract: the annotation is all there is


def test_c09_without_a_contract_a_division_by_zero_is_the_metrics_error():
    result = make_metric(recall, (0.0, 1.0)).measure({"retrieved": [], "reference": "Paris"})
    assert (result.state, result.error_kind) == ("error", "exception")
    assert result.reason.startswith("ZeroDivisionError: division by zero (test_measure.py, line ")


def test_a_metric_that_refuses_an_empty_list_itself_is_heard():
    def refusing(retrieved: list[str], reference: str) -> float:
        if not retrieved:
            msg = "retrieved must not be empty"
            raise InvalidRow(msg)
        return 1.0

    result = make_metric(refusing, (0.0, 1.0), contract=contract()).measure({"retrieved": [], "reference": "x"})
    assert result.reason == "retrieved must not be empty"


@pytest.mark.parametrize(
    "retrieved",
    ["['Paris is big', 'Paris is old']", "Paris is big", [{"text": "Paris is big"}]],
    ids=["stringified", "bare text", "objects"],
)
def test_c08_contexts_that_arrive_as_something_else_are_invalid_never_walked_over(retrieved: Any):
    result = make_metric(recall, (0.0, 1.0)).measure({"retrieved": retrieved, "reference": "Paris"})
    assert (result.state, result.value, result.error_kind) == ("invalid", None, "wrong_type")


# --- rows are apart: field cases A09 and B08 ------------------------------------------------------------------------


def test_a09_one_bad_row_takes_no_other_with_it():
    @numeric_metric()
    def has_text(response: str) -> float:
        return float(bool(response))

    rows: list[Mapping[str, Any]] = [{"response": "a"}, {"response": None}, {"response": "c"}]
    assert [has_text.measure(row).state for row in rows] == ["scored", "invalid", "scored"]


def test_b08_two_rows_held_inside_the_metric_at_once_do_not_mix():
    both_inside = threading.Barrier(2, timeout=10)

    @numeric_metric()
    def scored(x: str) -> MetricResult:
        both_inside.wait()
        if x == "bad":
            raise RuntimeError(x)
        return MetricResult(0.25, f"reason of {x}", {"row": x})

    with ThreadPoolExecutor(2) as pool:
        bad, good = pool.map(lambda x: scored.measure({"x": x}), ["bad", "good"])
    assert (bad.state, bad.value, bad.detail) == ("error", None, {})
    assert good == ("scored", 0.25, "reason of good", {"row": "good"}, None, None)
    assert scored.measure.__closure__ is not None
    both_inside.reset()
    with ThreadPoolExecutor(2) as pool:  # no error sticks to a later row
        assert [r.state for r in pool.map(lambda x: scored.measure({"x": x}), ["good", "good"])] == ["scored"] * 2


# --- results --------------------------------------------------------------------------------------------------------


def test_a_plain_value_has_no_reason_and_a_result_brings_its_evidence():
    @numeric_metric()
    def plain(x: str) -> float:
        return 0.5

    @numeric_metric()
    def explained(x: str) -> MetricResult:
        return MetricResult(0.5, "half", {"missing": ["b"]})

    assert plain.measure({"x": "a"}) == ("scored", 0.5, "", {}, None, None)
    assert explained.measure({"x": "a"}) == ("scored", 0.5, "half", {"missing": ["b"]}, None, None)


def test_a10_an_object_with_value_and_reason_is_unwrapped_and_its_none_is_no_score():
    class Foreign:
        def __init__(self, value: Any) -> None:
            self.value, self.reason = value, None

    @numeric_metric()
    def foreign(x: float) -> Any:
        return Foreign(x or None)

    assert foreign.measure({"x": 0.5}) == ("scored", 0.5, "", {}, None, None)
    assert foreign.measure({"x": 0.0})[:3] == ("error", None, "foreign returned None (NoneType), not a number")


def test_a_result_whose_evidence_cannot_be_read_is_the_metrics_error():
    class Broken:
        reason = ""

        @property
        def value(self) -> float:
            msg = "lazily broken"
            raise RuntimeError(msg)

    @numeric_metric()
    def broken(x: str) -> Any:
        return Broken()

    assert broken.measure({"x": "a"}).reason.startswith("RuntimeError: lazily broken")
