"""Error analysis before a metric is chosen: a sample, one note a trace in the reader's words, groups, a kind each."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from evalkit.cases.tables import read_table, table_bytes, table_format, unguarded
from evalkit.contract import EvalkitError, example_list

__all__ = [
    "ADVICE",
    "FINE",
    "Group",
    "Kind",
    "Note",
    "Reading",
    "draw",
    "notes_table",
    "read_groups",
    "read_notes",
    "reading_of",
]

Kind = Literal["numeric", "discrete", "boolean", "ranking", "none"]

FINE = "fine"
"""The group of traces that nothing is wrong with."""

ADVICE: Mapping[Kind, str] = {
    "numeric": "the failure has parts that can be counted: a share of claims, of citations, of fields",
    "discrete": "a person can say pass or fail by a rubric, and a judge may learn to: it needs labels",
    "boolean": "one occurrence is one too many: a policy with a minimum of 1.0, or a required label",
    "ranking": "answers can only be compared with each other: which of several is best",
    "none": "no metric: the cause is known and can be mended, or the failure is outside of what is measured",
}
"""Which kind of metric fits which kind of failure."""


class Note(NamedTuple):
    """What a reader wrote of one trace."""

    case_id: str
    note: str
    """In the reader's own words; blank while nobody has read it."""
    group: str = ""
    """A name that several notes share; `FINE` where nothing is wrong."""
    reader: str = ""


class Group(NamedTuple):
    """What a reader decided about one group of failures."""

    group: str
    kind: Kind | None
    why: str = ""


class Reading(NamedTuple):
    """The notes on a sample, added up."""

    sample: tuple[str, ...]
    counts: Mapping[str, int]
    """Traces in each group, most frequent first; traces without a group are not in it."""
    unread: tuple[str, ...]
    ungrouped: tuple[str, ...]
    """Traces with a note that belongs to no group yet."""
    undecided: tuple[str, ...]
    """Groups of failures for which nobody has chosen a kind of metric."""
    strangers: tuple[str, ...]
    """Notes of traces that are not in the sample."""

    def open_ends(self) -> list[str]:
        """Return, in words, what still has to be done."""
        found = (
            (self.unread, "traces of the sample have no note"),
            (self.ungrouped, "notes belong to no group"),
            (self.undecided, "groups have no kind of metric"),
        )
        return [f"{len(names)} {what}: {example_list(list(names))}" for names, what in found if names]


def draw(case_ids: Iterable[str], n: int, rng: random.Random) -> list[str]:
    """Draw a sample in one pass, each trace with the same chance; in the order of the file.

    >>> draw(["a", "b", "c", "d"], 2, random.Random(1))
    ['b', 'd']
    """
    kept: list[tuple[int, str]] = []
    for position, case_id in enumerate(case_ids):
        if position < n:
            kept.append((position, case_id))
        elif (slot := rng.randrange(position + 1)) < n:
            kept[slot] = (position, case_id)
    return [case_id for _, case_id in sorted(kept)]


def notes_table(evidence: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Return a sheet for the reader: what was asked and answered, and room for a note."""
    rows = (
        {"case_id": case_id, "question": str(parts.get("question") or ""), "answer": str(parts.get("answer") or "")}
        for case_id, parts in evidence.items()
    )
    return table_bytes(("case_id", "question", "answer", "note", "group", "reader"), rows)


def read_notes(path: Path) -> list[Note]:
    """Read the sheet back.

    Raises
    ------
    EvalkitError
        Where a column is missing, or a trace has two notes.
    """
    notes: list[Note] = []
    first: dict[str, int] = {}
    form = table_format(path)
    _check_columns(path, form.columns, ("case_id", "note", "group"))
    for row in read_table(path, form):
        cells = {name: unguarded(row.cells.get(name, "")).strip() for name in Note._fields}
        if row.problem or not cells["case_id"]:
            raise EvalkitError(row.problem or "case_id is blank", where=f"{path}, line {row.line}", do="mend that line")
        if cells["case_id"] in first:
            msg = f"{cells['case_id']!r} has a note on line {first[cells['case_id']]} already"
            raise EvalkitError(msg, where=f"{path}, line {row.line}", do="keep one note a trace")
        first[cells["case_id"]] = row.line
        notes.append(Note(**cells))
    return notes


def read_groups(path: Path) -> list[Group]:
    """Read which kind of metric fits each group.

    Raises
    ------
    EvalkitError
        For an unknown kind.
    """
    groups: list[Group] = []
    form = table_format(path)
    _check_columns(path, form.columns, ("group", "kind"))
    for row in read_table(path, form):
        name, kind, why = (unguarded(row.cells.get(key, "")).strip() for key in ("group", "kind", "why"))
        if kind and kind not in get_args(Kind):
            msg = f"kind must be one of {', '.join(get_args(Kind))}, or blank; got {kind!r}"
            raise EvalkitError(msg, where=f"{path}, line {row.line}", do="choose one")
        groups.append(Group(name, kind or None, why))  # type: ignore[arg-type] # checked in the line above
    return groups


def _check_columns(path: Path, columns: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    if lacking := [name for name in wanted if name not in columns]:
        msg = f"lacks the columns {', '.join(lacking)}"
        raise EvalkitError(msg, where=str(path), do=f"its columns are {', '.join(columns)}")


def reading_of(sample: Iterable[str], notes: Iterable[Note], groups: Iterable[Group]) -> Reading:
    """Add the notes on a sample up.

    Examples
    --------
    >>> found = reading_of(["a", "b"], [Note("a", "cites nothing", "no citation")], [])
    >>> found.counts, found.open_ends()
    ({'no citation': 1}, ['1 traces of the sample have no note: b', '1 groups have no kind of metric: no citation'])
    """
    sample = tuple(sample)
    by_id = {note.case_id: note for note in notes}
    kinds = {group.group: group.kind for group in groups}
    read = {case_id: by_id[case_id] for case_id in sample if case_id in by_id and by_id[case_id].note}
    counts = Counter(note.group for note in read.values() if note.group)
    return Reading(
        sample,
        dict(counts.most_common()),
        tuple(case_id for case_id in sample if case_id not in read),
        tuple(case_id for case_id, note in read.items() if not note.group),
        tuple(group for group in counts if group != FINE and kinds.get(group) is None),
        tuple(case_id for case_id in by_id if case_id not in set(sample)),
    )
