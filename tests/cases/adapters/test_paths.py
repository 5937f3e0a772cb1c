"""Paths into traces: what they reach, and in words where they break."""

from __future__ import annotations

import pytest

from evalkit.cases.adapters.paths import head_of, look_up, parse_path
from evalkit.contract import EvalkitError

TRACE = {
    "a": {"b": [{"c": 1}, {"c": 2}, {"d": 3}], "n": None},
    "k.x": {"y": "dotted"},
    "text": "t",
    "runs": [{"docs": [{"t": 1}]}, {"docs": [{"t": 2}, {"t": 3}]}],
    "Trace ID": "id",
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("text", "t"),
        ("a.b[0].c", 1),
        ("a.b[-1].d", 3),
        ("a.b[*].c", [1, 2, None]),  # the third item lacks c and keeps its place
        ("runs[*].docs[*].t", [1, 2, 3]),  # flat, however many lists there are
        ("a[*]", [[{"c": 1}, {"c": 2}, {"d": 3}], None]),  # the values of an object, whatever their keys
        ('["k.x"].y', "dotted"),
        ("Trace ID", "id"),
        ("a.n", None),
    ],
)
def test_a_path_reaches(path: str, value: object) -> None:
    looked = look_up(TRACE, path)
    assert (looked.value, looked.is_present, looked.broke) == (value, True, "")


@pytest.mark.parametrize(
    ("path", "broke"),
    [
        ("nowhere", "nowhere is absent"),
        ("a.b[7].c", "a.b[7] is beyond a list of 3"),
        ("a.b.c", "a.b is a list, not an object"),
        ("text[0]", "text is a text, not a list"),
        ("text[*].x", "text is a text, not a list"),
        ("a.n.deep", "a.n is null"),
        ('["k.x"].z', '["k.x"].z is absent'),
        ("a.missing.deeper", "a.missing is absent"),
    ],
)
def test_a_path_that_breaks_half_way_says_where(path: str, broke: str) -> None:
    looked = look_up(TRACE, path)
    assert (looked.value, looked.is_present, looked.broke) == (None, False, broke)


def test_a_list_that_is_null_is_null_for_each_item_too() -> None:
    assert look_up({"docs": None}, "docs[*].text") == (None, True, "")


@pytest.mark.parametrize("path", ["", ".a", "a.", "a..b", "a[", "a[x]", 'a["b]'])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(EvalkitError, match="no path into a trace"):
        parse_path(path)


def test_the_head_of_a_path_is_its_first_key() -> None:
    assert [head_of(path) for path in ("a.b", "a[0]", '["k.x"].y', "[*].a")] == ["a", "a", "k.x", None]
