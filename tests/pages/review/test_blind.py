from __future__ import annotations

from pathlib import Path
from typing import Any

import meeting_room as room
import pytest

from evalkit import evidence_coverage, read_cases, score_cases
from evalkit.pages.review.blind import BlindRow, blind_row
from evalkit.pages.review.templating import blind_html


def blind(tmp_path: Path, **change: Any) -> BlindRow:
    line = room.row("c", 3) | change
    (record,) = score_cases(evidence_coverage, read_cases(room.write_lines(tmp_path / "one.jsonl", [line])))
    return blind_row(record)


def test_nothing_that_tells_the_score_is_in_a_blind_row(tmp_path: Path) -> None:
    html = blind_html(blind(tmp_path))
    # Row c has 3 of 4: neither value, reason, counts nor any claim id; the channel is what is missing.
    for hidden in ("0.75", "supported", "required", "missing=", "channel</", ">window<", "pass<", "fail"):
        assert hidden not in html, hidden
    assert "The channel is so." in html  # what a complete answer says is the same list for every reviewer
    assert "<mark>The fee is so.</mark>" in html


def test_the_evidence_is_chosen_by_name_so_that_unknown_keys_stay_hidden(tmp_path: Path) -> None:
    evidence = room.row("c", 3)["evidence"] | {"judge_note": "scores 0.75", "score": 0.75}
    html = blind_html(blind(tmp_path, evidence=evidence))
    assert "judge_note" not in html
    assert "0.75" not in html


def test_citations_are_shown_without_the_claim_they_were_made_for(tmp_path: Path) -> None:
    found = blind(tmp_path)
    assert (found.citations[0].name, found.citations[0].text) == ("doc", "The window is so.")
    assert {piece.claims for piece in found.answer or []} == {"", "cited"}


def test_without_evidence_the_inputs_are_all_there_is_to_see(tmp_path: Path) -> None:
    found = blind_row(next(iter(score_cases(evidence_coverage, read_cases(
        room.write_lines(tmp_path / "bare.jsonl", [room.bare(room.row("c", 3))])
    )))))  # fmt: skip
    assert [field.name for field in found.inputs] == ["required_claim_ids", "supported_claim_ids"]
    assert (found.question, found.answer, found.passages) == (None, None, [])


@pytest.mark.parametrize(("retrieved", "said"), [(None, "null: the trace was lost"), ([], "[]: nothing was retrieved")])
def test_a_lost_trace_and_an_empty_one_are_told_apart(tmp_path: Path, retrieved: Any, said: str) -> None:
    evidence = room.row("c", 3)["evidence"] | {"retrieved": retrieved}
    assert said in blind_html(blind(tmp_path, evidence=evidence))
