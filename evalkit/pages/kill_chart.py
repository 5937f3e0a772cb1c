"""The heat map of a kill matrix: cases down, mutants across. Frame in, chart out; nothing is computed here."""

from __future__ import annotations

import altair as alt

from evalkit.pages.kill_frames import Grid
from evalkit.pages.plain import plain

__all__ = ["kill_chart"]

_BY = ["value", "reason", "detail", "state", "decision", "outcome", "check", "time", "memory", "death"]
# Blue, ochre and red-brown stay apart for colour-blind readers, as in the other charts.
_COLOURS = [
    "#0b57a4", "#b07a00", "#e0b85c", "#a32a00", "#6b2b8a", "#3d1452", "#1d6b57", "#8a929a", "#5b636a", "#2b3036",
]  # fmt: skip
_CELL_WIDTH, _CELL_HEIGHT = 8, 12
_FEW = 30
"""With so few mutants there is room for cells and letters that can be read without a glass."""


def kill_chart(grid: Grid, *, title: str = "Which case catches which fault") -> alt.Chart:
    """Draw which case killed which mutant, and what gave it away; a column without a mark is a survivor."""
    width, height, letters = (22, 16, 10) if len(grid.mutants) <= _FEW else (_CELL_WIDTH, _CELL_HEIGHT, 7)
    present = set(grid.frame["by"])
    shown = [(word, colour) for word, colour in zip(_BY, _COLOURS, strict=True) if word in present]
    chart: alt.Chart = (
        alt.Chart(
            grid.frame,
            title=alt.TitleParams(plain(title, newline=" "), subtitle=grid.note, anchor="start"),
            width=width * max(len(grid.mutants), 1),
            height=height * max(len(grid.cases), 1),
        )
        .mark_rect(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X(
                "mutant:N",
                title=None,
                sort=grid.mutants,
                scale=alt.Scale(domain=grid.mutants),
                axis=alt.Axis(
                    labelAngle=-90, labelFontSize=letters, labelLimit=120, ticks=False, grid=True, tickBand="extent"
                ),
            ),
            y=alt.Y(
                "case:N",
                title=None,
                sort=grid.cases,
                scale=alt.Scale(domain=grid.cases),
                axis=alt.Axis(labelFontSize=max(letters, 8), labelLimit=240, ticks=False),
            ),
            color=alt.Color(
                "by:N",
                title="given away by",
                scale=alt.Scale(domain=[word for word, _ in shown], range=[colour for _, colour in shown]),
            ),
            tooltip=["case:N", "operator:N", "where:N", "change:N", "by:N"],
        )
    )
    return chart
