"""Decide mode: every row that flips, what changes in the policy file, and the form that writes it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import ipywidgets
import traitlets

from evalkit.contract import EvalkitError
from evalkit.decisions.meeting.approve import Approved, Decided, basis_problem, parse_actions
from evalkit.decisions.meeting.policy_text import policy_diff, policy_text
from evalkit.decisions.meeting.review import Review
from evalkit.pages.review.controls import Message, dropdown, html, saying, show
from evalkit.pages.review.tables import table_html
from evalkit.pages.review.templating import diff_html
from evalkit.pages.review.threshold_panel import ThresholdPanel
from evalkit.pages.review.views import flips_table

__all__ = ["DecidePanel"]

_BASES = (
    ("by definition: it counts, with the reasons below", "by_definition"),
    ("calibrated: the labels certify it", "calibrated"),
    ("provisional: at most 60 days", "provisional"),
)
_WIDE = {"width": "46em", "max_width": "98%"}
_NAMES = {"description_width": "9em"}


class DecidePanel(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets ships no types
    """Writes the policy; ``version`` is that of the policy it wrote, empty before."""

    version = traitlets.Unicode("")
    is_shown = traitlets.Bool(False, help="What is not on the page is not worked out.")

    def __init__(self, review: Review, thresholds: ThresholdPanel) -> None:
        self._review, self._thresholds = review, thresholds
        self.decided: Decided | None = None
        self.flips, self.diff = html(), html()
        basis = review.meeting.policy.basis
        self.approver = ipywidgets.Text(description="Approved by", style=_NAMES, layout=_WIDE)
        self.attendees = ipywidgets.Text(
            description="Also present", placeholder="beside those who voted; commas between", style=_NAMES, layout=_WIDE
        )
        self.rationale = _area("Rationale", "why these limits, in words that a reader in a year understands")
        self.dissent = _area("Dissent", "who disagrees, and why; empty where nobody does")
        self.actions = _area("Actions", "one a line: what | owner | YYYY-MM-DD")
        self.basis = dropdown("Rests on", _BASES, basis, width="34em")
        self.basis.style = _NAMES
        self.expires = ipywidgets.DatePicker(
            description="Expires on", value=review.day + timedelta(days=90), style=_NAMES, layout={"width": "22em"}
        )
        self.write = ipywidgets.Button(
            description="Write the policy", button_style="primary", layout={"width": "14em", "height": "2.4em"}
        )
        self.message = Message()
        form = [self.approver, self.attendees, self.rationale, self.dissent, self.actions, self.basis, self.expires]
        super().__init__([self.flips, self.diff, html("<h3>Decision</h3>"), *form, self.write, self.message])
        self.write.on_click(lambda _: self.decide())
        thresholds.observe(self.refresh, ["threshold", "slice"])
        self.observe(self.refresh, ["is_shown"])

    def refresh(self, _change: Any = None) -> None:
        """Show what the proposal of this moment would change."""
        if not self.is_shown:
            return
        meeting, proposal = self._review.meeting, self._thresholds.proposal
        flips = table_html(flips_table(meeting.flips(proposal)), empty="No row is decided differently.")
        show(self.flips, flips)
        old = meeting.policy_file.path.read_text(encoding="utf-8-sig")
        changed = diff_html(policy_diff(old, policy_text(meeting, proposal, reviewed_on=self._review.day)))
        show(self.diff, f"<h3>What changes in the limits</h3>{changed}")
        self.message.clear()

    def decide(self) -> None:
        """Write the policy, unless something is missing; say either way what happened."""
        if not saying(self.message, self._decide) or self.decided is None:
            return
        flipped = len(self.decided.flips.flips)
        self.version = self.decided.version
        show(self.diff, f"<h3>What changed in the policy file</h3>{diff_html(self.decided.diff)}")
        result = self._review.gate(self._thresholds.proposal, self.decided.policy)
        name, record = self.decided.policy.name, self.decided.record.name
        self.message.say(
            f"Written: {name}, version {self.version}; {flipped} rows flip. Under it this run is {result.outcome.name} "
            f"(exit code {result.exit_code}). The record of the decision is {record}."
        )

    def _decide(self) -> None:
        proposal = self._thresholds.proposal
        if why := basis_problem(self._review.meeting, proposal, self.basis.value):
            msg = f"the policy cannot rest on a calibration: {why}"
            raise EvalkitError(msg, do="choose another basis")
        if self.expires.value is None:
            msg = "the policy needs a last day"
            raise EvalkitError(msg, do="fill in: Expires on")
        approved = Approved(
            approved_by=self.approver.value,
            rationale=self.rationale.value,
            expires_on=self.expires.value,
            decided_on=self._review.day,
            basis=self.basis.value,
            dissent=self.dissent.value,
            attendees=tuple(self.attendees.value.split(",")),
            actions=parse_actions(self.actions.value),
        )
        self.decided = self._review.decide(proposal, approved)


def _area(name: str, hint: str) -> Any:
    return ipywidgets.Textarea(description=name, placeholder=hint, rows=3, style=_NAMES, layout=_WIDE)
