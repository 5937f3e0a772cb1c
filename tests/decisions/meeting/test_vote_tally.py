from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from evalkit.decisions.meeting.vote_entry import Entry, new_entry
from evalkit.decisions.meeting.vote_tally import tally_of

SEEN = {"c1": "sha256:1", "c2": "sha256:2", "c3": "sha256:3"}
START = datetime(2026, 11, 30, 9, tzinfo=UTC)


def act(minute: int, reviewer: str, kind: str = "vote", **fields: object) -> Entry:
    return new_entry(kind, reviewer, "run", at=START + timedelta(minutes=minute), **fields)  # type: ignore[arg-type]


def vote(minute: int, reviewer: str, case_id: str, choice: str, seen: str | None = None) -> Entry:
    return act(minute, reviewer, case_id=case_id, seen_hash=seen or SEEN[case_id], vote=choice)


def test_a_vote_after_opening_the_others_belongs_to_the_second_round() -> None:
    entries = [
        vote(0, "anna", "c1", "ship"), vote(1, "bo", "c1", "hold"), act(2, "bo", "opened"),
        vote(3, "bo", "c1", "ship"), vote(4, "anna", "c2", "hold"),
    ]  # fmt: skip
    found = tally_of(entries, SEEN)
    row = found.rows["c1"]
    assert (row.before["bo"].vote, row.final["bo"].vote) == ("hold", "ship")
    assert (row.was_split, row.is_split) == (True, False)
    # Who has not opened the votes is still blind, whatever others did.
    assert "anna" in found.rows["c2"].before
    assert found.opened == {"bo": START + timedelta(minutes=2)}


def test_the_last_vote_of_a_round_counts_whatever_order_the_files_came_in() -> None:
    entries = [vote(5, "anna", "c1", "hold"), vote(1, "anna", "c1", "ship")]
    assert tally_of(entries, SEEN).rows["c1"].before["anna"].vote == "hold"
    assert tally_of(entries[::-1], SEEN).rows["c1"].before["anna"].vote == "hold"


def test_a_vote_on_another_answer_is_stale_and_one_off_the_agenda_a_stranger() -> None:
    entries = [vote(0, "anna", "c1", "ship", "sha256:old"), vote(1, "anna", "c9", "ship", "sha256:9")]
    found = tally_of(entries, SEEN)
    assert (len(found.stale), len(found.strangers), found.reviewers) == (1, 1, ())


def test_agreement_is_counted_over_pairs_and_cannot_tell_agrees_with_nothing() -> None:
    votes = {"c1": ["ship", "ship", "hold"], "c2": ["hold", "hold", "cannot_tell"], "c3": ["ship", "ship", "ship"]}
    entries = [
        vote(minute, name, case_id, choice)
        for case_id, choices in votes.items()
        for minute, (name, choice) in enumerate(zip(("anna", "bo", "cy"), choices, strict=True))
    ]
    found = tally_of(entries, SEEN).agreement(is_final=True)
    # c1: 3 pairs, 1 agrees; c2: 1 pair of clear votes, which agrees; c3: 3 of 3. Together 5 of 7.
    assert (found.pairs_agreeing, found.pairs_compared, found.cannot_tell) == (5, 7, 1)
    # Observed disagreement: c1 has 4 of 6 ordered pairs unlike, weight 1/(3-1): 2; over 8 values, D_o = 2/8 = 0.25.
    # 5 ship and 3 hold: D_e = 2*5*3/(8*7) = 0.5357. alpha = 1 - 0.25/0.5357 = 0.5333.
    assert found.alpha.value == pytest.approx(1 - 0.25 / (30 / 56))


def test_agreement_over_nothing_is_no_number() -> None:
    found = tally_of([], SEEN).agreement(is_final=False)
    assert (found.share, found.alpha.value) == (None, None)


def test_a_mark_can_be_taken_back_and_needs_no_vote() -> None:
    def mark(minute: int, word: str) -> Entry:
        return act(minute, "anna", "mark", case_id="c1", mark=word)

    assert tally_of([mark(0, "to_review")], SEEN).marked() == {"c1": {"anna": "to_review"}}
    assert tally_of([mark(0, "to_review"), mark(1, "none")], SEEN).marked() == {}
