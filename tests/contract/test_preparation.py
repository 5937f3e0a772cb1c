"""S3.5, S4.7: hooks that prepare inputs; what they receive, what they may return, whose fault a spoilt row is."""

from __future__ import annotations

import functools
import pickle
from typing import Any

import pytest

from evalkit.contract import Contract, ContractError, InvalidRow, Metric, numeric_metric
from evalkit.contract.judge import Judge
from evalkit.contract.preparation import FAULT

CONTRACT = Contract(
    version="1", measures="length of the answer in tens", reviewed=(), produced=("answer", "contexts"),
    invalid_when=("the answer is blank",), consumed_by="the gate", cannot_establish="whether it is right",
    allows_missing={"answer": {"null": "none was given"}, "contexts": {"[]": "nothing was found"}},
)  # fmt: skip


@numeric_metric(contract=CONTRACT)
def size(answer: str | None, contexts: list[str]) -> float:
    if answer is not None and not answer.strip():
        msg = "answer is blank"
        raise InvalidRow(msg)
    return (len(answer or "") + len(contexts)) / 10


def short(answer: str) -> str:
    return answer.removeprefix("# ")


def first(contexts: list[str]) -> list[str]:
    del contexts[1:]
    return contexts


def spoil(answer: str) -> Any:
    return {"raise": 1 / 0 if answer == "raise" else 0, "none": None, "number": 3, "surrogate": "\ud800", "blank": " "}[
        answer
    ]


HOOKED = size.prepared(answer=short, contexts=first)


def test_s47_the_metric_receives_the_prepared_form_and_the_raw_one_is_untouched():
    inputs = {"answer": "# abc", "contexts": ["x", "y"]}
    measured = HOOKED.measure(inputs)
    # "abc" has 3 characters and one context is left: (3 + 1) / 10; without hooks it is (5 + 2) / 10.
    assert (measured.value, size.measure(inputs).value) == (0.4, 0.7)
    assert measured.prepared == {"answer": "abc", "contexts": ["x"]}
    assert inputs == {"answer": "# abc", "contexts": ["x", "y"]}
    assert HOOKED.score(**inputs).value == 0.4


def test_a_metric_without_hooks_says_nothing_of_them():
    measured = size.measure({"answer": "abc", "contexts": []})
    assert measured.prepared is None
    assert (size.preparation, size.preparation_facts()) == (None, None)


def test_what_is_lost_empty_or_of_another_type_is_never_prepared():
    lost = HOOKED.measure({"answer": None, "contexts": []})
    assert (lost.state, lost.value, lost.prepared) == ("scored", 0.0, {})
    wrong = HOOKED.measure({"answer": 5, "contexts": []})
    assert (wrong.state, wrong.error_kind, wrong.prepared) == ("invalid", "wrong_type", {})
    assert "answer" in wrong.reason


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("raise", "spoil(answer) raised ZeroDivisionError: division by zero"),
        ("none", "spoil(answer) returned no answer; got NoneType None"),
        ("number", "spoil(answer) returned no answer; got int 3"),
        ("surrogate", "spoil(answer) returned no answer; got str '\\ud800'"),
        ("blank", "in order before spoil(answer), unfit after it: answer is blank"),
    ],
)
def test_a_hook_that_spoils_a_row_is_an_error_of_its_own_kind(answer: str, reason: str):
    measured = size.prepared(answer=spoil).measure({"answer": answer, "contexts": ["x"]})
    assert (measured.state, measured.value, measured.error_kind) == ("error", None, FAULT)
    assert measured.reason == reason


def test_a_row_that_was_unfit_before_stays_invalid():
    measured = HOOKED.measure({"answer": " ", "contexts": ["x"]})
    assert (measured.state, measured.reason) == ("invalid", "answer is blank")


def test_the_fingerprint_holds_the_source_of_each_hook():
    def one(answer: str) -> str:
        return answer.strip()

    def other(answer: str) -> str:
        return answer.lstrip()

    other.__qualname__ = one.__qualname__
    assert len({m.fingerprint for m in (size, size.prepared(answer=one), size.prepared(answer=other))}) == 3
    facts = size.prepared(answer=one).preparation_facts()
    assert facts is not None
    assert facts["fingerprint_without"] == size.fingerprint
    assert facts["hooks"]["answer"]["hook"].endswith("one")
    assert facts["hooks"] != (size.prepared(answer=other).preparation_facts() or {})["hooks"]


@pytest.mark.parametrize(
    ("hooks", "message"),
    [
        ({"anser": short}, "size has no input 'anser' that could be prepared"),
        ({}, "prepared() of size names no input"),
        ({"answer": "short"}, "must be a plain function with a name; got 'short'"),
        ({"answer": lambda answer: answer}, "must be a plain function with a name"),
        ({"answer": functools.partial(short)}, "must be a plain function with a name"),
        ({"answer": str.strip}, "must be a plain function with a name"),
    ],
    ids=["unknown", "none", "text", "lambda", "partial", "method"],
)
def test_a_declaration_that_could_not_be_traced_is_refused(hooks: dict[str, Any], message: str):
    with pytest.raises(ContractError) as caught:
        size.prepared(**hooks)
    assert message in str(caught.value)


def test_an_asynchronous_hook_is_refused():
    async def later(answer: str) -> str:
        return answer

    with pytest.raises(ContractError, match="must be a plain function"):
        size.prepared(answer=later)


def test_a_prepared_metric_survives_pickling():
    found: Metric = pickle.loads(pickle.dumps(HOOKED))
    inputs = {"answer": "# abc", "contexts": ["x", "y"]}
    assert found.measure(inputs) == HOOKED.measure(inputs)
    assert found.fingerprint == HOOKED.fingerprint


def test_a_judge_checks_the_prepared_form_and_keeps_its_hooks_through_pickling():
    contract = Contract(
        version="1", measures="politeness", reviewed=(), produced=("answer",), invalid_when=("there is no answer",),
        consumed_by="a person", cannot_establish="whether it is right",
    )  # fmt: skip
    judge = Judge(name="polite", prompt="Is it polite? {answer}", contract=contract)
    hooked = judge.prepared(answer=short)
    assert isinstance(hooked, Judge)
    assert hooked.measure({"answer": "# Yes."}).prepared == {"answer": "Yes."}
    assert judge.prepared(answer=spoil).measure({"answer": "blank"}).error_kind == FAULT
    assert hooked.fingerprint != judge.fingerprint
    assert pickle.loads(pickle.dumps(hooked)).fingerprint == hooked.fingerprint
