"""The chart of an analysis: a bar a metric, as `evalkit.pages.charts` draws a bar a slice. Nothing is computed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from evalkit.pages.charts import ledger_chart
from evalkit.pages.plain import plain

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["metrics_chart"]


def metrics_chart(frame: pd.DataFrame, *, title: str = "What each metric says of the rows") -> alt.Chart:
    """Draw what each metric says of each row.

    Parameters
    ----------
    frame : DataFrame
        ``slice`` (the metric's name), ``decision`` and ``state``; each metric speaks of the same rows.
    title : str
        The subtitle says how many metrics and rows there are.
    """
    metrics = frame["slice"].nunique()
    rows = len(frame) // metrics if metrics else 0
    subtitle = f"{metrics} metrics, {rows:,} of {rows:,} rows each"
    chart: alt.Chart = ledger_chart(frame).properties(
        title=alt.TitleParams(plain(title, newline=" "), subtitle=subtitle, anchor="start")
    )
    return chart
