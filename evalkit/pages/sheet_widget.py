"""A sheet of rows to decide on, one at a time: it shows what is written, takes decisions, and saves when told to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import ipywidgets
import traitlets

from evalkit.pages.plain import plain

__all__ = ["Field", "SheetEditor"]


class Field(NamedTuple):
    """One column that a person fills."""

    name: str
    choices: tuple[str, ...] = ()
    """What may be chosen, blank included; a free text where there are none."""


class SheetEditor(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets ships no types
    """Rows to read and to decide on. It decides nothing, and writes nothing until ``save_button`` is pressed.

    The trait ``at`` is the row that is shown, ``undecided`` counts the rows where a required field is blank.

    Parameters
    ----------
    rows : sequence of mapping
        Columns of a sheet, as texts; what people fill is kept in `rows` of the widget.
    shown : sequence of str
        Columns to read, in order.
    fields : sequence of Field
        Columns to fill.
    save : callable
        Takes the rows when the button is pressed, and returns a sentence about it.
    required : sequence of str
        Fields without which a row is undecided.
    """

    at = traitlets.Int(0, help="Which row is shown, counted from 0.")
    undecided = traitlets.Int(0, help="Rows in which a required field is blank.")

    def __init__(
        self,
        rows: Sequence[Mapping[str, str]],
        shown: Sequence[str],
        fields: Sequence[Field],
        save: Callable[[list[dict[str, str]]], str],
        *,
        required: Sequence[str] = (),
    ) -> None:
        self.rows = [dict(row) for row in rows]
        self._shown, self._save, self._required = list(shown), save, list(required)
        self._is_loading = False
        self.card = ipywidgets.HTML()
        self.inputs = {field.name: _input(field) for field in fields}
        self.back = ipywidgets.Button(description="Previous", layout={"width": "7em"})
        self.forward = ipywidgets.Button(description="Next", layout={"width": "7em"})
        self.next_open = ipywidgets.Button(description="Next open", layout={"width": "8em"})
        self.save_button = ipywidgets.Button(description="Save", button_style="primary", layout={"width": "7em"})
        self.status = ipywidgets.HTML()
        buttons = ipywidgets.HBox([self.back, self.forward, self.next_open, self.save_button])
        super().__init__([self.card, *self.inputs.values(), buttons, self.status])
        self.add_class("evalkit-sheet")
        self._connect()
        self._load()

    def _connect(self) -> None:
        for name, control in self.inputs.items():
            control.observe(lambda change, name=name: self._write(name, change["new"]), ["value"])
        self.observe(lambda _: self._load(), ["at"])
        self.back.on_click(lambda _: self._go(self.at - 1))
        self.forward.on_click(lambda _: self._go(self.at + 1))
        self.next_open.on_click(lambda _: self._go_open())
        self.save_button.on_click(lambda _: self._saved())

    def _go(self, at: int) -> None:
        self.at = min(max(at, 0), max(len(self.rows) - 1, 0))

    def _go_open(self) -> None:
        later = [*range(self.at + 1, len(self.rows)), *range(self.at + 1)]
        self._go(next((at for at in later if self._is_open(self.rows[at])), self.at))

    def _is_open(self, row: Mapping[str, str]) -> bool:
        return any(not row.get(name, "").strip() for name in self._required)

    def _write(self, name: str, value: str) -> None:
        if not self._is_loading and self.rows:
            self.rows[self.at][name] = value
            self._count()

    def _load(self) -> None:
        row = self.rows[self.at] if self.rows else {}
        self._is_loading = True
        try:
            for name, control in self.inputs.items():
                kept = row.get(name, "")
                control.value = kept if not _choices(control) or kept in _choices(control) else ""
        finally:
            self._is_loading = False
        parts = "".join(_part(name, row.get(name, "")) for name in self._shown)
        self.card.value = f'<div class="evalkit-card">{parts}</div>' if row else "<p>There is no row.</p>"
        self._count()

    def _count(self) -> None:
        self.undecided = sum(self._is_open(row) for row in self.rows)
        where = f"row {self.at + 1} of {len(self.rows)}" if self.rows else "no rows"
        self.status.value = f'<span role="status">{where}; {self.undecided} still to decide; not saved</span>'

    def _saved(self) -> None:
        try:
            sentence = self._save([dict(row) for row in self.rows])
        except Exception as fault:  # noqa: BLE001 - whatever it is, the decisions stay in the widget and can be saved again
            sentence = f"not saved: {fault}"
        self.status.value = f'<span role="status">{escape(plain(sentence, newline=" "))}</span>'


def _input(field: Field) -> Any:
    style = {"description_width": "8em"}
    if field.choices:
        options = [("(blank)", "")] + [(choice, choice) for choice in field.choices if choice]
        return ipywidgets.Dropdown(description=field.name, options=options, value="", style=style)
    return ipywidgets.Text(description=field.name, style=style, layout={"width": "40em"})


def _choices(control: Any) -> tuple[str, ...]:
    options = getattr(control, "options", ())
    return tuple(value for _, value in options)


def _part(name: str, text: str) -> str:
    return f"<h4>{escape(name)}</h4><pre style='white-space: pre-wrap'>{escape(plain(text, newline=chr(10)))}</pre>"
