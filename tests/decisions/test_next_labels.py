"""Which cases to label next: what blocks first, draws that stay random, border cases that certify nothing."""

from __future__ import annotations

import numpy as np
import pytest
from labelled_rows import SHARE, label, separable, world

from evalkit.decisions.calibrate import Calibration, calibrate
from evalkit.decisions.calibrating.next_labels import NextLabel, next_labels, next_labels_frame, reviewer_sheet


def found_with(n_unlabelled: int = 40, **more: object) -> tuple[Calibration, list]:  # type: ignore[type-arg]
    records, labels = world(separable(20), prefix="l-")
    rest, _ = world([(i / n_unlabelled, None) for i in range(n_unlabelled)], prefix="u-", **more)  # type: ignore[arg-type]
    return calibrate(SHARE, records + rest, labels), records + rest


def chosen_of(found: Calibration, seed: int = 0, most: int = 50) -> tuple[NextLabel, ...]:
    return next_labels(found, rng=np.random.default_rng(seed), most=most)


def test_as_many_are_drawn_as_should_hold_the_missing_fails_with_the_reason() -> None:
    found, _ = found_with(200)
    drawn = [item for item in chosen_of(found, most=500) if item.why == "random draw"]
    # 59 - 20 = 39 fails are missing; 20 of 30 labels are fails, so (20 + 1) / (30 + 2) of a draw: 39 / 0.656 = 59.4
    assert len(drawn) == 60
    assert drawn[0].reason == (
        "s lacks 39 labelled fails; with 20 of 30 labelled fail so far, about 60 random labels hold them "
        "(200 unlabelled cases are there)"
    )
    assert {item.selection for item in drawn} == {"random"}


def test_a_draw_looks_at_no_score() -> None:
    found, _ = found_with(200)
    drawn = [item.case_id for item in chosen_of(found, most=500) if item.why == "random draw"]
    places = [int(case_id.split("-")[1]) for case_id in drawn]
    assert abs(np.corrcoef(range(len(places)), places)[0, 1]) < 0.35
    assert chosen_of(found, 1)[0].case_id != chosen_of(found, 2)[0].case_id
    assert chosen_of(found, 1) == chosen_of(found, 1)


def test_conflicts_and_stale_labels_come_first() -> None:
    records, labels = world(separable(20))
    labels.append(label(records[3], "pass", 98, reviewer="r2"))
    labels[5] = labels[5]._replace(seen_hash="sha256:" + "0" * 64)
    chosen = chosen_of(calibrate(SHARE, records, labels))
    assert [(item.case_id, item.why) for item in chosen[:2]] == [("c3", "adjudicate"), ("c5", "relabel")]


def test_border_cases_are_targeted_and_nearest_first() -> None:
    found, _ = found_with(8)
    border = [item for item in chosen_of(found) if item.why == "border"]
    assert border == []  # all eight are drawn at random already
    records, labels = world(separable(59), prefix="l-")
    rest, _ = world([(i / 40, None) for i in range(40)], prefix="u-")
    border = list(chosen_of(calibrate(SHARE, records + rest, labels)))
    assert [(item.case_id, item.why, item.selection) for item in border[:2]] == [
        ("u-39", "border", "targeted"), ("u-38", "border", "targeted")
    ]  # fmt: skip
    assert border[0].distance == pytest.approx(1 / 40)


def test_a_second_row_of_a_family_is_not_asked_for() -> None:
    found, _ = found_with(10, family="same")
    assert len([item for item in chosen_of(found) if item.why == "random draw"]) == 1


def test_the_sheet_is_blind_and_has_the_fields_of_a_label() -> None:
    found, records = found_with(10)
    chosen = chosen_of(found, most=3)
    (first, *_) = reviewer_sheet(chosen, records, criterion="complete")
    assert first["case_id"] == chosen[0].case_id
    assert (first["criterion"], first["label"], first["reviewer"]) == ("complete", None, None)
    assert (first["selection"], first["blind"], first["seen_hash"]) == ("random", True, chosen[0].seen_hash)
    assert first["show"].keys() == {"question", "answer"}
    assert not {"value", "score", "decision", "distance"} & first.keys()


def test_as_a_frame() -> None:
    found, _ = found_with(5)
    frame = next_labels_frame(chosen_of(found))
    assert frame.index.tolist() == list(range(1, len(frame) + 1))
    assert {"case_id", "slice", "why", "reason", "selection"} <= set(frame.columns)
