"""One pass over a run's records: the rows that a page shows, and how often each value occurs in all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from evalkit.contract import Decision
from evalkit.decisions.resolution import denominator_of
from evalkit.scoring.records import Record

__all__ = ["MOST_PASSING", "MOST_ROWS", "Selection", "Tally", "select_rows"]

MOST_ROWS = 2_000
_MOST_DISTINCT = 5_000


class Tally:
    """The scored values of one slice, by value and decision, and the numbers of claims they are out of."""

    def __init__(self) -> None:
        self.values: Counter[tuple[float | str, Decision | None]] = Counter()
        self.denominators: Counter[int] = Counter()
        self.scored = 0
        self.uncounted = 0
        """Scored rows that `values` leaves out: rankings, and values beyond the first 5,000 different ones."""

    def add(self, value: float | str | None, decision: Decision | None, denominator: int | None) -> None:
        """Count one scored row; `value` is ``None`` for one that no axis or label can show."""
        self.scored += 1
        key = (value, decision)
        if value is None or (key not in self.values and len(self.values) >= _MOST_DISTINCT):
            self.uncounted += 1
        else:
            self.values[value, decision] += 1
        if denominator is not None:
            self.denominators[denominator] += 1


class Selection(NamedTuple):
    """What a page needs of a run's records."""

    rows: list[Record]
    """Blocking rows that did not pass, then the others that did not, then the rest; each group in input order."""
    total: int
    not_passing: int
    """How many rows of the whole run did not plainly pass."""
    not_passing_hidden: int
    """How many of them `rows` leaves out."""
    tallies: dict[str, Tally]


MOST_PASSING = 500
"""Of rows that pass: a few hundred show what passing looks like, and more only make the page heavy."""


def select_rows(path: Path, *, is_judged: bool, reviewed: Sequence[str] = (), most: int = MOST_ROWS) -> Selection:
    """Read ``records.jsonl`` once, in memory that does not grow with its length.

    Parameters
    ----------
    path : Path
    is_judged : bool
        Whether a policy decided the rows: then a row passes by its decision, otherwise by having a score.
    reviewed : sequence of str
        The metric's reviewed inputs, from which the number of claims of a row may be read.
    most : int
        How many rows are kept.
    """
    groups: tuple[list[bytes], list[bytes], list[bytes]] = ([], [], [])
    limits = (most, most, min(most, MOST_PASSING))
    sizes = [0, 0, 0]
    tallies: dict[str, Tally] = {}
    with path.open("rb") as stream:
        for raw in stream:
            fields = orjson.loads(raw)
            if fields["state"] == "scored":
                value = fields["value"]
                tally = tallies.setdefault(fields["slice"], Tally())
                denominator = denominator_of(fields["detail"], fields["inputs"], reviewed)
                tally.add(None if isinstance(value, list) else value, fields["decision"], denominator)
            passes = fields["decision"] == "pass" if is_judged else fields["state"] == "scored"
            group = 2 if passes else 0 if fields["blocking"] else 1
            sizes[group] += 1
            if len(groups[group]) < limits[group]:
                groups[group].append(raw)
    kept = [raw for group in groups for raw in group][:most]
    rows = [Record.from_json(raw, where=path.name) for raw in kept]
    not_passing = sizes[0] + sizes[1]
    return Selection(rows, sum(sizes), not_passing, max(0, not_passing - most), dict(sorted(tallies.items())))
