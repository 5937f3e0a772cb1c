from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from evalkit.contract import Contract, InvalidRow, MetricResult

ANSWERS: dict[str, Any] = {
    "version": "1", "measures": "overlap", "reviewed": ("wanted",), "produced": ("found",),
    "invalid_when": ("nothing is wanted",), "consumed_by": "the gate", "cannot_establish": "truth",
}  # fmt: skip


# --- MetricResult: field case A10 -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, "fail", 0.0, 1.0, ["a", "b"]], ids=repr)
def test_a10_a_result_is_neither_true_nor_false(value: Any):
    with pytest.raises(TypeError, match=r"neither true nor false: compare its \.value"):
        bool(MetricResult(value))


@pytest.mark.parametrize("value", [None, "fail", 0.0, ["a", "b"]], ids=repr)
def test_a10_a_result_pickles_copies_and_compares(value: Any):
    result = MetricResult(value, "why", {"missing": ["fee"]})
    for again in (pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert again == result
    assert result != MetricResult(value, "another reason", {"missing": ["fee"]})
    assert result != MetricResult(value, "why", {"missing": []})
    assert result != value


def test_a10_a_result_is_no_stand_in_for_its_value():
    assert MetricResult(0.0) != 0.0
    with pytest.raises(TypeError):
        MetricResult(None) >= 0.8  # type: ignore[operator]  # noqa: B015 - that it cannot be compared is the point


def test_a_result_hashes_as_its_value_and_reason():
    assert len({MetricResult(0.5, "a", {"x": 1}), MetricResult(0.5, "a", {"x": 1}), MetricResult(0.5, "b")}) == 2


def test_a_result_cannot_be_changed():
    with pytest.raises(AttributeError):
        MetricResult(0.5).value = 1.0  # type: ignore[misc]


# --- Contract -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["version", "measures", "consumed_by", "cannot_establish"])
@pytest.mark.parametrize("answer", ["", "  \n", None, 1], ids=repr)
def test_a_question_must_be_answered_in_words(question: str, answer: Any):
    with pytest.raises(ValueError, match=f"Contract.{question} must be a non-blank text; got"):
        Contract(**(ANSWERS | {question: answer}))


@pytest.mark.parametrize("question", ["reviewed", "produced", "invalid_when"])
@pytest.mark.parametrize("answer", ["wanted", ("",), (1,)], ids=repr)
def test_a_list_of_answers_is_not_one_text(question: str, answer: Any):
    with pytest.raises(ValueError, match=f"Contract.{question} must be a tuple of non-blank texts; got"):
        Contract(**(ANSWERS | {question: answer}))


def test_some_row_must_be_invalid():
    with pytest.raises(ValueError, match="must name at least one way in which a row is invalid"):
        Contract(**(ANSWERS | {"invalid_when": ()}))


@pytest.mark.parametrize(
    ("field", "answer", "message"),
    [
        ("better", "more", r"Contract.better must be one of higher, lower; got 'more'"),
        ("allows_missing", {"found": {}}, r"allows_missing\['found'\] must map 'null' or '\[\]' to what it means"),
        ("allows_missing", {"found": "null"}, r"allows_missing\['found'\] must map"),
        ("allows_missing", {"found": {"none": "x"}}, r"must be one of null, \[\]; got 'none'"),
        ("retention", {"found": "some"}, r"retention\['found'\] must be one of full, excerpt, hash; got 'some'"),
        ("owners", {"supported_set": "Bob"}, r"owners\['supported_set'\] must be one of test-data, .*; got 'Bob'"),
    ],
)
def test_a_choice_outside_its_words_is_refused(field: str, answer: Any, message: str):
    with pytest.raises(ValueError, match=message):
        Contract(**(ANSWERS | {field: answer}))


def test_lists_become_tuples_and_facts_are_plain_json():
    contract = Contract(**(ANSWERS | {"reviewed": ["wanted"], "redact": str.upper}))
    assert contract.reviewed == ("wanted",)
    facts = contract.facts()
    assert (facts["reviewed"], facts["redact"], facts["better"]) == (["wanted"], "upper", "higher")


def test_a_contract_pickles():
    contract = Contract(**ANSWERS)
    assert pickle.loads(pickle.dumps(contract)) == contract


def test_invalid_row_is_a_value_error():
    assert issubclass(InvalidRow, ValueError)
