"""Two runs side by side: records matched by case id in one pass, in the memory of what is out of step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

import orjson

from evalkit.cases.lines import Line, read_lines
from evalkit.contract import EvalkitError, sha256_file
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run

__all__ = ["PairedRuns", "RowPair", "checked_records", "pair_records"]

_Parse = Callable[[Line], Record]


class RowPair(NamedTuple):
    """One case in two runs; one side is ``None`` where only the other run has it."""

    old: Record | None
    new: Record | None


class PairedRuns:
    """Iterates over the pairs that are not the same line in both runs; `identical` counts those that are.

    Rows are matched by case id; a line without one, by the hash of its bytes. Equal order needs no memory; a row that
    one run has elsewhere waits until it turns up.
    """

    def __init__(self, old: Run, new: Run) -> None:
        self._old, self._new = old, new
        self.identical = 0

    def __iter__(self) -> Iterator[RowPair]:
        self.identical = 0
        parse_old, parse_new = _parser(self._old), _parser(self._new)
        waiting_old, waiting_new = _Waiting(), _Waiting()
        for old_line, new_line in zip_longest(read_lines(self._old.records_path), read_lines(self._new.records_path)):
            if old_line and new_line and old_line.raw == new_line.raw:
                self.identical += 1
                continue
            old = parse_old(old_line) if old_line else None
            new = parse_new(new_line) if new_line else None
            yield from _step(old, new, waiting_old, waiting_new)
        yield from _left_over(waiting_old, waiting_new)


class _Waiting:
    """Records of one run whose other side has not come yet."""

    def __init__(self) -> None:
        self._records: dict[str, deque[Record]] = {}

    def add(self, record: Record) -> None:
        self._records.setdefault(_key(record), deque()).append(record)

    def take(self, record: Record) -> Record | None:
        queue = self._records.get(_key(record))
        if queue is None:
            return None
        found = queue.popleft()
        if not queue:
            del self._records[_key(record)]
        return found

    def rest(self) -> Iterator[Record]:
        for queue in self._records.values():
            yield from queue


def pair_records(old: Iterable[Record], new: Iterable[Record]) -> Iterator[RowPair]:
    """Match two streams of records by case id; equal order needs no memory."""
    waiting_old, waiting_new = _Waiting(), _Waiting()
    for before, after in zip_longest(old, new):
        yield from _step(before, after, waiting_old, waiting_new)
    yield from _left_over(waiting_old, waiting_new)


def _step(old: Record | None, new: Record | None, waiting_old: _Waiting, waiting_new: _Waiting) -> Iterator[RowPair]:
    if old and new and _key(old) == _key(new):
        yield RowPair(old, new)
        return
    if old and (partner := _met(old, waiting_new, waiting_old)):
        yield RowPair(old, partner)
    if new and (partner := _met(new, waiting_old, waiting_new)):
        yield RowPair(partner, new)


def _left_over(waiting_old: _Waiting, waiting_new: _Waiting) -> Iterator[RowPair]:
    yield from (RowPair(old, None) for old in waiting_old.rest())
    yield from (RowPair(None, new) for new in waiting_new.rest())


def _met(record: Record, there: _Waiting, here: _Waiting) -> Record | None:
    """Return the record's partner if it waits already; otherwise let the record wait."""
    partner = there.take(record)
    if partner is None:
        here.add(record)
    return partner


def _key(record: Record) -> str:
    return record.input_hash if record.case_id is None else record.case_id


def checked_records(run: Run) -> Iterator[Record]:
    """Read a run's records in order; a damaged or changed file is refused with its name and line."""
    return map(_parser(run), read_lines(run.records_path))


def _parser(run: Run) -> _Parse:
    """Choose how to read a run's lines: a file with the hash that its manifest names needs no second check."""

    def strict(line: Line) -> Record:
        return Record.from_json(line.raw, where=f"{run.records_path}, line {line.number}")

    def trusting(line: Line) -> Record:
        try:
            fields = orjson.loads(line.raw)
        except orjson.JSONDecodeError:  # whoever forged the line may have forged the hash as well
            return strict(line)
        return Record.from_fields(fields) or strict(line)

    wanted = run.manifest.get("records_sha256")
    if wanted is None:
        return strict
    if sha256_file(run.records_path) == wanted:
        return trusting
    for line in read_lines(run.records_path):
        strict(line)  # names the first line that is no record
    msg = "does not have the hash that the manifest names: it was changed after the run was finished"
    raise EvalkitError(msg, where=str(run.records_path), do="score the cases again into a new folder")
