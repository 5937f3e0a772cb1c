"""Cases from JSON Lines, strict and total: each line is blank, a `Case`, or a `BadLine` with its reason."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.identity import DuplicateLines, IdIndex, resolve_ids
from evalkit.cases.lines import Block, Line, lines_of, read_lines, starts_with_bom
from evalkit.cases.proposed import PROPOSED, proposed_problem
from evalkit.cases.shape import NearKeys, shape_problem
from evalkit.cases.strict_json import JsonProblem, parse_object, parse_plain

__all__ = ["BOM_FINDING", "BadLine", "Case", "CaseFile", "LineReader", "read_cases"]

BOM_FINDING = "a byte order mark was removed from the start of the file"


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
            # A file cut inside a character ends in a byte that is no ASCII, which the end of an object always is.
            if is_cut and (problem.kind == "bad_json" or raw[-1] > 0x7F):
                reason = f"the last line is cut off: no newline at its end, and {reason}"
            return BadLine(number, None, reason, problem.kind, _sha(raw))
        return self._item(number, raw, fields)

    def read_block(self, block: Block) -> Iterator[Case | BadLine | None]:
        """Yield what `read` returns for each line of a block; most blocks hold nothing unusual, and go faster so."""
        text = block.raw.replace(b"\r\n", b"\n")
        raws = (text[:-1] if text.endswith(b"\n") else text.removesuffix(b"\r")).split(b"\n")
        parsed = parse_plain(text, raws)
        if parsed is None:
            yield from map(self.read, lines_of(block))
            return
        for number, (raw, fields) in enumerate(zip(raws, parsed, strict=True), block.first):
            yield self._item(number, raw, fields)

    def _item(self, number: int, raw: bytes, fields: dict[str, Any]) -> Case | BadLine:
        case_id = fields.get("case_id")
        if problem_text := shape_problem(fields):
            known_id = case_id if isinstance(case_id, str) and case_id.strip() else None
            return BadLine(number, known_id, problem_text, "bad_case", _sha(raw), *_where(fields))
        assert isinstance(case_id, str)  # noqa: S101 - shape_problem has just refused everything else
        if problem_text := proposed_problem(fields):
            return BadLine(number, case_id, problem_text, PROPOSED, _sha(raw), *_where(fields))
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
        self.findings: list[str] = []

    def __iter__(self) -> Iterator[Case | BadLine]:
        index = IdIndex()
        for line in read_lines(self.path):
            index.add_raw(line.raw)
        resolved = resolve_ids(self.path, index.suspects())
        reader = LineReader(self.required, self.optional, resolved.duplicates)
        self.lines = self.blank = 0
        for line in read_lines(self.path):
            self.lines += 1
            item = reader.read(line)
            if item is None:
                self.blank += 1
            else:
                yield item
        bom = [BOM_FINDING] if starts_with_bom(self.path) else []
        self.findings = [*bom, *resolved.twins, *reader.near.findings()]


def read_cases(path: Path | str) -> Iterator[Case | BadLine]:
    """Read a JSON Lines file of cases: one item for each line that is not blank, in order, nothing lost or guessed."""
    return iter(CaseFile(path))
