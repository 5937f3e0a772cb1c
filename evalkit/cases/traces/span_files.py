"""Files of spans, grouped by trace without holding them: an index of places first, then one trace at a time."""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.cases.traces.span_tree import SpanTree, tree_of
from evalkit.cases.traces.spans import Span, spans_of
from evalkit.cases.traces.trace import Trace
from evalkit.contract import EvalkitError

__all__ = ["read_span_file", "trace_of_spans"]

_CACHED_LINES = 4
"""Parsed lines kept: a collector's line holds spans of many traces, which follow each other."""


class _Place(NamedTuple):
    offset: int
    length: int


class _Bad(NamedTuple):
    number: int
    problem: str


def read_span_file(path: Path, build: Callable[[str, SpanTree], Mapping[str, Any]]) -> Iterator[Trace]:
    """Read one trace after the other, in the order in which their first spans stand in the file.

    Parameters
    ----------
    path : Path
        One JSON object a line (a span, or an OTLP document), or one JSON document as a whole (a list of spans, an OTLP
        document, or an object with ``spans`` or ``data``). Lines may be spread and mixed; only their places are held.
    build : callable
        Makes the object that adapters look into, from the trace's id and its spans.

    Raises
    ------
    EvalkitError
        Where the file cannot be read, or is no JSON at all.
    """
    try:
        yield from _traces(path, build)
    except OSError as error:
        msg = f"cannot be read ({error.strerror or error})"
        raise EvalkitError(msg, where=str(path), do="give the path of exported spans (.jsonl or .json)") from error


def trace_of_spans(path: Path) -> dict[str, str]:
    """Return the trace of each span of a file, by span id; a span id of two traces is left out."""
    found: dict[str, str] = {}
    ambiguous: set[str] = set()
    for span in _all_spans(path):
        if found.setdefault(span.span_id, span.trace_id) != span.trace_id:
            ambiguous.add(span.span_id)
    return {span_id: trace_id for span_id, trace_id in found.items() if span_id not in ambiguous}


def _all_spans(path: Path) -> Iterator[Span]:
    if not _is_lines(path):
        yield from (span for span in _spans_in(_whole(path)) if isinstance(span, Span))
        return
    with path.open("rb") as stream:
        for raw in stream:
            with contextlib.suppress(JsonProblem):  # what is no span names no trace either
                yield from (span for span in _parsed(raw) if isinstance(span, Span))


def _traces(path: Path, build: Callable[[str, SpanTree], Mapping[str, Any]]) -> Iterator[Trace]:
    if not _is_lines(path):
        found = list(_spans_in(_whole(path)))
        groups: dict[str, list[Span]] = {}
        for span in found:
            if isinstance(span, Span):
                groups.setdefault(span.trace_id, []).append(span)
        bad = [_Bad(number, span) for number, span in enumerate(found, 1) if isinstance(span, str)]
        yield from _built(((trace_id, spans) for trace_id, spans in groups.items()), bad, build, "span")
        return
    places, bad = _index(path)
    with path.open("rb") as stream:

        @lru_cache(maxsize=_CACHED_LINES)
        def at(place: _Place) -> list[Span]:
            stream.seek(place.offset)
            return [span for span in _parsed(stream.read(place.length)) if isinstance(span, Span)]

        grouped = (
            (trace_id, [span for place in where for span in at(place) if span.trace_id == trace_id])
            for trace_id, where in places.items()
        )
        yield from _built(grouped, bad, build, "line")


def _built(
    grouped: Iterable[tuple[str, list[Span]]],
    bad: list[_Bad],
    build: Callable[[str, SpanTree], Mapping[str, Any]],
    unit: str,
) -> Iterator[Trace]:
    number = 0
    for number, (trace_id, spans) in enumerate(grouped, start=1):
        tree = tree_of(spans)
        data = {"trace_id": trace_id} if tree.problem else build(trace_id, tree)
        yield Trace(number, f"trace {trace_id}", data, tree.problem, tree.notes)
    for extra, (place, problem) in enumerate(bad, start=number + 1):
        yield Trace(extra, f"{unit} {place}", {}, problem)


def _index(path: Path) -> tuple[dict[str, list[_Place]], list[_Bad]]:
    places: dict[str, list[_Place]] = {}
    bad: list[_Bad] = []
    offset = 0
    with path.open("rb") as stream:
        for number, raw in enumerate(stream, start=1):
            place = _Place(offset, len(raw))
            offset += len(raw)
            if not raw.strip():
                continue
            try:
                spans = list(_parsed(raw))
            except JsonProblem as problem:
                bad.append(_Bad(number, problem.reason))
                continue
            bad += [_Bad(number, span) for span in spans if isinstance(span, str)]
            for trace_id in dict.fromkeys(span.trace_id for span in spans if isinstance(span, Span)):
                places.setdefault(trace_id, []).append(place)
    return places, bad


def _parsed(raw: bytes) -> Iterator[Span | str]:
    return spans_of(parse_object(raw.removeprefix(codecs.BOM_UTF8)))


def _is_lines(path: Path) -> bool:
    """Whether each line is an object of its own; a pretty-printed document is not."""
    with path.open("rb") as stream:
        first = next((raw for raw in stream if raw.strip()), b"")
    try:
        parse_object(first.removeprefix(codecs.BOM_UTF8))
    except JsonProblem:
        return False
    return True


def _whole(path: Path) -> Mapping[str, Any]:
    raw = path.read_bytes().removeprefix(codecs.BOM_UTF8).strip()
    if not raw:
        return {"spans": []}
    try:
        return parse_object(b'{"spans":' + raw + b"}" if raw.startswith(b"[") else raw)
    except JsonProblem as problem:
        msg = f"is neither one JSON object a line nor one JSON document: {problem.reason}"
        raise EvalkitError(msg, where=str(path), do="export the spans again as JSON") from None


def _spans_in(document: Mapping[str, Any]) -> Iterator[Span | str]:
    data = document.get("data")
    return spans_of({"spans": data} if isinstance(data, list) else document)
