"""Why a decision and people's label differ: a reviewed file of causes, and who owns the earliest faulty boundary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.lines import read_lines
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError, Owner, example_list
from evalkit.scoring.records import Record

__all__ = ["CAUSES", "Cause", "Classified", "draft_line", "earliest", "read_causes", "still_fits"]


class Cause(NamedTuple):
    """One boundary at which a row can go wrong."""

    owner: Owner
    meaning: str


CAUSES: Mapping[str, Cause] = {
    "out_of_scope": Cause("policy", "the row is none of those that the judge is certified for"),
    "gold_defect": Cause("test-data", "people's label is wrong"),
    "rubric_ambiguity": Cause("rubric", "two careful readers of the rubric label the row differently"),
    "missing_evidence": Cause("test-data", "people knew something that the judge was not shown"),
    "prompt_gap": Cause("judge", "the rubric says it and the prompt does not"),
    "provider_failure": Cause("provider", "the reply was cut, filtered or came from another model"),
    "evaluator_reasoning": Cause("judge", "the prompt says it, the evidence is there, and the judge erred"),
    "parser_defect": Cause("judge", "the reply says one thing and was read as another"),
}
"""The eight causes, in the order in which a row passes their boundaries: the first faulty one is to be mended."""

_FIELDS = ("case_id", "verdict", "label", "seen_hash", "cause", "reason", "reviewer", "classified_on")
_OPEN_DO = f"the causes are {', '.join(CAUSES)}"


class Classified(NamedTuple):
    """What a reviewer says of one disagreement."""

    line: int
    case_id: str
    verdict: str
    """The value that was given; another one is another disagreement."""
    label: str
    """What people said."""
    seen_hash: str | None
    """Of what the row showed."""
    cause: str | None
    """``None`` while nobody has decided."""
    reason: str
    reviewer: str
    classified_on: str | None

    @property
    def is_open(self) -> bool:
        """Whether it is still a draft."""
        return self.cause is None


def read_causes(path: Path | str) -> tuple[Classified, ...]:
    """Read a file of causes, or refuse it with everything that is wrong with it.

    A line whose ``cause`` is null is a draft, as `draft_line` writes it: the disagreement stays unclassified. A row may
    have several lines with different causes; the earliest boundary is then its owner's.

    Raises
    ------
    EvalkitError
        For a line that cannot be read, an unknown cause, a cause without a reviewer or a reason, or a cause that is
        given twice for one case.
    """
    path = Path(path)
    found: list[Classified] = []
    problems: list[str] = []
    for line in read_lines(path):
        if not line.raw.strip():
            continue
        try:
            found.append(_classified(line.number, parse_object(line.raw)))
        except JsonProblem as problem:
            problems.append(f"line {line.number}: {problem.reason}")
    problems += _doubles(found)
    if problems:
        msg = f"{len(problems)} problems in {len(found)} classified rows: {example_list(problems)}"
        raise EvalkitError(msg, where=str(path), do=_OPEN_DO)
    return tuple(found)


def _doubles(found: Iterable[Classified]) -> Iterator[str]:
    seen: dict[tuple[str, str], int] = {}
    for entry in found:
        if entry.cause and (first := seen.setdefault((entry.case_id, entry.cause), entry.line)) != entry.line:
            yield f"line {first} and line {entry.line} both give {entry.case_id!r} the cause {entry.cause!r}"


def _classified(number: int, fields: Mapping[str, Any]) -> Classified:
    known = {name: fields.get(name) for name in _FIELDS}
    if problem := _problem(known) or _unknown(fields):
        raise JsonProblem(kind="bad_cause", reason=problem)
    texts = {name: known[name] or "" for name in ("reason", "reviewer")}
    words = {name: str(known[name]) for name in ("verdict", "label")}
    return Classified(number, **known | texts | words)


def _unknown(fields: Mapping[str, Any]) -> str | None:
    strangers = sorted(fields.keys() - set(_FIELDS))
    return f"the key {strangers[0]!r} is unknown; known here: {', '.join(_FIELDS)}" if strangers else None


def _problem(known: Mapping[str, Any]) -> str | None:
    for name in ("case_id", "verdict", "label"):
        value = known[name]
        if not (isinstance(value, str) and value.strip()) and not (name != "case_id" and _is_number(value)):
            return f"{name} must be a non-blank text; got {value!r}"
    for name in ("seen_hash", "reason", "reviewer", "classified_on", "cause"):
        if not isinstance(known[name], str | None):
            return f"{name} must be a text or null; got {known[name]!r}"
    if known["cause"] is None:
        return None
    if known["cause"] not in CAUSES:
        return f"cause must be one of the eight; got {known['cause']!r}"
    for name in ("reason", "reviewer"):
        if not (known[name] or "").strip():
            return f"{name} is absent: a cause is somebody's judgement, and says why"
    return _day_problem(known["classified_on"])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _day_problem(text: str | None) -> str | None:
    try:
        date.fromisoformat(text or "2026-01-01")
    except ValueError:
        return f'classified_on must be a date such as "2026-11-30", or null; got {text!r}'
    return None


def still_fits(entry: Classified, record: Record, label: str) -> bool:
    """Tell whether a line speaks of this very disagreement: the same verdict, label and evidence."""
    is_same = entry.verdict == str(record.value) and entry.label == label
    return is_same and entry.seen_hash == record.seen_hash


def earliest(causes: Iterable[str]) -> str | None:
    """Return the cause whose boundary a row passes first.

    >>> earliest(["evaluator_reasoning", "rubric_ambiguity"])
    'rubric_ambiguity'
    """
    given = set(causes)
    return next((cause for cause in CAUSES if cause in given), None)


def draft_line(record: Record, label: str) -> dict[str, Any]:
    """Return the line of a disagreement, ready for a reviewer to fill in."""
    return {
        "case_id": record.case_id, "verdict": record.value, "label": label, "seen_hash": record.seen_hash,
        "cause": None, "reason": "", "reviewer": "", "classified_on": None,
    }  # fmt: skip
