"""One partition of lines in, one partition of records out, in fixed columns: the function that every engine calls."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from evalkit.cases.identity import DuplicateLines
from evalkit.cases.lines import Line
from evalkit.cases.read import LineReader
from evalkit.contract import EvalkitError, Metric
from evalkit.scoring.load import load_metric
from evalkit.scoring.records import Record
from evalkit.scoring.score import Scorer

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "SPARK_SCHEMA",
    "SUSPICIOUS_KEYS",
    "empty_records",
    "frame_of_lines",
    "metric_in_process",
    "records_in",
    "score_partition",
    "score_partitions",
]

SUSPICIOUS_KEYS = "suspicious_keys"
"""In ``attrs`` of a frame of records: how many rows have a key that is one slip away from one that is read."""

_JSON = ("value", "detail", "inputs", "evidence", "lineage", "judge")
"""Fields that hold a different type in each row travel as JSON text, which loses nothing: 1 and 1.0 stay two things."""
_DTYPES: Mapping[str, Any] = dict.fromkeys(Record._fields, "string") | {
    "line": "Int64",
    "blocking": "boolean",
    "minimum": "Float64",
}
_SPARK = {"Int64": "bigint", "boolean": "boolean", "Float64": "double", "string": "string"}

SPARK_SCHEMA = ", ".join(f"`{name}` {_SPARK[dtype]}" for name, dtype in _DTYPES.items())
"""The columns of a record, as Spark's ``mapInPandas`` wants them said."""


def score_partition(
    frame: pd.DataFrame,
    metric: str,
    *,
    feeds: Mapping[str, str] | None = None,
    duplicates: Mapping[str, tuple[int, ...]] | None = None,
) -> pd.DataFrame:
    """Score one partition of lines; whatever it holds, and if it holds nothing, the columns are those of a record.

    The function is stateless and can be sent anywhere: ``frame.map_partitions(score_partition, metric=…,
    meta=empty_records())`` in Dask, `score_partitions` in Spark. No policy is asked: ``decision``, ``minimum`` and
    ``policy_version`` stay empty, because limits are set over all rows. Each process loads the metric once and asks it
    from one thread at a time.

    Parameters
    ----------
    frame : DataFrame
        ``line`` (the number that the record will bear) and ``raw`` (the line's text or bytes, without its ending); with
        ``is_cut``, true for a last line that has no newline.
    metric : str
        A built-in name, ``package.module:object`` or ``path/to/file.py:object``, as this process sees it.
    feeds : mapping, optional
        ``{parameter: key}`` where a parameter is fed by a key of another name.
    duplicates : mapping, optional
        ``{case_id: lines}`` of ids that occur more than once anywhere, in other partitions too: one partition cannot
        know. All these lines are *invalid* and name the others.

    Returns
    -------
    DataFrame
        A row for each line that is not blank, in order. ``value, detail, inputs, evidence, lineage`` and ``judge`` are
        JSON text; nothing is NaN.

    Raises
    ------
    EvalkitError
        Where the metric cannot be loaded, or the frame is no partition of lines. What is in the rows never raises.

    Examples
    --------
    >>> import pandas as pd
    >>> lines = ['{"case_id": "a", "required_claim_ids": ["x"], "supported_claim_ids": []}', "", "{"]
    >>> scored = score_partition(pd.DataFrame({"line": [1, 2, 3], "raw": lines}), "evidence_coverage")
    >>> [(record.line, record.state, record.value) for record in records_in(scored)]
    [(1, 'scored', 0.0), (3, 'invalid', None)]
    >>> list(scored.dtypes) == list(score_partition(frame_of_lines([]), "evidence_coverage").dtypes)
    True
    """
    others = {case_id: DuplicateLines(tuple(lines)) for case_id, lines in (duplicates or {}).items()}
    with _ONE_AT_A_TIME:
        scorer = _scorer(_Source.of(metric), tuple(sorted((feeds or {}).items())))
        reader = LineReader(scorer.required, scorer.optional, others)
        found = (reader.read(line) for line in _lines_in(frame))
        records = _frame([_row(scorer.record(item)) for item in found if item is not None])
    records.attrs[SUSPICIOUS_KEYS] = dict(reader.near.found)
    return records


def score_partitions(
    frames: Iterable[pd.DataFrame], metric: str, *, feeds: Mapping[str, str] | None = None
) -> Iterator[pd.DataFrame]:
    """Score partition after partition, as Spark's ``mapInPandas`` wants it: frames in, frames out."""
    return (score_partition(frame, metric, feeds=feeds) for frame in frames)


def empty_records() -> pd.DataFrame:
    """Return no records in the columns that records have: Dask's ``meta``.

    >>> frame = empty_records()
    >>> len(frame), str(frame["line"].dtype), str(frame["blocking"].dtype)
    (0, 'Int64', 'boolean')
    """
    return _frame([])


def frame_of_lines(lines: Iterable[Line]) -> pd.DataFrame:
    """Return physical lines as a partition."""
    import pandas as pd

    rows = list(lines)
    return pd.DataFrame(
        {
            "line": pd.array([line.number for line in rows], dtype="Int64"),
            "raw": pd.Series([line.raw for line in rows], dtype="object"),
            "is_cut": pd.array([line.is_cut for line in rows], dtype="boolean"),
        }
    )


def records_in(frame: pd.DataFrame) -> Iterator[Record]:
    """Turn a partition of records back into records, each the one it was made from."""
    columns = []
    for name in _DTYPES:
        values = frame[name].array.to_numpy(dtype=object, na_value=None).tolist()
        columns.append([None if v is None else orjson.loads(v) for v in values] if name in _JSON else values)
    return map(Record._make, zip(*columns, strict=True))


def metric_in_process(metric: str) -> Metric:
    """Return the metric that `score_partition` asks in this process."""
    with _ONE_AT_A_TIME:
        return _loaded(_Source.of(metric))


# --- in a process of the engine -------------------------------------------------------------------------------------

_ONE_AT_A_TIME = threading.RLock()
"""An engine may run several threads in a process; nobody promised that a metric bears that."""


class _Source(NamedTuple):
    """What names a metric and, for a file, tells an edited one from the one that was loaded."""

    spec: str
    edited: int | None

    @classmethod
    def of(cls, spec: str) -> _Source:
        file = Path(spec.rpartition(":")[0])
        return cls(spec, file.stat().st_mtime_ns if file.suffix == ".py" and file.is_file() else None)


@lru_cache(maxsize=8)
def _loaded(source: _Source) -> Metric:
    return load_metric(source.spec)


@lru_cache(maxsize=8)
def _scorer(source: _Source, feeds: tuple[tuple[str, str], ...]) -> Scorer:
    return Scorer(_loaded(source), dict(feeds))


def _lines_in(frame: pd.DataFrame) -> Iterator[Line]:
    if absent := [name for name in ("line", "raw") if name not in frame.columns]:
        msg = f"a partition of lines has the columns line and raw; {absent[0]!r} is not among {list(frame.columns)!r}"
        raise EvalkitError(msg, do="give each line its number and its text: frame_of_lines shows the form")
    numbers, raws = frame["line"].tolist(), frame["raw"].tolist()
    cuts = frame["is_cut"].tolist() if "is_cut" in frame.columns else [False] * len(raws)
    for number, raw, is_cut in zip(numbers, raws, cuts, strict=True):
        yield Line(int(number), _bytes(raw, number), bool(is_cut))


def _bytes(raw: Any, number: object) -> bytes:
    if isinstance(raw, str):
        return raw.encode("utf-8", "surrogatepass")  # half a character is the reader's to refuse, like in a file
    if isinstance(raw, bytes | bytearray):
        return bytes(raw)
    msg = f"raw must hold the text or the bytes of each line; got {raw!r:.60} on line {number}"
    raise EvalkitError(msg, do="read the file as lines of text, not as parsed columns")


def _row(record: Record) -> tuple[Any, ...]:
    try:
        record.to_json()
    except TypeError as error:
        record = record.unwritable(error)
    return tuple(_json(value) if name in _JSON else value for name, value in zip(Record._fields, record, strict=True))


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()


def _frame(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    import pandas as pd

    columns = zip(*rows, strict=True) if rows else [() for _ in _DTYPES]
    return pd.DataFrame(
        {
            name: pd.array(list(column), dtype=dtype)
            for (name, dtype), column in zip(_DTYPES.items(), columns, strict=True)
        }
    )
