"""Votes, agendas and decisions that somebody edited: read as they are or refused in words, and no vote counts twice."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import meeting_room as room
import pytest
from hostile import bent, broken, evalkit, look_for, texts
from hypothesis import strategies as st

from evalkit.decisions.meeting.agenda import AGENDA_NAME, VOTES_NAME, AgendaOptions, review_folder
from evalkit.decisions.meeting.approve import Approved
from evalkit.decisions.meeting.votes import vote_path

pytestmark = pytest.mark.fuzz

APPROVED = Approved(
    approved_by="the council", rationale="r", expires_on=room.date(2027, 2, 1), decided_on=room.DAY,
    basis="by_definition",
)  # fmt: skip


class Damage(NamedTuple):
    name: str
    raw: bytes


@pytest.fixture
def meeting(tmp_path: Path) -> Path:
    """A run with its meeting beside it: an agenda, two reviewers' votes and a decision."""
    run = room.gated_run(tmp_path, name="run")
    review = room.opened(tmp_path, folder=review_folder(run), agenda=AgendaOptions(n=2, far=1, seed=7))
    for case_id in review.agenda.rows:
        review.cast("anna", case_id, "ship")
        review.cast("bo", case_id, "hold", "half an answer")
    shutil.copy(vote_path(review.folder / VOTES_NAME, "bo"), tmp_path / "returned.jsonl")
    review.decide({"default": 0.8}, APPROVED)
    return tmp_path


def damaged(meeting: Path) -> st.SearchStrategy[Damage]:
    folder = meeting / "run.review"
    found = [path for path in sorted(folder.rglob("*")) if path.suffix in (".json", ".jsonl")]
    assert len(found) >= 4
    files = [meeting / "returned.jsonl", *found, folder / AGENDA_NAME]

    @st.composite
    def damage(draw: st.DrawFn) -> Damage:
        path = draw(st.sampled_from(files))
        raw = path.read_bytes()
        if draw(st.integers(0, 3)) == 0:
            raw = draw(broken(raw))
        elif path.suffix == ".json":
            raw = json.dumps(draw(bent(json.loads(raw)))).encode()
        else:
            lines: list[Any] = [json.loads(line) for line in raw.splitlines()]
            at = draw(st.integers(0, len(lines) - 1))
            key = draw(st.sampled_from(sorted(lines[at])))
            lines[at] = draw(st.one_of(bent(lines[at]), st.builds(lambda v: {**lines[at], key: v}, texts)))
            raw = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        return Damage(str(path.relative_to(meeting)), raw)

    return damage()


def test_fuzz_a_meeting_that_was_tampered_with_is_read_or_refused_in_words(meeting: Path) -> None:
    def check(damage: Damage) -> None:
        with tempfile.TemporaryDirectory() as name:
            here = Path(name) / "here"
            shutil.copytree(meeting, here)
            (here / damage.name).write_bytes(damage.raw)
            run, votes = here / "run", here / "run.review" / VOTES_NAME
            before = {path.name: path.read_bytes() for path in votes.iterdir()}
            collected = evalkit("votes", "collect", here / "returned.jsonl", "--run", run, "--json", here / "c.json")
            again = evalkit("votes", "collect", here / "returned.jsonl", "--run", run, "--json", here / "c2.json")
            assert collected.code == again.code
            after = {path.name: path.read_bytes() for path in votes.iterdir()}
            if damage.name == "returned.jsonl":  # what was acknowledged stays, byte for byte
                assert all(after[file].startswith(raw) for file, raw in before.items())
            if collected.code == 0:
                facts = json.loads((here / "c2.json").read_text())
                assert all(found["added"] == 0 for found in facts["reviewers"].values())
                assert all(found["voted"] <= facts["rows"] for found in facts["reviewers"].values())
            leave = ("--out", here / "p.html", "--minutes", here / "m.md", "--labels", here / "labels.jsonl")
            evalkit("packet", run, "--policy", here / "policy.toml", *leave)
            evalkit("packet", run, "--policy", here / "decided.toml", *leave)
            evalkit("ballot", run, "--out", here / "ballot.html")

    look_for(damaged(meeting), check)
