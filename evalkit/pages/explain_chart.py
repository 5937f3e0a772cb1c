"""The number a dashboard would show, old beside new. Frame in, chart out; nothing is computed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from evalkit.pages.plain import plain

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["dashboard_chart"]

_WIDTH = 360


def dashboard_chart(frame: pd.DataFrame, *, title: str = "The mean of each slice") -> alt.Chart:
    """Draw the mean of each slice in two runs; `frame` has ``slice, run, mean, mean_of`` (run: old or new)."""
    chart: alt.Chart = (
        alt.Chart(frame, title=plain(title, newline=" "), width=_WIDTH)
        .mark_bar()
        .encode(
            x=alt.X("mean:Q", title="mean of the scored rows", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("slice:N", title=None),
            yOffset=alt.YOffset("run:N", sort=["old", "new"]),
            color=alt.Color("run:N", sort=["old", "new"], scale=alt.Scale(range=["#8a929a", "#0b57a4"])),
            tooltip=["slice:N", "run:N", "mean:Q", "mean_of:Q"],
        )
    )
    return chart
