"""The calibration as frames, as a chart and under two sliders: the same numbers, NA where nothing is defined."""

from __future__ import annotations

import pandas as pd
import pytest
from labelled_rows import SHARE, separable, world

from evalkit.decisions.calibrate import calibrate
from evalkit.pages import calibrate_frames
from evalkit.pages.calibrate_chart import error_chart
from evalkit.pages.calibrate_widget import CertificateExplorer


def test_threshold_frame_has_a_line_for_each_rate_with_its_interval() -> None:
    frame = calibrate_frames.threshold_frame(calibrate(SHARE, *world(separable(59))))
    first = frame.iloc[0]
    assert (first["rate"], first["count"], first["of"], first["share"]) == ("bad that pass", 0, 59, 0.0)
    assert first["low"] == 0.0
    assert first["high"] == pytest.approx(1 - 0.025 ** (1 / 59))
    assert frame["certified"].tolist() == [True, True, False, False]


def test_what_is_not_defined_is_na_and_never_a_number() -> None:
    found = calibrate(SHARE, *world([(0.5, "pass")]))
    frame = calibrate_frames.threshold_frame(found)
    bad = frame[frame["rate"] == "bad that pass"].iloc[0]
    assert pd.isna(bad["share"])
    assert pd.isna(bad["low"])
    assert pd.isna(calibrate_frames.verdict_frame(found).loc["s", "certified"])
    assert pd.isna(calibrate_frames.agreement_frame(found).loc["the metric / people", "kappa"])


def test_counts_and_verdict_have_a_line_a_slice() -> None:
    found = calibrate(SHARE, *world(separable(59)))
    assert calibrate_frames.counts_frame(found).loc["s", ["labelled", "fail", "pass"]].tolist() == [69, 59, 10]
    assert calibrate_frames.verdict_frame(found).loc["s", ["certified", "labels needed"]].tolist() == [1.0, 0]


def test_frames_of_nothing_have_their_columns() -> None:
    found = calibrate(SHARE, *world([]))
    assert calibrate_frames.threshold_frame(found).empty
    assert "certified" in calibrate_frames.verdict_frame(found).columns


def test_the_chart_says_what_it_does_not_show() -> None:
    frame = calibrate_frames.threshold_frame(calibrate(SHARE, *world([(0.5, "pass")])))
    chart = error_chart(frame, limit=0.05).to_dict()
    assert chart["title"]["subtitle"] == "1 of 2 rates; 1 not shown (not defined)"
    (data,) = chart["datasets"].values()
    assert [row["counted"] for row in data] == ["0 of 1"]


def test_the_explorer_opens_on_the_pages_parameters_and_only_sets_two_numbers() -> None:
    seen: list[tuple[float, float]] = []

    def describe(limit: float, confidence: float) -> str:
        seen.append((limit, confidence))
        return f"<{limit} {confidence}>"

    explorer = CertificateExplorer(describe, limit=0.2, confidence=0.85)
    assert explorer.text == "<0.2 0.85>"
    assert explorer.shown.value == "<pre>&lt;0.2 0.85&gt;</pre>"
    explorer.limit_slider.value = 0.1
    explorer.confidence_slider.value = 0.95
    assert seen[-1] == (0.1, 0.95)
    assert (explorer.limit, explorer.confidence) == (0.1, 0.95)
