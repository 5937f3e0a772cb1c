"""Spans in one shape, whatever wrote them; attributes as objects; trees that are none."""

from __future__ import annotations

import pytest

from evalkit.cases.traces.span_tree import tree_of
from evalkit.cases.traces.spans import Span, nested, spans_of

OTLP = {
    "resourceSpans": [
        {
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "t1",
                            "spanId": "s1",
                            "parentSpanId": "",
                            "name": "chat",
                            "startTimeUnixNano": "1700000000000000005",
                            "attributes": [
                                {"key": "text", "value": {"stringValue": "x"}},
                                {"key": "n", "value": {"intValue": "42"}},
                                {"key": "ok", "value": {"boolValue": True}},
                                {"key": "list", "value": {"arrayValue": {"values": [{"doubleValue": 0.5}]}}},
                                {
                                    "key": "map",
                                    "value": {"kvlistValue": {"values": [{"key": "a", "value": {"stringValue": "b"}}]}},
                                },
                                {"key": "nothing", "value": {}},
                            ],
                            "status": {"code": 2},
                            "events": [
                                {
                                    "name": "exception",
                                    "attributes": [{"key": "exception.message", "value": {"stringValue": "boom"}}],
                                }
                            ],
                        }
                    ]
                }
            ]
        }
    ]
}


def test_an_otlp_span() -> None:
    (span,) = spans_of(OTLP)
    assert isinstance(span, Span)
    assert (span.trace_id, span.span_id, span.parent_id, span.name) == ("t1", "s1", None, "chat")
    assert span.attributes == {"text": "x", "n": 42, "ok": True, "list": [0.5], "map": {"a": "b"}, "nothing": None}
    assert span.error == "boom"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ({"status": {"status_code": "OK"}}, None),
        ({"status": {"status_code": "ERROR", "description": "down"}}, "down"),
        ({"status_code": "ERROR", "status_message": "down"}, "down"),
        ({"status": {"code": "STATUS_CODE_ERROR"}}, "the span ended with status ERROR, without a message"),
        ({}, None),
    ],
)
def test_a_flat_span_fails_as_its_status_says(status: dict[str, object], error: str | None) -> None:
    (span,) = spans_of({"name": "a", "context": {"trace_id": "t", "span_id": "s"}, "parent_id": None, **status})
    assert isinstance(span, Span)
    assert span.error == error


def test_what_is_no_span_is_told() -> None:
    assert list(spans_of({"spans": [{"name": "a"}, 5]})) == [
        "a span without trace id or span id (name: a)",
        "an item of spans that is no object",
    ]


@pytest.mark.parametrize(
    ("flat", "tree"),
    [
        ({"a.b": 1, "a.c": 2}, {"a": {"b": 1, "c": 2}}),
        ({"d.1.t": "y", "d.0.t": "x"}, {"d": [{"t": "x"}, {"t": "y"}]}),
        ({"d.0": "x", "d.2": "z"}, {"d": ["x", None, "z"]}),  # a hole stays a hole
        ({"d.0": "x", "d.900": "z"}, {"d": {"0": "x", "900": "z"}}),  # no list of 901 for two items
        ({"a": 1, "a.b": 2}, {"a": {"": 1, "b": 2}}),  # a leaf that is a branch as well: nothing is lost
        ({"a.b": 2, "a": 1}, {"a": {"b": 2, "": 1}}),
        ({"a": {"b.c": 1}}, {"a": {"b": {"c": 1}}}),
    ],
)
def test_dotted_keys_become_objects_and_lists(flat: dict[str, object], tree: dict[str, object]) -> None:
    assert nested(flat) == tree


def span(name: str, parent: str | None, start: str = "1", **more: object) -> Span:
    return Span("t", name, parent, name, start, dict(more), None)


def test_the_root_is_the_one_span_without_a_parent() -> None:
    tree = tree_of([span("c", "b", "3"), span("b", "a", "2"), span("a", None, "1")])
    assert tree.root is not None
    assert (tree.root.name, [s.name for s in tree.spans], tree.problem) == ("a", ["a", "b", "c"], None)
    assert [s.name for s in tree.ancestors(tree.spans[2])] == ["b", "a"]


def test_a_root_whose_caller_is_in_another_export() -> None:
    tree = tree_of([span("b", "elsewhere"), span("c", "b")])
    assert tree.root is not None
    assert tree.root.name == "b"


def test_several_roots_are_no_root_and_say_so() -> None:
    tree = tree_of([span("a", None), span("b", None)])
    assert tree.root is None
    assert tree.notes == ("no single span is the root of this trace: a, b",)


@pytest.mark.parametrize(
    ("spans", "problem"),
    [
        ([span("a", "b"), span("b", "a")], "the parents of its spans form a circle: a -> b -> a"),
        ([span("a", "a")], "the parents of its spans form a circle: a -> a"),
        (
            [span("root", None), span("x", "y"), span("y", "z"), span("z", "x")],
            "the parents of its spans form a circle: x -> y -> z -> x",
        ),
        (
            [span("a", None, text="one"), span("a", None, text="two")],
            "two spans have the id a and different content (a, a)",
        ),
    ],
)
def test_cyclic_parents_and_two_spans_of_one_id_are_told(spans: list[Span], problem: str) -> None:
    tree = tree_of(spans)
    assert tree.problem == problem
    assert tree.ancestors(tree.spans[0]) == []  # and nothing walks in the circle


def test_a_span_that_was_exported_twice_counts_once() -> None:
    tree = tree_of([span("a", None), span("a", None)])
    assert (len(tree.spans), tree.problem) == (1, None)
    assert tree.notes == ("span a was exported twice, with the same content",)
