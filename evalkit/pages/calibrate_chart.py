"""Both error rates at every threshold, with their exact intervals and the limit: frame in, altair chart out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from evalkit.pages.plain import plain

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["error_chart"]

_RATES = ["bad that pass", "good that fail"]
_COLOURS = ["#a32a00", "#0b57a4"]


def error_chart(frame: pd.DataFrame, *, limit: float, title: str = "Errors at each threshold") -> alt.FacetChart:
    """Draw what each threshold lets through and what it turns away.

    Parameters
    ----------
    frame : DataFrame
        From `evalkit.pages.calibrate_frames.threshold_frame`.
    limit : float
        The largest acceptable share of bad rows that pass: the dashed line.
    title : str
        The subtitle says how many lines have no rate and are not shown.
    """
    kept = frame[frame["share"].notna()].assign(
        slice=[plain(name, newline=" ") for name in frame[frame["share"].notna()]["slice"]], limit=limit
    )
    kept = kept.astype({"share": "float64", "low": "float64", "high": "float64"})
    kept["counted"] = [f"{count} of {of}" for count, of in zip(kept["count"], kept["of"], strict=True)]
    colour = alt.Color("rate:N", title=None, scale=alt.Scale(domain=_RATES, range=_COLOURS))
    x = alt.X("threshold:Q", title="threshold", scale=alt.Scale(zero=False))
    share = alt.Y("share:Q", title="share", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    tooltip = ["threshold", "meaning", "rate", "counted", alt.Tooltip("share:Q", format=".1%")]
    bars = alt.Chart().mark_rule(opacity=0.45).encode(x=x, y="low:Q", y2="high:Q", color=colour)
    points = alt.Chart().mark_point(filled=True, size=45).encode(
        x=x, y=share, color=colour, tooltip=tooltip,
        shape=alt.Shape("rate:N", title=None, scale=alt.Scale(domain=_RATES)),
    )  # fmt: skip
    rule = alt.Chart().mark_rule(strokeDash=[5, 3]).encode(y="limit:Q")
    note = f"{len(kept)} of {len(frame)} rates; {len(frame) - len(kept)} not shown (not defined)"
    layered = alt.layer(rule, bars, points, data=kept).properties(width=200, height=150)
    chart: alt.FacetChart = layered.facet(column=alt.Column("slice:N", title=None)).properties(
        title=alt.Title(title, subtitle=note)
    )
    return chart
