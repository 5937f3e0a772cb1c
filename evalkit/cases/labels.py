"""Human labels from JSON Lines: strict and append-only; corrections supersede, doubles are refused, originals kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evalkit.cases.identity import fold
from evalkit.cases.lines import Line, read_lines
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError, example_list, sha256_file, sha256_of

__all__ = ["ADJUDICATION", "Label", "LabelFile", "Provenance", "Selection", "current_labels", "read_labels"]

Selection = Literal["random", "targeted", "unknown"]
Provenance = Literal["production", "synthetic", "model"]

ADJUDICATION = "adjudication"
"""The reviewer whose label settles a disagreement of the others."""


class Label(NamedTuple):
    """What one reviewer said of one case under one criterion and one rubric version."""

    line: int
    """Physical line, counted from 1."""
    case_id: str
    label: str | int | float
    """Categorical, also where it is written as a number."""
    reviewer: str
    criterion: str = "default"
    rubric_version: str | None = None
    reason: str = ""
    labelled_on: str | None = None
    blind: bool | None = None
    """Whether the reviewer saw neither the score nor other labels; ``None`` where nobody wrote it down."""
    confidence: str | float | None = None
    seen_hash: str | None = None
    """Of question, answer and passages as shown; a label whose hash no longer fits its case is stale."""
    selection: Selection = "unknown"
    """How the *case* was chosen. Only ``random`` says something about the cases nobody labelled."""
    provenance: Provenance = "production"
    """``synthetic``: authored with the example. ``model``: written by a model. Neither speaks for people."""
    supersedes: int | str | None = None
    """The line, or the hash (`label_hash`), of the earlier label that this one corrects."""
    label_hash: str = ""
    """SHA-256 of the label's own fields."""

    @property
    def key(self) -> tuple[str, str, str, str | None]:
        """What may have one current label only: case, criterion, reviewer, rubric version."""
        return (self.case_id, self.criterion, self.reviewer, self.rubric_version)


class LabelFile(NamedTuple):
    """A file of labels as read."""

    path: Path
    sha256: str
    labels: tuple[Label, ...]
    """All of them, in file order, superseded ones included."""
    lines: int
    blank: int
    findings: tuple[str, ...]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_confidence(value: object) -> bool:
    return value is None or _is_text(value) or (_is_number(value) and 0 <= value <= 1)  # type: ignore[operator]


def _is_date(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value) is not None
    except ValueError:
        return False


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and value.startswith("sha256:") and len(value) >= 19


def _or_null(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


def _word(*allowed: str) -> tuple[Callable[[object], bool], str]:
    return (lambda value: value in allowed, f"one of {', '.join(allowed)}")


_REQUIRED = ("case_id", "reviewer", "label")
_EXPECTED: dict[str, tuple[Callable[[object], bool], str]] = {
    "case_id": (_is_text, "a non-blank text"),
    "reviewer": (_is_text, f"a non-blank text (an id, not a name; {ADJUDICATION!r} settles a disagreement)"),
    "label": (lambda value: _is_text(value) or _is_number(value), 'a non-blank text such as "pass", or a number'),
    "criterion": (_is_text, "a non-blank text (leave it out where there is only one)"),
    "rubric_version": (_or_null(_is_text), "a non-blank text or null"),
    "reason": (lambda value: isinstance(value, str), "a text"),
    "labelled_on": (_or_null(_is_date), 'a date such as "2026-11-30", or null'),
    "blind": (_or_null(lambda value: isinstance(value, bool)), "true, false or null"),
    "confidence": (_is_confidence, "a number in 0..1, a word, or null"),
    "seen_hash": (_or_null(_is_hash), 'a hash "sha256:…", or null'),
    "selection": _word("random", "targeted", "unknown"),
    "provenance": _word("production", "synthetic", "model"),
    "supersedes": (
        _or_null(lambda value: _is_hash(value) or (isinstance(value, int) and not isinstance(value, bool))),
        'the line number of the label it corrects, or that label\'s hash "sha256:…"',
    ),
}


def read_labels(path: Path | str) -> LabelFile:
    r"""Read a file of labels, or refuse it with everything that is wrong with it.

    A certificate or a gate may rest on these lines, so none is skipped: a file with a line that cannot be read, or with
    two current labels of one reviewer for one case, is refused as a whole, naming the lines.

    Raises
    ------
    EvalkitError
        At most five problems are spelt out; the rest is counted.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labels.jsonl"
    >>> _ = path.write_text('{"case_id": "c1", "reviewer": "r1", "label": "pass"}\n'
    ...                     '{"case_id": "c1", "reviewer": "r1", "label": "fail", "supersedes": 1}\n')
    >>> [(label.label, label.supersedes) for label in read_labels(path).labels]
    [('pass', None), ('fail', 1)]
    """
    path = Path(path)
    labels: list[Label] = []
    problems: list[str] = []
    lines = blank = 0
    for line in read_lines(path):
        lines += 1
        if not line.raw.strip():
            blank += 1
            continue
        try:
            labels.append(_label(line))
        except JsonProblem as problem:
            cut = "the last line is cut off, " if line.is_cut and problem.kind == "bad_json" else ""
            problems.append(f"line {line.number}: {cut}{problem.reason}")
    problems += _supersession_problems(labels) or _double_problems(labels)
    if problems:
        msg = f"{len(problems)} problem{'s' if len(problems) > 1 else ''} in {len(labels)} labels: "
        do = 'correct the lines; a changed mind is a new line with "supersedes"'
        if path.suffix.lower() == ".csv":
            do = f"labels are JSON Lines: evalkit labels import {path.name} --map MAP --out labels.jsonl makes them"
        raise EvalkitError(msg + example_list(problems).replace(", line", "; line"), where=str(path), do=do)
    return LabelFile(path, sha256_file(path), tuple(labels), lines, blank, tuple(_twins(labels)))


def _label(line: Line) -> Label:
    fields = parse_object(line.raw)
    for key in _REQUIRED:
        if key not in fields:
            msg = f"{key} is absent{_near_hint(key, fields)}"
            raise JsonProblem(kind="bad_label", reason=msg)
    for key in fields.keys() & _EXPECTED.keys():
        is_right, expected = _EXPECTED[key]
        if not is_right(fields[key]):
            msg = f"{key} must be {expected}; got {str(fields[key])[:60]!r}"
            raise JsonProblem(kind="bad_label", reason=msg)
    for key in fields.keys() - _EXPECTED.keys():
        if near := _near(key, _EXPECTED.keys() - fields.keys()):
            msg = f"the unknown key {key!r} is one slip away from {near!r}: rename it"
            raise JsonProblem(kind="bad_label", reason=msg)
    known = {key: fields[key] for key in _EXPECTED if key in fields}
    return Label(line.number, **known, label_hash=sha256_of(fields))


def _near_hint(wanted: str, fields: Mapping[str, Any]) -> str:
    near = next((key for key in fields if _near(key, {wanted})), None)
    return f"; {near!r} is one slip away: rename it" if near else ""


def _near(key: str, known: Iterable[str]) -> str | None:
    from rapidfuzz.distance import OSA

    plain = key.casefold().replace("-", "_").replace(" ", "_").strip("_")
    return next((name for name in sorted(known) if OSA.distance(plain, name, score_cutoff=1) <= 1), None)


def _target(label: Label, earlier: Mapping[int, Label]) -> Label | None:
    """Return the earlier label that `label` corrects, or ``None`` where there is none like that."""
    if isinstance(label.supersedes, int):
        return earlier.get(label.supersedes)
    wanted = str(label.supersedes)
    return next((other for other in earlier.values() if other.label_hash.startswith(wanted)), None)


def _supersession_problems(labels: Iterable[Label]) -> list[str]:
    problems: list[str] = []
    earlier: dict[int, Label] = {}
    corrected: dict[int, int] = {}
    for label in labels:
        if label.supersedes is not None:
            found = _target(label, earlier)
            if found is None:
                problems.append(f"line {label.line} supersedes {label.supersedes!r}, but no earlier label is there")
            elif found.key[:3] != label.key[:3]:
                problems.append(
                    f"line {label.line} supersedes line {found.line}, which is of another case, criterion or reviewer: "
                    f"{' / '.join(found.key[:3])}"
                )
            elif found.line in corrected:
                problems.append(f"line {label.line} and line {corrected[found.line]} both supersede line {found.line}")
            else:
                corrected[found.line] = label.line
        earlier[label.line] = label
    return problems


def current_labels(labels: Iterable[Label]) -> Iterator[Label]:
    """Yield the labels that no later one supersedes, in file order."""
    labels = tuple(labels)
    earlier: dict[int, Label] = {}
    superseded: set[int] = set()
    for label in labels:
        if label.supersedes is not None and (found := _target(label, earlier)) is not None:
            superseded.add(found.line)
        earlier[label.line] = label
    return (label for label in labels if label.line not in superseded)


def _double_problems(labels: Iterable[Label]) -> list[str]:
    first: dict[tuple[str, str, str, str | None], Label] = {}
    problems: list[str] = []
    for label in current_labels(labels):
        other = first.setdefault(label.key, label)
        if other is not label:
            problems.append(
                f"line {other.line} and line {label.line} are two labels of case {label.case_id!r} by reviewer "
                f"{label.reviewer!r}, criterion {label.criterion!r}: {other.label!r} and {label.label!r}"
            )
    return problems


def _twins(labels: Iterable[Label]) -> Iterator[str]:
    """Name reviewers that people would take for one: two spellings would count as two independent opinions."""
    seen: dict[str, set[str]] = {}
    for label in labels:
        seen.setdefault(fold(label.reviewer), set()).add(label.reviewer)
    for group in seen.values():
        if len(group) > 1:
            yield f"reviewers that look alike but are different: {example_list([repr(name) for name in sorted(group)])}"
