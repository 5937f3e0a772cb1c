"""The scores of a slice by label, with the threshold as a rule that a slider can move without drawing anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import pandas as pd

from evalkit.decisions.meeting.meeting import Meeting
from evalkit.pages.frames import value_counts
from evalkit.pages.plain import plain
from evalkit.pages.review.views import label_of

if TYPE_CHECKING:
    from evalkit.pages.frames import Counted

__all__ = ["distribution", "distribution_chart"]

# The counts are stacked by these words; a label is shown as what it says of the answer.
_PASS, _FAIL, _OPEN = "people say pass (full)", "people say fail (faint)", "no settled label (half)"
_NAMES = {"pass": _PASS, "fail": _FAIL, "undecided": _OPEN}
_COLOURS = {_PASS: "#0b57a4", _FAIL: "#a32a00", _OPEN: "#8a929a"}
_FILLS = {_PASS: 1.0, _FAIL: 0.12, _OPEN: 0.35}


def distribution(meeting: Meeting, name: str) -> Counted:
    """Count a slice's scores by value (or bin) and label."""
    rows = meeting.ranked(name).rows
    fails, passes = _words(meeting)
    labels = [label_of(meeting, record) for record in rows]
    words = ["pass" if label in passes else "fail" if label in fails else None for label in labels]
    frame = pd.DataFrame(
        {"slice": [name] * len(rows), "value": [record.value for record in rows], "decision": words}, dtype="object"
    )
    counted = value_counts(frame)
    return counted._replace(frame=counted.frame.assign(label_word=counted.frame["decision"].map(_NAMES)))


def _words(meeting: Meeting) -> tuple[frozenset[str], frozenset[str]]:
    if meeting.calibration is None:
        return frozenset(), frozenset()
    reading = meeting.calibration.options.reading
    return reading.fails, reading.passes


def distribution_chart(counted: Counted, threshold: float, *, title: str, width: int = 420) -> alt.LayerChart:
    """Draw counted scores; the parameter ``threshold`` of the chart is where the rule stands."""
    data = counted.frame
    words = [word for word in _COLOURS if word in set(data["label_word"])]
    colour = alt.Scale(domain=words, range=[_COLOURS[word] for word in words])
    fill = alt.Scale(type="ordinal", domain=words, range=[_FILLS[word] for word in words])
    legend = alt.Legend(orient="top", title=None)
    low, high = float(data["start"].min()), float(data["end"].max())
    x = alt.X("start:Q", title="score", scale=alt.Scale(domain=[min(low, threshold), max(high, threshold)], nice=False))
    bars = alt.Chart(data).mark_rect(strokeWidth=1.5).encode(
        x=x, x2="end:Q",
        y=alt.Y("base:Q", title="rows", axis=alt.Axis(tickMinStep=1)), y2="top:Q",
        fill=alt.Fill("label_word:N", scale=colour, legend=legend),
        stroke=alt.Stroke("label_word:N", scale=colour, legend=legend),
        fillOpacity=alt.FillOpacity("label_word:N", scale=fill, legend=legend),
        tooltip=[alt.Tooltip("label:N", title="score"), alt.Tooltip("label_word:N", title="label"), "rows:Q"],
    )  # fmt: skip
    moved = alt.param(name="threshold", value=threshold)
    rule = (
        alt.Chart(pd.DataFrame({"at": [0]}))
        .transform_calculate(rule="threshold")
        .mark_rule(strokeDash=[5, 3], size=2)
        .encode(x=alt.X("rule:Q"))
    )
    heading = alt.TitleParams(plain(title, newline=" "), subtitle=counted.note(), anchor="start")
    layered: alt.LayerChart = alt.layer(bars, rule).add_params(moved)  # type: ignore[assignment] # it has no facets
    layered.width, layered.height, layered.title, layered.description = width, 150, heading, title
    return layered
