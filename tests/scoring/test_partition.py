"""The function that every engine calls: fixed columns in, fixed columns out, whatever the partition holds."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalkit.cases.lines import read_lines
from evalkit.contract import EvalkitError
from evalkit.scoring.load import load_metric
from evalkit.scoring.partition import (
    SPARK_SCHEMA,
    SUSPICIOUS_KEYS,
    empty_records,
    frame_of_lines,
    records_in,
    score_partition,
    score_partitions,
)
from evalkit.scoring.records import Record
from evalkit.scoring.score import Scorer, score_cases

HARD = [
    b'{"case_id": "a", "required_claim_ids": ["x", "y"], "supported_claim_ids": ["x"], "family": "f"}',
    b"",
    b'{"case_id": "b", "required_claim_ids": [], "supported_claim_ids": []}',
    b"{",
    b"\xff\xfe",
    b'{"case_id": "c\xe2\x80\xa8d", "required_claim_ids": ["x"], "supported_claim_ids": ["x"], "blocking": false}',
    b'{"case_id": "e", "required_claim_id": ["x"], "supported_claim_ids": ["x"], "slice": "s"}',
    b'{"case_id": "g", "required_claim_ids": ["x"], "supported_claim_ids": ["x"], "evidence": {"answer": "\xc3\xa9"}}',
]


def frame(lines: list[Any], first: int = 1) -> pd.DataFrame:
    return pd.DataFrame({"line": range(first, first + len(lines)), "raw": pd.Series(lines, dtype="object")})


def plain_records(path: Path, metric: str) -> list[Record]:
    return list(score_cases(load_metric(metric), path))


def test_a_partition_of_a_file_gives_the_records_of_the_file(tmp_path: Path):
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b"\n".join([*HARD, b'{"case_id": "cut']))
    found = score_partition(frame_of_lines(read_lines(path)), "evidence_coverage")
    expected = plain_records(path, "evidence_coverage")
    assert list(records_in(found)) == expected
    assert [record.to_json() for record in records_in(found)] == [record.to_json() for record in expected]
    # 9 lines, 1 blank; scored are a, c and g: b has nothing required, two are no JSON, e has a slip, the last is cut
    assert [record.state for record in expected].count("scored") == 3
    assert len(found) == 8
    assert "cut off" in found["reason"].iloc[-1]


@pytest.mark.parametrize(
    "lines", [[], ["", "  "], ["{"], HARD, HARD[:1]], ids=["empty", "blank", "bad", "mixed", "one"]
)
def test_the_columns_are_those_of_a_record_whatever_the_partition_holds(lines: list[Any]):
    found = score_partition(frame(lines), "evidence_coverage")
    assert tuple(found.columns) == Record._fields
    assert [str(dtype) for dtype in found.dtypes] == [str(dtype) for dtype in empty_records().dtypes]
    assert [str(found[name].dtype) for name in ("line", "blocking", "minimum", "value")] == [
        "Int64", "boolean", "Float64", "string",
    ]  # fmt: skip


def test_text_and_bytes_of_a_line_are_the_same_line():
    texts = [raw.decode() for raw in HARD if raw != b"\xff\xfe"]
    as_text, as_bytes = (
        score_partition(frame(lines), "evidence_coverage") for lines in (texts, [text.encode() for text in texts])
    )
    pd.testing.assert_frame_equal(as_text, as_bytes)


def test_half_a_character_in_a_text_is_an_invalid_row():
    (record,) = records_in(score_partition(frame(['{"case_id": "\ud800"}']), "evidence_coverage"))
    assert record.state == "invalid"


def test_lines_keep_the_numbers_they_came_with():
    found = score_partition(frame(HARD[:3], first=1_000_001), "evidence_coverage")
    assert found["line"].tolist() == [1_000_001, 1_000_003]


def test_ids_that_occur_in_another_partition_are_invalid_and_name_the_other_lines():
    (record,) = records_in(score_partition(frame(HARD[:1]), "evidence_coverage", duplicates={"a": (1, 70, 900)}))
    assert (record.state, record.error_kind) == ("invalid", "duplicate_case_id")
    assert record.reason == "case_id 'a' occurs more than once: also on line 70, 900"


METRIC = """
    from evalkit import MetricResult, numeric_metric

    @numeric_metric(allowed_values=(0, 10**9))
    def length(text: str, more: str = "") -> MetricResult:
        print("heard")
        if text == "unwritable":
            return MetricResult(1, "fine", {"bad": object()})
        return MetricResult(len(text), "as long as it is", {"text": text, "deep": {"n": [1, 1.0]}})

    @numeric_metric(allowed_values=range(100))
    def whole(text: str) -> int:
        return len(text)
"""


def test_a_metric_from_a_path_and_values_of_every_type(user_file: Callable[..., Path], tmp_path: Path):
    user_file(METRIC)
    path = tmp_path / "cases.jsonl"
    rows = [{"case_id": str(at), "text": text} for at, text in enumerate(["", "x\ny", "unwritable", "four"])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = score_partition(frame_of_lines(read_lines(path)), "mine.py:length")
    assert found["value"].fillna("").tolist() == ["0.0", "3.0", "", "4.0"]
    assert found["state"].tolist() == ["scored", "scored", "error", "scored"]
    scored = [record for record in records_in(found) if record.state == "scored"]
    assert scored == [record for record in plain_records(path, "mine.py:length") if record.case_id != "2"]
    assert [type(n) for n in scored[0].detail["deep"]["n"]] == [int, float]
    # A whole number stays one: value is JSON text, not a column of floats.
    whole = score_partition(frame_of_lines(read_lines(path)), "mine.py:whole")
    assert whole["value"].tolist() == ["0", "3", "10", "4"]


def test_a_parameter_is_fed_by_another_key_and_a_slip_is_counted(user_file: Callable[..., Path]):
    user_file(METRIC)
    line = '{"case_id": "a", "answer": "abc", "mroe": "x"}'
    found = score_partition(frame([line, line.replace('"a"', '"b"')]), "mine.py:length", feeds={"text": "answer"})
    assert found["value"].tolist() == ["3.0", "3.0"]
    assert list(found.attrs[SUSPICIOUS_KEYS].values()) == [2]


def test_a_file_that_was_edited_is_loaded_again(user_file: Callable[..., Path]):
    line = frame(['{"case_id": "a", "text": "abc"}'])
    user_file(METRIC)
    assert score_partition(line, "mine.py:length")["value"].tolist() == ["3.0"]
    user_file(METRIC.replace("len(text)", "7 * len(text)"))
    assert score_partition(line, "mine.py:length")["value"].tolist() == ["21.0"]


def test_it_can_be_sent_away_and_maps_over_partitions():
    sent = pickle.loads(pickle.dumps(partial(score_partitions, metric="evidence_coverage")))
    first, second = sent(iter([frame(HARD[:3]), frame(HARD[3:], first=4)]))
    both = pd.concat([first, second], ignore_index=True)
    pd.testing.assert_frame_equal(both, score_partition(frame(HARD), "evidence_coverage"))


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (pd.DataFrame({"raw": ["{}"]}), "a partition of lines has the columns line and raw; 'line' is not among"),
        (
            pd.DataFrame({"line": [3], "raw": [None]}),
            "raw must hold the text or the bytes of each line; got None on line 3",
        ),
        (pd.DataFrame({"line": [3], "raw": [{"case_id": "a"}]}), "got {'case_id': 'a'} on line 3"),
    ],
)
def test_what_is_no_partition_of_lines_is_refused(given: pd.DataFrame, text: str):
    with pytest.raises(EvalkitError, match=text):
        score_partition(given, "evidence_coverage")


def test_the_schema_said_to_spark_has_every_column():
    assert [column.split("`")[1] for column in SPARK_SCHEMA.split(", ")] == list(Record._fields)
    assert SPARK_SCHEMA.startswith("`line` bigint, `case_id` string, `slice` string, `blocking` boolean")
    assert Scorer(load_metric("evidence_coverage")).required == ("required_claim_ids", "supported_claim_ids")


def test_the_same_function_over_the_partitions_of_a_dask_frame():
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    lines = frame([raw.decode() for raw in HARD if raw != b"\xff\xfe"])
    mapped = dd.from_pandas(lines, npartitions=3).map_partitions(
        score_partition, metric="evidence_coverage", meta=empty_records()
    )
    assert mapped.npartitions == 3
    found = mapped.compute(scheduler="sync").reset_index(drop=True)
    assert list(records_in(found)) == list(records_in(score_partition(lines, "evidence_coverage")))
    assert dict(found.dtypes) == dict(empty_records().dtypes)


@pytest.mark.spark
@pytest.mark.skipif(not shutil.which("java"), reason="Java is not installed")
def test_the_same_function_under_spark_gives_the_same_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in HARD if line != b"\xff\xfe"))
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        rows = [(line.number, line.raw.decode()) for line in read_lines(path)]
        lines = spark.createDataFrame(rows, "line bigint, raw string").repartition(2)
        scored = lines.mapInPandas(partial(score_partitions, metric="evidence_coverage"), SPARK_SCHEMA)
        found = scored.orderBy("line").toPandas()
    finally:
        spark.stop()
    as_records = found.astype(dict(empty_records().dtypes))
    assert list(records_in(as_records)) == plain_records(path, "evidence_coverage")
