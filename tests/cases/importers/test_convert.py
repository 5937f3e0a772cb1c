"""From exports to labels: every record ends as a label, a named reason, or a problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases.importers.convert import Imported, convert
from evalkit.cases.importers.exports import read_export, written_form
from evalkit.cases.importers.maps import LabelMap, Source
from evalkit.cases.seen import seen_hash
from evalkit.contract import EvalkitError

SOURCES = {
    "case_id": Source(columns=("id",)),
    "reviewer": Source(columns=("who",)),
    "label": Source(columns=("mark",)),
    "criterion": Source(columns=("key",)),
    "reason": Source(columns=("why",)),
}
VALUES = {"TRUE": "pass", "FALSE": "fail", "5": "pass", "1": "fail"}


def imported(
    tmp_path: Path, rows: list[dict[str, Any]], *, cases: Any = None, spans: Any = None, **options: Any
) -> Imported:
    path = tmp_path / "export.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    chosen = LabelMap(**{"sources": SOURCES, "values": VALUES, "selection": "random", **options})
    return convert(read_export(path, chosen), chosen, cases=cases, spans=spans)


def row(case_id: str = "c1", mark: Any = "TRUE", who: str | None = "r1", **more: Any) -> dict[str, Any]:
    return {"id": case_id, "mark": mark, "who": who, **more}


def test_values_become_labels_only_through_the_table(tmp_path: Path) -> None:
    rows = [row("c1", "TRUE"), row("c2", 5), row("c3", "maybe"), row("c4", ""), row("c5", None), row("c6", " FALSE ")]
    found = imported(tmp_path, rows)
    assert [(label["case_id"], label["label"]) for label in found.labels] == [
        ("c1", "pass"),
        ("c2", "pass"),
        ("c6", "fail"),
    ]
    assert dict(found.unmapped) == {"maybe": 1}
    assert found.blank == ["line 4", "line 5"]
    assert found.records == 6


@pytest.mark.parametrize(("value", "form"), [("TRUE", "TRUE"), (True, "true"), (1, "1"), (1.0, "1.0"), (" x ", "x")])
def test_a_value_is_listed_as_it_was_written(value: Any, form: str) -> None:
    assert written_form(value) == form


def test_what_says_that_there_is_no_label_is_counted_and_left_out(tmp_path: Path) -> None:
    found = imported(tmp_path, [row(mark="n/a"), row("c2")], no_label=("n/a",))
    assert (len(found.labels), dict(found.no_label), dict(found.unmapped)) == (1, {"n/a": 1}, {})


def test_values_may_be_kept_as_they_stand_where_that_is_said(tmp_path: Path) -> None:
    found = imported(tmp_path, [row(mark="good"), row("c2", "TRUE")], keep_values=True)
    assert [label["label"] for label in found.labels] == ["good", "pass"]


def test_other_criteria_are_counted_not_mixed_in(tmp_path: Path) -> None:
    found = imported(tmp_path, [row(key="correct"), row(key="tone"), row("c2")], criteria=("correct",))
    assert [label["criterion"] for label in found.labels] == ["correct"]
    assert dict(found.other_criteria) == {"tone": 1, "None": 1}


def test_b03_two_labels_of_one_reviewer_for_one_case_are_refused_naming_both(tmp_path: Path) -> None:
    rows = [row(), row(who="r2"), row(mark="FALSE"), row(mark="FALSE", key="tone")]
    found = imported(tmp_path, rows)
    assert found.doubles == ["line 1 and line 3: 'c1', criterion 'default', reviewer 'r1'"]


def test_a_later_label_corrects_the_earlier_where_that_is_said(tmp_path: Path) -> None:
    rows = [row(), row("c2"), row(mark="FALSE"), row(mark="TRUE")]
    found = imported(tmp_path, rows, doubles="supersede")
    assert [label.get("supersedes") for label in found.labels] == [None, None, 1, 3]
    assert (found.doubles, found.superseding) == ([], 2)


def test_a_label_without_case_or_reviewer_is_a_problem_with_its_line(tmp_path: Path) -> None:
    found = imported(tmp_path, [row(who=None), row(""), row("c3")])
    assert found.problems == ["line 1: reviewer is blank", "line 2: case_id is blank"]
    assert len(found.labels) == 1


def test_labels_of_models_say_so_and_need_no_name(tmp_path: Path) -> None:
    kind = Source(columns=("kind",), values={"HUMAN": "production", "LLM": "model"})
    rows = [row(kind="HUMAN"), row("c2", who=None, kind="LLM"), row("c3", kind="ALIEN")]
    found = imported(tmp_path, rows, sources={**SOURCES, "provenance": kind})
    assert [(label["reviewer"], label.get("provenance")) for label in found.labels] == [
        ("r1", "production"),
        ("model", "model"),
        ("r1", None),
    ]
    assert found.models == 1
    assert found.problems == ["line 3: provenance 'ALIEN' is none of HUMAN, LLM"]


@pytest.mark.parametrize(
    ("written", "form", "date"),
    [
        ("2026-11-30", None, "2026-11-30"),
        ("2026-11-30T10:00:00Z", None, "2026-11-30T10:00:00+00:00"),
        ("30.11.2026", "%d.%m.%Y", "2026-11-30"),
        (1793440800000, "epoch_ms", "2026-10-31T10:00:00+00:00"),
    ],
)
def test_dates_are_read_as_declared(tmp_path: Path, written: Any, form: str | None, date: str) -> None:
    sources = {**SOURCES, "labelled_on": Source(columns=("on",))}
    found = imported(tmp_path, [row(on=written)], sources=sources, date_format=form)
    assert (found.labels[0]["labelled_on"], found.problems) == (date, [])


def test_a_date_that_could_be_two_days_is_not_guessed(tmp_path: Path) -> None:
    sources = {**SOURCES, "labelled_on": Source(columns=("on",))}
    found = imported(tmp_path, [row(on="03/04/2026")], sources=sources)
    assert found.problems == ["line 1: labelled_on '03/04/2026' is not an ISO date"]


CASE = {"question": "q?", "answer": "one\ntwo", "retrieved": [{"text": "p1"}, {"text": "p2"}]}
SHOWN = {**SOURCES, "question": Source(columns=("q",)), "answer": Source(columns=("a",))}


def test_a_label_is_bound_to_the_answer_that_was_shown(tmp_path: Path) -> None:
    rows = [row(q="q?", a="one\r\ntwo "), row("c2", q="q?", a="another"), row("c3", q="q?", a="x")]
    found = imported(tmp_path, rows, sources=SHOWN, cases={"c1": CASE, "c2": CASE})
    # Line ends and outer white space are the spreadsheet's. The second was given for another answer: kept, and stale.
    assert found.labels[0]["seen_hash"] == seen_hash(CASE)
    assert found.labels[1]["seen_hash"] != seen_hash(CASE)
    assert "seen_hash" not in found.labels[2]
    assert (found.bound, found.stale, found.unmatched, found.unlabelled_cases) == (2, 1, ["c3"], 0)


@pytest.mark.parametrize(
    ("shown", "is_same"),
    [
        (["p1", "p2"], True),
        ([{"text": "p1"}, {"text": "p2"}], True),
        (["p2", "p1"], False),
        ("p1 | p2", True),
        ("p1", False),
    ],
)
def test_passages_that_were_shown_count_too(tmp_path: Path, shown: Any, is_same: bool) -> None:
    sources = {**SOURCES, "retrieved": Source(columns=("ctx",))}
    found = imported(tmp_path, [row(ctx=shown)], sources=sources, cases={"c1": CASE})
    assert (found.labels[0]["seen_hash"] == seen_hash(CASE)) is is_same


def test_without_the_cases_only_a_whole_view_is_hashed(tmp_path: Path) -> None:
    everything = {**SHOWN, "retrieved": Source(columns=("ctx",))}
    whole = row(q="q?", a="one\ntwo", ctx=CASE["retrieved"])
    assert imported(tmp_path, [whole], sources=everything).labels[0]["seen_hash"] == seen_hash(CASE)
    assert "seen_hash" not in imported(tmp_path, [whole], sources=SHOWN).labels[0]


def test_labels_of_spans_find_their_trace(tmp_path: Path) -> None:
    found = imported(tmp_path, [row("span-1"), row("span-9")], spans={"span-1": "c1"}, cases={"c1": {}, "c2": {}})
    assert [label["case_id"] for label in found.labels] == ["c1", "span-9"]
    assert (found.unmatched, found.unlabelled_cases) == (["span-9"], 1)


def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text("id,verdict,who\nc1,TRUE,r1\n")
    chosen = LabelMap(sources=SOURCES)
    with pytest.raises(
        EvalkitError, match=r"has no column 'mark', which the map names for label; its columns are 'id'"
    ):
        list(read_export(path, chosen))


def test_a_damaged_line_and_a_record_that_is_none_are_problems(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    path.write_text('{"id": "c1", "mark": "TRUE", "who": "r1"}\n{"id": "c2", "id": "c3"}\n')
    found = convert(read_export(path, LabelMap(sources=SOURCES)), LabelMap(sources=SOURCES, values=VALUES))
    assert found.problems == ["line 2: the key 'id' occurs twice in one object"]
    path.write_text('[5, {"id": "c1", "mark": "TRUE", "who": "r1"}]')
    found = convert(read_export(path, LabelMap(sources=SOURCES)), LabelMap(sources=SOURCES, values=VALUES))
    assert found.problems == ["record 1: an object was expected; got int"]
    assert len(found.labels) == 1


def test_a_file_that_is_no_export_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text("id: c1\n")
    with pytest.raises(EvalkitError, match="is neither JSON, nor one JSON object a line"):
        list(read_export(path, LabelMap(sources=SOURCES)))
