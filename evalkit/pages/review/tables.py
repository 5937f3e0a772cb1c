"""A table as data: the notebook makes a frame of it, the widget and the packet make HTML, and a test reads it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.pages.plain import plain

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table", "cells", "table_html"]


class Table(NamedTuple):
    """Rows to show; every cell is text that is already plain."""

    caption: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    numbers: frozenset[int] = frozenset()
    """Places of the columns that are aligned to the right."""
    left_out: int = 0
    """Rows that are not shown."""

    def frame(self, *, most: int = 15) -> pd.DataFrame:
        """Return the rows as a frame, at most `most` of them."""
        import pandas as pd

        return pd.DataFrame(self.rows[:most], columns=list(self.columns)).set_index(self.columns[0])

    def note(self) -> str:
        """Say how many rows are not shown; empty where all are."""
        total = len(self.rows) + self.left_out
        return f"{len(self.rows):,} of {total:,} rows are shown" if self.left_out else ""


def cells(*values: Any) -> tuple[str, ...]:
    """Return values as plain texts of one line; what is not there is a dash."""
    return tuple("—" if value is None else plain(str(value), newline=" ") for value in values)


def table_html(table: Table, *, empty: str = "None.") -> str:
    """Return a table as HTML in which nothing that came from a row is markup."""
    if not table.rows:
        return f'<p class="ek-caption">{escape(table.caption)}</p><p>{escape(empty)}</p>'
    head = "".join(
        f'<th scope="col"{_number(place, table)}>{escape(name)}</th>' for place, name in enumerate(table.columns)
    )
    body = "".join(f"<tr>{_row(row, table)}</tr>" for row in table.rows)
    note = f"<p>{escape(table.note())}</p>" if table.left_out else ""
    return (
        f'<div class="ek-wide" tabindex="0" role="region" aria-label="{escape(table.caption)}">'
        f"<table><caption>{escape(table.caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{note}</div>"
    )


def _row(row: tuple[str, ...], table: Table) -> str:
    first, *rest = row
    others = "".join(f"<td{_number(place, table)}>{escape(text)}</td>" for place, text in enumerate(rest, start=1))
    return f'<th scope="row">{escape(first)}</th>{others}'


def _number(place: int, table: Table) -> str:
    return ' class="ek-number"' if place in table.numbers else ""
