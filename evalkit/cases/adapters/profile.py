"""The whole file, meaning by meaning: present, blank, distinct, equal to another; and what of that stops a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalkit.cases.adapters.checks import Pair
from evalkit.cases.lookup import Passage
from evalkit.contract import example_list

__all__ = ["FILE_CHECKS", "NEARLY_ALL", "FieldProfile", "FileCheck", "FileProfile"]

MEANINGS = ("question", "answer", "retrieved", "reference", "reference_contexts", "error")
_COMPARED = (("answer", "reference"), ("answer", "question"), ("retrieved", "reference"))

NEARLY_ALL = 0.95
"""From this share of rows on, passages that equal the reference are no coincidence of a good retriever."""
_FEWEST_EQUAL = 20
_FEWEST_CONSTANT = 3


@dataclass(slots=True)
class FieldProfile:
    """Counts of one meaning over the rows of a file."""

    rows: int = 0
    present: int = 0
    """Rows where something other than ``null`` stands; blank texts and ``[]`` are something."""
    blank: int = 0
    """Of the present ones: blank texts, empty lists, lists of blank texts."""
    wrong_type: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    """Where the path breaks, and how often."""
    hashes: set[int] = field(default_factory=set)
    equal: Counter[str] = field(default_factory=Counter)
    """By other meaning: rows where both stand and say the same."""
    compared: Counter[str] = field(default_factory=Counter)
    """By other meaning: rows where both stand."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values; every count has its denominator beside it."""
        return {
            "rows": self.rows,
            "present": self.present,
            "blank": self.blank,
            "distinct": len(self.hashes),
            "wrong_type": self.wrong_type,
            "absent": dict(self.broken.most_common(3)),
            "equal_to": {name: {"rows": self.equal[name], "of": n} for name, n in sorted(self.compared.items())},
        }


@dataclass(slots=True)
class FileProfile:
    """Counts of all meanings, filled row by row."""

    mapped: frozenset[str]
    needed: frozenset[str]
    """Meanings that must stand somewhere: not optional to the adapter, or a metric cannot do without them."""
    constant: frozenset[str] = frozenset()
    needed_fields: frozenset[str] = frozenset()
    """Further keys of the case that a metric cannot do without."""
    fields: dict[str, FieldProfile] = field(default_factory=dict)
    rows: int = 0
    ids: Counter[str] = field(default_factory=Counter)
    present_fields: Counter[str] = field(default_factory=Counter)

    def add(self, pair: Pair) -> None:
        """Count one row; a trace that gives none is counted by its id only."""
        adapted = pair.adapted
        self.rows += 1
        self.ids[adapted.trace_id] += 1
        if adapted.unusable:
            return
        self.present_fields.update(key for key in self.needed_fields if adapted.fields.get(key) is not None)
        broken = {problem.meaning: problem.sentence for problem in adapted.absent}
        wrong = {problem.meaning for problem in adapted.problems}
        for meaning in MEANINGS:
            if meaning in self.mapped:
                profile = self.fields.setdefault(meaning, FieldProfile())
                _count(profile, getattr(adapted, meaning), meaning in wrong, broken.get(meaning))
        for one, other in _COMPARED:
            self._compare(one, other, adapted)

    def _compare(self, one: str, other: str, adapted: Any) -> None:
        mine, theirs = _folded(getattr(adapted, one)), _folded(getattr(adapted, other))
        if one == "retrieved":
            # The reference passages where the trace has them; else the reference answer as the only passage.
            theirs = _folded(adapted.reference_contexts) or theirs
        if not mine or not theirs or one not in self.fields:
            return
        self.fields[one].compared[other] += 1
        self.fields[one].equal[other] += mine == theirs


def _count(profile: FieldProfile, value: Any, is_wrong: bool, broken: str | None) -> None:
    profile.rows += 1
    profile.wrong_type += is_wrong
    if broken:
        profile.broken[broken] += 1
    if value is None:
        return
    profile.present += 1
    folded = _folded(value)
    if folded:
        profile.hashes.add(hash(folded))
    else:
        profile.blank += 1


def _folded(value: Any) -> tuple[str, ...]:
    """Return what a value says, comparable across types: without outer white space, nothing for what is blank."""
    if value is None:
        return ()
    items = value if isinstance(value, tuple) else (value,)
    texts = [item.text if isinstance(item, Passage) else str(item) for item in items]
    return tuple(text.strip() for text in texts) if any(text.strip() for text in texts) else ()


# --- what stops a run -----------------------------------------------------------------------------------------------


class FileCheck(NamedTuple):
    """One question that is asked of the file as a whole."""

    name: str
    asks: str
    find: Callable[[FileProfile], Iterator[str]]


def _is_fixed(profile: FileProfile) -> Iterator[str]:
    for meaning, found in profile.fields.items():
        said = found.present - found.blank
        if meaning not in ("error", *profile.constant) and said >= _FEWEST_CONSTANT and len(found.hashes) == 1:
            yield f"{meaning} says the same in all {said} rows that have it: it is not read from the trace"


def _is_blank(profile: FileProfile) -> Iterator[str]:
    for meaning, found in profile.fields.items():
        if meaning != "error" and found.present and found.blank == found.present:
            yield f"{meaning} is blank in all {found.present} rows that have it"


def _is_absent(profile: FileProfile) -> Iterator[str]:
    for meaning in sorted(profile.needed & profile.mapped):
        found = profile.fields.get(meaning)
        if found and found.rows and not found.present:
            where = f" ({found.broken.most_common(1)[0][0]})" if found.broken else ""
            yield f"{meaning} stands in none of {found.rows} rows{where}"
    for key in sorted(profile.needed_fields - profile.present_fields.keys()):
        if profile.rows:
            yield f"{key} stands in none of {profile.rows} rows"


def _is_gold(profile: FileProfile) -> Iterator[str]:
    found = profile.fields.get("retrieved")
    equal, of = (found.equal["reference"], found.compared["reference"]) if found else (0, 0)
    if of >= _FEWEST_EQUAL and equal >= NEARLY_ALL * of:
        yield f"retrieved equals the reference on {equal} of {of} rows that have both: the test set is measured"


def _is_doubled(profile: FileProfile) -> Iterator[str]:
    twice = [f"{trace_id!r} ({n})" for trace_id, n in profile.ids.items() if n > 1]
    if twice:
        yield f"{len(twice)} trace ids stand for more than one trace: {example_list(twice)}"


_ALL = (
    FileCheck("no_constant_field", "no meaning says the same in every row", _is_fixed),
    FileCheck("no_blank_field", "no meaning is blank in every row", _is_blank),
    FileCheck("no_absent_field", "each meaning that is needed stands in some row", _is_absent),
    FileCheck(
        "retrieved_differs_from_reference",
        f"retrieved does not equal the reference on nearly all rows ({_FEWEST_EQUAL} or more, {NEARLY_ALL:.0%})",
        _is_gold,
    ),
    FileCheck("ids_are_distinct", "each trace has an id of its own", _is_doubled),
)

FILE_CHECKS: Mapping[str, FileCheck] = {check.name: check for check in _ALL}
"""Every check of a file as a whole, by name."""
