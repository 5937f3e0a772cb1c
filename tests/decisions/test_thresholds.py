"""One line a threshold: claims, counts, both rates in words, intervals, neighbours."""

from __future__ import annotations

import pytest
from labelled_rows import SHARE, world

from evalkit.decisions.calibrating.certificate import certify
from evalkit.decisions.calibrating.pairing import LabelledRow, Reading, pair
from evalkit.decisions.calibrating.thresholds import (
    MOST_THRESHOLDS,
    Threshold,
    denominators_of,
    in_claims,
    sweep_rows,
    threshold_table,
)


def rows_of(values: list[tuple[float, str | None]], **more: object) -> tuple[LabelledRow, ...]:
    records, labels = world(values, **more)  # type: ignore[arg-type]
    return tuple(row for row in pair(SHARE, records, labels, Reading()).rows if row.is_bad is not None)


def table_of(rows: tuple[LabelledRow, ...], risk: float = 0.2, level: float = 0.1) -> tuple[Threshold, ...]:
    found = sweep_rows(rows, "higher")
    return threshold_table(rows, found, certify(found, risk, level), confidence=0.95, denominators={})


def test_both_rates_stand_in_words_because_either_alone_flatters() -> None:
    # WiCE's judge: 19 of 78 bad rows pass (24 %), and 19 of its 37 passes are bad (51 %).
    rows = rows_of([(0.0, "fail")] * 59 + [(1.0, "fail")] * 19 + [(1.0, "pass")] * 18 + [(0.0, "pass")] * 4)
    line = table_of(rows)[0]
    assert line.words() == "24 % of bad answers pass (19 of 78); 51 % of passes are bad (19 of 37)"
    assert (line.false_pass, line.n_fail, line.false_fail, line.n_pass, line.passes) == (19, 78, 4, 22, 37)


def test_rates_over_nothing_are_not_defined() -> None:
    only_good = table_of(rows_of([(0.5, "pass")]))[0]
    assert (only_good.false_pass_rate, only_good.false_pass_interval, only_good.bound) == (None, None, None)
    assert "not defined, no row is labelled fail" in only_good.words()
    only_bad = table_of(rows_of([(0.5, "fail")]))[0]
    assert (only_bad.false_fail_rate, only_bad.false_fail_interval) == (None, None)
    assert table_of(()) == ()


def test_j05_one_row_has_a_rate_and_no_interval() -> None:
    line = table_of(rows_of([(1.0, "fail"), (1.0, "pass")]))[0]
    assert (line.false_pass_rate, line.false_pass_interval, line.false_fail_interval) == (1.0, None, None)
    # 18 of 20 at 95 %: 0.683 to 0.988, the exact interval
    line = table_of(rows_of([(1.0, "fail")] * 18 + [(0.0, "fail")] * 2))[0]
    assert line.false_pass_interval is not None
    assert (round(line.false_pass_interval.low, 3), round(line.false_pass_interval.high, 3)) == (0.683, 0.988)


def test_a_threshold_shows_the_cases_just_inside_and_just_outside() -> None:
    line = table_of(rows_of([(0.9, "pass"), (0.8, "pass"), (0.5, "fail"), (0.4, "fail")]))[1]
    assert (line.threshold, line.beyond) == (0.8, 0.5)
    assert line.just_inside == ("c0", "c1")
    assert line.just_outside == ("c2", "c3")


def test_labels_needed_stand_at_every_threshold() -> None:
    # 20 % at 90 %: 11 fails without an error (0.8**11 = 0.086), 18 with one (0.8**18 + 18 * 0.2 * 0.8**17 = 0.099).
    table = table_of(rows_of([(0.2, "fail")] * 11 + [(0.7, "fail")] + [(1.0, "pass")]))
    assert [(line.threshold, line.labels_needed, line.is_certified) for line in table] == [
        (1.0, 0, True),
        (0.7, 6, False),
        (0.2, pytest.approx(66, abs=30), False),
    ]


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (1.0, "all of 1-4"),
        (0.85, "all of 1-4"),
        (0.75, "all of 1-3, all but 1 of 4"),
        (0.5, "all of 1, all but 1 of 2-3, all but 2 of 4"),
        (0.0, "any of 1-4"),
    ],
)
def test_s1_13_a_threshold_is_said_in_claims(threshold: float, words: str) -> None:
    assert in_claims(threshold, [1, 2, 3, 4]) == words


def test_a_score_that_is_no_share_of_claims_has_no_meaning_in_claims() -> None:
    rows = rows_of([(0.5, "pass"), (0.35, "fail")], detail={"required": 2})
    assert denominators_of(rows) == {}
    assert denominators_of(rows[:1]) == {2: 1}
    assert denominators_of(rows_of([(0.5, "pass")])) == {}


def test_many_distinct_values_are_thinned_and_the_certified_one_is_kept() -> None:
    rows = rows_of([(i / 4000, "fail" if i < 2000 else "pass") for i in range(4000)])
    found = sweep_rows(rows, "higher")
    certificate = certify(found, 0.05, 0.05)
    table = threshold_table(rows, found, certificate, confidence=0.95, denominators={})
    assert len(table) <= MOST_THRESHOLDS + 2
    assert certificate.certified in [line.threshold for line in table]
    assert (table[0].threshold, table[-1].threshold) == (3999 / 4000, 0.0)


def test_facts_are_plain_json_values() -> None:
    facts = table_of(rows_of([(0.5, "fail"), (0.4, "fail"), (1.0, "pass")]))[0].facts()
    for key in ("threshold", "meaning", "false_pass", "false_fail", "bad_among_passes"):
        assert key in facts
    assert facts["false_pass_interval"][0] == 0.0
