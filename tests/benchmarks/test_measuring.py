"""What the table says: medians and spreads of pairs, targets met or missed, and a machine without a name."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import bench  # noqa: E402 - it lies beside the package
from measuring import Row, Size, evalkit_process, figure, line_of, pairs  # noqa: E402


def row(*ratios: float, **more: float) -> Row:
    return Row(what="ours", against="theirs", ratios=ratios, **more)  # type: ignore[arg-type]


def test_the_median_and_the_spread_of_the_pairs():
    # sorted 18, 20, 21, 25, 90: the middle one is 21, and one slow round does not move it
    found = row(20, 90, 18, 25, 21, least=20)
    assert (found.middle, found.spread, found.target, found.is_met) == (21, "18 to 90, n=5", "at least 20", True)


def test_a_target_is_met_or_missed_or_absent():
    assert [row(2.5, most=2.5).is_met, row(2.6, most=2.5).is_met] == [True, False]
    assert [row(20, least=20).is_met, row(19.9, least=20).is_met] == [True, False]
    assert (row(3).is_met, row(3).target) == (None, "")
    assert line_of(row(1, least=2)).startswith("MISS 1 (measured once), target at least 2\n")


def test_pairs_are_taken_in_turns_and_the_first_changes():
    said: list[str] = []
    taken = list(pairs(Size(False), lambda: said.append("a"), lambda: said.append("b")))
    assert "".join(said) == "abbaabbaab"
    assert len(taken) == 5
    assert len(list(pairs(Size(True), lambda: None, lambda: None))) == 1


def test_the_page_has_every_row_and_says_what_was_missed():
    text = bench.page([row(30, least=20), row(3, most=2), row(1)], busy=0.25, took=600)
    assert "in 10 minutes" in text
    assert "1 of 2 targets are met" in text
    assert "mean nothing" not in text
    assert "mean nothing" in bench.page([row(1)], busy=0, took=1, is_quick=True)
    assert "| ours | theirs | at most 2 | 3 | measured once | **no** |  |" in text


def test_the_machine_is_described_without_its_name():
    said = bench.machine()
    assert platform.node() not in said
    assert platform.python_version() in said
    assert "GiB of memory" in said


def test_a_command_that_fails_is_not_timed_as_if_it_had_worked():
    with pytest.raises(AssertionError, match="nothing"):
        evalkit_process("score", "nothing", "none.jsonl", "--run", "none")


def test_figures_have_three_digits():
    assert [figure(value) for value in (0.01234, 2.345, 34.56, 1234.5)] == ["0.0123", "2.35", "34.6", "1234"]
