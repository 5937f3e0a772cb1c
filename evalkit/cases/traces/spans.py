"""Spans out of exported JSON: OTLP documents, as collectors write them, or one object a span, as SDKs do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["Span", "nested", "spans_of"]


class Span(NamedTuple):
    """One span in one shape, whatever wrote it."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start: str
    """Sorts by time; empty where it was not exported."""
    attributes: Mapping[str, Any]
    """As exported: dotted keys, or nested objects."""
    error: str | None
    """The error's message where the span failed."""
    events: tuple[Mapping[str, Any], ...] = ()


def spans_of(document: Mapping[str, Any]) -> Iterator[Span | str]:
    """Yield the spans of one exported object, or a sentence for what is no span.

    >>> [span.name for span in spans_of({"name": "chat", "context": {"trace_id": "t", "span_id": "s"}})]
    ['chat']
    >>> list(spans_of({"name": "chat"}))
    ['a span without trace id or span id (name: chat)']
    """
    if "resourceSpans" in document:
        yield from _otlp(document)
    elif isinstance(document.get("spans"), list):  # a wrapper around spans of one trace
        for item in document["spans"]:
            yield from spans_of(item) if isinstance(item, Mapping) else ("an item of spans that is no object",)
    else:
        yield _flat(document)


def _otlp(document: Mapping[str, Any]) -> Iterator[Span | str]:
    for resource in _objects(document["resourceSpans"]):
        for scope in _objects(resource.get("scopeSpans")):
            for raw in _objects(scope.get("spans")):
                yield _span(
                    trace_id=raw.get("traceId"),
                    span_id=raw.get("spanId"),
                    parent_id=raw.get("parentSpanId"),
                    raw=raw,
                    start=raw.get("startTimeUnixNano"),
                    attributes=_otlp_attributes(raw.get("attributes")),
                    events=tuple(
                        {"name": e.get("name"), "attributes": _otlp_attributes(e.get("attributes"))}
                        for e in _objects(raw.get("events"))
                    ),
                )


def _flat(raw: Mapping[str, Any]) -> Span | str:
    context = raw.get("context") if isinstance(raw.get("context"), Mapping) else {}
    ids: Mapping[str, Any] = {**raw, **(context if isinstance(context, Mapping) else {})}
    return _span(
        trace_id=ids.get("trace_id", ids.get("traceId")),
        span_id=ids.get("span_id", ids.get("spanId")),
        parent_id=raw.get("parent_id", raw.get("parentSpanId")),
        raw=raw,
        start=raw.get("start_time", raw.get("startTimeUnixNano")),
        attributes=raw["attributes"] if isinstance(raw.get("attributes"), Mapping) else {},
        events=tuple(_objects(raw.get("events"))),
    )


def _span(
    *,
    trace_id: Any,
    span_id: Any,
    parent_id: Any,
    raw: Mapping[str, Any],
    start: Any,
    attributes: Mapping[str, Any],
    events: tuple[Mapping[str, Any], ...],
) -> Span | str:
    name = raw.get("name") if isinstance(raw.get("name"), str) else ""
    if not (isinstance(trace_id, str) and trace_id and isinstance(span_id, str) and span_id):
        return f"a span without trace id or span id (name: {name or 'none'})"
    return Span(
        trace_id,
        span_id,
        parent_id if isinstance(parent_id, str) and parent_id else None,
        str(name),
        "" if start is None else str(start).rjust(20, "0"),
        attributes,
        _error(raw, events),
        events,
    )


def _error(raw: Mapping[str, Any], events: tuple[Mapping[str, Any], ...]) -> str | None:
    status = raw.get("status")
    status = status if isinstance(status, Mapping) else {}
    code = status.get("code", status.get("status_code", raw.get("status_code")))
    if code not in (2, "2", "ERROR", "STATUS_CODE_ERROR"):
        return None
    message = status.get("message") or status.get("description") or raw.get("status_message")
    for event in events:
        found = event.get("attributes")
        if not message and event.get("name") == "exception" and isinstance(found, Mapping):
            message = found.get("exception.message") or found.get("exception.type")
    return str(message or "the span ended with status ERROR, without a message")


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _otlp_attributes(value: Any) -> dict[str, Any]:
    return {item["key"]: _otlp_value(item.get("value")) for item in _objects(value) if isinstance(item.get("key"), str)}


def _otlp_value(value: Any) -> Any:
    """Read an AnyValue; 64-bit integers are texts in OTLP JSON."""
    if not isinstance(value, Mapping) or not value:
        return None
    kind, inner = next(iter(value.items()))
    if kind == "intValue" and isinstance(inner, str) and inner.lstrip("-").isdigit():
        return int(inner)
    if kind == "arrayValue" and isinstance(inner, Mapping):
        return [_otlp_value(item) for item in _objects(inner.get("values"))]
    if kind == "kvlistValue" and isinstance(inner, Mapping):
        return _otlp_attributes(inner.get("values"))
    return inner


def nested(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Turn dotted keys into objects and lists: ``docs.0.text`` becomes ``{"docs": [{"text": ...}]}``.

    A key that is a leaf and a branch at once keeps its own value under ``""`` in the branch.

    Examples
    --------
    >>> nested({"docs.0.text": "a", "docs.1.text": "b", "model": "m"})
    {'docs': [{'text': 'a'}, {'text': 'b'}], 'model': 'm'}
    """
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        place = tree
        *branches, leaf = key.split(".")
        for part in branches:
            place = _branch(place, part)
        inner = nested(value) if isinstance(value, Mapping) else value
        if isinstance(place.get(leaf), dict):
            place[leaf] |= inner if isinstance(inner, dict) else {"": inner}
        else:
            place[leaf] = inner
    return {key: _listed(value) for key, value in tree.items()}


def _branch(place: dict[str, Any], part: str) -> dict[str, Any]:
    inner = place.get(part)
    if not isinstance(inner, dict):
        inner = place[part] = {} if part not in place else {"": inner}
    return inner


_SPARSE = 8


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    value = {key: _listed(item) for key, item in value.items()}
    if value and all(key.isdigit() for key in value):
        length = max(map(int, value)) + 1
        if length <= len(value) + _SPARSE:  # an index that was not exported leaves a hole, and nothing moves up
            return [value.get(str(i)) for i in range(length)]
    return value
