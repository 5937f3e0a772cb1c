"""Records leave for other tools and come back as they were; nothing in them is run on the way."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from labelled_rows import record

from evalkit.cases.tables import _guarded, unguarded
from evalkit.contract import EvalkitError
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.scoring.exchange import read_records_csv, records_frame, records_of_frame, write_records_csv
from evalkit.scoring.records import Record
from evalkit.scoring.score import score_cases

FIXTURES = Path(__file__).parents[2] / "fixtures"
HOSTILE = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\uff1d1+1",
    "'=1",
    "''=1",
    "'tis",
    "-5",
]


def bundled(file: str) -> list[Record]:
    return list(score_cases(evidence_coverage, FIXTURES / "evidence_coverage" / file))


def rows(*values: Any) -> list[Record]:
    return [record(f"c{i}", value, reason=f"row {i}") for i, value in enumerate(values)]


KINDS = {
    "numbers": rows(0.5, None, 1.0),
    "integers": rows(3, None, -2),
    "labels": rows("pass", None, "=fail"),
    "rankings": rows([1, 0], None, ["b", "a"]),
    "nothing": rows(None),
    "none": [],
}


@pytest.mark.parametrize("file", ["release.jsonl", "invalid.jsonl"])
def test_a_frame_and_a_csv_hold_every_field_of_bundled_rows(file: str, tmp_path: Path):
    records = bundled(file)
    assert records_of_frame(records_frame(records)) == records
    write_records_csv(tmp_path / "records.csv", records)
    assert read_records_csv(tmp_path / "records.csv") == records


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_value_comes_back_with_its_type(kind: str, tmp_path: Path):
    records = KINDS[kind]
    write_records_csv(tmp_path / "records.csv", records)
    for found in (records_of_frame(records_frame(records)), read_records_csv(tmp_path / "records.csv")):
        assert found == records
        assert [type(row.value) for row in found] == [type(row.value) for row in records]


def test_a_missing_score_is_na_with_its_state_beside_it():
    frame = records_frame(KINDS["numbers"])
    assert frame["value"].tolist() == [0.5, pd.NA, 1.0]
    assert frame["state"].tolist() == ["scored", "invalid", "scored"]
    assert [str(frame[c].dtype) for c in ("line", "value", "blocking", "minimum", "reason", "detail")] == [
        "Int64", "Float64", "boolean", "Float64", "string", "object",
    ]  # fmt: skip
    assert str(records_frame(KINDS["integers"])["value"].dtype) == "Int64"
    assert str(records_frame(KINDS["labels"])["value"].dtype) == "string"


def test_a_filtered_and_reordered_frame_gives_its_rows():
    frame = records_frame(bundled("release.jsonl"))
    chosen = frame[frame["slice"] == "multilingual"].sort_values("case_id", ascending=False)
    assert [row.case_id for row in records_of_frame(chosen)] == chosen["case_id"].tolist()


@pytest.mark.parametrize("text", HOSTILE)
def test_no_cell_of_a_csv_is_a_formula_and_each_text_comes_back(text: str, tmp_path: Path):
    records = [record(text.strip() or "x", 1.0, reason=text, slice=text, owner=text)]
    path = tmp_path / "records.csv"
    write_records_csv(path, records)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        (cells,) = csv.DictReader(stream)
    for cell in cells.values():
        assert not cell.startswith(("=", "+", "@", "\t", "\r", "\n", "\uff1d")), cell
        assert not cell.startswith("-") or cell == "-5"
    assert read_records_csv(path) == records


@given(st.text(alphabet="'=+-@\t\r\n\uff1da1.", max_size=6))
def test_guarding_loses_nothing(text: str):
    guarded = _guarded(text)
    assert unguarded(guarded) == text
    assert guarded == text or guarded == f"'{text}"


def test_negative_numbers_stay_numbers_in_a_spreadsheet(tmp_path: Path):
    write_records_csv(tmp_path / "records.csv", rows(-0.25))
    assert ",-0.25,number," in (tmp_path / "records.csv").read_text(encoding="utf-8-sig")


def test_what_a_spreadsheet_does_to_flags_is_understood(tmp_path: Path):
    path = tmp_path / "records.csv"
    write_records_csv(path, rows(0.5))
    path.write_text(path.read_text(encoding="utf-8-sig").replace(",true,", ",TRUE,"), encoding="utf-8", newline="")
    assert read_records_csv(path) == rows(0.5)


def test_what_is_no_record_any_more_is_refused_with_its_place(tmp_path: Path):
    path = tmp_path / "records.csv"
    write_records_csv(path, rows(0.5))
    text = path.read_text(encoding="utf-8-sig")
    path.write_text(text.replace(",scored,", ",invalid,"), encoding="utf-8", newline="")
    with pytest.raises(EvalkitError, match=r"records.csv, line 2: is not a record: state 'invalid' with value 0.5"):
        read_records_csv(path)
    path.write_text(text.replace(",0.5,number", ",a half,number"), encoding="utf-8", newline="")
    with pytest.raises(EvalkitError, match="line 2: value must be JSON, as it was written; got 'a half'"):
        read_records_csv(path)
    path.write_text(text.replace("reason", "why"), encoding="utf-8", newline="")
    with pytest.raises(EvalkitError, match="lacks columns of a record: reason"):
        read_records_csv(path)
    with pytest.raises(EvalkitError, match="the frame: lacks columns of a record: case_id"):
        records_of_frame(records_frame(rows(0.5)).drop(columns="case_id"))
    frame = records_frame(rows(0.5))
    frame["state"] = "error"
    with pytest.raises(EvalkitError, match=r"the frame, row 0: is not a record: state 'error' with value 0\.5"):
        records_of_frame(frame)
