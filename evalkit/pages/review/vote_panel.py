"""Vote mode: one row, one question, nothing that tells the score; a vote is on the disk before it is shown as saved."""

from __future__ import annotations

import time
from typing import Any

import ipywidgets
import traitlets

from evalkit.decisions.meeting.review import Review
from evalkit.decisions.meeting.vote_tally import RowVotes
from evalkit.pages.review.blind import blind_row
from evalkit.pages.review.controls import Message, VoteButtons, card_html, html, saying, show
from evalkit.pages.review.templating import blind_html
from evalkit.pages.review.views import VOTE_WORDS

__all__ = ["VotePanel"]

RESTING = 0.4
"""Seconds after a vote in which the next press is taken for the second half of a double click."""


class VotePanel(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets ships no types
    """The rows of the agenda, one after the other.

    ``position`` says which row is shown; ``voted`` how many this reviewer has voted on.
    """

    reviewer = traitlets.Unicode("")
    position = traitlets.Int(0)
    voted = traitlets.Int(0)

    def __init__(self, review: Review) -> None:
        self._review = review
        self._cases = list(review.agenda.rows)
        self._last = 0.0
        self.progress = html()
        self.card = html()
        self.note = ipywidgets.Textarea(
            description="Note",
            placeholder="optional: why, in a few words",
            rows=2,
            style={"description_width": "3em"},
            layout={"width": "40em", "max_width": "98%"},
        )
        self.answers = VoteButtons(self.vote)
        self.back = ipywidgets.Button(description="Previous row", layout={"width": "9em"})
        self.forward = ipywidgets.Button(description="Next row", layout={"width": "9em"})
        self.open_next = ipywidgets.Button(description="Next row without my vote", layout={"width": "16em"})
        self.message = Message()
        question = html("<h3>Would you ship this answer?</h3>")
        moves = ipywidgets.HBox([self.back, self.forward, self.open_next], layout={"flex_flow": "row wrap"})
        super().__init__([self.progress, self.card, question, self.note, self.answers, self.message, moves])
        self.back.on_click(lambda _: self.go(self.position - 1))
        self.forward.on_click(lambda _: self.go(self.position + 1))
        self.open_next.on_click(lambda _: self.go(self._next_open()))
        self.observe(self._start, ["reviewer"])
        self.observe(self._show, ["position"])
        self._show()

    @property
    def case_id(self) -> str:
        """The row that is shown."""
        return self._cases[self.position]

    def vote(self, choice: str) -> None:
        """Save a vote on the row that is shown, then show the next row without one."""
        if time.monotonic() - self._last < RESTING or not self.reviewer:
            return
        case_id, note = self.case_id, self.note.value.strip()
        if not saying(self.message, lambda: self._review.cast(self.reviewer, case_id, choice, note)):  # type: ignore[arg-type]
            return
        self._last = time.monotonic()
        self.refresh()
        left = len(self._cases) - self.voted
        saved, n = f"Saved: {VOTE_WORDS[choice]} for {case_id}.", len(self._cases)
        if left:
            self.go(self._next_open())
            self.message.say(f"{saved} {left} of {n} rows are left; this is row {self.position + 1}.")
        else:
            self.message.say(f"{saved} That was the last of {n} rows; every vote can be changed until the discussion.")

    def go(self, position: int) -> None:
        """Show another row of the agenda."""
        self.message.clear()
        self.position = min(max(position, 0), len(self._cases) - 1)

    def refresh(self) -> None:
        """Read this reviewer's votes again."""
        self._show()

    def _start(self, _change: Any = None) -> None:
        self._show()
        self.go(self._next_open())

    def _votes(self) -> dict[str, RowVotes]:
        return dict(self._review.tally().rows) if self.reviewer else {}

    def _next_open(self) -> int:
        """Return the next row without this reviewer's vote, from here on and round; where there is none, this one."""
        rows, n = self._votes(), len(self._cases)
        order = [(self.position + step) % n for step in range(n)]
        return next((p for p in order if self.reviewer not in rows[self._cases[p]].final), self.position) if rows else 0

    def _show(self, _change: Any = None) -> None:
        rows = self._votes()
        own = rows[self.case_id].final.get(self.reviewer) if rows else None
        self.voted = sum(self.reviewer in row.final for row in rows.values())
        said = f" · your vote: <strong>{VOTE_WORDS[str(own.vote)]}</strong>" if own else ""
        count = f"{self.voted} of {len(self._cases)} voted"
        show(self.progress, f"<p>Row <strong>{self.position + 1} of {len(self._cases)}</strong> · {count}{said}</p>")
        row = blind_row(self._review.meeting.by_id[self.case_id])
        show(self.card, card_html(blind_html(row), f"Row {self.position + 1}: {row.case_id}"))
        self.note.value = own.note if own else ""
        self.answers.show(own.vote if own else None, is_enabled=bool(self.reviewer))
        self.back.disabled, self.forward.disabled = self.position == 0, self.position == len(self._cases) - 1
        self.open_next.disabled = self.voted == len(self._cases)
