"""The meeting in JupyterLab: vote blind, discuss, decide. It sets parameters; what they do is computed elsewhere."""

from __future__ import annotations

from html import escape
from typing import Any, NamedTuple

import altair as alt
import ipywidgets
import traitlets

from evalkit.decisions.gate import GateResult
from evalkit.decisions.meeting.meeting import Proposal
from evalkit.decisions.meeting.review import Review
from evalkit.decisions.meeting.vote_entry import checked_reviewer
from evalkit.pages.plain import plain
from evalkit.pages.review.controls import Message, html, saying, show
from evalkit.pages.review.decide_panel import DecidePanel
from evalkit.pages.review.discuss_panel import DiscussPanel
from evalkit.pages.review.keys import OwnKeys
from evalkit.pages.review.templating import style
from evalkit.pages.review.threshold_panel import ThresholdPanel
from evalkit.pages.review.vote_panel import VotePanel

__all__ = ["ThresholdReview"]

_MODES = (("Vote", "vote"), ("Discuss", "discuss"), ("Decide", "decide"))


class _Room(NamedTuple):
    thresholds: ThresholdPanel
    discuss: DiscussPanel
    decide: DecidePanel


class ThresholdReview(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets ships no types
    """One meeting, in three modes.

    Its state is in traits: ``mode``, ``reviewer``, ``is_open`` (this reviewer sees the others' votes), and, once it is,
    ``slice``, ``threshold``, ``n``, ``sort`` and ``chosen`` (a case id). What must outlive the kernel is in the
    meeting's folder. Until ``is_open``, no score, label or vote has left the kernel: the browser cannot show it.

    Parameters
    ----------
    review : Review
        From `evalkit.decisions.meeting.review.open_review`.
    proposal : mapping of slice to float, optional
        Where the thresholds stand at first; the policy's by default.
    reviewer : str, optional
        Who votes here; otherwise the page asks.
    """

    mode = traitlets.Unicode("vote")
    reviewer = traitlets.Unicode("")
    is_open = traitlets.Bool(False)
    slice = traitlets.Unicode()
    threshold = traitlets.Float()
    n = traitlets.Int(5)
    sort = traitlets.Unicode("value")
    chosen = traitlets.Unicode("")

    def __init__(self, review: Review, proposal: Proposal | None = None, reviewer: str = "") -> None:
        self.review = review
        self._start = dict(proposal or {})
        self._room: _Room | None = None
        self.vote = VotePanel(review)
        self.mode_choice = ipywidgets.ToggleButtons(options=_MODES, value="vote", style={"button_width": "7em"})
        self.name = ipywidgets.Text(
            description="Your name", placeholder="a short id, such as r1", style={"description_width": "6em"}
        )
        self.sign_in = ipywidgets.Button(description="Start voting", button_style="primary", layout={"width": "9em"})
        self.who, self.text, self.message = html(), html(), Message()
        self.open_votes = ipywidgets.Button(
            description="Show all votes", button_style="primary", layout={"width": "12em", "height": "2.4em"}
        )
        self.asking = ipywidgets.HBox([self.name, self.sign_in], layout={"flex_flow": "row wrap"})
        head = ipywidgets.HBox([self.mode_choice, self.asking, self.who], layout={"flex_flow": "row wrap"})
        self.stage = ipywidgets.VBox()
        super().__init__([ipywidgets.HTML(f"<style>{style()}</style>"), OwnKeys(), head, self.message, self.stage])
        self.add_class("ek-review")
        traitlets.link((self, "mode"), (self.mode_choice, "value"))
        traitlets.dlink((self, "reviewer"), (self.vote, "reviewer"))
        self.observe(self._enter, ["mode", "is_open"])
        self.observe(self._sign_in, ["reviewer"])
        self.sign_in.on_click(lambda _: self._ask())
        self.open_votes.on_click(lambda _: self._open())
        self.reviewer = reviewer
        self._enter()

    @property
    def proposal(self) -> dict[str, float]:
        """The thresholds that are proposed, by slice."""
        return self._room.thresholds.proposal if self._room else self._start

    @property
    def room(self) -> _Room:
        """What is behind the votes: threshold, discussion and decision; made when it is first entered."""
        if self._room is None:
            alt.JupyterChart.enable_offline(True)
            first = next(iter(self._start or self.review.agenda.thresholds))
            thresholds = ThresholdPanel(self.review.meeting, self._start, first)
            room = _Room(thresholds, DiscussPanel(self.review, thresholds), DecidePanel(self.review, thresholds))
            for trait in ("slice", "threshold"):
                traitlets.link((thresholds, trait), (self, trait))
            for trait in ("n", "sort", "chosen"):
                traitlets.link((room.discuss, trait), (self, trait))
            traitlets.dlink((self, "reviewer"), (room.discuss, "reviewer"))
            self._room = room
        return self._room

    def result(self) -> GateResult:
        """Return what the gate says of the rows: under the policy that was decided here, else under the proposal."""
        decided = self._room.decide.decided if self._room else None
        return self.review.gate(self.proposal, decided.policy if decided else None)

    def _ask(self) -> None:
        self.message.clear()
        saying(self.message, lambda: setattr(self, "reviewer", checked_reviewer(self.name.value)))

    def _sign_in(self, _change: Any = None) -> None:
        self.is_open = self.reviewer in self.review.tally().opened
        self._enter()

    def _open(self) -> None:
        if saying(self.message, lambda: self.review.open_votes(self.reviewer)):
            self.is_open = True

    def _enter(self, _change: Any = None) -> None:
        self.message.clear()
        name = escape(plain(self.reviewer, newline=" "))
        show(self.who, f"<p>You are <strong>{name}</strong></p>" if name else "")
        self.asking.layout.display = "none" if name else ""
        self.stage.children = self._panels()

    def _panels(self) -> list[Any]:
        rows = len(self.review.agenda.rows)
        if not self.reviewer:
            show(self.text, f"<p>{rows} rows are to be voted on. Give your name to begin.</p>")
            return [self.text]
        if self.mode == "vote":
            return self._vote()
        if not self.is_open:
            voted = self.review.tally().voted(self.reviewer)
            show(
                self.text,
                f"<p>You have voted on <strong>{voted} of {rows}</strong> rows. From here on you see scores, labels "
                "and the others' votes: what you vote later counts as <em>after</em> the discussion.</p>",
            )
            return [self.text, self.open_votes]
        room = self.room
        room.discuss.is_shown, room.decide.is_shown = self.mode == "discuss", self.mode == "decide"
        return [room.thresholds, room.discuss if self.mode == "discuss" else room.decide]

    def _vote(self) -> list[Any]:
        if not self.is_open:
            self.vote.refresh()
            return [self.vote]
        words = "You have opened the discussion, so you cannot vote blind any more; change a vote under Discuss."
        show(self.text, f"<p>{words}</p>")
        return [self.text]
