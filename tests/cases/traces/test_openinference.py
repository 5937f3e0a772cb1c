"""OpenInference: root, retrieved documents, the final model call; lost and empty retrieval apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalkit.cases.traces import READERS


def span(name: str, kind: str, parent: str | None, start: int, **attributes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "context": {"trace_id": "t", "span_id": name},
        "parent_id": parent,
        "start_time": f"2026-11-30T10:00:{start:02d}Z",
        "attributes": {"openinference.span.kind": kind, **{k.replace("__", "."): v for k, v in attributes.items()}},
    }


def trace(tmp_path: Path, *spans: dict[str, Any]) -> dict[str, Any]:
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(json.dumps(s) + "\n" for s in spans))
    (found,) = READERS["openinference"](path)
    assert found.problem is None
    return dict(found.data)


ROOT = span("root", "CHAIN", None, 0, input__value="q?", output__value="a.", session__id="s1")


def documents(key: str, *texts: str) -> dict[str, Any]:
    return {
        f"{key}.{i}.document.{part}": value
        for i, text in enumerate(texts)
        for part, value in (("content", text), ("id", f"p-{text}"), ("metadata", json.dumps({"document_id": "d"})))
    }


def test_flat_and_nested_attributes_give_the_same(tmp_path: Path) -> None:
    flat = span("find", "RETRIEVER", "root", 1)
    flat["attributes"] |= documents("retrieval.documents", "one")
    nested = {**flat, "attributes": {"openinference": {"span": {"kind": "RETRIEVER"}}}}
    document = {"document": {"content": "one", "id": "p-one", "metadata": {"document_id": "d"}}}
    nested["attributes"]["retrieval"] = {"documents": [document]}
    expected = [{"content": "one", "id": "p-one", "metadata": {"document_id": "d"}}]
    assert trace(tmp_path, ROOT, flat)["retrieved"] == expected
    assert trace(tmp_path, ROOT, nested)["retrieved"] == expected


def test_null_and_empty_retrieval_are_two_facts(tmp_path: Path) -> None:
    assert trace(tmp_path, ROOT)["retrieved"] is None  # nothing was traced
    silent = span("find", "RETRIEVER", "root", 1)
    assert trace(tmp_path, ROOT, silent)["retrieved"] is None  # traced, its documents were not
    empty = span("find", "RETRIEVER", "root", 1, output__value="[]", output__mime_type="application/json")
    assert trace(tmp_path, ROOT, empty)["retrieved"] == []


def test_the_last_reranker_decides_what_was_retrieved(tmp_path: Path) -> None:
    find = span("find", "RETRIEVER", "root", 1)
    find["attributes"] |= documents("retrieval.documents", "one", "two")
    rank = span("rank", "RERANKER", "root", 2)
    rank["attributes"] |= documents("reranker.output_documents", "two")
    assert [d["content"] for d in trace(tmp_path, ROOT, find, rank)["retrieved"]] == ["two"]


def test_several_retrievers_add_up_in_order_of_time(tmp_path: Path) -> None:
    late, early = span("late", "RETRIEVER", "root", 5), span("early", "RETRIEVER", "root", 1)
    late["attributes"] |= documents("retrieval.documents", "two")
    early["attributes"] |= documents("retrieval.documents", "one")
    assert [d["content"] for d in trace(tmp_path, ROOT, late, early)["retrieved"]] == ["one", "two"]


def test_a_model_call_below_an_evaluator_gives_no_answer(tmp_path: Path) -> None:
    answer = span("answer", "LLM", "root", 2)
    answer["attributes"] |= {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "one and q?",
        "llm.output_messages.0.message.content": "a.",
    }
    judge, call = span("judge", "EVALUATOR", "root", 8), span("call", "LLM", "judge", 9)
    call["attributes"] |= {"llm.input_messages.0.message.content": "is it good?"}
    assert trace(tmp_path, ROOT, answer, judge, call)["llm"]["prompt"] == "one and q?"


def test_json_input_is_an_object_so_that_the_key_has_to_be_named(tmp_path: Path) -> None:
    root = span("root", "CHAIN", None, 0, input__value='{"question": "q?"}', input__mime_type="application/json")
    assert trace(tmp_path, root)["root"]["input"] == {"question": "q?"}


def test_the_error_is_the_roots_or_the_final_calls(tmp_path: Path) -> None:
    failed = {**ROOT, "status": {"status_code": "ERROR", "description": "down"}}
    assert trace(tmp_path, failed)["error"] == "down"
    first = {**span("first", "LLM", "root", 1), "status": {"status_code": "ERROR", "description": "retried"}}
    second = span("second", "LLM", "root", 2)
    assert trace(tmp_path, ROOT, first, second)["error"] is None  # it was tried again, and worked
    assert trace(tmp_path, ROOT, first)["error"] == "retried"
    assert trace(tmp_path, ROOT)["session_id"] == "s1"
