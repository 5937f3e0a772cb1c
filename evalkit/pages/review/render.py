"""One row as the discussion sees it: what each policy says of it, what would flip it, who voted how."""

from __future__ import annotations

from typing import NamedTuple

from evalkit.contract import Decision
from evalkit.decisions.counterfactual import counterfactual
from evalkit.decisions.meeting.meeting import Meeting, Proposal
from evalkit.decisions.meeting.vote_tally import RowVotes
from evalkit.decisions.rules import rule_of
from evalkit.decisions.triage import needs_triage, triage
from evalkit.pages.report_rows import ReportRow, report_row
from evalkit.pages.review.templating import environment
from evalkit.pages.review.views import label_of, marks_words, vote_words
from evalkit.pages.wording import relation
from evalkit.scoring.records import Record

__all__ = ["DiscussedRow", "ShownVote", "discussed_html", "discussed_row"]


class ShownVote(NamedTuple):
    """One reviewer's vote on a row, in words."""

    reviewer: str
    words: str
    note: str


class DiscussedRow(NamedTuple):
    """All that a meeting knows of a row."""

    view: ReportRow
    slice: str
    decision: str
    """Under the proposal."""
    was: str
    """Under the policy."""
    relation: str
    label: str
    diagnosis: str
    owner: str
    flip: str
    votes: list[ShownVote]
    needs: str


def discussed_row(meeting: Meeting, record: Record, proposal: Proposal, votes: RowVotes | None) -> DiscussedRow:
    """Gather what a row says, what each policy says of it, and who voted how."""
    rule = rule_of(meeting.policy_with(proposal), meeting.metric)
    judged = record.ruled(rule(record))
    found = triage(judged, meeting.metric.contract) if needs_triage(judged) else None
    return DiscussedRow(
        view=report_row(judged),
        slice=record.slice,
        decision=judged.decision or "not decided",
        was=rule_of(meeting.policy, meeting.metric)(record).decision or "not decided",
        relation=relation(judged.value, judged.minimum),
        label=label_of(meeting, record),
        diagnosis=found.sentence if found else "",
        owner=(found.owner if found else "") or "",
        flip=_flip(meeting, judged, proposal),
        votes=_votes(votes) if votes else [],
        needs=marks_words(votes) if votes else "",
    )


def _flip(meeting: Meeting, record: Record, proposal: Proposal) -> str:
    rule = rule_of(meeting.policy_with(proposal), meeting.metric)
    target: Decision = "fail" if record.decision == "pass" else "pass"
    return counterfactual(meeting.metric, record, lambda edited: rule(edited).decision, target=target).sentence


def _votes(votes: RowVotes) -> list[ShownVote]:
    return [
        ShownVote(reviewer, vote_words(votes, reviewer), entry.note) for reviewer, entry in sorted(votes.final.items())
    ]


def discussed_html(row: DiscussedRow) -> str:
    """Return all that a meeting knows of a row."""
    return str(environment().get_template("review_row.html").module.discussed(row))  # type: ignore[attr-defined]
