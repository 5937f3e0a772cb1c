"""Traces one line each: JSON Lines strictly, CSV with its cells as texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.cases.strict_json import JsonProblem
from evalkit.cases.traces import READERS
from evalkit.cases.traces.json_text import json_text, json_value


def test_every_line_that_is_not_blank_is_a_trace_or_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(b'{"trace_id": "a"}\n\n[1]\n{"trace_id": "b", "n": NaN}\n{"trace_id": "c')
    traces = list(READERS["jsonl"](path))
    assert [(t.where, t.problem is None) for t in traces] == [
        ("line 1", True),
        ("line 3", False),
        ("line 4", False),
        ("line 5", False),
    ]
    assert traces[3].problem is not None
    assert traces[3].problem.startswith("the last line is cut off: ")


def test_csv_cells_stay_texts_and_an_empty_cell_is_null(tmp_path: Path) -> None:
    path = tmp_path / "traces.csv"
    path.write_bytes('trace_id;answer;score;contexts\r\n007;"yes\r\nno";1e3;\r\nb;;["a"]\r\n'.encode("utf-8-sig"))
    first, second = READERS["csv"](path)
    assert first.data == {"trace_id": "007", "answer": "yes\r\nno", "score": "1e3", "contexts": None}
    assert (first.where, second.where) == ("line 2", "line 4")  # the cell with a line break takes two lines
    assert second.problem == "it has 3 cells; the header names 4 columns"


@pytest.mark.parametrize("text", ["['a']", "{", '1, "x": 2', "NaN", '{"a":1,"a":2}', "\ud800"])
def test_what_is_not_one_json_value_is_refused(text: str) -> None:
    with pytest.raises(JsonProblem):
        json_value(text)


def test_only_lists_and_objects_are_taken_out_of_a_text() -> None:
    assert [json_text(text) for text in ('["a"]', '{"a": 1}', "5", "plain", "[not json", None)] == [
        ["a"],
        {"a": 1},
        "5",
        "plain",
        "[not json",
        None,
    ]
