"""OpenInference spans (Phoenix and others) as one object a trace: root, retrieved documents, the final model call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalkit.cases.traces.json_text import json_text
from evalkit.cases.traces.span_files import read_span_file
from evalkit.cases.traces.span_tree import SpanTree
from evalkit.cases.traces.spans import Span, nested
from evalkit.cases.traces.trace import Trace

__all__ = ["read_openinference"]

_ASIDE = ("EVALUATOR", "GUARDRAIL")
"""Model calls below these judge an answer; they do not give it."""


def read_openinference(path: Path) -> Iterator[Trace]:
    """Read exported spans; each trace is an object with ``trace_id, session_id, root, retrieved, llm, error, spans``.

    ``retrieved`` is what the last reranker let through, else what the retrievers returned, in order of time; ``null``
    where no retriever was traced at all, ``[]`` where one found nothing.
    """
    return read_span_file(path, _build)


def _build(trace_id: str, tree: SpanTree) -> dict[str, Any]:
    facts = {span.span_id: _facts(span) for span in tree.spans}
    kinds = {span_id: fact["kind"] for span_id, fact in facts.items()}
    aside = {span.span_id for span in tree.spans if any(kinds[up.span_id] in _ASIDE for up in tree.ancestors(span))}
    in_order = [facts[span.span_id] for span in tree.spans if span.span_id not in aside]
    calls = [fact for fact in in_order if fact["kind"] == "LLM"]
    root = facts[tree.root.span_id] if tree.root else None
    call = calls[-1] if calls else None
    session = next((f["attributes"]["session"]["id"] for f in in_order if _has_session(f)), None)
    return {
        "trace_id": trace_id,
        "session_id": session,
        "root": root,
        "retrieved": _retrieved(in_order),
        "llm": _call(call) if call else None,
        "error": next((fact["error"] for fact in (root, call) if fact and fact["error"]), None),
        "spans": in_order,
    }


def _has_session(fact: Mapping[str, Any]) -> bool:
    session = fact["attributes"].get("session")
    return isinstance(session, Mapping) and isinstance(session.get("id"), str)


def _facts(span: Span) -> dict[str, Any]:
    attributes = nested(span.attributes)
    inner = attributes.get("openinference")
    kind = inner["span"].get("kind") if isinstance(inner, Mapping) and isinstance(inner.get("span"), Mapping) else None
    metadata = attributes.get("metadata")
    return {
        "name": span.name,
        "kind": kind,
        "input": _value(attributes.get("input")),
        "output": _value(attributes.get("output")),
        "metadata": json_text(metadata),
        "attributes": attributes,
        "error": span.error,
    }


def _value(side: Any) -> Any:
    """Return ``input.value`` or ``output.value``; as an object where the span says that it is JSON."""
    if not isinstance(side, Mapping):
        return None
    value = side.get("value")
    return json_text(value) if side.get("mime_type") == "application/json" else value


def _retrieved(in_order: list[dict[str, Any]]) -> list[Any] | None:
    rerankers = [fact for fact in in_order if fact["kind"] == "RERANKER"]
    if rerankers:
        return _documents(rerankers[-1]["attributes"].get("reranker"), "output_documents")
    retrievers = [fact for fact in in_order if fact["kind"] == "RETRIEVER"]
    lists = [[] if _found_nothing(fact) else _documents(fact["attributes"].get("retrieval"), "documents")
             for fact in retrievers]  # fmt: skip
    if not lists or None in lists:  # a retriever whose documents were not logged: what came back is not known
        return None
    return [document for documents in lists for document in documents or ()]


def _found_nothing(fact: Mapping[str, Any]) -> bool:
    """Whether a retriever says that it returned an empty list; flattened attributes cannot, its output can."""
    return "retrieval" not in fact["attributes"] and fact["output"] in ([], {"documents": []})


def _documents(holder: Any, key: str) -> list[Any] | None:
    if not isinstance(holder, Mapping) or key not in holder:
        return None
    listed = json_text(holder[key])
    if listed == {}:
        return []
    return [_document(item) for item in listed] if isinstance(listed, list) else None


def _document(item: Any) -> Any:
    inner = item.get("document", item) if isinstance(item, Mapping) else item
    if isinstance(inner, Mapping) and isinstance(inner.get("metadata"), str):
        return {**inner, "metadata": json_text(inner["metadata"])}
    return inner


def _call(fact: Mapping[str, Any]) -> dict[str, Any]:
    holder = fact["attributes"].get("llm")
    llm: Mapping[str, Any] = holder if isinstance(holder, Mapping) else {}
    sent, given = _messages(llm.get("input_messages")), _messages(llm.get("output_messages"))
    return {
        "model": llm.get("model_name"),
        "input_messages": sent,
        "output_messages": given,
        "prompt": "\n".join(message["content"] for message in sent) or None,
        "error": fact["error"],
    }


def _messages(listed: Any) -> list[dict[str, str]]:
    messages = []
    for item in listed if isinstance(listed, list) else ():
        inner = item.get("message", item) if isinstance(item, Mapping) else {}
        content = inner.get("content")
        if not isinstance(content, str):
            content = "\n".join(_parts(inner.get("contents")))
        messages.append({"role": str(inner.get("role", "")), "content": content})
    return messages


def _parts(contents: Any) -> Iterator[str]:
    for part in contents if isinstance(contents, list) else ():
        inner = part.get("message_content", part) if isinstance(part, Mapping) else {}
        if isinstance(inner.get("text"), str):
            yield inner["text"]
