"""What the calibration page computes: the flattering cut-off, the second way to the certificate, the conclusion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from labelled_rows import SHARE, separable, world

from evalkit.contract import EvalkitError, Outcome
from evalkit.decisions.calibrate import calibrate
from evalkit.decisions.calibrating.policy_out import PolicyOut
from evalkit.pages.notebooks import calibrating

WRITTEN = PolicyOut(Path("policy.toml"), Path("policy.calibration.json"), "sha256:0", "report")
FOLDER = Path(__file__).parents[2] / "fixtures" / "evidence_coverage" / "calibration"


def test_j04_the_best_cut_off_flatters_itself_even_where_scores_mean_nothing() -> None:
    frame = calibrating.meaningless_scores(np.random.default_rng(1))
    best = frame["best cut-off, same rows"]
    assert best.loc[10] == pytest.approx(0.71, abs=0.03)
    assert best.loc[20] == pytest.approx(0.66, abs=0.03)
    assert best.loc[50] == pytest.approx(0.61, abs=0.03)


def test_the_cut_is_read_off_development_rows_and_tried_on_others_without_the_held_out_ones() -> None:
    parts = {
        "development": [(0.4, "fail"), (0.6, "pass")],
        "calibration": [(0.7, "fail"), (0.9, "pass"), (0.1, "pass")],
        "held_out": [(0.0, "pass")] * 50,
    }
    records, labels = [], []
    for partition, values in parts.items():
        made, said = world(values, prefix=f"{partition}-", partition=partition)
        records += made
        labels += said
    (cut,) = calibrating.best_cuts(calibrate(SHARE, records, labels))
    assert (cut.threshold, cut.right, cut.rows) == (0.6, 2, 2)
    assert (cut.new_right, cut.new_rows) == (1, 3)
    assert calibrating.cuts_frame([cut]).loc["s", "right on new rows"] == "1 of 3"


def test_the_second_way_agrees_and_would_notice_a_wrong_certificate() -> None:
    found = calibrate(SHARE, *world(separable(59)))
    (line,) = calibrating.recount(found)
    assert line == "s: 0 of 59 bad rows pass; P(that few or fewer) = 0.0485 <= 0.0500"
    part = found.slices["s"]
    wrong = replace(part, certificate=part.certificate._replace(certified=0.0))
    with pytest.raises(AssertionError, match=r"s: P\(X <= 59\) of 59 is 1.0, above 0.05"):
        calibrating.recount(replace(found, slices={"s": wrong}))


def test_the_page_passes_where_every_slice_that_must_be_certified_is() -> None:
    records, labels = world(separable(59), prefix="a-", slice="big")
    more, said = world(separable(3), prefix="b-", slice="small")
    found = calibrate(SHARE, records + more, labels + said)
    assert calibrating.conclude(found, "big", [], WRITTEN).outcome is Outcome.passed
    both = calibrating.conclude(found, "", [], WRITTEN)
    assert both.outcome is Outcome.review_required
    assert both.sentences[0].startswith("small is not certified: CANNOT CERTIFY: 69 more labelled fails needed")
    assert both.figures["small.labels_needed"] == 69
    with pytest.raises(EvalkitError, match="must_certify names 'none'"):
        calibrating.conclude(found, "big, none", [], WRITTEN)
    nothing = calibrate(SHARE, *world([]))
    assert calibrating.conclude(nothing, "", [], WRITTEN).outcome is Outcome.incomplete


def test_the_hash_follows_what_was_decided_and_nothing_else() -> None:
    found = calibrate(SHARE, *world(separable(59)))
    first = calibrating.conclude(found, "", [], WRITTEN).outcome_hash
    assert calibrating.conclude(found, "s", [], WRITTEN._replace(mode="block")).outcome_hash == first
    other = calibrate(SHARE, *world(separable(60)))
    assert calibrating.conclude(other, "", [], WRITTEN).outcome_hash != first


def test_another_limit_is_described_on_calibration_rows() -> None:
    loaded = calibrating.open_labels("evidence_coverage", str(FOLDER / "cases.jsonl"), str(FOLDER / "labels.jsonl"))
    text = calibrating.what_if(loaded, 0.3, 0.9)
    assert "at most 30 % of bad answers pass" in text
    assert "held-out rows are unseen" in text
