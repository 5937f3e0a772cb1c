"""The row explorer: filter rows, choose one, and read why it is what it is. It computes nothing and decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import ipywidgets
import traitlets

from evalkit.contract import Contract
from evalkit.pages.plain import plain, shown
from evalkit.pages.review.keys import OwnKeys
from evalkit.pages.row_view import ANY, Part, choices, matching, row_parts
from evalkit.scoring.records import Record

__all__ = ["PAGE_SIZE", "RowExplorer", "card_html"]

PAGE_SIZE = 100
"""Rows in the list at a time: a browser list of 50,000 entries does not answer the keyboard."""

_STYLE = """
.evalkit-explorer select, .evalkit-explorer .evalkit-count { font-family: var(--jp-code-font-family, monospace); }
.evalkit-explorer .widget-html-content { line-height: 1.45; }
.evalkit-explorer .evalkit-stacked { display: flex; flex-direction: column; align-items: stretch; }
.evalkit-explorer .evalkit-stacked > label { width: auto; max-width: none; text-align: left; }
.evalkit-explorer .evalkit-stacked > select { flex: 1 1 auto; width: 100%; }
.evalkit-explorer .evalkit-card {
  height: 30em; overflow: auto; padding: 0 1em; border: 1px solid var(--jp-border-color2, #ccc);
}
.evalkit-explorer .evalkit-card h4 {
  margin: .9em 0 .15em; font-size: .85em; font-weight: 600; color: var(--jp-ui-font-color2, #555);
}
/* JupyterLab gives pre its code font and breaks it inside words. */
.evalkit-explorer .evalkit-card pre {
  margin: 0; font-family: inherit; white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere;
}
.evalkit-explorer .evalkit-card summary {
  cursor: pointer; margin: .9em 0 .15em; font-size: .85em; font-weight: 600;
}
"""


class RowExplorer(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets ships no types
    """Rows to filter and to read; opens on the first one.

    What is filtered stands in the traits ``by_state``, ``by_decision``, ``by_slice``, ``by_text`` and ``page``, which
    the controls follow and set. ``found`` says how many rows match, ``chosen`` which one is shown (a position in
    `rows`); ``row_list.value`` chooses.

    Parameters
    ----------
    records : sequence of Record
        Judged rows, in the order in which they are to be listed (`evalkit.pages.row_view.reading_order`).
    contract : Contract, optional
        The metric's, for who owns which diagnosis.
    """

    by_state = traitlets.Unicode(ANY)
    by_decision = traitlets.Unicode(ANY)
    by_slice = traitlets.Unicode(ANY)
    by_text = traitlets.Unicode("")
    page = traitlets.Int(0, help="Which page of the list, counted from 0.")
    chosen = traitlets.Int(None, allow_none=True, help="Position of the chosen row; None where nothing matches.")
    found = traitlets.Int(0, help="How many rows match.")

    def __init__(self, records: Sequence[Record], contract: Contract | None = None) -> None:
        self.rows = list(records)
        self._contract = contract
        self._matches: list[int] = []
        self.state_filter = _filter("State", choices(records, "state"))
        self.decision_filter = _filter("Decision", choices(records, "decision"))
        self.slice_filter = _filter("Slice", choices(records, "slice"))
        self.text_filter = ipywidgets.Text(
            description="Find", placeholder="case id or reason", style={"description_width": "4em"}
        )
        self.row_list = ipywidgets.Select(description="Rows", rows=20, layout={"width": "99%", "height": "29em"})
        self.row_list.add_class("evalkit-stacked")
        self.back = ipywidgets.Button(description="Previous", layout={"width": "7em"})
        self.forward = ipywidgets.Button(description="Next", layout={"width": "7em"})
        self.count = ipywidgets.HTML()
        self.card = ipywidgets.HTML(layout={"flex": "1 1 55%", "min_width": "22em"})
        left = ipywidgets.VBox(
            [self.row_list, ipywidgets.HBox([self.back, self.forward])],
            layout={"flex": "1 1 35%", "min_width": "22em", "margin": "0 0.8em 0 0"},
        )
        bar = ipywidgets.HBox(
            [self.state_filter, self.decision_filter, self.slice_filter, self.text_filter],
            layout={"flex_flow": "row wrap"},
        )
        both = ipywidgets.HBox([left, self.card], layout={"flex_flow": "row wrap"})
        super().__init__([ipywidgets.HTML(f"<style>{_STYLE}</style>"), OwnKeys(), bar, self.count, both])
        self.add_class("evalkit-explorer")
        self._connect()
        self._filter()

    def _connect(self) -> None:
        for trait, control in (
            ("by_state", self.state_filter),
            ("by_decision", self.decision_filter),
            ("by_slice", self.slice_filter),
            ("by_text", self.text_filter),
        ):
            traitlets.link((self, trait), (control, "value"))
        self.observe(self._filter, ["by_state", "by_decision", "by_slice", "by_text"])
        self.observe(self._list, ["page"])
        self.observe(self._show, ["chosen"])
        self.row_list.observe(self._choose, ["value"])
        self.back.on_click(lambda _: self._turn(-1))
        self.forward.on_click(lambda _: self._turn(1))

    def _filter(self, _change: Any = None) -> None:
        self._matches = matching(
            self.rows, state=self.by_state, decision=self.by_decision, slice_name=self.by_slice, text=self.by_text
        )
        self.found = len(self._matches)
        if self.page:
            self.page = 0
        else:
            self._list()

    def _turn(self, step: int) -> None:
        self.page = min(max(self.page + step, 0), max(len(self._matches) - 1, 0) // PAGE_SIZE)

    def _list(self, _change: Any = None) -> None:
        first = self.page * PAGE_SIZE
        listed = self._matches[first : first + PAGE_SIZE]
        self.row_list.options = [(_label(self.rows[position]), position) for position in listed]
        self.row_list.value = listed[0] if listed else None
        self.back.disabled, self.forward.disabled = first == 0, first + PAGE_SIZE >= len(self._matches)
        window = f", listed are {first + 1:,} to {first + len(listed):,}" if len(self._matches) > PAGE_SIZE else ""
        text = f"{self.found:,} of {len(self.rows):,} rows match{window}"
        self.count.value = f'<span class="evalkit-count" role="status">{text}</span>'
        self._choose()

    def _choose(self, _change: Any = None) -> None:
        self.chosen = self.row_list.value
        if self.chosen is None:
            self._show()

    def _show(self, _change: Any = None) -> None:
        self.card.value = card_html([] if self.chosen is None else row_parts(self.rows[self.chosen], self._contract))


def card_html(parts: Sequence[Part]) -> str:
    """Return one row as HTML in which nothing that came from the row is markup."""
    if not parts:
        return '<div class="evalkit-card"><p>No row matches.</p></div>'
    inner = "".join(_part_html(part) for part in parts)
    return f'<div class="evalkit-card" tabindex="0" role="region" aria-label="The chosen row">{inner}</div>'


def _part_html(part: Part) -> str:
    title, text = escape(part.title), f"<pre>{escape(part.text)}</pre>"
    if part.is_long:
        return f"<details open><summary>{title}</summary>{text}</details>"
    return f"<h4>{title}</h4>{text}"


def _label(record: Record) -> str:
    word = record.decision or record.state
    name = plain(record.case_id, newline=" ") if record.case_id else "no case id"
    place = "" if record.state == "scored" else f"  (line {record.line})"
    return f"{word:<7} {shown(record.value, record.minimum):>7}  {name}{place}"


def _filter(name: str, options: list[tuple[str, str]]) -> Any:
    return ipywidgets.Dropdown(
        description=name, options=options, value=ANY, style={"description_width": "5em"}, layout={"width": "19em"}
    )
