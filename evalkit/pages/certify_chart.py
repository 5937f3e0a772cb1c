"""Both kinds of mistakes of a judge by slice, with their exact intervals: frame in, altair chart out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from evalkit.pages.plain import plain

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["mistakes_chart"]

_RATES = ["bad that pass", "good that fail"]
_COLOURS = ["#a32a00", "#0b57a4"]


def mistakes_chart(frame: pd.DataFrame, *, title: str = "Mistakes, slice by slice") -> alt.FacetChart:
    """Draw the share of each mistake as a point on its exact interval, with its counts beside it.

    Parameters
    ----------
    frame : DataFrame
        ``slice, rate, count, of, share, low, high``; a line without a rate is not drawn, and the subtitle says so.
    title : str
    """
    kept = frame[frame["share"].notna()].copy()
    kept["slice"] = [plain(name, newline=" ") for name in kept["slice"]]
    kept = kept.astype({"share": "float64", "low": "float64", "high": "float64"})
    kept["counted"] = [f"{count} of {of}" for count, of in zip(kept["count"], kept["of"], strict=True)]
    y = alt.Y("rate:N", title=None, sort=_RATES)
    colour = alt.Color("rate:N", legend=None, scale=alt.Scale(domain=_RATES, range=_COLOURS))
    x = alt.X("share:Q", title="share", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=5))
    base = alt.Chart().encode(y=y, color=colour)
    bars = base.mark_rule(strokeWidth=6, opacity=0.3).encode(x="low:Q", x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(x=x, tooltip=["slice", "rate", "counted"])
    words = base.mark_text(align="left", dx=8, dy=-9).encode(x="share:Q", text="counted:N")
    note = f"the bar is the exact interval; {len(frame) - len(kept)} of {len(frame)} rates are not defined"
    layered = alt.layer(bars, points, words, data=kept).properties(width=420, height=64)
    rows = alt.Row("slice:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left", labelFontWeight="bold"))
    chart: alt.FacetChart = layered.facet(row=rows).properties(
        title=alt.Title(title, subtitle=note, anchor="start"), spacing=12
    )
    return chart
