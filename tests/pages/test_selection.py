from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalkit.pages.selection import Tally, select_rows

Row = Callable[..., dict[str, Any]]


def test_rows_that_did_not_pass_come_first_blocking_ones_before_others(
    gated: Callable[..., Any], coverage_row: Row
) -> None:
    rows = [
        coverage_row("good", 4),
        coverage_row("other-bad", 1, blocking=False),
        coverage_row("bad", 1),
        coverage_row("unknown-slice", 4, slice="nobody-limits-this"),
        "not json",
        coverage_row("doubt", 7, 10, slice="doubtful"),
    ]
    found = select_rows(gated(rows).run.records_path, is_judged=True)
    assert [row.line for row in found.rows] == [3, 4, 5, 6, 2, 1]
    assert (found.total, found.not_passing, found.not_passing_hidden) == (6, 5, 0)


def test_what_a_page_leaves_out_is_counted(gated: Callable[..., Any], coverage_row: Row) -> None:
    rows = [coverage_row(f"bad-{n}", 1) for n in range(5)] + [coverage_row(f"good-{n}", 4) for n in range(3)]
    path = gated(rows).run.records_path
    few = select_rows(path, is_judged=True, most=3)
    assert [row.case_id for row in few.rows] == ["bad-0", "bad-1", "bad-2"]
    assert (few.total, few.not_passing, few.not_passing_hidden) == (8, 5, 2)
    more = select_rows(path, is_judged=True, most=6)
    assert [row.case_id for row in more.rows][-1] == "good-0"
    assert more.not_passing_hidden == 0


def test_values_of_all_rows_are_counted_also_of_those_not_shown(gated: Callable[..., Any], coverage_row: Row) -> None:
    rows = [coverage_row(f"r{n}", 2, blocking=bool(n % 2)) for n in range(6)] + [coverage_row("good", 3, 3), "bad json"]
    tally = select_rows(gated(rows).run.records_path, is_judged=True, most=2).tallies["default"]
    assert tally.values == {(0.5, "fail"): 6, (1.0, "pass"): 1}
    assert tally.denominators == {4: 6, 3: 1}
    assert (tally.scored, tally.uncounted) == (7, 0)


def test_without_a_policy_only_what_was_not_scored_comes_first(gated: Callable[..., Any], coverage_row: Row) -> None:
    path = gated([coverage_row("bad", 1), "not json", coverage_row("good", 4)]).run.records_path
    assert [row.line for row in select_rows(path, is_judged=False).rows] == [2, 1, 3]


def test_a_tally_is_bounded_and_says_what_it_left_out() -> None:
    tally = Tally()
    for n in range(5_010):
        tally.add(n / 10_000, None, None)
    tally.add(None, None, None)  # a ranking has no place on an axis
    tally.add(0.0, None, None)  # a value that is known is counted all the same
    assert len(tally.values) == 5_000
    assert tally.scored == sum(tally.values.values()) + tally.uncounted == 5_012
    assert tally.uncounted == 11
