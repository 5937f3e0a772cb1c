from __future__ import annotations

import pytest

from evalkit.contract import Decision
from evalkit.pages.strips import BINS, HEIGHT, WIDTH, strip_of
from evalkit.scoring.ledger import Values


def values_of(*rows: tuple[float | str, Decision | None]) -> Values:
    values = Values()
    for value, decision in rows:
        values.add(value, decision)
    return values


def test_a_bar_for_each_value_with_the_height_of_its_share() -> None:
    strip = strip_of("s", values_of((0.5, "fail"), (1.0, "pass"), (1.0, "pass")), 0.75, (0.0, 1.0))
    # The highest stack (2 rows) fills the height; 1 row is half of it. 0.5 lies in the middle, 0.75 at three quarters.
    low, high = strip.bars
    assert (low.decision, low.rows, low.height) == ("fail", 1, HEIGHT / 2)
    assert (high.decision, high.rows, high.height, high.y) == ("pass", 2, HEIGHT, 0)
    assert low.x + low.width / 2 == WIDTH / 2
    assert strip.rule is not None
    assert (strip.rule.x, strip.rule.label) == (WIDTH * 0.75, "0.75")
    assert (strip.low, strip.high, strip.most) == ("0.0", "1.0", 2)


def test_rows_of_one_value_that_were_decided_differently_stand_on_each_other() -> None:
    strip = strip_of("s", values_of((0.5, "fail"), (0.5, "pass")), None, (0.0, 1.0))
    bottom, top = strip.bars
    assert (bottom.decision, top.decision) == ("pass", "fail")
    assert top.y + top.height == bottom.y
    assert bottom.y + bottom.height == HEIGHT


def test_many_values_are_binned_and_every_row_is_in_a_bin() -> None:
    values = [n / 1000 for n in range(1001)]
    strip = strip_of("s", values_of(*((value, "pass") for value in values)), 0.5, (0.0, 1.0))
    assert len(strip.bars) == BINS
    assert sum(bar.rows for bar in strip.bars) == 1001
    assert strip.bars[-1].rows == 51  # 0.95 to 0.999 are 50, and 1.0 belongs to the last bin
    assert strip.bars[0].label == "0.0 to 0.05"


@pytest.mark.parametrize("allowed", [None, (0.0, 1.0)])
def test_one_value_needs_no_span(allowed: tuple[float, float] | None) -> None:
    strip = strip_of("s", values_of((0.0, None)), None, allowed)
    assert [(bar.rows, bar.decision) for bar in strip.bars] == [(1, "none")]
    assert strip.rule is None


def test_labels_are_listed_and_never_put_on_an_axis() -> None:
    strip = strip_of("s", values_of(("pass", "pass"), ("fail", "fail"), ("pass", "pass")), None, None)
    assert strip.bars == []
    assert strip.labels == [("fail", "fail", 1), ("pass", "pass", 2)]


def test_a_bound_outside_the_axis_is_not_drawn() -> None:
    assert strip_of("s", values_of((0.5, "pass")), 7.0, (0.0, 1.0)).rule is None
