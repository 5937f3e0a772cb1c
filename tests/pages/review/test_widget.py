"""The widget without a browser: state lies in traits, observers fire in the kernel, and the disk is the truth."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import meeting_room as room
import pytest

from evalkit.contract import EvalkitError
from evalkit.decisions.meeting.review import Review
from evalkit.pages.review import vote_panel
from evalkit.pages.review.page import VoteFirst, curtain
from evalkit.pages.review.widget import ThresholdReview


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Review:
    monkeypatch.setattr(vote_panel, "RESTING", 0.0)
    return room.opened(tmp_path)


def texts(widget: Any) -> str:
    """Everything that a browser holds of a widget: values, options and descriptions of all its parts."""
    parts = [str(getattr(widget, name, "")) for name in ("value", "options", "description", "placeholder")]
    return " ".join(parts + [texts(child) for child in getattr(widget, "children", ())])


def test_nothing_is_asked_before_a_name_and_a_name_must_be_one(review: Review) -> None:
    widget = ThresholdReview(review)
    assert "Give your name" in texts(widget)
    widget.name.value = "   "
    widget.sign_in.click()
    assert "a reviewer needs a name" in widget.message.value
    widget.name.value = " anna "
    widget.sign_in.click()
    assert (widget.reviewer, widget.message.value) == ("anna", "")
    assert widget.vote in widget.stage.children


def test_vote_mode_holds_no_score_label_or_vote_in_any_part_of_it(review: Review) -> None:
    review.cast("bo", "c", "hold", "a secret note")
    widget = ThresholdReview(review, reviewer="anna")
    for position in range(len(review.agenda.rows)):
        widget.vote.position = position
        seen = texts(widget.stage) + texts(widget.message) + texts(widget.who)
        for hidden in ("0.75", "0.25", "1.0", "supported=", "missing", "label:", "secret", "pass<", "threshold"):
            assert hidden not in seen, hidden
    with pytest.raises(AttributeError):
        widget._room.thresholds  # noqa: B018 - it has not been made


def test_a_vote_is_on_the_disk_when_it_is_shown_as_saved_and_the_next_open_row_comes(review: Review) -> None:
    widget = ThresholdReview(review, reviewer="anna")
    first, second = list(review.agenda.rows)[:2]
    widget.vote.note.value = "half an answer"
    widget.vote.answers.buttons["hold"].click()
    assert review.tally().rows[first].final["anna"].note == "half an answer"
    assert f"Saved: hold for {first}." in widget.vote.message.value
    assert (widget.vote.case_id, widget.vote.voted, widget.vote.note.value) == (second, 1, "")


def test_a_new_kernel_goes_on_at_the_first_row_without_a_vote(review: Review) -> None:
    ThresholdReview(review, reviewer="anna").vote.answers.buttons["ship"].click()
    again = ThresholdReview(review, reviewer="anna")
    assert (again.vote.position, again.vote.voted) == (1, 1)
    again.vote.back.click()
    assert again.vote.answers.buttons["ship"].icon == "check"


def test_a_double_click_is_one_vote(review: Review, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vote_panel, "RESTING", 0.4)
    widget = ThresholdReview(review, reviewer="anna")
    for _ in range(2):
        widget.vote.answers.buttons["ship"].click()
    assert len(review.entries()) == 1
    time.sleep(0.45)
    widget.vote.answers.buttons["ship"].click()
    assert len(review.entries()) == 2


def test_a_vote_that_could_not_be_saved_is_said_and_not_shown_as_voted(
    review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        msg = "the vote was NOT saved (No space left on device)"
        raise EvalkitError(msg)

    widget = ThresholdReview(review, reviewer="anna")
    monkeypatch.setattr("evalkit.decisions.meeting.review.append_entries", full)
    widget.vote.answers.buttons["ship"].click()
    assert 'role="alert"' in widget.vote.message.value
    assert "NOT saved" in widget.vote.message.value
    assert (widget.vote.position, widget.vote.voted) == (0, 0)


def opened(review: Review, reviewer: str = "anna") -> ThresholdReview:
    widget = ThresholdReview(review, reviewer=reviewer)
    widget.mode = "discuss"
    widget.open_votes.click()
    return widget


def test_the_discussion_opens_by_a_decision_and_ends_blind_voting_for_good(review: Review) -> None:
    widget = ThresholdReview(review, reviewer="anna")
    widget.mode = "discuss"
    assert "You have voted on <strong>0 of " in texts(widget)
    assert not widget.is_open
    widget.open_votes.click()
    assert widget.is_open
    widget.mode = "vote"
    assert "cannot vote blind any more" in texts(widget)
    assert ThresholdReview(review, reviewer="anna").is_open
    assert not ThresholdReview(review, reviewer="bo").is_open


def test_the_slider_moves_rule_table_list_and_flips(review: Review) -> None:
    widget = opened(review)
    room_ = widget.room
    assert "0 of 4 (" in room_.thresholds.table.value
    room_.thresholds.slider.value = 0.8
    assert (widget.threshold, widget.slice, widget.proposal) == (0.8, "default", {"default": 0.8})
    assert room_.thresholds.picture.children[0].params.threshold == 0.8
    assert "1 of 4 (" in room_.thresholds.table.value
    assert [case_id for _, case_id in room_.discuss.rows.options][2:4] == ["e", "\0rule"]
    widget.mode = "decide"
    assert "2 of 9 compared rows are decided differently" in room_.decide.flips.value
    room_.thresholds.slider.value = 0.75
    assert "No row is decided differently" in room_.decide.flips.value
    assert widget.proposal == {}


def test_what_was_moved_of_one_slice_is_kept_while_another_is_looked_at(review: Review) -> None:
    widget = opened(review)
    widget.threshold = 0.8
    widget.slice = "money"
    widget.threshold = 0.5
    widget.slice = "default"
    assert widget.threshold == 0.8
    assert widget.proposal == {"default": 0.8, "money": 0.5}


def test_choosing_a_row_opens_its_evidence_with_the_votes(review: Review) -> None:
    case_id = next(iter(review.agenda.rows))
    review.cast("bo", case_id, "hold", "a reason of bo's")
    widget = opened(review)
    widget.sort = "votes"
    widget.chosen = case_id
    card = widget.room.discuss.card.value
    assert "a reason of bo&#39;s" in card
    assert "What would flip it" in card


def test_a_vote_and_a_mark_in_the_discussion_are_saved_as_such(review: Review) -> None:
    case_id = next(iter(review.agenda.rows))
    widget = opened(review)
    widget.sort = "votes"
    widget.chosen = case_id
    widget.room.discuss.answers.buttons["hold"].click()
    widget.room.discuss.needs.value = "to_review"
    row = review.tally().rows[case_id]
    assert (row.before, row.final["anna"].vote, row.marks) == ({}, "hold", {"anna": "to_review"})
    widget.room.discuss.needs.value = "none"
    assert review.tally().marked() == {}


def test_what_others_do_meanwhile_is_read_on_request(review: Review) -> None:
    widget = opened(review)
    review.cast("bo", next(iter(review.agenda.rows)), "hold")
    widget.room.discuss.again.click()
    assert "bo" in widget.room.discuss.votes.value


def test_the_decision_says_what_is_missing_then_writes_and_gates(review: Review) -> None:
    widget = opened(review)
    widget.threshold = 0.8
    widget.mode = "decide"
    form = widget.room.decide
    form.write.click()
    assert "approved by is blank" in form.message.value
    form.approver.value, form.rationale.value = "the council", "two of three is not enough"
    form.actions.value = "mend it"
    form.write.click()
    assert "what | owner | YYYY-MM-DD" in form.message.value
    form.actions.value = "mend it | anna | 2026-12-15"
    form.write.click()
    assert form.version == "2026-12-01"
    assert "2 rows flip. Under it this run is quality_failed (exit code 1)" in form.message.value
    assert "minimum = 0.8" in review.policy_out.read_text(encoding="utf-8")
    assert widget.result().outcome_hash == review.gate({"default": 0.8}).outcome_hash


def test_the_page_waits_for_whoever_votes_on_it_and_not_for_papermill(review: Review) -> None:
    curtain(None)
    widget = ThresholdReview(review, reviewer="anna")
    with pytest.raises(VoteFirst, match=r"Vote above, choose Discuss"):
        curtain(widget)
    widget.mode = "discuss"
    widget.open_votes.click()
    curtain(widget)


def test_row_text_reaches_no_control_as_markup(tmp_path: Path) -> None:
    evil = '<img src=x onerror="window.pwned=1">\x1b[2K'
    rows = [*room.ROWS, room.row(evil, 3), room.row("z", 3, slice=evil)]
    policy = room.POLICY.replace("[slices.money]", f"[slices.{evil!r}]\nminimum = 0.5\n[slices.money]")
    policy = policy.replace("\\x1b", "?").replace(repr(evil), "'" + evil.replace("\x1b", "?") + "'")
    rows[-1]["slice"] = evil.replace("\x1b", "?")
    review = room.opened(tmp_path, rows=rows, policy=policy, thresholds={"default": 0.75})
    widget = opened(review, "anna <b>")
    assert "<img" not in widget.who.value + widget.room.discuss.votes.value + widget.room.thresholds.table.value
    assert "<b>" not in widget.who.value.replace("<strong>", "")
    assert "\x1b" not in str(widget.room.discuss.rows.options[0][0])
