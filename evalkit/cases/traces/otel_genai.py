"""OpenTelemetry GenAI spans as one object a trace: messages, retrieved documents, the error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalkit.cases.traces.json_text import json_text
from evalkit.cases.traces.span_files import read_span_file
from evalkit.cases.traces.span_tree import SpanTree
from evalkit.cases.traces.spans import Span
from evalkit.cases.traces.trace import Trace

__all__ = ["read_otel_genai"]

_CALLS = ("chat", "text_completion", "generate_content")
_DETAILS = "gen_ai.client.inference.operation.details"
"""The event that carries messages where they are not attributes of the span."""


def read_otel_genai(path: Path) -> Iterator[Trace]:
    """Read exported spans; each trace has ``question, questions, answer, retrieved, prompt, root, spans`` ...

    Messages are read from ``gen_ai.input.messages`` and ``gen_ai.output.messages`` (attributes, or the event with the
    operation's details), as objects or as JSON text: of the root span where it has them, else of the last model call.
    Content that was never captured is absent, and says so. ``retrieved`` is ``null`` where no retrieval was traced.
    """
    return read_span_file(path, _build)


def _build(trace_id: str, tree: SpanTree) -> dict[str, Any]:
    facts = {span.span_id: _facts(span) for span in tree.spans}
    in_order = list(facts.values())
    calls = [fact for fact in in_order if fact["operation"] in _CALLS]
    call: Mapping[str, Any] = calls[-1] if calls else {}
    root: Mapping[str, Any] = facts[tree.root.span_id] if tree.root else {}
    asked, answered = _first("input_messages", root, call), _first("output_messages", root, call)
    questions = [message["content"] for message in asked or () if message["role"] == "user"]
    answers = [message["content"] for message in answered or () if message["role"] in ("assistant", "")]
    sent = call.get("input_messages")
    return {
        "trace_id": trace_id,
        "session_id": next((f["attributes"].get("gen_ai.conversation.id") for f in (root, call) if f), None),
        "question": questions[-1] if questions else None,
        "questions": questions,
        "answer": answers[-1] if answers else None,
        "retrieved": _retrieved(in_order),
        "prompt": "\n".join(message["content"] for message in sent) if sent else None,
        "model": call.get("attributes", {}).get("gen_ai.request.model"),
        "error": next((fact["error"] for fact in (root, call) if fact and fact["error"]), None),
        "root": root or None,
        "spans": in_order,
    }


def _first(key: str, *facts: Mapping[str, Any]) -> list[dict[str, str]] | None:
    return next((fact[key] for fact in facts if fact.get(key)), None)


def _facts(span: Span) -> dict[str, Any]:
    attributes = dict(span.attributes)
    for event in span.events:
        inner = event.get("attributes")
        if event.get("name") == _DETAILS and isinstance(inner, Mapping):
            attributes = {**inner, **attributes}
    decoded = {key: json_text(value) if key in _JSON else value for key, value in attributes.items()}
    return {
        "name": span.name,
        "operation": attributes.get("gen_ai.operation.name"),
        "input_messages": _messages(decoded.get("gen_ai.input.messages")),
        "output_messages": _messages(decoded.get("gen_ai.output.messages")),
        "attributes": decoded,
        "error": span.error,
    }


_JSON = (
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.retrieval.documents", "evalkit.reference_contexts",
)  # fmt: skip


def _messages(listed: Any) -> list[dict[str, str]] | None:
    if not isinstance(listed, list):
        return None
    messages = []
    for item in listed:
        inner = item if isinstance(item, Mapping) else {}
        content = inner.get("content")
        text = content if isinstance(content, str) else "\n".join(_texts(inner.get("parts")))
        messages.append({"role": str(inner.get("role", "")), "content": text})
    return messages


def _texts(parts: Any) -> Iterator[str]:
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, Mapping) and part.get("type", "text") == "text" and isinstance(part.get("content"), str):
            yield part["content"]


def _retrieved(in_order: list[dict[str, Any]]) -> list[Any] | None:
    lists = [
        fact["attributes"].get("gen_ai.retrieval.documents") for fact in in_order if fact["operation"] == "retrieval"
    ]
    if not lists or not all(isinstance(documents, list) for documents in lists):
        return None
    return [document for documents in lists for document in documents]
