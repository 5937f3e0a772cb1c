"""Frame in, altair chart out. Nothing is computed here: the numbers come counted from `evalkit.pages.frames`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import altair as alt

from evalkit.contract import EvalkitError
from evalkit.pages.frames import label_counts, ledger_counts, step_points, value_counts
from evalkit.pages.plain import plain

if TYPE_CHECKING:
    import pandas as pd

    from evalkit.decisions.resolution import Resolution

__all__ = ["label_chart", "ledger_chart", "resolution_chart", "use_renderer", "value_chart"]

_WIDTH = 480
_WORDS = ["pass", "review", "fail", "undecided", "invalid", "error", "unrun"]
# Blue, ochre and red-brown stay apart for colour-blind readers; how full a bar is says the same without colour.
_COLOURS = ["#0b57a4", "#b07a00", "#a32a00", "#8a929a", "#6b2b8a", "#3d1452", "#c4cad1"]
_FILLS = [1.0, 0.5, 0.12, 0.3, 0.75, 1.0, 0.3]


def use_renderer(name: str) -> None:
    """Choose how charts are shown; neither way asks the network for anything.

    Parameters
    ----------
    name : {"png", "jupyter"}
        ``png`` for headless runs and pages that are kept, ``jupyter`` for interactive work in JupyterLab.
    """
    if name == "png":
        alt.renderers.enable("png", scale_factor=1)
    elif name == "jupyter":
        alt.renderers.enable("jupyter", offline=True)
    else:
        msg = f"the renderer must be 'png' or 'jupyter'; got {name!r}"
        raise EvalkitError(msg, do="altair's other renderers fetch scripts from the web or are refused by nbformat")


def value_chart(
    frame: pd.DataFrame, *, bounds: Mapping[str, float] | None = None, title: str = "Values"
) -> alt.FacetChart:
    """Draw how the scores of each slice are distributed, with the policy's bound as a dashed line.

    Parameters
    ----------
    frame : DataFrame
        ``slice, value`` and, where rows were decided, ``decision`` (see `evalkit.pages.row_view.rows_frame`).
    bounds : mapping, optional
        The policy's minimum or maximum by slice.
    title : str
        The subtitle always says how many rows have no score and are therefore not shown.
    """
    counted = value_counts(frame, bounds)
    x = alt.X("start:Q", title="value", scale=alt.Scale(zero=False, nice=False))
    bars = alt.Chart().mark_rect(strokeWidth=1).encode(
        x=x, x2="end:Q", y=alt.Y("base:Q", title="rows", axis=alt.Axis(tickMinStep=1)), y2="top:Q",
        tooltip=_fields("label", "decision", "rows"), **_coloured("decision", counted.frame["decision"]),
    )  # fmt: skip
    rule = alt.Chart().mark_rule(strokeDash=[5, 3], size=1.5).encode(x="bound:Q")
    layered = alt.layer(bars, rule, data=counted.frame).properties(width=_WIDTH, height=90)
    return _per_slice(layered, _title(title, counted.note()))


def label_chart(frame: pd.DataFrame, *, title: str = "Labels") -> alt.Chart:
    """Draw how often each label occurs in each slice."""
    counted = label_counts(frame)
    chart: alt.Chart = (
        alt.Chart(counted.frame, title=_title(title, counted.note()), width=_WIDTH)
        .mark_bar(strokeWidth=1)
        .encode(
            y=alt.Y("label:N", title=None),
            x=alt.X("rows:Q", title="rows", axis=alt.Axis(tickMinStep=1)),
            row=_slice_row(),
            tooltip=_fields("label", "decision", "rows"),
            **_coloured("decision", counted.frame["decision"]),
        )
    )
    return chart


def ledger_chart(frame: pd.DataFrame, *, title: str = "What became of each row") -> alt.Chart:
    """Draw the ledger: every row of every slice, by decision or else by state."""
    counted = ledger_counts(frame)
    total = int(counted["rows"].sum())
    chart: alt.Chart = (
        alt.Chart(counted, title=_title(title, f"{total:,} of {total:,} rows"), width=_WIDTH)
        .mark_bar(strokeWidth=1)
        .encode(
            y=alt.Y("slice:N", title=None),
            x=alt.X("base:Q", title="rows"),
            x2="top:Q",
            tooltip=_fields("slice", "word", "rows", "of"),
            **_coloured("word", counted["word"]),
        )
    )
    return chart


def resolution_chart(
    resolutions: Iterable[Resolution],
    *,
    low: float = 0.0,
    high: float = 1.0,
    title: str = "What each threshold lets pass",
) -> alt.FacetChart:
    """Draw how many rows of each slice pass under each threshold: between two steps, moving it changes nothing."""
    data = step_points(resolutions, low, high)
    line = alt.Chart().mark_line(point=False).encode(
        x=alt.X("threshold:Q", title="threshold", scale=alt.Scale(domain=[low, high])),
        y=alt.Y("passing:Q", title="rows that pass", axis=alt.Axis(tickMinStep=1)), order=alt.Order("corner:Q"),
        tooltip=_fields("threshold", "passing", "of"),
    )  # fmt: skip
    rule = alt.Chart().mark_rule(strokeDash=[5, 3], size=1.5).encode(x="policy:Q")
    layered = alt.layer(line, rule, data=data.assign(corner=range(len(data)))).properties(width=_WIDTH, height=90)
    return _per_slice(layered, plain(title, newline=" "))


def _per_slice(layered: Any, title: str | alt.TitleParams) -> alt.FacetChart:
    chart: alt.FacetChart = layered.facet(row=_slice_row(), title=title).resolve_scale(y="independent")
    return chart


def _title(title: str, note: str) -> alt.TitleParams:
    return alt.TitleParams(plain(title, newline=" "), subtitle=note, anchor="start")


def _slice_row() -> alt.Row:
    return alt.Row(
        "slice:N",
        title=None,
        header=alt.Header(labelAngle=0, labelAlign="left", labelAnchor="start", labelOrient="top"),
    )


def _fields(*names: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(name) for name in names]


def _coloured(field: str, column: pd.Series[Any]) -> dict[str, Any]:
    """Colour, outline and fullness of a bar by the same word, in one legend that lists only what occurs."""
    words = [word for word in _WORDS if word in set(column)]
    colours = [_COLOURS[_WORDS.index(word)] for word in words]
    fills = [_FILLS[_WORDS.index(word)] for word in words]
    return {
        "color": alt.Color(f"{field}:N", title=None, scale=alt.Scale(domain=words, range=colours)),
        "stroke": alt.Stroke(f"{field}:N", title=None, scale=alt.Scale(domain=words, range=colours)),
        "fillOpacity": alt.FillOpacity(
            f"{field}:N", title=None, scale=alt.Scale(type="ordinal", domain=words, range=fills)
        ),
    }
