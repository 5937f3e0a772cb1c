"""Rows of a meeting as HTML: every text passes `plain` and is then escaped, in one place."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evalkit.contract import Decision
from evalkit.decisions.counterfactual import counterfactual
from evalkit.decisions.meeting.meeting import Meeting, Proposal
from evalkit.decisions.meeting.vote_tally import RowVotes
from evalkit.decisions.rules import rule_of
from evalkit.decisions.triage import needs_triage, triage
from evalkit.pages.plain import plain
from evalkit.pages.report_rows import ReportRow, report_row
from evalkit.pages.review.blind import BlindRow
from evalkit.pages.review.views import label_of, marks_words, vote_words
from evalkit.pages.wording import relation
from evalkit.scoring.records import Record

__all__ = [
    "TEMPLATES",
    "DiscussedRow",
    "blind_html",
    "diff_html",
    "discussed_html",
    "discussed_row",
    "environment",
    "style",
]

TEMPLATES = Path(__file__).parents[1] / "templates"


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


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the templates of review, ballot and packet."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _visible(value: Any) -> Any:
    if isinstance(value, Markup):
        return value
    return plain(value, newline="\n") if isinstance(value, str) else value


def style() -> str:
    """Return the style sheet that widget, ballot and packet share."""
    return (TEMPLATES / "review.css").read_text(encoding="utf-8")


def blind_html(row: BlindRow) -> str:
    """Return what a blind reviewer may see of a row."""
    return str(environment().get_template("review_row.html").module.blind(row))  # type: ignore[attr-defined]


def discussed_html(row: DiscussedRow) -> str:
    """Return all that a meeting knows of a row."""
    return str(environment().get_template("review_row.html").module.discussed(row))  # type: ignore[attr-defined]


def diff_html(diff: str) -> str:
    """Return a unified diff, added and removed lines told apart by sign, weight and colour."""
    if not diff:
        return "<p>Nothing changes.</p>"
    lines = []
    for line in diff.splitlines():
        is_head = line.startswith(("+++", "---"))
        kind = "" if is_head else {"+": "ek-add", "-": "ek-del"}.get(line[:1], "")
        text = escape(plain(line))
        lines.append(f'<span class="{kind}">{text}</span>' if kind else text)
    inner = "\n".join(lines)
    return f'<pre class="ek-diff" tabindex="0" role="region" aria-label="Changes of the policy file">{inner}</pre>'
