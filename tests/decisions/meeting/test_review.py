from __future__ import annotations

import tomllib
from pathlib import Path

import meeting_room as room
import pytest

from evalkit.contract import EvalkitError
from evalkit.decisions.meeting.review import PROPOSED_NAME


def test_votes_survive_the_kernel_and_a_second_reader_sees_them(tmp_path: Path) -> None:
    room.opened(tmp_path).cast("anna", "c", "hold", "half an answer")
    again = room.opened(tmp_path).tally()
    assert again.rows["c"].final["anna"].note == "half an answer"
    assert again.voted("anna") == 1


def test_once_opened_always_opened(tmp_path: Path) -> None:
    review = room.opened(tmp_path)
    review.cast("anna", "c", "hold")
    review.open_votes("anna")
    review.open_votes("anna")
    assert sum(entry.kind == "opened" for entry in review.entries()) == 1
    again = room.opened(tmp_path)  # a new kernel does not make anybody blind again
    again.cast("anna", "c", "ship")
    assert again.tally().rows["c"].before["anna"].vote == "hold"
    assert again.tally().rows["c"].final["anna"].vote == "ship"


def test_votes_of_another_folder_are_read_and_never_written(tmp_path: Path) -> None:
    first = room.opened(tmp_path)
    first.cast("anna", "c", "hold")
    second = room.opened(tmp_path, folder=tmp_path / "second", also=(first.votes_folder,))
    before = [path.read_bytes() for path in sorted(first.votes_folder.iterdir())]
    second.cast("bo", "c", "ship")
    assert second.tally().reviewers == ("anna", "bo")
    assert [path.read_bytes() for path in sorted(first.votes_folder.iterdir())] == before


def test_the_proposal_is_gated_without_touching_the_policy(tmp_path: Path) -> None:
    review = room.opened(tmp_path)
    review.gate({"default": 0.8})
    assert (tmp_path / "policy.toml").read_text(encoding="utf-8") == room.POLICY
    proposed = tomllib.loads((review.folder / PROPOSED_NAME).read_text(encoding="utf-8"))
    assert proposed["slices"]["default"]["minimum"] == 0.8
    assert not (tmp_path / "decided.toml").exists()


def test_a_policy_without_any_threshold_has_none_to_review(tmp_path: Path) -> None:
    text = room.POLICY.replace("minimum = 0.75 # the council's own words", 'decide = "review"')
    text = text.replace("[slices.money]\nminimum = 1.0", '[slices.money]\ndecide = "review"')
    with pytest.raises(EvalkitError, match=r"no slice of the policy has a threshold and rows here"):
        room.opened(tmp_path, policy=text, thresholds=None)


def test_by_default_every_slice_with_a_threshold_and_rows_is_reviewed(tmp_path: Path) -> None:
    assert room.opened(tmp_path, thresholds=None).agenda.thresholds == {"default": 0.75, "money": 1.0}
