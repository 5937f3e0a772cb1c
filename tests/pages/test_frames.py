from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

from evalkit.contract import EvalkitError
from evalkit.decisions.resolution import resolution_of
from evalkit.pages.frames import BINS, label_counts, ledger_counts, numbers_of, step_points, value_counts


def frame_of(**columns: list[Any]) -> pd.DataFrame:
    length = max(len(column) for column in columns.values())
    return pd.DataFrame({"slice": ["s"] * length} | columns)


def test_k01_more_than_5000_rows_become_a_few_counts() -> None:
    counted = value_counts(frame_of(value=[n / 5_001 for n in range(5_001)]))
    assert len(counted.frame) == BINS
    assert counted.frame["rows"].sum() == counted.shown == 5_001


def test_k03_columns_that_are_not_plotted_may_hold_anything() -> None:
    frame = frame_of(
        value=[0.5, 1.0],
        period=list(pd.period_range("2026-01", periods=2, freq="M")),
        interval=list(pd.cut([1, 2], 2)),
        delta=[pd.Timedelta(1, "D")] * 2,
        money=[Decimal("1.5"), None],
        nothing=[None, None],
        odd=[object(), {"a": 1}],
    )
    counted = value_counts(frame).frame
    assert set(counted.columns) == {"slice", "start", "end", "label", "decision", "rows", "base", "top", "bound"}
    assert {str(counted[name].dtype) for name in ("start", "end", "bound")} == {"float64"}


def test_k03_nan_infinity_and_null_are_no_scores_and_are_counted_as_not_shown() -> None:
    values = [0.5, float("nan"), float("inf"), None, pd.NA, Decimal("0.5"), 1]
    counted = value_counts(frame_of(value=values))
    assert (counted.shown, counted.not_shown) == (3, 4)
    assert counted.note() == "3 of 7 rows; 4 not shown (no score)"
    assert dict(zip(counted.frame["label"], counted.frame["rows"], strict=True)) == {"0.5": 2, "1.0": 1}


@pytest.mark.parametrize("values", [[None, None], [float("nan")], []])
def test_k03_a_column_without_any_score_gives_an_empty_chart_that_says_so(values: list[Any]) -> None:
    counted = value_counts(pd.DataFrame({"slice": ["s"] * len(values), "value": values}))
    assert (len(counted.frame), counted.shown, counted.not_shown) == (0, 0, len(values))


@pytest.mark.parametrize(
    "value", ["0.5", True, pd.Timedelta(1, "D"), pd.Period("2026-01"), pd.Interval(0, 1), object()]
)
def test_k03_what_is_not_a_number_is_refused_and_named(value: Any) -> None:
    with pytest.raises(EvalkitError, match=f"the column 'value' must hold numbers; got {type(value).__name__}"):
        numbers_of(pd.Series([0.5, value], name="value", dtype="object"))


def test_bars_of_one_value_stand_on_each_other_and_the_bound_is_that_of_the_slice() -> None:
    frame = pd.DataFrame(
        {"slice": ["a", "a", "a", "b"], "value": [0.5, 0.5, 0.5, 1.0], "decision": ["fail", "pass", "fail", None]}
    )
    rows = value_counts(frame, {"a": 0.75}).frame.to_dict("records")
    assert [(r["slice"], r["decision"], r["rows"], r["base"], r["top"]) for r in rows] == [
        ("a", "pass", 1, 0, 1), ("a", "fail", 2, 1, 3), ("b", "undecided", 1, 0, 1),
    ]  # fmt: skip
    assert rows[0]["bound"] == 0.75
    assert pd.isna(rows[2]["bound"])


def test_values_outside_0_to_1_keep_their_own_axis() -> None:
    counted = value_counts(frame_of(value=[float(n) for n in range(100)])).frame
    assert counted["start"].min() == 0
    assert counted["rows"].sum() == 100
    single = value_counts(frame_of(value=[7.0])).frame
    assert single["rows"].tolist() == [1]


def test_the_ledger_counts_every_row_once() -> None:
    frame = pd.DataFrame(
        {
            "slice": ["a"] * 5 + ["b"],
            "state": ["scored", "scored", "scored", "invalid", "error", "unrun"],
            "decision": ["pass", "fail", None, None, None, None],
        }
    )
    counted = ledger_counts(frame)
    assert dict(zip(zip(counted["slice"], counted["word"], strict=True), counted["rows"], strict=True)) == {
        ("a", "pass"): 1, ("a", "fail"): 1, ("a", "undecided"): 1, ("a", "invalid"): 1, ("a", "error"): 1,
        ("b", "unrun"): 1,
    }  # fmt: skip
    assert counted["of"].tolist() == [5, 5, 5, 5, 5, 1]
    assert counted.groupby("slice")["top"].max().to_dict() == {"a": 5, "b": 1}


def test_labels_are_counted_as_text() -> None:
    counted = label_counts(frame_of(value=["pass", "fail\u202e", None], decision=["pass", "fail", None]))
    assert dict(zip(counted.frame["label"], counted.frame["rows"], strict=True)) == {"fail[U+202E]": 1, "pass": 1}
    assert counted.not_shown == 1


def test_step_points_are_the_corners_of_the_resolution() -> None:
    # 0.5 once, 1.0 twice: 3 pass up to 0.5, 2 up to 1.0; above 1.0 lies outside the axis.
    points = step_points([resolution_of("s", Counter([0.5, 1.0, 1.0]), threshold=0.75)])
    assert list(zip(points["threshold"], points["passing"], points["of"], strict=True)) == [
        (0.0, 3, 3), (0.5, 3, 3), (0.5, 2, 3), (1.0, 2, 3),
    ]  # fmt: skip
    assert set(points["policy"]) == {0.75}
    assert len(step_points([])) == 0
