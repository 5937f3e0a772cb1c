"""Span files as tools write them: lines, one document, mixed traces, damage; one trace after the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases.traces.span_files import read_span_file, trace_of_spans
from evalkit.cases.traces.span_tree import SpanTree
from evalkit.contract import EvalkitError


def span(trace: str, name: str, parent: str | None = None) -> dict[str, Any]:
    return {"name": name, "context": {"trace_id": trace, "span_id": f"{trace}-{name}"}, "parent_id": parent}


def build(trace_id: str, tree: SpanTree) -> dict[str, Any]:
    return {"trace_id": trace_id, "names": [span.name for span in tree.spans]}


def found(path: Path) -> list[tuple[str, Any, str | None]]:
    return [(trace.where, trace.data.get("names"), trace.problem) for trace in read_span_file(path, build)]


SPANS = [span("t1", "a"), span("t2", "c"), span("t1", "b", "t1-a")]
TRACES = [("trace t1", ["a", "b"], None), ("trace t2", ["c"], None)]


@pytest.mark.parametrize(
    "content",
    [
        "".join(json.dumps(s) + "\n" for s in SPANS),
        "\ufeff" + "".join(json.dumps(s) + "\r\n" for s in SPANS),
        json.dumps(SPANS),
        json.dumps(SPANS, indent=2),
        json.dumps({"spans": SPANS}),
        json.dumps({"data": SPANS}, indent=1),
        json.dumps({"spans": SPANS[:1]}) + "\n" + json.dumps({"spans": SPANS[1:]}) + "\n",
    ],
    ids=["lines", "bom_crlf", "list", "pretty_list", "object", "pretty_data", "batches"],
)
def test_spans_are_grouped_by_trace_in_the_order_of_their_first(tmp_path: Path, content: str) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_bytes(content.encode())
    assert found(path) == TRACES


def test_damaged_lines_become_traces_with_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text(json.dumps(SPANS[0]) + "\n{cut\n" + json.dumps({"name": "x"}) + "\n")
    traces = found(path)
    assert traces[0] == ("trace t1", ["a"], None)
    assert [where for where, _, _ in traces[1:]] == ["line 2", "line 3"]
    assert traces[2][2] == "a span without trace id or span id (name: x)"


def test_a_trace_whose_spans_make_no_tree_keeps_its_id_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    circle = [span("t", "a", "t-b"), span("t", "b", "t-a")]
    path.write_text("".join(json.dumps(s) + "\n" for s in circle))
    (trace,) = read_span_file(path, build)
    assert trace.data == {"trace_id": "t"}
    assert trace.problem == "the parents of its spans form a circle: t-a -> t-b -> t-a"


def test_what_is_no_json_is_refused_and_what_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text("trace_id,span_id\n")
    with pytest.raises(EvalkitError, match="neither one JSON object a line nor one JSON document"):
        list(read_span_file(path, build))
    with pytest.raises(EvalkitError, match="cannot be read"):
        list(read_span_file(tmp_path / "missing.jsonl", build))


def test_an_empty_file_has_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_text("\n")
    assert found(path) == []


def test_spans_lead_to_their_trace_unless_two_traces_share_the_id(tmp_path: Path) -> None:
    path = tmp_path / "spans.jsonl"
    shared = {"name": "x", "context": {"trace_id": "t9", "span_id": "t1-a"}}
    path.write_text("".join(json.dumps(s) + "\n" for s in [*SPANS, shared]))
    assert trace_of_spans(path) == {"t2-c": "t2", "t1-b": "t1"}
