from __future__ import annotations

import errno
import multiprocessing
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalkit.contract import EvalkitError
from evalkit.decisions.meeting.vote_entry import Entry, checked_reviewer, new_entry, read_vote_file
from evalkit.decisions.meeting.votes import append_entries, entries_hash, read_folder, vote_path

SEEN = "sha256:" + "0" * 64


def vote(case_id: str, reviewer: str = "anna", choice: str = "ship", **more: object) -> Entry:
    return new_entry("vote", reviewer, "run-1", case_id=case_id, seen_hash=SEEN, vote=choice, **more)


def test_what_is_acknowledged_is_read_back_as_it_was(tmp_path: Path) -> None:
    mine = [vote("c1", note='a "note" with ⏎ and | in it'), vote("c2", choice="cannot_tell")]
    for entry in mine:
        assert append_entries(tmp_path, [entry]) == [entry]
    assert read_folder(tmp_path).entries == tuple(mine)
    assert stat.S_IMODE(vote_path(tmp_path, "anna").stat().st_mode) & 0o600 == 0o600


def test_the_same_act_sent_twice_is_one_entry(tmp_path: Path) -> None:
    entry = vote("c1")
    append_entries(tmp_path, [entry, entry])
    assert append_entries(tmp_path, [entry]) == []
    assert read_folder(tmp_path).entries == (entry,)


def test_an_entry_that_lies_in_two_folders_counts_once(tmp_path: Path) -> None:
    entry = vote("c1")
    for name in ("lab", "mail"):
        append_entries(tmp_path / name, [entry])
    assert read_folder([tmp_path / "lab", tmp_path / "mail"]).entries == (entry,)


def test_two_reviewers_have_two_files_and_awkward_names_do_not_collide(tmp_path: Path) -> None:
    for name in ("r 1", "r-1", "Zoë", "../../etc"):
        append_entries(tmp_path, [vote("c1", name)])
    files = sorted(path.name for path in tmp_path.iterdir())
    assert len(files) == 4
    assert {entry.reviewer for entry in read_folder(tmp_path).entries} == {"r 1", "r-1", "Zoë", "../../etc"}


def cast_many(folder: Path, reviewer: str, start: int) -> None:
    for number in range(start, start + 25):
        append_entries(folder, [vote(f"c{number}", reviewer)])


def test_reviewers_and_kernels_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    # Two kernels of anna, two of bo, on one shared folder.
    jobs = [fork.Process(target=cast_many, args=(tmp_path, name, at)) for name in ("anna", "bo") for at in (0, 25)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(60)
        assert job.exitcode == 0
    entries = read_folder(tmp_path).entries
    assert len(entries) == 100
    assert {(e.reviewer, e.case_id) for e in entries} == {(r, f"c{n}") for r in ("anna", "bo") for n in range(50)}


def test_a_full_disk_loses_the_vote_in_hand_and_none_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append_entries(tmp_path, [vote("c1")])
    path = vote_path(tmp_path, "anna")
    before = path.read_bytes()
    write = os.write

    def half(descriptor: int, raw: bytes) -> int:
        return write(descriptor, raw[: len(raw) // 2])  # what a disk with some bytes left does

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(EvalkitError, match="was NOT saved"):
            append_entries(tmp_path, [vote("c2")])
    assert path.read_bytes() == before
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(EvalkitError, match=r"No space left on device.*then vote again"):
            append_entries(tmp_path, [vote("c2")])
    assert path.read_bytes() == before
    append_entries(tmp_path, [vote("c2")])
    assert len(read_folder(tmp_path).entries) == 2


@pytest.mark.parametrize("kept", [1, 40, -2])
def test_a_kernel_killed_while_writing_leaves_no_vote_and_the_next_one_stands_alone(tmp_path: Path, kept: int) -> None:
    append_entries(tmp_path, [vote("c1")])
    path = vote_path(tmp_path, "anna")
    with path.open("ab") as stream:
        stream.write(vote("c2").to_json()[:kept])
    found = read_folder(tmp_path)
    assert [entry.case_id for entry in found.entries] == ["c1"]
    assert "never acknowledged" in found.findings[0]
    append_entries(tmp_path, [vote("c3")])
    assert [entry.case_id for entry in read_folder(tmp_path).entries] == ["c1", "c3"]
    assert read_folder(tmp_path).findings == ()


def test_a_whole_last_line_without_its_newline_is_kept(tmp_path: Path) -> None:
    append_entries(tmp_path, [vote("c1")])
    path = vote_path(tmp_path, "anna")
    path.write_bytes(path.read_bytes().rstrip(b"\n"))  # an editor that trims
    append_entries(tmp_path, [vote("c2")])
    assert [entry.case_id for entry in read_folder(tmp_path).entries] == ["c1", "c2"]


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 81, "\u200b", "Adjudication"])
def test_a_name_that_cannot_stand_for_a_person_is_refused(name: str) -> None:
    with pytest.raises(EvalkitError, match=r"name|signed"):
        checked_reviewer(name)


def test_a_second_spelling_of_one_reviewer_is_refused_before_it_votes(tmp_path: Path) -> None:
    append_entries(tmp_path, [vote("c1", "anna")])
    with pytest.raises(EvalkitError, match=r"'Anna' looks like 'anna'"):
        append_entries(tmp_path, [vote("c1", "Anna")])
    assert len(read_folder(tmp_path).entries) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"vote": "yes"}, "vote must be ship, hold or cannot_tell; got 'yes'"),
        ({"at": "2026-11-30T10:00:00"}, "at must be a time with its zone"),
        ({"score": 0.75}, "the key 'score' is unknown"),
        ({"seen_hash": "abc"}, "seen_hash must be a hash"),
        ({"entry_id": "1"}, "entry_id must be 16 hex digits"),
        ({"note": "x" * 4001}, "note must be a text of at most 4000 characters"),
    ],
)
def test_a_line_that_no_ballot_wrote_refuses_the_file(tmp_path: Path, change: dict[str, object], said: str) -> None:
    import orjson

    path = tmp_path / "votes.jsonl"
    fields = orjson.loads(vote("c1").to_json()) | change
    path.write_bytes(vote("c0").to_json() + orjson.dumps(fields) + b"\n")
    with pytest.raises(EvalkitError, match=f"line 2: {said}"):
        read_vote_file(path)


def test_a_file_of_two_reviewers_and_a_changed_copy_of_an_entry_are_refused(tmp_path: Path) -> None:
    entry = vote("c1")
    path = tmp_path / "votes.jsonl"
    path.write_bytes(entry.to_json() + vote("c1", "bo").to_json() + entry._replace(vote="hold").to_json())
    with pytest.raises(
        EvalkitError, match=r"line 3: the entry .* stands here a second time, changed.*several reviewers"
    ):
        read_vote_file(path)


def test_the_hash_of_votes_does_not_depend_on_files_or_their_order(tmp_path: Path) -> None:
    at = datetime(2026, 11, 30, tzinfo=UTC)
    mine = [vote("c1", at=at), vote("c2", "bo", at=at)]
    assert entries_hash(mine) == entries_hash(mine[::-1])
    assert entries_hash(mine) != entries_hash(mine[:1])
