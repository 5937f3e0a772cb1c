"""Which labelled rows may certify: random, fresh, independent, of one kind; all others are counted apart."""

from __future__ import annotations

from typing import Any

import pytest
from labelled_rows import SHARE, label, record, world

from evalkit.cases.labels import Label
from evalkit.decisions.calibrating.pairing import Reading, pair
from evalkit.decisions.calibrating.sample import Sample, partition_in_use, sample_of
from evalkit.scoring.records import Record


def sampled(records: list[Record], labels: list[Label], partition: str | None = None) -> Sample:
    return sample_of(pair(SHARE, records, labels, Reading()), "s", partition)


@pytest.mark.parametrize("selection", ["targeted", "unknown"])
def test_only_random_labels_certify_and_the_others_are_kept_apart(selection: str) -> None:
    rows, labels = world([(1.0, "pass"), (0.0, "fail")])
    labels[1] = labels[1]._replace(selection=selection)
    found = sampled(rows, labels)
    assert [row.case_id for row in found.rows] == ["c0"]
    assert [row.case_id for row in found.targeted] == ["c1"]
    assert found.left_out == {f"selection {selection}": 1}


def test_one_row_of_a_family_counts_and_neither_score_nor_label_decides_which() -> None:
    picks = set()
    for values in ([(1.0, "pass"), (0.0, "fail")], [(0.0, "fail"), (1.0, "pass")]):
        rows, labels = world(values, family="f")
        found = sampled(rows, labels)
        assert found.left_out == {"another row of a family that counts already": 1}
        picks.add(tuple(row.case_id for row in found.rows))
    assert len(picks) == 1


def test_near_copies_that_no_family_declares_refuse_the_slice() -> None:
    rows = [record("a", text="one two three four five six"), record("b", text="six five four three two one")]
    labels = [label(rows[0], "pass"), label(rows[1], "pass", 2)]
    found = sampled(rows, labels)
    assert "1 pairs of rows have almost the same text and no common family: a / b (100 of 100)" in found.refusals
    declared = [row._replace(family="f") for row in rows]
    assert sampled(declared, labels).refusals == ()


def test_a_conflict_refuses_the_slice_until_it_is_adjudicated() -> None:
    rows, labels = world([(1.0, "pass"), (0.0, "fail")])
    labels.append(label(rows[1], "pass", 3, reviewer="r2"))
    assert "1 labelled cases have reviewers who disagree: adjudicate them first" in sampled(rows, labels).refusals
    labels.append(label(rows[1], "fail", 4, reviewer="adjudication"))
    assert sampled(rows, labels).refusals == ()


@pytest.mark.parametrize(("stale", "is_refused"), [(1, False), (2, True)])
def test_stale_labels_are_left_out_and_more_than_a_tenth_of_them_refuses_the_slice(
    stale: int, is_refused: bool
) -> None:
    rows, labels = world([(1.0, "pass")] * 10)
    for i in range(stale):
        labels[i] = labels[i]._replace(seen_hash="sha256:" + "0" * 64)
    found = sampled(rows, labels)
    assert len(found.rows) == 10 - stale
    assert bool(found.refusals) is is_refused
    if is_refused:
        assert "2 of 10 labelled cases show another answer than was labelled" in found.refusals[0]


def test_rows_without_a_score_refuse_the_slice_once_they_are_many() -> None:
    rows, labels = world([(1.0, "pass")] * 8)
    for i in range(2):
        lost = record(f"lost{i}", None)
        rows.append(lost)
        labels.append(label(lost, "fail", 90 + i))
    assert "2 of 10 labelled cases have no score" in sampled(rows, labels).refusals[0]


def test_synthetic_rows_stand_alone_or_are_left_out_beside_real_ones() -> None:
    rows, labels = world([(1.0, "pass"), (0.0, "fail")], label_more={"provenance": "synthetic"})
    assert sampled(rows, labels).is_synthetic
    labels[0] = labels[0]._replace(provenance="production")
    mixed = sampled(rows, labels)
    assert not mixed.is_synthetic
    assert mixed.left_out == {"synthetic label beside production labels": 1}


def test_j04_labels_written_by_a_model_never_certify() -> None:
    rows, labels = world([(1.0, "pass"), (0.0, "fail")], label_more={"provenance": "model"})
    found = sampled(rows, labels)
    assert (found.rows, found.targeted) == ((), ())
    assert found.left_out == {"label written by a model": 2}


def test_oversampled_strata_refuse_the_slice() -> None:
    rows: list[Record] = []
    labels: list[Label] = []
    for i, (stratum, weight) in enumerate([("web", 9.0), ("phone", 1.0)]):
        made = record(f"c{i}", lineage={"stratum": stratum, "prevalence_weight": weight})
        rows.append(made)
        labels.append(label(made, "pass", i + 1))
    assert "different prevalence weights (strata: phone 1, web 1)" in sampled(rows, labels).refusals[0]


def test_a_draw_that_is_called_random_and_is_not_is_doubted() -> None:
    # 25 labelled rows all at 1.0, 25 unlabelled all at 0.0.
    rows, labels = world([(1.0, "pass")] * 25 + [(0.0, None)] * 25)
    assert "called random, but the scores of the 25 labelled rows differ" in sampled(rows, labels).refusals[0]
    even, its = world([(float(i % 2), "pass" if i < 25 else None) for i in range(50)])
    assert sampled(even, its).refusals == ()


def test_rows_of_other_partitions_are_counted_and_not_used() -> None:
    rows: list[Record] = []
    labels: list[Label] = []
    for i, partition in enumerate(["development", "calibration", "held_out", None]):
        made = record(f"c{i}", partition=partition)
        rows.append(made)
        labels.append(label(made, "pass", i + 1))
    pairing = pair(SHARE, rows, labels, Reading())
    assert partition_in_use(pairing.rows) == "calibration"
    found = sample_of(pairing, "s", "calibration")
    assert [row.case_id for row in found.rows] == ["c1"]
    assert found.left_out == {"partition development": 1, "partition held_out": 1, "no partition": 1}
    unsplit: dict[str, Any] = {"partition": None}
    assert partition_in_use(row._replace(**unsplit) for row in pairing.rows) is None
