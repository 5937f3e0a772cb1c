"""Scores beside labels: one fate for every labelled case, nothing dropped, nothing invented."""

from __future__ import annotations

import pytest
from labelled_rows import SHARE, WORD, label, record, world

from evalkit.cases.labels import Label
from evalkit.contract import EvalkitError, make_metric
from evalkit.decisions.calibrating.pairing import Reading, pair

READING = Reading()


def ranked(found: list[str]) -> list[str]:
    return found


def test_every_labelled_case_has_one_fate_and_the_fates_add_up() -> None:
    rows = [record("good"), record("bad", 0.0), record("lost", None), record("moved"), record("torn"), record("odd")]
    good, bad, lost, moved, torn, odd = rows
    labels = [
        label(good, "pass"), label(bad, "fail", 2), label(lost, "pass", 3),
        label(moved, "pass", 4, seen_hash="sha256:" + "0" * 64),
        label(torn, "pass", 5), label(torn, "fail", 6, reviewer="r2"),
        label(odd, "unsure", 7), Label(8, "stranger", "pass", "r1"),
    ]  # fmt: skip
    found = pair(SHARE, rows, labels, READING)
    assert dict(found.fates["s"]) == {"paired": 2, "not_scored": 1, "stale": 1, "conflict": 1, "other_label": 1}
    assert dict(found.fates[""]) == {"no_case": 1}
    assert [row.is_bad for row in found.rows] == [False, True, None, None, None]
    assert sum(found.fates["s"].values()) + 1 == len(found.settled)


def test_a_row_without_a_score_never_gets_a_value() -> None:
    lost = record("lost", None)
    found = pair(SHARE, [lost], [label(lost, "fail")], READING)
    assert found.rows == ()
    assert found.states["s"] == {"invalid": 1}


def test_b02_labels_join_by_case_id_whatever_their_order() -> None:
    rows = [record("a", 0.1), record("b", 0.9)]
    labels = [label(rows[1], "pass"), label(rows[0], "fail", 2)]
    found = pair(SHARE, rows, labels, READING)
    assert [(row.case_id, row.value, row.is_bad) for row in found.rows] == [("a", 0.1, True), ("b", 0.9, False)]


def test_labels_of_strangers_are_counted_and_near_twins_are_named() -> None:
    rows, _ = world([(1.0, None)], prefix="case-")
    found = pair(SHARE, rows, [Label(1, "CASE-0", "pass", "r1")], READING)
    assert "1 labelled cases are not in the file: CASE-0; 'CASE-0' looks like 'case-0'" in found.findings


def test_a_label_word_that_nobody_declared_is_reported_with_its_near_twin() -> None:
    rows = [record("a")]
    found = pair(SHARE, rows, [label(rows[0], "Pass")], READING)
    assert "the label 'Pass', which differs from 'pass' in case or width only" in found.findings[0]


def test_labels_that_are_numbers_are_read_as_declared() -> None:
    rows, _ = world([(0.2, None), (0.8, None)])
    labels = [Label(1, "c0", 0, "r1"), Label(2, "c1", 1, "r1")]
    found = pair(SHARE, rows, labels, Reading(passes=frozenset({"1"}), fails=frozenset({"0"})))
    assert [row.is_bad for row in found.rows] == [True, False]


def test_a_discrete_value_counts_as_passing_only_where_declared() -> None:
    rows = [record("a", "pass"), record("b", "unsure"), record("c", "fail")]
    found = pair(WORD, rows, [], READING)
    assert [row.value for row in found.rows] == [1.0, 0.0, 0.0]
    assert found.is_discrete


def test_labels_that_do_not_say_what_was_seen_are_counted() -> None:
    rows = [record("a")]
    found = pair(SHARE, rows, [label(rows[0], "pass", seen_hash=None)], READING)
    assert found.findings == (
        "1 of 1 labelled cases have labels without seen_hash: a changed answer would go unnoticed",
    )


def test_a_ranking_and_a_label_on_both_sides_are_refused() -> None:
    with pytest.raises(EvalkitError, match="ranked ranks: there is no threshold"):
        pair(make_metric(ranked, 2, name="ranked"), [], [], READING)
    with pytest.raises(EvalkitError, match="'ok' is named both as a pass and as a fail"):
        pair(SHARE, [], [], Reading(passes=frozenset({"ok"}), fails=frozenset({"ok"})))


def test_an_authored_case_stays_authored_whatever_its_labels_say() -> None:
    rows = [record("a", lineage={"provenance": "synthetic"})]
    assert pair(SHARE, rows, [label(rows[0], "pass")], READING).rows[0].provenance == "synthetic"


def test_s2_18_a_judge_that_was_evenly_split_gave_no_value_to_pair() -> None:
    detail = {"repeats": {"asked": 2, "values": ["pass", "fail"], "unstable": True, "tie": True}}
    tied = record("t", "pass", judge={}, detail=detail)
    found = pair(WORD, [tied], [label(tied, "fail")], Reading())
    assert (found.rows, found.fates["s"]["not_scored"]) == ((), 1)
