"""Where the records stand that a page will show, noted while they pass by, so that no page reads all of them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evalkit.scoring.records import Record

__all__ = ["MOST_PASSING", "MOST_ROWS", "Place", "Places"]

MOST_ROWS = 2_000
MOST_PASSING = 200
"""Of rows that pass: some hundred show what passing looks like, and more only make the page heavy."""


class Place(NamedTuple):
    """The bytes of ``records.jsonl`` that hold one record."""

    start: int
    length: int


class Places:
    """The first rows of each kind: blocking ones that did not pass, the others that did not, and the rest."""

    LIMITS = (MOST_ROWS, MOST_ROWS, MOST_PASSING)

    def __init__(self) -> None:
        self.groups: tuple[list[Place], list[Place], list[Place]] = ([], [], [])
        self.sizes = [0, 0, 0]
        """How many rows each kind has, shown or not."""

    @classmethod
    def of(cls, lengths: Sequence[int], notable: Mapping[int, Record]) -> Places:
        """Note the records of a part, given how long each is and, by position, those that did not pass."""
        places = cls()
        start = 0
        for position, length in enumerate(lengths):
            group = 2 if (record := notable.get(position)) is None else 0 if record.blocking else 1
            places.sizes[group] += 1
            if len(places.groups[group]) < cls.LIMITS[group]:
                places.groups[group].append(Place(start, length))
            start += length
        return places

    def merge(self, other: Places, offset: int) -> None:
        """Add the places of a later part, which begins at `offset`."""
        for group, (own, more, limit) in enumerate(zip(self.groups, other.groups, self.LIMITS, strict=True)):
            own += [Place(offset + start, length) for start, length in more[: limit - len(own)]]
            self.sizes[group] += other.sizes[group]
