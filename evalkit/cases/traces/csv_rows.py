"""Traces as rows of a spreadsheet. Cells stay texts; which column holds JSON is the adapter's to declare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evalkit.cases.tables import read_table, table_format
from evalkit.cases.traces.trace import Trace

__all__ = ["read_csv"]


def read_csv(path: Path) -> Iterator[Trace]:
    """Read one trace from each record; an empty cell is a value that is not there (``null``)."""
    for row in read_table(path, table_format(path)):
        data = {column: cell if cell.strip() else None for column, cell in row.cells.items()}
        yield Trace(row.line, f"line {row.line}", data, row.problem)
