"""Rows that whoever prepared them calls unfit: invalid with that reason and owner, for the metrics it concerns."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit import Case, numeric_metric, score_cases
from evalkit.cases.lines import Line
from evalkit.cases.read import BadLine, LineReader
from evalkit.decisions.triage import triage


@numeric_metric()
def length(response: str) -> float:
    return min(1.0, len(response) / 10)


def record(unfit: dict[str, Any], **fields: Any) -> Any:
    case = Case(1, "a", "default", True, {"case_id": "a", "response": "four", "unfit": unfit, **fields})
    (found,) = score_cases(length, [case])
    return found


@pytest.mark.parametrize(("owner", "word"), [("adapter", "adapter"), ("answer", "answer"), ("test-data", "dataset")])
def test_an_unfit_row_is_invalid_with_its_reason_and_its_owner(owner: str, word: str) -> None:
    found = record({"reason": "line 3: it has no id", "owner": owner})
    assert (found.state, found.value, found.error_kind) == ("invalid", None, "unfit")
    assert (found.reason, found.owner) == ("line 3: it has no id", owner)
    explained = triage(found, None)
    assert (explained.first_divergence, explained.owner) == (word, owner)


def test_it_concerns_only_metrics_that_read_one_of_the_inputs_it_names() -> None:
    assert record({"reason": "lost", "owner": "adapter", "inputs": ["retrieved_contexts"]}).state == "scored"
    assert record({"reason": "lost", "owner": "adapter", "inputs": ["response"]}).state == "invalid"
    assert record({"reason": "lost", "owner": "adapter", "inputs": []}).state == "invalid"


def test_an_input_that_is_fed_from_another_key_is_the_key() -> None:
    case = Case(
        1,
        "a",
        "default",
        True,
        {"case_id": "a", "out": "four", "unfit": {"reason": "x", "owner": "adapter", "inputs": ["out"]}},
    )
    (found,) = score_cases(length, [case], feeds={"response": "out"})
    assert found.state == "invalid"


@pytest.mark.parametrize(
    "unfit",
    [
        "no",
        {"reason": "x"},
        {"reason": " ", "owner": "adapter"},
        {"reason": "x", "owner": "me"},
        {"reason": "x", "owner": "adapter", "inputs": "response"},
    ],
)
def test_an_unfit_that_says_nothing_is_a_fault_of_the_line(unfit: Any) -> None:
    import orjson

    read = LineReader().read(Line(1, orjson.dumps({"case_id": "a", "unfit": unfit}), False))
    assert isinstance(read, BadLine)
    assert read.reason.startswith("unfit must be an object")
