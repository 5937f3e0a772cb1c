"""One trace through a mapping: failures are no answers, slips are told, both forms of a transformation are kept."""

from __future__ import annotations

from typing import Any

from evalkit.cases.adapters import Adapter, At, PassagesAt
from evalkit.cases.adapters.apply import Mapper
from evalkit.cases.adapters.meanings import Adapted, Problem
from evalkit.cases.adapters.shipped import SHIPPED
from evalkit.cases.traces import Trace


def strip_marks(text: str) -> str:
    return text.replace("*", "")


def adapted(adapter: Adapter | str, data: dict[str, Any], **trace: Any) -> Adapted:
    chosen = SHIPPED[adapter] if isinstance(adapter, str) else adapter
    return Mapper(chosen).adapted(Trace(**{"number": 3, "where": "line 3", "data": data, **trace}))


def test_an_application_error_leaves_no_answer_whatever_text_stands_there() -> None:
    row = adapted("plain", {"trace_id": "a", "question": "q", "answer": "Sorry!", "error": "timeout"})
    assert (row.answer, row.error) == (None, "timeout")


def test_a_trace_without_id_gives_no_row_and_one_of_a_dataset_is_named_by_its_line() -> None:
    row = adapted("plain", {"question": "q", "answer": "a"})
    assert row.unusable == "it has no id: trace_id is absent"
    assert row.trace_id == "line-000003"
    row = adapted("ragas", {"user_input": "q", "response": "a"})
    assert (row.unusable, row.trace_id) == (None, "line-000003")
    assert adapted("plain", {"trace_id": 12, "answer": "a"}).trace_id == "12"
    blank = adapted("plain", {"trace_id": " ", "answer": "a"})
    assert blank.unusable == "it has no id: a non-blank text was expected, got ' '"


def test_a_line_that_cannot_be_read_is_a_row_with_its_reason() -> None:
    row = adapted("plain", {}, problem="not valid JSON: x at column 1")
    assert (row.trace_id, row.unusable) == ("line-000003", "not valid JSON: x at column 1")


def test_b06_a_misspelt_key_is_named_beside_the_one_that_is_absent() -> None:
    row = adapted("ragas", {"case_id": "a", "user_input": "q", "response": "r", "retrieved_context": ["x"]})
    assert row.trace_id == "a"
    sentence = (
        "retrieved_contexts is absent, but the unknown key 'retrieved_context' is one slip away from it: rename it"
    )
    assert row.slips == (Problem("retrieved", sentence),)


def test_missing_keys_half_way_down_a_path_are_told() -> None:
    adapter = Adapter(name="a", revision="1", answer="run.output.text", trace_id="id")
    row = adapted(adapter, {"id": "1", "run": {"input": 1}})
    assert row.absent == (Problem("answer", "run.output is absent"),)
    assert adapted(adapter, {"id": "1", "run": {"output": None}}).absent == (Problem("answer", "run.output is null"),)


def test_both_forms_of_a_transformed_answer_are_kept() -> None:
    adapter = Adapter(
        name="a",
        revision="1",
        trace_id="id",
        answer=At(path="out", transform=strip_marks),
        retrieved=PassagesAt(path="docs", transform=strip_marks),
    )
    row = adapted(adapter, {"id": "1", "out": "*yes*", "docs": ["*a*", "b"]})
    assert row.transformed == {
        "answer": {"observed": "*yes*", "given": "yes", "by": "strip_marks"},
        "retrieved": {"observed": ["*a*", "b"], "given": ["a", "b"], "by": "strip_marks"},
    }


def test_the_last_turn_of_a_conversation_is_the_one_that_is_evaluated() -> None:
    conversation = [
        {"type": "human", "content": "one?"},
        {"type": "ai", "content": "1"},
        {"type": "human", "content": "two?"},
        {"type": "ai", "content": "2"},
    ]
    row = adapted("ragas", {"case_id": "a", "user_input": conversation})
    assert (row.question, row.answer) == ("two?", "2")
    unanswered = adapted("ragas", {"case_id": "a", "user_input": conversation[:3]})
    assert (unanswered.question, unanswered.answer) == ("two?", None)  # the answer of turn 1 is none of turn 2


def test_old_ragas_columns_are_read_as_the_new_ones() -> None:
    old = {"id": "a", "question": "q", "answer": "r", "contexts": ["c"], "ground_truths": ["g"]}
    new = {"id": "a", "user_input": "q", "response": "r", "retrieved_contexts": ["c"], "reference": "g"}
    one, other = adapted("ragas", old), adapted("ragas", new)
    for meaning in ("question", "answer", "retrieved", "reference"):
        assert getattr(one, meaning) == getattr(other, meaning)
