"""From an export to labels: every record ends as a label, as a named reason why it is none, or as a problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from evalkit.cases.importers.exports import ExportRecord, written_form
from evalkit.cases.importers.maps import LabelMap, Source
from evalkit.cases.seen import SEEN, seen_hash
from evalkit.contract import sha256_of

__all__ = ["Imported", "convert"]

_NONE = Source()


@dataclass(slots=True)
class Imported:
    """What an export came to; nothing has been written yet."""

    labels: list[dict[str, Any]] = field(default_factory=list)
    """As lines of a label file, in the order of the export."""
    records: int = 0
    written: Counter[str] = field(default_factory=Counter)
    """How often each value was written."""
    unmapped: Counter[str] = field(default_factory=Counter)
    """Written values that the table does not list."""
    blank: list[str] = field(default_factory=list)
    """Records without a value: nobody labelled them."""
    no_label: Counter[str] = field(default_factory=Counter)
    other_criteria: Counter[str] = field(default_factory=Counter)
    models: int = 0
    """Labels that a model or a program wrote."""
    unmatched: list[str] = field(default_factory=list)
    """Case ids that no case has."""
    unlabelled_cases: int = 0
    bound: int = 0
    """Labels with the hash of what was shown."""
    stale: int = 0
    """Of the bound ones: what was shown is not what the case shows now."""
    doubles: list[str] = field(default_factory=list)
    superseding: int = 0
    problems: list[str] = field(default_factory=list)


def convert(
    records: Iterable[ExportRecord],
    label_map: LabelMap,
    *,
    cases: Mapping[str, Mapping[str, Any]] | None = None,
    spans: Mapping[str, str] | None = None,
    first_line: int = 1,
) -> Imported:
    """Convert the records of an export under a map.

    Parameters
    ----------
    records : iterable of ExportRecord
    label_map : LabelMap
    cases : mapping of case id to evidence, optional
        The cases that were labelled: ids are held against them, and what was shown against their evidence.
    spans : mapping of span id to trace id, optional
        For exports that label spans.
    first_line : int
        Of the label file, where the first label will stand: a label may supersede an earlier line.
    """
    found = Imported()
    seen: dict[tuple[str, str, str], tuple[int, str]] = {}
    for record in records:
        found.records += 1
        label = _label(record, label_map, found, spans or {})
        if label is None:
            continue
        _bind(record, label_map, label, cases, found)
        key = (label["case_id"], label.get("criterion", "default"), label["reviewer"])
        line = first_line + len(found.labels)
        if key in seen:
            _double(label, seen[key], record, label_map, found)
        seen[key] = (line, record.where)
        found.labels.append(label)
    if cases is not None:
        known = {label["case_id"] for label in found.labels}
        found.unmatched = sorted(known - cases.keys())
        found.unlabelled_cases = len(cases.keys() - known)
    return found


def _label(
    record: ExportRecord, label_map: LabelMap, found: Imported, spans: Mapping[str, str]
) -> dict[str, Any] | None:
    if record.problem:
        found.problems.append(f"{record.where}: {record.problem}")
        return None

    def get(name: str) -> Any:
        return record.get(label_map.sources.get(name, _NONE))

    criterion = None if (value := get("criterion")) is None else written_form(value)
    if label_map.criteria and criterion not in label_map.criteria:
        found.other_criteria[str(criterion)] += 1
        return None
    value = _value(record, get("label"), label_map, found)
    provenance = _meaning(record, "provenance", label_map, found)
    case_id, reviewer = get("case_id"), get("reviewer")
    if reviewer is None and provenance == "model":
        reviewer = "model"
    if value is None:
        return None
    if case_id is None or reviewer is None:
        found.problems.append(f"{record.where}: {'case_id' if case_id is None else 'reviewer'} is blank")
        return None
    found.models += provenance == "model"
    label = {"case_id": spans.get(written_form(case_id), written_form(case_id)), "reviewer": written_form(reviewer)}
    return label | _rest(record, label_map, found, value, criterion, provenance)


def _rest(
    record: ExportRecord,
    label_map: LabelMap,
    found: Imported,
    value: Any,
    criterion: str | None,
    provenance: str | None,
) -> dict[str, Any]:
    rest: dict[str, Any] = {"label": value}
    reason = record.get(label_map.sources.get("reason", _NONE))
    optional = {
        "criterion": criterion,
        "reason": None if reason is None else str(reason),
        "rubric_version": _text(record.get(label_map.sources.get("rubric_version", _NONE))),
        "labelled_on": _date(record, label_map, found),
        "confidence": record.get(label_map.sources.get("confidence", _NONE)),
        "blind": label_map.blind,
        "selection": label_map.selection,
        "provenance": provenance,
    }
    return rest | {name: kept for name, kept in optional.items() if kept is not None}


def _text(value: Any) -> str | None:
    return None if value is None else written_form(value)


def _value(record: ExportRecord, raw: Any, label_map: LabelMap, found: Imported) -> str | int | float | None:
    if raw is None:
        found.blank.append(record.where)
        return None
    written = written_form(raw)
    found.written[written] += 1
    if written in label_map.no_label:
        found.no_label[written] += 1
        return None
    if written in label_map.values:
        return label_map.values[written]
    if label_map.keep_values:
        return written
    found.unmapped[written] += 1
    return None


def _meaning(record: ExportRecord, name: str, label_map: LabelMap, found: Imported) -> str | None:
    source = label_map.sources.get(name, _NONE)
    written = _text(record.get(source))
    if written is None or not source.values:
        return written
    if written not in source.values:
        found.problems.append(f"{record.where}: {name} {written!r} is none of {', '.join(source.values)}")
    return source.values.get(written)


def _date(record: ExportRecord, label_map: LabelMap, found: Imported) -> str | None:
    raw = record.get(label_map.sources.get("labelled_on", _NONE))
    if raw is None:
        return None
    written = written_form(raw)
    try:
        if label_map.date_format == "epoch_ms":
            return datetime.fromtimestamp(int(written) / 1000, UTC).isoformat()
        if label_map.date_format:
            return datetime.strptime(written, label_map.date_format).date().isoformat()  # noqa: DTZ007 - a day as written
        day = datetime.fromisoformat(written)
        return day.isoformat() if len(written) > 10 else day.date().isoformat()
    except (ValueError, OverflowError):
        expected = label_map.date_format or "an ISO date"
        found.problems.append(f"{record.where}: labelled_on {written!r} is not {expected}")
        return None


def _bind(
    record: ExportRecord,
    label_map: LabelMap,
    label: dict[str, Any],
    cases: Mapping[str, Mapping[str, Any]] | None,
    found: Imported,
) -> None:
    """Fill ``seen_hash`` where the export holds what the reviewer was shown."""
    shown = {part: record.get(label_map.sources[part]) for part in SEEN if part in label_map.sources}
    shown = {part: value for part, value in shown.items() if value is not None}
    if not shown:
        return
    evidence = (cases or {}).get(label["case_id"])
    if evidence is None:
        if shown.keys() == set(SEEN) and not record.is_row:
            label["seen_hash"] = sha256_of(shown)
            found.bound += 1
        return
    found.bound += 1
    if all(_same(value, evidence.get(part)) for part, value in shown.items()):
        label["seen_hash"] = seen_hash(evidence)
    else:  # another answer was shown: the label is kept, and counts as stale
        label["seen_hash"] = sha256_of(shown)
        found.stale += 1


def _same(shown: Any, now: Any) -> bool:
    if isinstance(now, list):
        texts = [item.get("text") if isinstance(item, Mapping) else item for item in now]
        if not isinstance(shown, list):
            return all(isinstance(text, str) and _folded(text) in _folded(str(shown)) for text in texts)
        given = [item.get("text") if isinstance(item, Mapping) else item for item in shown]
        return [_folded(str(text)) for text in given] == [_folded(str(text)) for text in texts]
    return isinstance(now, str) and _folded(str(shown)) == _folded(now)


def _folded(text: str) -> str:
    """Line ends and outer white space are the spreadsheet's, not the answer's."""
    return text.replace("\r\n", "\n").strip()


def _double(
    label: dict[str, Any], first: tuple[int, str], record: ExportRecord, label_map: LabelMap, found: Imported
) -> None:
    line, where = first
    if label_map.doubles == "supersede":
        label["supersedes"] = line
        found.superseding += 1
        return
    key = f"{label['case_id']!r}, criterion {label.get('criterion', 'default')!r}, reviewer {label['reviewer']!r}"
    found.doubles.append(f"{where} and {record.where}: {key}")
