"""A whole file through a scorer and a policy, in constant memory: records out, counts and what is notable kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol

import orjson

from evalkit.cases.identity import IdIndex, Resolved, resolve_ids
from evalkit.cases.read import Line, LineReader, read_lines
from evalkit.scoring.records import Ledger, Record, Ruling, is_knife_edge
from evalkit.scoring.score import Scorer

__all__ = ["NoSink", "RecordSink", "Rule", "Streamed", "stream_cases", "stream_records"]

Rule = Callable[[Record], Ruling]

_CHUNK = 2_000


class RecordSink(Protocol):
    """Where records go: a run folder, a printer of rows."""

    def write(self, raw: bytes) -> object:
        """Take the next records, as lines of ``records.jsonl``."""

    def restart(self) -> object:
        """Forget everything written so far: the file is read again."""


class NoSink:
    """Records are counted and not kept."""

    def write(self, raw: bytes) -> None:
        """Drop the records."""

    def restart(self) -> None:
        """Nothing was kept."""


class Streamed(NamedTuple):
    """What one pass over a file came to."""

    ledger: Ledger
    notable: list[Record]
    """Records that did not plainly pass, without inputs and evidence (those are in ``records.jsonl``)."""
    knife_edges: list[Record]
    """Rows within 1e-9 of their bound, on the failing side."""
    decided: dict[str, str]
    """Decision, or else state, by case id; filled only on request."""
    rows_hash: str
    """SHA-256 over case id, state, value and decision of every record, in input order."""
    findings: list[str]


def stream_cases(
    path: Path,
    scorer: Scorer,
    rule: Rule | None = None,
    sink: RecordSink | None = None,
    *,
    keep_decisions: bool = False,
    on_rows: Callable[[int], object] = lambda _: None,
) -> Streamed:
    """Score every line of a file.

    Duplicate case ids are known only at the end of a file. They are rare, so the file is read once in the hope that
    there are none; where there are, the sink restarts and it is read again, knowing them.
    """
    index, has_bom, sink = IdIndex(), [False], sink or NoSink()

    def note_bom() -> None:
        has_bom[0] = True

    def one_pass(resolved: Resolved, seen: IdIndex | None) -> Streamed:
        reader = LineReader(scorer.required, scorer.optional, resolved.duplicates)
        collector = _Collector(rule, sink, seen, keep_decisions=keep_decisions)
        for chunk in _chunks(read_lines(path, on_bom=note_bom)):
            collector.add_lines(chunk, lambda line: (item := reader.read(line)) and scorer.record(item))
            on_rows(len(chunk))
        bom = ["a byte order mark was removed from the start of the file"] if has_bom[0] else []
        return collector.finish([*bom, *resolved.twins, *reader.near.findings()])

    nothing = Resolved({}, [])
    streamed = one_pass(nothing, index)
    resolved = resolve_ids(path, index.suspects(), read_lines)
    if resolved.duplicates:
        sink.restart()
        return one_pass(resolved, None)
    return streamed._replace(findings=[*resolved.twins, *streamed.findings])


def stream_records(
    path: Path,
    rule: Rule | None = None,
    sink: RecordSink | None = None,
    *,
    blank: int = 0,
    keep_decisions: bool = False,
    on_rows: Callable[[int], object] = lambda _: None,
) -> Streamed:
    """Read the records of an earlier run instead of scoring again, and rule on them anew."""
    collector = _Collector(rule, sink or NoSink(), None, keep_decisions=keep_decisions)
    collector.ledger.lines = collector.ledger.blank = blank
    for chunk in _chunks(read_lines(path)):
        collector.add_lines(chunk, lambda line: Record.from_json(line.raw, where=f"{path.name}, line {line.number}"))
        on_rows(len(chunk))
    return collector.finish([])


def _chunks(lines: Iterator[Line]) -> Iterator[list[Line]]:
    while chunk := list(islice(lines, _CHUNK)):
        yield chunk


class _Collector:
    def __init__(self, rule: Rule | None, sink: RecordSink, index: IdIndex | None, *, keep_decisions: bool) -> None:
        self.ledger = Ledger()
        self._rule = rule
        self._plainly = "pass" if rule else None
        self._write = sink.write
        self._index = index
        self._notable: list[Record] = []
        self._edges: list[Record] = []
        self._decided: dict[str, str] | None = {} if keep_decisions else None
        self._hash = hashlib.sha256()

    def add_lines(self, lines: list[Line], read: Callable[[Line], Record | None]) -> None:
        out: list[bytes] = []
        rows: list[tuple[object, ...]] = []
        for line in lines:
            self.ledger.lines += 1
            if (record := read(line)) is None:
                self.ledger.blank += 1
                continue
            record, raw = self._written(record)
            out.append(raw)
            self._note(record)
            rows.append((record.case_id, record.state, record.value, record.decision))
            self.ledger.add(record)
            if self._index is not None and record.case_id is not None:
                self._index.add(record.case_id)
            if self._decided is not None and record.case_id is not None:
                self._decided[record.case_id] = record.decision or record.state
        self._write(b"".join(out))
        self._hash.update(orjson.dumps(rows)[1:-1] + b"," if rows else b"")

    def _written(self, record: Record) -> tuple[Record, bytes]:
        record = record.ruled(self._rule(record)) if self._rule else record
        try:
            return record, record.to_json()
        except TypeError as error:
            record = record.unwritable(error)
            return record, record.to_json()

    def _note(self, record: Record) -> None:
        if record.state == "scored" and record.decision == self._plainly:
            return
        slim = record._replace(inputs=None, evidence=None)
        self._notable.append(slim)
        if is_knife_edge(record):
            self._edges.append(slim)

    def finish(self, findings: list[str]) -> Streamed:
        self.ledger.check()
        rows_hash = "sha256:" + self._hash.hexdigest()
        return Streamed(self.ledger, self._notable, self._edges, self._decided or {}, rows_hash, findings)
