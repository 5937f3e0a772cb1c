"""Cases from JSON Lines, strict and total: each line is blank, a `Case`, or a `BadLine` with its reason."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.identity import DuplicateLines, IdIndex, resolve_ids
from evalkit.cases.shape import NearKeys, shape_problem
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError

__all__ = ["BadLine", "Case", "CaseFile", "Line", "LineReader", "read_cases", "read_lines"]

_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 20


class Case(NamedTuple):
    """One well-formed evaluation row, before any metric has looked at it."""

    line: int
    """Physical line, counted from 1."""
    case_id: str
    slice: str
    blocking: bool
    fields: dict[str, Any]
    """The whole object as read; unknown keys are kept."""


class BadLine(NamedTuple):
    """A line that gives no case; it becomes one ``invalid`` record."""

    line: int
    case_id: str | None
    reason: str
    error_kind: str
    sha256: str
    """Of the line's bytes: what was there can be recognised, and nothing unread is written anywhere."""
    slice: str = "default"
    blocking: bool = True
    """A line that cannot be read is blocking: nobody reviewed it as harmless."""


class Line(NamedTuple):
    """One physical line without its line ending."""

    number: int
    raw: bytes
    is_cut: bool
    """True for a last line that does not end in a newline."""


def read_lines(path: Path, *, on_bom: Callable[[], None] = lambda: None) -> Iterator[Line]:
    """Split a file on LF (and nothing else: U+2028 and U+0085 belong to texts), dropping one CR a line and one BOM."""
    try:
        stream = path.open("rb")
    except OSError as error:
        msg = f"cannot be read ({error.strerror or error})"
        raise EvalkitError(msg, where=str(path), do="give the path of a .jsonl file or of a run folder") from error
    with stream:
        rest = stream.read(len(_BOM))
        if rest == _BOM:
            on_bom()
            rest = b""
        number = 0
        while block := stream.read(_BLOCK):
            parts = (rest + block).split(b"\n")
            rest = parts.pop()
            for part in parts:
                number += 1
                yield Line(number, part[:-1] if part.endswith(b"\r") else part, False)
        if b"\n" in rest:  # a file of three bytes or fewer
            *parts, rest = rest.split(b"\n")
            for part in parts:
                number += 1
                yield Line(number, part.removesuffix(b"\r"), False)
        if rest:
            yield Line(number + 1, rest.removesuffix(b"\r"), True)


class LineReader:
    """Turns physical lines into cases; knows which inputs the metric needs, and which case ids occur twice.

    Parameters
    ----------
    required, optional : tuple of str
        Top-level keys that feed the metric.
    duplicates : mapping, optional
        Case ids that occur on several lines, with those lines; all of them are invalid.
    """

    def __init__(
        self,
        required: tuple[str, ...] = (),
        optional: tuple[str, ...] = (),
        duplicates: Mapping[str, DuplicateLines] | None = None,
    ) -> None:
        self.near = NearKeys(required, optional)
        self.duplicates = duplicates or {}

    def read(self, line: Line) -> Case | BadLine | None:
        """Return the line's case, what is wrong with it, or ``None`` for a blank line."""
        number, raw, is_cut = line
        try:
            fields = parse_object(raw)
        except JsonProblem as problem:
            if not raw.strip():
                return None
            reason = problem.reason
            if is_cut and problem.kind == "bad_json":
                reason = f"the last line is cut off: no newline at its end, and {reason}"
            return BadLine(number, None, reason, problem.kind, _sha(raw))
        case_id = fields.get("case_id")
        if problem_text := shape_problem(fields):
            known_id = case_id if isinstance(case_id, str) and case_id.strip() else None
            return BadLine(number, known_id, problem_text, "bad_case", _sha(raw), *_where(fields))
        assert isinstance(case_id, str)  # noqa: S101 - shape_problem has just refused everything else
        if case_id in self.duplicates:
            others = self.duplicates[case_id].others(number)
            reason = f"case_id {case_id!r} occurs more than once: also on line {others}"
            return BadLine(number, case_id, reason, "duplicate_case_id", _sha(raw), *_where(fields))
        if problem_text := self.near.problem(fields):
            return BadLine(number, case_id, problem_text, "misspelt_key", _sha(raw), *_where(fields))
        return Case(number, case_id, fields.get("slice", "default"), fields.get("blocking", True), fields)


def _where(fields: Mapping[str, Any]) -> tuple[str, bool]:
    """Slice and blocking flag of a bad line, as far as they can be read."""
    name, blocking = fields.get("slice", "default"), fields.get("blocking", True)
    return (name if isinstance(name, str) and name.strip() else "default", blocking is not False)


def _sha(raw: bytes) -> str:
    return "sha256:" + hashlib.sha256(raw).hexdigest()


class CaseFile:
    r"""A file of cases, read as often as it is iterated; counts and findings are those of the last pass.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "cases.jsonl"
    >>> _ = path.write_text('{"case_id": "a"}\n\n{"case_id": "b", "slice": 3}\n')
    >>> file = CaseFile(path)
    >>> [type(item).__name__ for item in file], file.lines, file.blank
    (['Case', 'BadLine'], 3, 1)
    """

    def __init__(self, path: Path | str, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()) -> None:
        self.path = Path(path)
        self.required = required
        self.optional = optional
        self.lines = 0
        self.blank = 0
        self.has_bom = False
        self.findings: list[str] = []

    def __iter__(self) -> Iterator[Case | BadLine]:
        index = IdIndex()
        for line in read_lines(self.path):
            index.add_raw(line.raw)
        resolved = resolve_ids(self.path, index.suspects(), read_lines)
        reader = LineReader(self.required, self.optional, resolved.duplicates)
        self.lines = self.blank = 0
        for line in read_lines(self.path, on_bom=self._note_bom):
            self.lines += 1
            item = reader.read(line)
            if item is None:
                self.blank += 1
            else:
                yield item
        bom = ["a byte order mark was removed from the start of the file"] if self.has_bom else []
        self.findings = [*bom, *resolved.twins, *reader.near.findings()]

    def _note_bom(self) -> None:
        self.has_bom = True


def read_cases(path: Path | str) -> Iterator[Case | BadLine]:
    """Read a JSON Lines file of cases: one item for each line that is not blank, in order, nothing lost or guessed."""
    return iter(CaseFile(path))
