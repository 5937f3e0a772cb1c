"""The hold-out ledger: append-only, one look a question, and a second look after an edit refused with its reason."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases.holdout import Look, append_look, read_looks, refuse_second_look, same_look, spent
from evalkit.contract import EvalkitError

LOOK = Look(
    looked_on="2026-11-30",
    purpose="calibrate",
    metric="m",
    contract_version="1",
    metric_fingerprint="sha256:aa",
    question={"max_false_pass": 0.05, "confidence": 0.95},
    rows_sha256="sha256:rows",
    result={"s": 0.8},
    case_ids={"s": ("a", "b")},
)


def test_looks_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "holdout.jsonl"
    assert read_looks(path) == []
    other = LOOK._replace(purpose="later", case_ids={"s": ("x",)})
    append_look(path, LOOK)
    append_look(path, other)
    assert read_looks(path) == [LOOK, other]


@pytest.mark.parametrize("edit", ["change", "remove", "swap"])
def test_an_edited_ledger_is_refused(tmp_path: Path, edit: str) -> None:
    path = tmp_path / "holdout.jsonl"
    for purpose in ("one", "two", "three"):
        append_look(path, LOOK._replace(purpose=purpose))
    lines = path.read_text().splitlines(keepends=True)
    changed = {
        "change": [lines[0].replace("one", "won"), *lines[1:]],
        "remove": lines[1:],
        "swap": [lines[1], lines[0], lines[2]],
    }[edit]
    path.write_text("".join(changed))
    with pytest.raises(EvalkitError, match="does not follow the line before it: the ledger was edited"):
        read_looks(path)


def test_a_line_that_is_no_look_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "holdout.jsonl"
    path.write_text("{}\n")
    with pytest.raises(EvalkitError, match=r"line 1: .*looked_on is absent"):
        read_looks(path)
    path.write_text("no json\n")
    with pytest.raises(EvalkitError, match="is not a line of a hold-out ledger"):
        read_looks(path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"case_ids": ["a"]}, "case_ids must be an object; got ['a']"),  # found by make fuzz
        ({"case_ids": {"default": "abc"}}, "case_ids.default must be a list; got 'abc'"),
        ({"question": None}, "question must be an object; got None"),
        ({"looked_on": 5}, "looked_on must be a text; got 5"),
    ],
)
def test_a_look_of_another_layout_is_refused_with_the_place(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    path = tmp_path / "holdout.jsonl"
    append_look(path, LOOK)
    path.write_text(json.dumps(json.loads(path.read_text()) | change) + "\n")
    with pytest.raises(EvalkitError) as caught:
        read_looks(path)
    assert told in str(caught.value)


def test_a_look_whose_process_died_while_it_was_written_is_none_and_the_next_is_not_glued_to_it(tmp_path: Path) -> None:
    path = tmp_path / "holdout.jsonl"
    append_look(path, LOOK)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[: len(whole) // 2])
    assert read_looks(path) == [LOOK]
    append_look(path, LOOK._replace(purpose="two"))
    assert [look.purpose for look in read_looks(path)] == [LOOK.purpose, "two"]


def test_looks_of_several_processes_at_once_are_a_chain_of_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "holdout.jsonl"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: append_look(path, LOOK._replace(purpose=f"look {n}")), range(40)))
    assert sorted(look.purpose for look in read_looks(path)) == sorted(f"look {n}" for n in range(40))


def test_the_same_question_may_be_repeated(tmp_path: Path) -> None:
    path = tmp_path / "holdout.jsonl"
    append_look(path, LOOK)
    looks = read_looks(path)
    assert same_look(looks, LOOK._replace(looked_on="2027-01-01", result={}, purpose="again")) == LOOK
    refuse_second_look(looks, LOOK)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"metric_fingerprint": "sha256:bb"}, "the metric was edited"),
        ({"rows_sha256": "sha256:other"}, "the rows or their labels changed"),
        ({"question": {"max_false_pass": 0.1, "confidence": 0.95}}, "another limit or confidence is asked for"),
        ({"metric": "n", "contract_version": "2"}, "it is another metric and the contract version changed"),
    ],
)
def test_a_second_look_after_an_edit_is_refused_with_the_reason(change: dict[str, object], reason: str) -> None:
    look = LOOK._replace(**change)  # type: ignore[arg-type]
    assert same_look([LOOK], look) is None
    with pytest.raises(EvalkitError, match=f"2 of these rows .* on 2026-11-30 .* {reason}") as caught:
        refuse_second_look([LOOK], look)
    assert "label new families as held_out" in caught.value.do


def test_fresh_rows_may_be_looked_at_after_an_edit() -> None:
    refuse_second_look([LOOK], LOOK._replace(metric_fingerprint="sha256:bb", case_ids={"s": ("c", "d")}))


def test_what_is_left_is_counted_by_slice() -> None:
    (s, t) = spent([LOOK], {"s": ["a", "b", "c"], "t": ["x"]})
    assert (s.labelled, s.seen, s.fresh, s.looks) == (3, 2, 1, 1)
    assert (t.labelled, t.seen, t.fresh, t.looks) == (1, 0, 1, 0)


def test_a_ledger_that_cannot_be_written_shows_nothing(tmp_path: Path) -> None:
    with pytest.raises(EvalkitError, match="the held-out rows were not shown"):
        append_look(tmp_path / "none" / "holdout.jsonl", LOOK)
