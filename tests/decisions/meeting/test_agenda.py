from __future__ import annotations

import threading
from pathlib import Path

import meeting_room as room
import pytest

from evalkit.contract import EvalkitError
from evalkit.decisions.meeting.agenda import Agenda, AgendaOptions, read_agenda, review_folder, settled_agenda

SEEN = {"a": "sha256:1", "b": "sha256:2"}
FIRST = Agenda("run", {"default": 0.75}, AgendaOptions(), {"a": "sha256:1", "b": "sha256:2"})
SECOND = FIRST._replace(thresholds={"default": 0.5}, rows={"b": "sha256:2"})


def test_the_first_agenda_stands_and_everybody_gets_it(tmp_path: Path) -> None:
    assert settled_agenda(tmp_path, FIRST, SEEN) == FIRST
    assert settled_agenda(tmp_path, SECOND, SEEN) == FIRST
    assert list(settled_agenda(tmp_path, SECOND, SEEN).rows) == ["a", "b"]


def test_two_who_open_a_meeting_at_once_get_one_agenda(tmp_path: Path) -> None:
    got: list[Agenda] = []
    barrier = threading.Barrier(8)

    def open_one(number: int) -> None:
        barrier.wait()
        got.append(settled_agenda(tmp_path / "new", (FIRST, SECOND)[number % 2], SEEN))

    threads = [threading.Thread(target=open_one, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 8
    assert all(agenda == got[0] for agenda in got)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["agenda.json"]


def test_an_agenda_of_other_answers_is_refused(tmp_path: Path) -> None:
    settled_agenda(tmp_path, FIRST, SEEN)
    with pytest.raises(EvalkitError, match=r"of other answers: b show something else"):
        settled_agenda(tmp_path, FIRST, SEEN | {"b": "sha256:9"})


@pytest.mark.parametrize("raw", [b"", b"{}", b'{"rows": [1]}', b"not json"])
def test_a_damaged_agenda_says_what_to_do(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "agenda.json"
    path.write_bytes(raw)
    with pytest.raises(EvalkitError, match=r"cannot be read as an agenda: .*remove it"):
        read_agenda(path)


def test_the_meeting_lies_beside_its_run_which_is_never_written_to(tmp_path: Path) -> None:
    run = room.gated_run(tmp_path)
    before = sorted(path.name for path in run.iterdir())
    assert review_folder(run) == run.resolve().with_name("run.review")
    review = room.opened(tmp_path, folder=review_folder(run))
    review.cast("anna", next(iter(review.agenda.rows)), "ship")
    assert sorted(path.name for path in run.iterdir()) == before


def test_held_out_rows_are_not_voted_on(tmp_path: Path) -> None:
    rows = [line | {"partition": "held_out" if line["case_id"] in "cd" else "calibration"} for line in room.ROWS]
    review = room.opened(tmp_path, rows=rows)
    assert not {"c", "d"} & review.agenda.rows.keys()
    assert review.meeting.held_out == 2
    assert len(review.meeting.ranked("default")) == 5
    assert not {"c", "d"} & review.meeting.settled.keys()


def test_a_slice_without_numbers_cannot_be_reviewed(tmp_path: Path) -> None:
    rows = [room.row("a", 2), room.row("h", 1, 2, slice="money") | {"required_claim_ids": []}]
    with pytest.raises(EvalkitError, match=r"no row of the slice 'money' has a number; name another: default"):
        room.opened(tmp_path, rows=rows, thresholds={"money": 1.0}, labels=None)
