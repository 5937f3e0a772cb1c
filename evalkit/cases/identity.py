"""Case ids across a file: exact duplicates and near-twins, found in 8 bytes of memory a row."""

from __future__ import annotations

import unicodedata
from array import array
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.lines import read_lines
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import example_list

__all__ = ["DuplicateLines", "IdIndex", "Resolved", "fold", "id_of", "resolve_groups", "resolve_ids"]


class DuplicateLines(NamedTuple):
    """The lines that share one case id."""

    lines: tuple[int, ...]

    def others(self, line: int) -> str:
        """Name the other lines, at most five."""
        return example_list([str(other) for other in self.lines if other != line])


class Resolved(NamedTuple):
    """What a closer look at suspicious ids found."""

    duplicates: dict[str, DuplicateLines]
    twins: list[str]
    """One sentence for each group of ids that people would take for the same."""


def fold(case_id: str) -> str:
    """Fold away what the eye does not see: case, width, composition, white space and invisible characters.

    >>> fold("ROW-1 ") == fold("row-1")
    True
    """
    if case_id.isascii():
        return case_id.lower() if case_id.isprintable() and " " not in case_id else _visible(case_id).lower()
    return _visible(unicodedata.normalize("NFKC", case_id)).casefold()


# Letters and marks that draw nothing, beside the categories of controls, formats and separators.
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0") | frozenset(
    map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)


def _visible(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c)[0] not in "CZ" and c not in _UNSEEN)


class IdIndex:
    """Remembers a 64-bit hash of each folded id; equal hashes are looked at again, so nothing rests on the hash."""

    def __init__(self) -> None:
        self.hashes = array("q")

    def add(self, case_id: str) -> None:
        """Remember one case id."""
        self.hashes.append(hash(fold(case_id)))

    def add_all(self, case_ids: list[str]) -> None:
        """Remember many case ids; plain ones, which most are, are folded together."""
        text = " ".join(case_ids)
        if text.isascii() and text.isprintable() and text.count(" ") == len(case_ids) - 1:
            self.hashes.extend(map(hash, text.lower().split(" ")))
        else:
            self.hashes.extend(hash(fold(case_id)) for case_id in case_ids)

    def add_raw(self, raw: bytes) -> None:
        """Remember the id of a raw line, if it has one."""
        if (case_id := id_of(raw)) is not None:
            self.add(case_id)

    def suspects(self) -> set[int]:
        """Return the hashes that occur more than once."""
        ordered = sorted(self.hashes)
        return {a for a, b in pairwise(ordered) if a == b}


def id_of(raw: bytes) -> str | None:
    """Return the case id of a raw line, if it has one."""
    try:
        found: Any = parse_object(raw).get("case_id")
    except JsonProblem:
        return None
    return found if isinstance(found, str) and found.strip() else None


def resolve_ids(path: Path, suspects: set[int]) -> Resolved:
    """Read the suspicious ids again and tell exact duplicates from near-twins and from chance."""
    if not suspects:
        return Resolved({}, [])
    groups: dict[str, dict[str, list[int]]] = {}
    for line in read_lines(path):
        case_id = id_of(line.raw)
        if case_id is not None and hash(key := fold(case_id)) in suspects:
            groups.setdefault(key, {}).setdefault(case_id, []).append(line.number)
    return resolve_groups(groups)


def resolve_groups(groups: Mapping[str, Mapping[str, list[int]]]) -> Resolved:
    """Tell duplicates from near-twins, given ``{folded id: {id: lines}}`` of every id whose hash is not its own."""
    duplicates = {
        case_id: DuplicateLines(tuple(lines))
        for group in groups.values()
        for case_id, lines in group.items()
        if len(lines) > 1
    }
    twins = [_twin_sentence(group) for group in groups.values() if len(group) > 1]
    return Resolved(duplicates, twins)


def _twin_sentence(group: Mapping[str, list[int]]) -> str:
    marks = Counter(mark for case_id in group for mark in set(case_id))
    shown = [
        f"{case_id!r} (line {lines[0]}{_code_points(case_id, marks, len(group))})" for case_id, lines in group.items()
    ]
    return f"case ids that look alike but are different: {example_list(shown)}"


def _code_points(case_id: str, marks: Counter[str], size: int) -> str:
    """Name the characters that not every id of the group has."""
    own = [f"U+{ord(mark):04X}" for mark in dict.fromkeys(case_id) if marks[mark] < size]
    return f": {' '.join(own)}" if own else ""
