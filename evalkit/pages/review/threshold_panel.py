"""The threshold under review: a slider over what the data can tell apart, the scores by label, each slice's errors."""

from __future__ import annotations

from html import escape
from typing import Any

import altair as alt
import ipywidgets
import traitlets

from evalkit.decisions.meeting.candidates import nearest_candidate
from evalkit.decisions.meeting.confusion import confusion_at
from evalkit.decisions.meeting.meeting import Meeting, Proposal
from evalkit.pages.plain import plain, shown
from evalkit.pages.review.controls import dropdown, html, label, show
from evalkit.pages.review.pictures import distribution, distribution_chart
from evalkit.pages.review.tables import table_html
from evalkit.pages.review.views import confusion_table

__all__ = ["ThresholdPanel"]


class ThresholdPanel(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets ships no types
    """Moves one slice's threshold; what was moved of other slices is kept.

    ``slice`` and ``threshold`` are what the controls show; `proposal` is all that was moved.
    """

    slice = traitlets.Unicode()
    threshold = traitlets.Float()

    def __init__(self, meeting: Meeting, start: Proposal, first: str) -> None:
        self._meeting = meeting
        self._moved: dict[str, float] = dict(start)
        self._charts: dict[str, Any] = {}
        names = [name for name in meeting.slices if meeting.threshold(name, start) is not None]
        self.slice_choice = dropdown("Slice", [(label(name), name) for name in names], first)
        self.slider = ipywidgets.SelectionSlider(
            description="Threshold",
            options=[("0", 0.0)],
            style={"description_width": "7em"},
            layout={"width": "34em", "max_width": "100%"},
        )
        self.meaning = html()
        self.picture = ipywidgets.VBox(layout={"flex": "0 1 480px", "min_width": "0"})
        self.table = html(flex="1 1 28em", min_width="20em")
        side_by_side = ipywidgets.HBox([self.picture, self.table], layout={"flex_flow": "row wrap"})
        bar = ipywidgets.HBox([self.slice_choice, self.slider], layout={"flex_flow": "row wrap"})
        super().__init__([bar, self.meaning, side_by_side])
        self.slice_choice.observe(self._choose_slice, ["value"])
        self.slider.observe(self._slide, ["value"])
        self.observe(self._set_slice, ["slice"])
        self.observe(self._step, ["threshold"])
        self._choose_slice()

    @property
    def proposal(self) -> dict[str, float]:
        """The thresholds that differ from the policy's, by slice."""
        return {name: number for name, number in self._moved.items() if number != self._meeting.bound(name)}

    def _set_slice(self, _change: Any = None) -> None:
        self.slice_choice.value = self.slice

    def _choose_slice(self, _change: Any = None) -> None:
        name = self.slice_choice.value
        now = self._moved.get(name, self._meeting.bound(name))
        candidates = self._meeting.candidates(name, [now])
        assert now is not None  # noqa: S101 - only slices with a threshold are in the list
        chosen = candidates[nearest_candidate(candidates, now)].threshold
        self.slider.unobserve(self._slide, ["value"])
        self.slider.options = [(shown(candidate.threshold), candidate.threshold) for candidate in candidates]
        self.slider.value = chosen
        self.slider.observe(self._slide, ["value"])
        self.slice = name
        self.picture.children = [self._chart(name, chosen)]
        self.threshold = chosen
        self._step()

    def _slide(self, _change: Any = None) -> None:
        self.threshold = self.slider.value

    def _step(self, _change: Any = None) -> None:
        name, threshold = self.slice, self.threshold
        self._moved[name] = threshold
        if self.slider.value != threshold and any(value == threshold for _, value in self.slider.options):
            self.slider.value = threshold
        self._charts[name].params.threshold = threshold
        was, words = self._meeting.bound(name), self._meeting.meaning(name, threshold)
        means = f" · in claims: {escape(words)}" if words else ""
        if was == threshold:
            old = "as in the policy"
        else:
            old = "the policy has none" if was is None else f"the policy says {escape(shown(was))}"
        show(self.meaning, f"<p><strong>{escape(shown(threshold))}</strong>{means} · {old}</p>")
        show(self.table, table_html(confusion_table(confusion_at(self._meeting, self._moved))))

    def _chart(self, name: str, threshold: float) -> Any:
        if name not in self._charts:
            title = f"{plain(name, newline=' ')}: scores by label"
            chart = distribution_chart(distribution(self._meeting, name), threshold, title=title)
            drawn = alt.JupyterChart(chart, embed_options={"actions": False, "renderer": "svg"})
            self._charts[name] = drawn
        return self._charts[name]
