"""OpenTelemetry GenAI: messages as attributes, JSON text or event; the last question is the one that is evaluated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases.traces import READERS


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}, {"type": "tool_call", "id": "x"}]}


def span(name: str, operation: str, parent: str | None, start: int, **attributes: Any) -> dict[str, Any]:
    return {
        "name": name,
        "context": {"trace_id": "t", "span_id": name},
        "parent_id": parent,
        "start_time": f"2026-11-30T10:00:{start:02d}Z",
        "attributes": {
            "gen_ai.operation.name": operation,
            **{f"gen_ai.{k.replace('__', '.')}": v for k, v in attributes.items()},
        },
    }


def trace(tmp_path: Path, *spans: dict[str, Any]) -> dict[str, Any]:
    path = tmp_path / "spans.jsonl"
    path.write_text("".join(json.dumps(s) + "\n" for s in spans))
    (found,) = READERS["otel-genai"](path)
    return dict(found.data)


ASKED, ANSWERED = [message("user", "q?")], [message("assistant", "a.")]


@pytest.mark.parametrize("form", [lambda value: value, json.dumps], ids=["structured", "json_text"])
def test_messages_of_the_root_come_first(tmp_path: Path, form: Any) -> None:
    root = span("run", "invoke_agent", None, 0, input__messages=form(ASKED), output__messages=form(ANSWERED))
    sent = form([message("user", "context and q?")])
    call = span("chat", "chat", "run", 1, input__messages=sent, output__messages=form([message("assistant", "raw")]))
    found = trace(tmp_path, root, call)
    assert (found["question"], found["answer"], found["prompt"]) == ("q?", "a.", "context and q?")


def test_without_an_agent_span_the_model_call_speaks(tmp_path: Path) -> None:
    call = span("chat", "chat", None, 1, input__messages=ASKED, output__messages=ANSWERED)
    found = trace(tmp_path, call)
    assert (found["question"], found["answer"]) == ("q?", "a.")


def test_messages_in_the_event_with_the_operations_details(tmp_path: Path) -> None:
    call = span("chat", "chat", None, 1)
    details = {"gen_ai.input.messages": ASKED, "gen_ai.output.messages": ANSWERED}
    call["events"] = [{"name": "gen_ai.client.inference.operation.details", "attributes": details}]
    assert trace(tmp_path, call)["answer"] == "a."


def test_content_that_was_not_captured_is_absent(tmp_path: Path) -> None:
    found = trace(tmp_path, span("chat", "chat", None, 1))
    assert (found["question"], found["answer"], found["prompt"], found["retrieved"]) == (None, None, None, None)


def test_of_a_conversation_the_last_question_is_evaluated_and_all_are_kept(tmp_path: Path) -> None:
    history = [message("user", "one?"), message("assistant", "1"), message("user", "two?")]
    found = trace(tmp_path, span("run", "invoke_agent", None, 0, input__messages=history))
    assert (found["question"], found["questions"]) == ("two?", ["one?", "two?"])


def test_null_and_empty_retrieval_are_two_facts(tmp_path: Path) -> None:
    root = span("run", "invoke_agent", None, 0)
    assert trace(tmp_path, root, span("find", "retrieval", "run", 1))["retrieved"] is None
    empty = span("find", "retrieval", "run", 1, retrieval__documents="[]")
    assert trace(tmp_path, root, empty)["retrieved"] == []
    found = span("find", "retrieval", "run", 1, retrieval__documents=[{"id": "1", "score": 0.5, "content": "c"}])
    assert trace(tmp_path, root, found)["retrieved"] == [{"id": "1", "score": 0.5, "content": "c"}]
