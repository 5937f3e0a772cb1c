"""The rows of a run that a page shows, read from where their records stand."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from evalkit.scoring.places import MOST_ROWS, Places
from evalkit.scoring.records import Record

__all__ = ["Selection", "select_rows"]


class Selection(NamedTuple):
    """What a page shows of a run's records, and how many there are."""

    rows: list[Record]
    """Blocking rows that did not pass, then the others that did not, then the rest; each group in input order."""
    total: int
    not_passing: int
    """How many rows of the whole run did not plainly pass."""
    not_passing_hidden: int
    """How many of them `rows` leaves out."""


def select_rows(path: Path, places: Places, *, most: int = MOST_ROWS) -> Selection:
    """Read the chosen lines of ``records.jsonl``, `most` of them at most."""
    chosen = [place for group in places.groups for place in group][:most]
    with path.open("rb") as stream:
        rows = []
        for start, length in chosen:
            stream.seek(start)
            rows.append(Record.from_json(stream.read(length), where=path.name))
    not_passing = places.sizes[0] + places.sizes[1]
    return Selection(rows, sum(places.sizes), not_passing, max(0, not_passing - most))
