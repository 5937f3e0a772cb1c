"""Cases made of traces: parameters by meaning, evidence that tells null from absent, rows that must not be scored."""

from __future__ import annotations

from typing import Any

import orjson

from evalkit.cases.adapters import Adapter, At
from evalkit.cases.adapters.apply import Mapper
from evalkit.cases.adapters.case import CaseMaker
from evalkit.cases.adapters.observed import happened_in
from evalkit.cases.adapters.shipped import SHIPPED
from evalkit.cases.lines import Line
from evalkit.cases.read import Case, LineReader
from evalkit.cases.traces import Trace

PASSAGE = {"document_id": "d", "revision": "1", "passage_id": "p", "text": "alpha"}
TRACE = {"trace_id": "t", "question": "q", "answer": "a", "error": None, "retrieved": [PASSAGE], "reference": None}


def case_of(data: dict[str, Any], *parameters: str, adapter: Adapter | None = None) -> dict[str, Any]:
    chosen = adapter or SHIPPED["plain"]
    trace = Trace(1, "line 1", data)
    adapted = Mapper(chosen).adapted(trace)
    happened = happened_in(trace, adapted.trace_id, chosen.observed) if chosen.observed else None
    return CaseMaker(chosen, parameters).case(adapted, happened)


def test_a_case_carries_what_explains_it() -> None:
    case = case_of(TRACE, "response", "retrieved_contexts")
    assert case == {
        "case_id": "t",
        "source": "plain 1",
        "response": "a",
        "retrieved_contexts": ["alpha"],
        # null was written for the reference: it was lost. reference_contexts were never recorded: they are left out.
        "evidence": {"question": "q", "answer": "a", "reference": None, "retrieved": [PASSAGE]},
    }
    assert isinstance(LineReader().read(Line(1, orjson.dumps(case), False)), Case)


def test_null_and_empty_retrieval_reach_the_metric_as_they_are() -> None:
    for value in (None, []):
        case = case_of(
            {**TRACE, "retrieved": value}, "retrieved_contexts", "retrieved_passages", "retrieved_context_ids"
        )
        assert case["retrieved_contexts"] == case["retrieved_passages"] == case["retrieved_context_ids"] == value
        assert case["evidence"]["retrieved"] == value


def test_a_parameter_may_receive_passages_with_their_source_or_their_ids() -> None:
    case = case_of(TRACE, "retrieved_passages", "retrieved_context_ids")
    assert case["retrieved_passages"] == [PASSAGE]
    assert case["retrieved_context_ids"] == ["p"]


def test_without_a_metric_ragas_names_are_offered() -> None:
    case = case_of(TRACE)
    assert {"user_input", "response", "retrieved_contexts", "reference"} < case.keys()


def test_a_failed_run_is_unfit_for_whoever_reads_the_answer() -> None:
    case = case_of({**TRACE, "error": "timeout", "answer": "Sorry"}, "user_input", "response")
    assert case["unfit"] == {"reason": "the application failed: timeout", "owner": "answer", "inputs": ["response"]}
    assert "response" not in case
    assert case["evidence"]["error"] == "timeout"
    assert case["evidence"]["answer"] is None


def test_an_input_that_cannot_be_used_is_left_out_and_its_reason_kept() -> None:
    data = {**TRACE, "retrieved": "['alpha']"}
    case = case_of(data, "response", "retrieved_contexts")
    assert "retrieved_contexts" not in case
    assert case["unfit"]["inputs"] == ["retrieved_contexts"]
    assert case["unfit"]["owner"] == "adapter"
    assert "json.dumps" in case["unfit"]["reason"]
    assert "unfit" not in case_of(data, "response")  # a metric that does not read passages is not concerned


def test_b06_a_slip_beside_a_needed_key_makes_the_row_unfit_and_beside_another_does_not() -> None:
    data = {"case_id": "a", "user_input": "q", "response": "r", "retrieved_context": ["x"]}
    ragas = SHIPPED["ragas"]
    needed = case_of(data, "response", "retrieved_contexts", adapter=ragas)
    assert "unknown key 'retrieved_context'" in needed["unfit"]["reason"]
    assert "unfit" not in case_of(data, "response", adapter=ragas)


def test_a_line_that_gives_no_row_is_a_case_that_says_so() -> None:
    adapted = Mapper(SHIPPED["plain"]).adapted(Trace(7, "line 7", {}, "not valid JSON: x at column 1"))
    case = CaseMaker(SHIPPED["plain"]).case(adapted)
    assert case["case_id"] == "line-000007"
    assert case["unfit"] == {"reason": "line 7: not valid JSON: x at column 1", "owner": "adapter"}
    assert isinstance(LineReader().read(Line(1, orjson.dumps(case), False)), Case)


def strip_marks(text: str) -> str:
    return text.replace("*", "")


def test_the_case_says_which_form_the_metric_received() -> None:
    adapter = Adapter(name="a", revision="1", answer=At(path="answer", transform=strip_marks))
    case = case_of({"trace_id": "t", "answer": "*yes*"}, "response", adapter=adapter)
    assert case["response"] == "yes"
    assert case["evidence"]["transformed"]["answer"] == {
        "observed": "*yes*",
        "given": "yes",
        "by": "strip_marks",
        "received": "given",
        "by_parameters": ["response"],
    }


def test_a_multi_turn_trace_says_which_turn_is_evaluated() -> None:
    case = case_of({**TRACE, "question": "b", "turns": ["a", "b", "c"]})
    assert case["evidence"]["turn"] == {"evaluated": 2, "of": 3}


def test_reserved_keys_of_a_row_are_passed_on() -> None:
    case = case_of({**TRACE, "slice": "en", "system_revision": "r7", "citations": [{"claim_id": "c"}]})
    assert (case["slice"], case["system_revision"]) == ("en", "r7")
    assert case["evidence"]["citations"] == [{"claim_id": "c"}]
