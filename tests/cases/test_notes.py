"""Error analysis: the draw, the sheet, the groups, and what is still open."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from evalkit.cases.notes import ADVICE, FINE, Group, Note, draw, notes_table, read_groups, read_notes, reading_of
from evalkit.contract import EvalkitError


def test_every_trace_has_the_same_chance() -> None:
    ids = [f"t{number}" for number in range(10)]
    rng = random.Random(5)
    drawn = Counter(case_id for _ in range(4000) for case_id in draw(ids, 3, rng))
    # 3 of 10 in each of 4,000 draws: 1,200 expected, with a standard deviation of sqrt(4000 * 0.3 * 0.7) = 29.
    assert all(abs(count - 1200) < 4 * 29 for count in drawn.values())
    assert draw(ids, 99, rng) == ids
    assert draw(ids, 4, random.Random(1)) == draw(ids, 4, random.Random(1))
    assert draw([], 4, rng) == []


def test_notes_are_added_up_and_what_is_open_is_said() -> None:
    notes = [
        Note("a", "leaves the fee out", "leaves out"),
        Note("b", "good", FINE),
        Note("c", "hm", ""),
        Note("d", "", "leaves out"),
        Note("z", "of another sample", "leaves out"),
    ]
    found = reading_of(["a", "b", "c", "d", "e"], notes, [Group("leaves out", None)])
    assert found.counts == {"leaves out": 1, FINE: 1}
    assert (found.unread, found.ungrouped, found.undecided, found.strangers) == (
        ("d", "e"),
        ("c",),
        ("leaves out",),
        ("z",),
    )
    assert found.open_ends() == [
        "2 traces of the sample have no note: d, e",
        "1 notes belong to no group: c",
        "1 groups have no kind of metric: leaves out",
    ]
    done = reading_of(["a", "b"], notes, [Group("leaves out", "numeric")])
    assert done.open_ends() == []


def test_the_sheet_that_is_written_is_the_one_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_bytes(notes_table({"a": {"question": "=1+1", "answer": None}}))
    assert read_notes(path) == [Note("a", "")]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("case_id,note,group\na,x,y\na,z,y\n", "'a' has a note on line 2 already"),
        ("case_id,note,group\n,x,y\n", "case_id is blank"),
        ("case_id,note\na,x\n", "lacks the columns group"),
    ],
)
def test_a_sheet_with_a_mistake_is_refused(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "notes.csv"
    path.write_text(content)
    with pytest.raises(EvalkitError, match=told):
        read_notes(path)


def test_a_kind_is_one_of_five_or_still_open(tmp_path: Path) -> None:
    path = tmp_path / "groups.csv"
    path.write_text("group,kind,why\na,numeric,counts\nb,,\n")
    assert read_groups(path) == [Group("a", "numeric", "counts"), Group("b", None, "")]
    path.write_text("group,kind\na,percentage\n")
    with pytest.raises(EvalkitError, match="kind must be one of numeric, discrete, boolean, ranking, none"):
        read_groups(path)
    assert list(ADVICE) == ["numeric", "discrete", "boolean", "ranking", "none"]
