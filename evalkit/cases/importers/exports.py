"""Records of an export, whatever file it is: CSV, JSON Lines, or one JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.adapters.paths import look_up
from evalkit.cases.importers.maps import LabelMap, Source
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.cases.tables import read_table, table_format
from evalkit.cases.traces.json_text import json_value
from evalkit.contract import EvalkitError, canonical_json

__all__ = ["ExportRecord", "read_export", "written_form"]


class ExportRecord(NamedTuple):
    """One record of an export."""

    where: str
    data: Mapping[str, Any]
    is_row: bool
    """Whether it is a row of a table, whose columns are named and not walked into."""
    problem: str | None = None

    def get(self, source: Source) -> Any:
        """Return what a source names in this record; ``None`` where nothing stands there (blank cells included)."""
        if source.value is not None:
            return source.value
        for name in source.columns:
            value = self.data.get(name) if self.is_row else look_up(self.data, name).value
            if value is not None and not (isinstance(value, str) and not value.strip()):
                return value
        return None


def written_form(value: Any) -> str:
    """Return a value as the table of values lists it: JSON's own form for what is no text.

    >>> written_form("TRUE"), written_form(True), written_form(4), written_form(" pass ")
    ('TRUE', 'true', '4', 'pass')
    """
    return value.strip() if isinstance(value, str) else canonical_json(value).decode()


def read_export(path: Path, label_map: LabelMap) -> Iterator[ExportRecord]:
    """Read every record of an export, in its order.

    Raises
    ------
    EvalkitError
        Where the file is none of these formats, or a column that the map names is not in the table.
    """
    if path.suffix.lower() in (".csv", ".tsv", ".txt"):
        yield from _rows(path, label_map)
    else:
        yield from _documents(path, label_map)


def _rows(path: Path, label_map: LabelMap) -> Iterator[ExportRecord]:
    form = table_format(path, encoding=label_map.encoding, delimiter=label_map.delimiter)
    for name, source in label_map.sources.items():
        if source.columns and not any(column in form.columns for column in source.columns):
            if label_map.preset and name not in ("case_id", "label"):
                continue  # a preset names more than each export of its tool holds
            msg = f"has no column {' or '.join(map(repr, source.columns))}, which the map names for {name}"
            raise EvalkitError(msg, where=str(path), do=f"its columns are {', '.join(map(repr, form.columns))}")
    for row in read_table(path, form):
        yield ExportRecord(f"line {row.line}", row.cells, True, row.problem)


def _documents(path: Path, label_map: LabelMap) -> Iterator[ExportRecord]:
    try:
        raw = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        msg = f"cannot be read ({error.strerror or error})"
        raise EvalkitError(msg, where=str(path), do="give the path of an export (.csv, .json, .jsonl)") from error
    lines = raw.split(b"\n")
    if _is_object(next((line for line in lines if line.strip()), b"")):
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield from _line(f"line {number}", line, label_map)
        return
    try:
        document = json_value(raw.decode("utf-8"))
    except (JsonProblem, UnicodeDecodeError) as problem:
        msg = f"is neither JSON, nor one JSON object a line: {problem}"
        raise EvalkitError(msg, where=str(path), do="export it again, or save it as .csv") from None
    for number, record in enumerate(_records(document, label_map), start=1):
        yield _record(f"record {number}", record)


def _is_object(line: bytes) -> bool:
    try:
        parse_object(line)
    except JsonProblem:
        return False
    return True


def _line(where: str, line: bytes, label_map: LabelMap) -> Iterator[ExportRecord]:
    try:
        document = parse_object(line)
    except JsonProblem as problem:
        yield ExportRecord(where, {}, False, problem.reason)
        return
    records = _records(document, label_map)
    for number, record in enumerate(records, start=1):
        yield _record(where if len(records) == 1 else f"{where}, record {number}", record)


def _records(document: Any, label_map: LabelMap) -> list[Any]:
    for path in label_map.records:
        if not path:
            return [document]
        if path.startswith("[") and not isinstance(document, list):
            continue  # the fields of one record are not records
        found = look_up(document, path)
        if isinstance(found.value, list) and any(item is not None for item in found.value):
            return [item for item in found.value if item is not None]
    return [] if isinstance(document, list | dict) and not document else [document]


def _record(where: str, record: Any) -> ExportRecord:
    if isinstance(record, Mapping):
        return ExportRecord(where, record, False)
    return ExportRecord(where, {}, False, f"an object was expected; got {type(record).__name__}")
