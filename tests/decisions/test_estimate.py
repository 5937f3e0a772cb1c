"""Corrected pass rates slice by slice: from random labels only, refused where they say nothing."""

from __future__ import annotations

import pytest
from labelled_rows import SHARE, separable, world

from evalkit.decisions.calibrate import calibrate
from evalkit.decisions.calibrating.estimate import estimate_pass_rates


def test_the_unlabelled_rows_are_estimated_from_the_labelled_ones() -> None:
    records, labels = world(separable(30, n_pass=30, passing=3), prefix="l-")
    rest, _ = world([(1.0, None)] * 50 + [(0.0, None)] * 50, prefix="u-")
    (rate,) = estimate_pass_rates(calibrate(SHARE, records + rest, labels), threshold=1.0)
    assert rate.found is not None
    # s = 30/30, t = 27/30: (0.5 + 0.9 - 1) / 0.9 = 4/9
    assert rate.found.rate == pytest.approx(4 / 9)
    assert (rate.found.observed_passes, rate.found.observed_n) == (50, 100)
    assert rate.facts()["interval"] == [rate.found.interval.low, rate.found.interval.high]


def test_without_random_labels_or_a_better_than_chance_metric_there_is_no_rate() -> None:
    records, labels = world(separable(30), label_more={"selection": "targeted"})
    (rate,) = estimate_pass_rates(calibrate(SHARE, records, labels))
    assert (rate.found, rate.refused) == (None, "no random label in this slice: nothing says how the metric errs")
    blind, said = world([(1.0, "pass"), (1.0, "fail")] * 20)
    rest, _ = world([(1.0, None)] * 20, prefix="u-")
    (rate,) = estimate_pass_rates(calibrate(SHARE, blind + rest, said))
    assert "no better than chance" in rate.refused
    assert rate.facts()["rate"] is None
