from __future__ import annotations

from pathlib import Path

import meeting_room as room
import pytest

from evalkit.contract import EvalkitError
from evalkit.decisions.meeting.agenda import AGENDA_NAME, AgendaOptions, read_agenda, review_folder
from evalkit.decisions.meeting.vote_entry import Entry, new_entry
from evalkit.decisions.meeting.votes import read_folder
from evalkit.pages.ballot import make_ballot
from evalkit.pages.collect import collect_votes


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = room.gated_run(tmp_path)
    make_ballot(made, tmp_path / "ballot.html", slices=["default"], options=AgendaOptions(n=2, far=1))
    return made


def votes_of(run: Path, reviewer: str = "zoe") -> list[Entry]:
    agenda = read_agenda(review_folder(run) / AGENDA_NAME)
    return [
        new_entry("vote", reviewer, agenda.run_id, case_id=c, seen_hash=s, vote="hold", source="ballot")
        for c, s in agenda.rows.items()
    ]


def write(path: Path, entries: list[Entry]) -> Path:
    path.write_bytes(b"".join(entry.to_json() for entry in entries))
    return path


def test_a_ballot_is_merged_once_however_often_it_is_collected(run: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "votes-zoe.jsonl", votes_of(run))
    first, second = collect_votes([file, file], run), collect_votes([file], run)
    assert first.screen == "zoe: 5 new, 5 known already; voted on 5 of 5 rows"
    assert second.facts["reviewers"]["zoe"] == {"voted": 5, "added": 0, "known": 5}
    assert len(read_folder(review_folder(run) / "votes").entries) == 5


def test_whoever_collects_is_not_told_how_the_votes_fall(run: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "votes.jsonl", votes_of(run))
    assert "hold" not in collect_votes([file], run).screen


def test_a_ballot_on_other_answers_is_refused_and_nothing_is_merged(run: Path, tmp_path: Path) -> None:
    good = write(tmp_path / "good.jsonl", votes_of(run, "anna"))
    mine = votes_of(run)
    mine[2] = mine[2]._replace(seen_hash="sha256:" + "0" * 64)
    bad = write(tmp_path / "bad.jsonl", mine)
    with pytest.raises(
        EvalkitError, match=rf"1 of its votes are on other answers than this run shows: {mine[2].case_id}"
    ):
        collect_votes([good, bad], run)
    assert not (review_folder(run) / "votes").exists()


def test_a_ballot_of_another_meeting_is_refused(run: Path, tmp_path: Path) -> None:
    mine = votes_of(run)
    file = write(tmp_path / "votes.jsonl", [mine[0]._replace(case_id="elsewhere")])
    with pytest.raises(EvalkitError, match=r"1 of its cases are not on this meeting's agenda: elsewhere"):
        collect_votes([file], run)


@pytest.mark.parametrize("content", ["", "\n", "<!doctype html>"])
def test_what_is_no_file_of_votes_is_refused(run: Path, tmp_path: Path, content: str) -> None:
    file = tmp_path / "ballot.html"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(EvalkitError, match=r"holds no votes"):
        collect_votes([file], run)
