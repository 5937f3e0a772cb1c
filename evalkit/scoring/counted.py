"""The records of a file counted as they stand there, for whoever did not see them pass by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from evalkit.scoring.ledger import Ledger, cell_of
from evalkit.scoring.places import Places
from evalkit.scoring.records import Record

__all__ = ["Counted", "count_records"]


class Counted(NamedTuple):
    """What a page needs to know of all records of a run."""

    ledger: Ledger
    places: Places


def count_records(path: Path, reviewed: Sequence[str] = ()) -> Counted:
    """Read a ``records.jsonl`` once, line by line.

    Parameters
    ----------
    path : Path
    reviewed : sequence of str
        The metric's reviewed inputs, from which the number of claims of a row may be read.
    """
    ledger = Ledger()
    lengths: list[int] = []
    notable: dict[int, Record] = {}
    with path.open("rb") as stream:
        for number, raw in enumerate(stream, 1):
            record = Record.from_json(raw, where=f"{path.name}, line {number}")
            if record.state != "scored" or record.decision not in (None, "pass"):
                notable[len(lengths)] = record._replace(inputs=None, evidence=None)
            lengths.append(len(raw))
            ledger.lines += 1
            ledger.count(cell_of(record, record.decision, reviewed), 1)
    return Counted(ledger, Places.of(lengths, notable))
