"""The flip ledger: exactly the rows that change, with label and slice, beside what was compared."""

from __future__ import annotations

import pytest
from labelled_rows import SHARE, WORD, label, record, world

from evalkit.cases.labels import Label
from evalkit.cases.settle import settle
from evalkit.contract import EvalkitError
from evalkit.decisions.calibrating.flips import Flip, Move, flips_between, moved_labels, threshold_rule
from evalkit.scoring.records import Record, Ruling


def test_exactly_the_rows_between_two_thresholds_flip() -> None:
    records, labels = world([(0.6, "fail"), (0.7, "pass"), (0.8, None), (0.9, "pass")])
    records.append(record("lost", None))
    found = flips_between(records, threshold_rule(SHARE, 0.65), threshold_rule(SHARE, 0.85), settle(labels))
    assert found.flips == (
        Flip("c1", "s", 0.7, "pass", "fail", "pass"),
        Flip("c2", "s", 0.8, "pass", "fail", None),
    )
    assert found.compared == 4
    assert found.transitions == {"pass -> fail, labelled pass": 1, "pass -> fail, unlabelled": 1}
    assert found.facts()["flips"][0]["label"] == "pass"


def test_a_threshold_that_no_value_lies_between_flips_nothing() -> None:
    records, _ = world([(0.6, None), (0.9, None)])
    assert flips_between(records, threshold_rule(SHARE, 0.7), threshold_rule(SHARE, 0.9)).flips == ()


def test_rows_that_one_side_has_no_limits_for_are_counted_apart() -> None:
    records, _ = world([(0.6, None)])

    def silent(one: Record) -> Ruling:
        return Ruling(None, None, None, one.owner)

    found = flips_between(records, silent, threshold_rule(SHARE, 0.7))
    assert (found.compared, found.undecided) == (0, 1)


def test_j02_a_threshold_out_of_range_or_on_labels_is_refused() -> None:
    with pytest.raises(EvalkitError, match=r"the threshold 3.0 lies outside the range of share, 0.0 to 1.0"):
        threshold_rule(SHARE, 3.0)
    with pytest.raises(EvalkitError, match="word gives discrete values: it has no threshold"):
        threshold_rule(WORD, 0.5)


def test_label_policy_sensitivity_names_the_cases_that_moved() -> None:
    first = [Label(1, "a", "pass", "r1", rubric_version="1"), Label(2, "b", "pass", "r1", rubric_version="1")]
    second = [Label(3, "a", "fail", "r1", rubric_version="2"), Label(4, "b", "pass", "r1", rubric_version="2")]
    old, new = (settle(first + second, rubric_version=version) for version in "12")
    assert moved_labels(old, new, {"a": "s"}) == [Move("a", "s", "pass", "fail")]
    assert label(record("x"), "pass").rubric_version is None
