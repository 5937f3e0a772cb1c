"""Discuss mode: the rows around the threshold with all their evidence, everybody's votes, and what a row needs."""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets
import traitlets

from evalkit.decisions.meeting.review import Review
from evalkit.decisions.meeting.vote_tally import Tally
from evalkit.decisions.triage import missing_claims
from evalkit.pages.plain import plain, shown
from evalkit.pages.review.controls import Message, VoteButtons, card_html, dropdown, html, label, saying, show
from evalkit.pages.review.render import discussed_html, discussed_row
from evalkit.pages.review.tables import table_html
from evalkit.pages.review.threshold_panel import ThresholdPanel
from evalkit.pages.review.views import MARK_WORDS, VOTE_WORDS, agreement_table, votes_table
from evalkit.scoring.records import Record

__all__ = ["DiscussPanel"]

_SORTS = (("nearest to the threshold", "value"), ("case id", "case"), ("split votes first", "votes"))
_WRAP = {"flex_flow": "row wrap"}
RULE = "\0rule"
"""Stands in the list where the threshold lies; no case id holds this character."""


class DiscussPanel(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets ships no types
    """Rows to choose from and the chosen one.

    ``n`` rows just below and just above are listed, ordered by ``sort``; ``chosen`` is a case id.
    """

    reviewer = traitlets.Unicode("")
    n = traitlets.Int(5)
    sort = traitlets.Unicode("value")
    chosen = traitlets.Unicode("")
    is_shown = traitlets.Bool(False, help="What is not on the page is not worked out.")

    def __init__(self, review: Review, thresholds: ThresholdPanel) -> None:
        self._review, self._thresholds = review, thresholds
        self._tally: Tally = review.tally()
        self.sort_choice = dropdown("Rows", _SORTS, "value", width="23em")
        self.count = ipywidgets.BoundedIntText(
            description="On each side", value=5, min=1, max=50, style={"description_width": "7em"},
            layout={"width": "12em"},
        )  # fmt: skip
        self.rows = ipywidgets.Select(
            description="Rows around the threshold", options=[], rows=8, layout={"width": "99%", "height": "auto"}
        )
        self.rows.add_class("ek-stacked")
        self.caption = html()
        self.card = html()
        self.needs = dropdown("It needs", [(words, mark) for mark, words in MARK_WORDS.items()], "none", width="23em")
        self.note = ipywidgets.Text(
            description="Note", placeholder="optional", style={"description_width": "7em"},
            layout={"width": "30em", "max_width": "100%"},
        )  # fmt: skip
        self.answers = VoteButtons(self.vote)
        self.message = Message()
        self.again = ipywidgets.Button(description="Read the votes again", layout={"width": "14em"})
        self.votes = html()
        left = ipywidgets.VBox(
            [
                ipywidgets.HBox([self.sort_choice, self.count], layout={"flex_flow": "row wrap"}),
                self.caption,
                self.rows,
            ],
            layout={"flex": "1 1 22em", "min_width": "0", "margin": "0 .8em 0 0"},
        )
        self.act = ipywidgets.VBox([self.needs, html("<p>My vote after the discussion:</p>"), self.note, self.answers])
        right = ipywidgets.VBox([self.card, self.act, self.message], layout={"flex": "2 1 28em", "min_width": "0"})
        super().__init__([ipywidgets.HBox([left, right], layout=_WRAP), self.again, self.votes])
        self._connect()

    def _connect(self) -> None:
        traitlets.link((self, "sort"), (self.sort_choice, "value"))
        traitlets.link((self, "n"), (self.count, "value"))
        self.observe(self._list, ["n", "sort"])
        self.observe(self._show, ["chosen"])
        self.observe(lambda _: self.refresh(), ["is_shown"])
        self._thresholds.observe(self._step, ["threshold", "slice"])
        self.rows.observe(self._choose, ["value"])
        self.needs.observe(self._mark, ["value"])
        self.again.on_click(lambda _: self.refresh())

    def refresh(self) -> None:
        """Read everybody's votes again and show what is to be seen now."""
        self._tally = self._review.tally()
        self._step()

    def _step(self, _change: Any = None) -> None:
        if not self.is_shown:
            return
        votes = votes_table(self._review.meeting, self._tally, self._thresholds.proposal)
        tables = [agreement_table(self._tally), votes]
        show(self.votes, "".join(table_html(table, empty="Nobody has voted yet.") for table in tables))
        self._list()

    def vote(self, choice: str) -> None:
        """Save a vote made after the discussion."""
        if self.chosen not in self._tally.rows:
            return
        note = self.note.value.strip()
        if saying(self.message, lambda: self._review.cast(self.reviewer, self.chosen, choice, note)):  # type: ignore[arg-type]
            self.refresh()
            self.message.say(f"Saved: {VOTE_WORDS[choice]} for {self.chosen}, after the discussion.")

    def _mark(self, _change: Any = None) -> None:
        now = (
            self._tally.rows[self.chosen].marks.get(self.reviewer, "none") if self.chosen in self._tally.rows else None
        )
        mark = self.needs.value
        if now is None or mark == now:
            return
        if saying(self.message, lambda: self._review.mark(self.reviewer, self.chosen, mark)):
            self.refresh()
            self.message.say(f"Saved: {self.chosen} needs: {MARK_WORDS[mark]}.")

    # --- the list -----------------------------------------------------------------------------------------------------

    def _list(self, _change: Any = None) -> None:
        name, threshold = self._thresholds.slice, self._thresholds.threshold
        near = self._review.meeting.ranked(name).around(threshold, self.n)
        if self.sort == "votes":
            listed = self._by_votes()
            options = [(self._line(record), str(record.case_id)) for record in listed]
            caption = f"{len(listed)} rows that were voted on"
        else:
            below, above = list(near.below), list(near.above[::-1])
            if self.sort == "case":
                below.sort(key=lambda record: str(record.case_id))
                above.sort(key=lambda record: str(record.case_id))
            options = [(self._line(record), str(record.case_id)) for record in above]
            options.append((f"──── {shown(threshold)} ────", RULE))
            options += [(self._line(record), str(record.case_id)) for record in below]
            caption = (
                f"{len(above)} of {near.n_above:,} rows that pass, above the line; "
                f"{len(below)} of {near.n_below:,} that do not, below it"
            )
        show(self.caption, f"<p>{escape(caption)}</p>")
        closest = next(iter([*near.above, *near.below]), None)
        self._fill(options, str(closest.case_id) if closest else "")

    def _fill(self, options: list[tuple[str, str]], nearest: str) -> None:
        known = [case_id for _, case_id in options if case_id != RULE]
        keep = self.chosen if self.chosen in known else nearest if nearest in known else next(iter(known), "")
        self.rows.unobserve(self._choose, ["value"])
        self.rows.options = options
        self.rows.rows = min(max(len(options), 6), 22)
        self.rows.value = keep or None
        self.rows.observe(self._choose, ["value"])
        self.chosen = keep
        self._show()

    def _by_votes(self) -> list[Record]:
        rows = sorted(self._tally.rows.values(), key=lambda row: (not row.is_split, not row.was_split))
        return [self._review.meeting.by_id[row.case_id] for row in rows]

    def _line(self, record: Record) -> str:
        votes = self._tally.rows.get(str(record.case_id))
        split = " · split" if votes and votes.is_split else ""
        missing = ", ".join(missing_claims(record))
        gap = f" · missing {label(missing)}" if missing else ""
        return f"{shown(record.value, self._thresholds.threshold):>6}  {label(record.case_id)}{split}{gap}"

    def _choose(self, _change: Any = None) -> None:
        if self.rows.value not in (None, RULE):
            self.chosen = self.rows.value

    # --- the chosen row -----------------------------------------------------------------------------------------------

    def _show(self, _change: Any = None) -> None:
        record = self._review.meeting.by_id.get(self.chosen)
        if record is None:
            show(self.card, card_html("<p>No row.</p>", "No row"))
            return
        votes = self._tally.rows.get(self.chosen)
        row = discussed_row(self._review.meeting, record, self._thresholds.proposal, votes)
        show(self.card, card_html(discussed_html(row), plain(self.chosen, newline=" ")))
        can_act = votes is not None and bool(self.reviewer)
        own = votes.final.get(self.reviewer) if votes else None
        self.act.layout.display = "" if can_act else "none"
        self.answers.show(own.vote if own else None, is_enabled=can_act)
        self.note.value = own.note if own else ""
        self.needs.unobserve(self._mark, ["value"])
        self.needs.value = votes.marks.get(self.reviewer, "none") if votes else "none"
        self.needs.observe(self._mark, ["value"])
