"""One thing a reviewer did in a threshold review, and a file of such entries read strictly."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import orjson

from evalkit.cases.identity import fold
from evalkit.cases.labels import ADJUDICATION
from evalkit.cases.lines import Line, read_lines
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError, example_list

__all__ = [
    "CHOICES",
    "MARKS",
    "Choice",
    "Entry",
    "Mark",
    "VoteFile",
    "checked_reviewer",
    "new_entry",
    "read_vote_file",
]

Kind = Literal["vote", "opened", "mark"]
Choice = Literal["ship", "hold", "cannot_tell"]
Mark = Literal["contract_unclear", "another_slice", "to_review", "none"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
MARKS: tuple[Mark, ...] = get_args(Mark)

_LONGEST_NAME, _LONGEST_NOTE = 80, 4_000


class Entry(NamedTuple):
    """One thing a reviewer did. A changed mind is a later entry; nothing is ever taken out."""

    entry_id: str
    """Made where the reviewer acted: the same act sent twice is one entry."""
    kind: Kind
    """``vote``; ``opened``: from here on the reviewer has seen the others' votes; ``mark``: what a row needs."""
    reviewer: str
    at: str
    """ISO time with its zone."""
    run_id: str
    case_id: str | None = None
    seen_hash: str | None = None
    """Of what the row showed: a vote on another answer is never counted."""
    vote: Choice | None = None
    mark: Mark | None = None
    note: str = ""
    source: Literal["lab", "ballot"] = "lab"

    @property
    def moment(self) -> datetime:
        """When it was made."""
        return datetime.fromisoformat(self.at)

    def to_json(self) -> bytes:
        """Return the entry's line, newline included."""
        fields = {name: value for name, value in self._asdict().items() if value not in (None, "")}
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


class VoteFile(NamedTuple):
    """A file of entries as read."""

    entries: tuple[Entry, ...]
    findings: tuple[str, ...]


def new_entry(kind: Kind, reviewer: str, run_id: str, *, at: datetime | None = None, **fields: Any) -> Entry:
    """Return an entry made now, with an id of its own."""
    moment = (at or datetime.now(UTC)).isoformat()
    return Entry(secrets.token_hex(8), kind, checked_reviewer(reviewer), moment, run_id, **fields)


def checked_reviewer(name: str) -> str:
    """Return a reviewer's name, trimmed.

    Raises
    ------
    EvalkitError
        For a name that is blank, too long, not printable or that of the adjudication.
    """
    trimmed = name.strip()
    if not fold(trimmed) or not trimmed.isprintable() or len(trimmed) > _LONGEST_NAME:
        msg = f"a reviewer needs a name of 1 to {_LONGEST_NAME} printable characters; got {name[:100]!r}"
        raise EvalkitError(msg, do="give a short id such as r1 or anna")
    if fold(trimmed) == ADJUDICATION:
        msg = f"{name!r} is how a settled disagreement is signed, not a reviewer"
        raise EvalkitError(msg, do="give another name")
    return trimmed


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_moment(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


_EXPECTED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "entry_id": (lambda v: isinstance(v, str) and re.fullmatch(r"[0-9a-f]{16}", v) is not None, "16 hex digits"),
    "kind": (lambda v: v in get_args(Kind), "vote, opened or mark"),
    "reviewer": (_is_text, "a non-blank text"),
    "at": (_is_moment, "a time with its zone, such as 2026-11-30T10:00:00+00:00"),
    "run_id": (_is_text, "a non-blank text"),
    "case_id": (_is_text, "a non-blank text"),
    "seen_hash": (lambda v: isinstance(v, str) and v.startswith("sha256:"), 'a hash "sha256:…"'),
    "vote": (lambda v: v in CHOICES, "ship, hold or cannot_tell"),
    "mark": (lambda v: v in MARKS, f"one of {', '.join(MARKS)}"),
    "note": (lambda v: isinstance(v, str) and len(v) <= _LONGEST_NOTE, f"a text of at most {_LONGEST_NOTE} characters"),
    "source": (lambda v: v in ("lab", "ballot"), "lab or ballot"),
}
_ALWAYS = ("entry_id", "kind", "reviewer", "at", "run_id")
_NEEDED = {"vote": ("case_id", "seen_hash", "vote"), "mark": ("case_id", "mark"), "opened": ()}


def read_vote_file(path: Path) -> VoteFile:
    """Read a file of entries, or refuse it with everything that is wrong with it.

    A last line that is cut off was never acknowledged to anybody: it is a finding, not an error, and not counted.

    Raises
    ------
    EvalkitError
        For a line that is no entry, two reviewers in one file, or one id with two contents.
    """
    entries: dict[str, Entry] = {}
    problems: list[str] = []
    findings: list[str] = []
    for line in read_lines(path):
        if not line.raw.strip():
            continue
        try:
            entry = _entry(line)
        except (JsonProblem, EvalkitError) as problem:
            if line.is_cut and isinstance(problem, JsonProblem) and problem.kind == "bad_json":
                findings.append(f"{path.name}: the last line is cut off and was never acknowledged; it is not counted")
            else:
                problems.append(f"line {line.number}: {problem}")
            continue
        if entries.setdefault(entry.entry_id, entry) != entry:
            problems.append(f"line {line.number}: the entry {entry.entry_id} stands here a second time, changed")
    names = sorted({entry.reviewer for entry in entries.values()})
    if len(names) > 1:
        problems.append(f"entries of several reviewers: {example_list([repr(name) for name in names])}")
    if problems:
        msg = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}: {'; '.join(problems[:5])}"
        raise EvalkitError(msg, where=str(path), do="votes are written by the review page or a ballot, not by hand")
    return VoteFile(tuple(entries.values()), tuple(findings))


def _entry(line: Line) -> Entry:
    fields = parse_object(line.raw)
    kind = fields.get("kind")
    for key in (*_ALWAYS, *_NEEDED.get(kind if isinstance(kind, str) else "", ())):
        if key not in fields:
            raise JsonProblem(kind="bad_vote", reason=f"{key} is absent")
    for key, value in fields.items():
        if key not in _EXPECTED:
            raise JsonProblem(kind="bad_vote", reason=f"the key {key!r} is unknown")
        is_right, expected = _EXPECTED[key]
        if not is_right(value):
            raise JsonProblem(kind="bad_vote", reason=f"{key} must be {expected}; got {str(value)[:60]!r}")
    checked_reviewer(fields["reviewer"])
    return Entry(**fields)
