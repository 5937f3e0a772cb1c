"""Reading labels: strict, append-only, corrections supersede, doubles are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases.labels import current_labels, read_labels
from evalkit.contract import EvalkitError


def written(folder: Path, *rows: dict[str, Any] | str) -> Path:
    path = folder / "labels.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def row(case_id: str = "c1", reviewer: str = "r1", label: Any = "pass", **more: Any) -> dict[str, Any]:
    return {"case_id": case_id, "reviewer": reviewer, "label": label, **more}


def test_every_field_is_read_and_defaults_claim_nothing(tmp_path: Path) -> None:
    full = row(
        criterion="complete", reason="names all", rubric_version="2", labelled_on="2026-11-30", blind=True,
        confidence=0.5, seen_hash="sha256:0123456789abcdef", selection="random", provenance="synthetic",
    )  # fmt: skip
    first, second = read_labels(written(tmp_path, full, "", row("c2"))).labels
    assert {key: getattr(first, key) for key in full} == full
    assert first.line == 1
    assert second.line == 3
    assert (second.selection, second.blind, second.seen_hash, second.provenance) == (
        "unknown",
        None,
        None,
        "production",
    )


def test_blank_lines_are_counted(tmp_path: Path) -> None:
    found = read_labels(written(tmp_path, row(), "", "  ", row("c2")))
    assert (found.lines, found.blank, len(found.labels)) == (4, 2, 2)


def test_b03_two_labels_of_one_case_criterion_and_reviewer_are_refused_naming_both_lines(tmp_path: Path) -> None:
    path = written(tmp_path, row(label="pass"), row("c2"), row(label="fail"))
    with pytest.raises(EvalkitError, match="line 1 and line 3 are two labels of case 'c1' by reviewer 'r1'") as caught:
        read_labels(path)
    assert "'pass' and 'fail'" in str(caught.value)
    assert "supersedes" in caught.value.do


def test_b03_the_same_label_written_twice_is_a_double_too(tmp_path: Path) -> None:
    with pytest.raises(EvalkitError, match="line 1 and line 2"):
        read_labels(written(tmp_path, row(), row()))


def test_another_reviewer_criterion_or_rubric_version_is_no_double(tmp_path: Path) -> None:
    rows = [row(), row(reviewer="r2"), row(criterion="polite"), row(rubric_version="2")]
    assert len(read_labels(written(tmp_path, *rows)).labels) == 4


def test_a_correction_supersedes_by_line_and_the_original_is_kept(tmp_path: Path) -> None:
    labels = read_labels(written(tmp_path, row(label="pass"), row(label="fail", supersedes=1))).labels
    assert [label.label for label in labels] == ["pass", "fail"]
    assert [label.label for label in current_labels(labels)] == ["fail"]


def test_a_correction_supersedes_by_hash_so_that_it_survives_a_merged_file(tmp_path: Path) -> None:
    original = read_labels(written(tmp_path, row(label="pass"))).labels[0]
    correction = row(label="fail", supersedes=original.label_hash[:19])
    labels = read_labels(written(tmp_path, row("other"), row(label="pass"), correction)).labels
    assert [(label.line, label.label) for label in current_labels(labels)] == [(1, "pass"), (3, "fail")]


def test_corrections_chain(tmp_path: Path) -> None:
    rows = [row(label="pass"), row(label="fail", supersedes=1), row(label="pass", supersedes=2)]
    assert [label.line for label in current_labels(read_labels(written(tmp_path, *rows)).labels)] == [3]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (row(supersedes=2), "line 2 supersedes 2, but no earlier label is there"),
        (row("c2", supersedes=1), "line 2 supersedes line 1, which is of another case, criterion or reviewer: c1"),
        (row(reviewer="r2", supersedes=1), "of another case, criterion or reviewer"),
        (row(supersedes="sha256:ffffffffffff"), "no earlier label is there"),
    ],
)
def test_a_correction_that_points_elsewhere_is_refused(tmp_path: Path, bad: dict[str, Any], message: str) -> None:
    with pytest.raises(EvalkitError, match=message):
        read_labels(written(tmp_path, row(), bad))


def test_two_corrections_of_one_label_are_refused(tmp_path: Path) -> None:
    rows = [row(), row(label="fail", supersedes=1), row(label="pass", supersedes=1)]
    with pytest.raises(EvalkitError, match="line 3 and line 2 both supersede line 1"):
        read_labels(written(tmp_path, *rows))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"reviewer": "r1", "label": "pass"}', "line 1: case_id is absent"),
        ('{"case_id": " ", "reviewer": "r1", "label": "pass"}', "case_id must be a non-blank text"),
        ('{"case_id": "c1", "revewer": "r1", "label": "pass"}', "reviewer is absent; 'revewer' is one slip away"),
        ('{"case_id": "c1", "reviewer": "r1", "label": true}', "label must be a non-blank text"),
        ('{"case_id": "c1", "reviewer": "r1", "label": null}', "label must be a non-blank text"),
        ('{"case_id": "c1", "reviewer": "r1", "label": "pass", "label": "fail"}', "the key 'label' occurs twice"),
        ('{"case_id": "c1", "reviewer": "r1", "label": "pass", "selection": "Random"}', "one of random, targeted"),
        (
            '{"case_id": "c1", "reviewer": "r1", "label": "pass", "Blind": true}',
            "'Blind' is one slip away from 'blind'",
        ),
        ('{"case_id": "c1", "reviewer": "r1", "label": "pass", "labelled_on": "yesterday"}', "a date such as"),
        ('{"case_id": "c1", "reviewer": "r1", "label": "pass", "seen_hash": "abc"}', "a hash"),
        ('{"case_id": "c1", "reviewer": "r1", "label": "pass", "confidence": 7}', "a number in 0..1"),
        ('{"case_id": "c1", "reviewer": "r1", "label": "pass", "supersedes": true}', "line number"),
        ('["c1", "r1", "pass"]', "a JSON object is expected"),
        ('{"case_id": "c1", "reviewer": "r1", "label": NaN}', "line 1: "),
    ],
)
def test_a_line_that_cannot_be_read_refuses_the_file(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(EvalkitError, match=message):
        read_labels(written(tmp_path, line))


def test_a_cut_last_line_is_called_out(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps(row()) + '\n{"case_id": "c2", "revi')
    with pytest.raises(EvalkitError, match="line 2: the last line is cut off"):
        read_labels(path)


def test_all_problems_are_counted_and_five_are_spelt_out(tmp_path: Path) -> None:
    with pytest.raises(EvalkitError, match=r"7 problems in 0 labels.*\(and 2 more\)"):
        read_labels(written(tmp_path, *["{}"] * 7))


def test_reviewers_who_differ_only_in_case_are_reported(tmp_path: Path) -> None:
    found = read_labels(written(tmp_path, row(reviewer="Ana"), row(reviewer="ana")))
    assert found.findings == ("reviewers that look alike but are different: 'Ana', 'ana'",)


def test_other_keys_are_kept_out_of_the_way(tmp_path: Path) -> None:
    assert read_labels(written(tmp_path, row(tool="sheet"))).labels[0].label == "pass"


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(EvalkitError, match="cannot be read"):
        read_labels(tmp_path / "none.jsonl")


def test_a_spreadsheet_of_labels_names_the_command_that_imports_it(tmp_path: Path) -> None:
    sheet = tmp_path / "labels.csv"
    sheet.write_text("case_id,label\nc1,pass\n")
    with pytest.raises(EvalkitError, match=r"evalkit labels import labels\.csv --map MAP"):
        read_labels(sheet)
