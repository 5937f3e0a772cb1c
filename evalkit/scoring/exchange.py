"""Records handed to other tools and taken back whole: pandas frames, and CSV that no spreadsheet runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from evalkit.cases.tables import read_table, table_bytes, table_format, unguarded
from evalkit.contract import EvalkitError, example_list
from evalkit.scoring.records import Record
from evalkit.scoring.run import write_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_records_csv", "records_frame", "records_of_frame", "write_records_csv"]

_OBJECTS = ("detail", "inputs", "evidence", "lineage", "judge")
_DTYPES: Mapping[str, str] = {"line": "Int64", "blocking": "boolean", "minimum": "Float64"}
_NEVER_MISSING = ("slice", "state", "reason", "input_hash", "contract_version")
"""Texts that are always there, so that an empty cell is an empty text; of other texts it is a missing one."""
_KIND = "value_kind"
_COLUMNS = (*Record._fields[:8], _KIND, *Record._fields[8:])


def records_frame(records: Iterable[Record]) -> pd.DataFrame:
    """Return records as a frame with a column for each field; `records_of_frame` is its inverse.

    Numbers and flags are nullable, so a row without a score has NA and its state beside it; ``detail, inputs,
    evidence, lineage, judge`` hold objects. Nothing is left out and nothing is averaged.
    """
    import pandas as pd

    rows = list(records)
    columns: dict[str, Any] = {}
    for place, name in enumerate(Record._fields):
        values: list[Any] = [row[place] for row in rows]
        if name in _OBJECTS:
            columns[name] = pd.Series(values, dtype="object")
        elif name == "value":
            columns[name] = _value_column(values)
        else:
            columns[name] = pd.Series(values, dtype=_DTYPES.get(name, "string"))
    return pd.DataFrame(columns)


def _value_column(values: Sequence[Any]) -> Any:
    import pandas as pd

    kinds = {type(value) for value in values if value is not None}
    for kind, dtype in ((float, "Float64"), (int, "Int64"), (str, "string")):
        if kinds <= {kind}:
            return pd.Series(values, dtype=dtype)
    return pd.Series([pd.NA if value is None else value for value in values], dtype="object")


def records_of_frame(frame: pd.DataFrame) -> list[Record]:
    """Return the records of a frame made by `records_frame`; rows may have been filtered and reordered.

    Raises
    ------
    EvalkitError
        Where a column is absent, or a row is no record any more (a score without the state *scored*, for example).
    """
    _check_columns(list(map(str, frame.columns)), Record._fields, where="the frame")
    fields = [{name: _plain(row[name]) for name in Record._fields} for row in frame.to_dict("records")]
    return [_record(found, where=f"the frame, row {place}") for place, found in enumerate(fields)]


def _plain(value: Any) -> Any:
    import pandas as pd

    if isinstance(value, dict | list | str) or value is None:
        return value
    if value is pd.NA or (isinstance(value, float) and value != value):
        return None
    return value.item() if hasattr(value, "item") else value


def write_records_csv(path: Path | str, records: Iterable[Record]) -> None:
    """Write records as CSV for a spreadsheet; `read_records_csv` gives them back as they were.

    A cell that a spreadsheet would run as a formula gets an apostrophe in front. Objects are written as JSON;
    ``value_kind`` says whether a value is a number, a label or a ranking; an empty cell is a missing value.
    """
    write_whole(Path(path), table_bytes(_COLUMNS, map(_cells, records)))


def _cells(record: Record) -> dict[str, str]:
    cells = {name: _cell(name, value) for name, value in record._asdict().items()}
    value = record.value
    kind = "label" if isinstance(value, str) else "ranking" if isinstance(value, list) else "number"
    kind = "" if value is None else kind
    return cells | {_KIND: kind}


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) and name not in _OBJECTS else orjson.dumps(value).decode()


def read_records_csv(path: Path | str) -> list[Record]:
    """Read records written by `write_records_csv`, also after a spreadsheet has saved them again.

    Raises
    ------
    EvalkitError
        Where a column is absent, or a row is no record any more, with its line.
    """
    path = Path(path)
    found = table_format(path)
    _check_columns(found.columns, _COLUMNS, where=str(path))
    records = []
    for row in read_table(path, found):
        where = f"{path}, line {row.line}"
        if row.problem:
            raise EvalkitError(row.problem, where=where, do="write the file again with write_records_csv")
        cells = {name: unguarded(cell) for name, cell in row.cells.items()}
        records.append(_record({name: _value(name, cells, where) for name in Record._fields}, where))
    return records


def _value(name: str, cells: Mapping[str, str], where: str) -> Any:
    cell = cells[name]
    if not cell:
        return "" if name in _NEVER_MISSING or (name == "value" and cells[_KIND] == "label") else None
    is_text = cells[_KIND] == "label" if name == "value" else name not in (*_OBJECTS, *_DTYPES)
    if is_text:
        return cell
    try:
        # A spreadsheet writes TRUE and FALSE where true and false were.
        return orjson.loads(cell.lower() if name == "blocking" else cell)
    except orjson.JSONDecodeError as error:
        msg = f"{name} must be JSON, as it was written; got {cell[:80]!r}"
        raise EvalkitError(msg, where=where, do="undo what was changed in that cell") from error


def _check_columns(found: Sequence[str], wanted: Sequence[str], where: str) -> None:
    if missing := [name for name in wanted if name not in found]:
        msg = f"lacks columns of a record: {example_list(missing)}"
        raise EvalkitError(msg, where=where, do="keep every column; rows may be filtered and reordered")


def _record(fields: dict[str, Any], where: str) -> Record:
    return Record.from_json(orjson.dumps(fields), where=where)
