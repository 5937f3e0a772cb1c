"""Blocks of records judged, counted and written down; their sums, in order."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

import orjson

from evalkit.cases.identity import IdIndex
from evalkit.scoring.ledger import Cell, Ledger, cell_of
from evalkit.scoring.places import Places
from evalkit.scoring.records import Diagnosis, Record, Ruling, is_knife_edge

__all__ = ["Collector", "Judgement", "NoSink", "Part", "RecordSink", "Rule", "Streamed", "part_of"]

Rule = Callable[[Record], Ruling]
Diagnose = Callable[[Record], Diagnosis]


class Judgement(NamedTuple):
    """How a policy looks at records while they pass by."""

    rule: Rule
    diagnose: Diagnose
    """Asked only for rows that do not pass."""
    keep_decisions: bool = False
    """Whether `Streamed.decided` is filled."""


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
    sentences: dict[int, str]
    """By line, what the diagnosis says of a notable row."""
    decided: dict[str, Record]
    """Every record by case id, without inputs and evidence; filled only on request."""
    rows_hash: str
    """SHA-256 over case id, state, value and decision of every record, in input order."""
    places: Places
    """Where the records stand that a page will show."""
    findings: list[str]


class Part(NamedTuple):
    """What one block of lines came to."""

    records: bytes
    rows: bytes
    ledger: Ledger
    notable: list[Record]
    edges: list[Record]
    sentences: dict[int, str]
    decided: dict[str, Record]
    ids: array[int]
    places: Places
    near: dict[str, int]


def part_of(records: Iterable[Record | None], judgement: Judgement | None, reviewed: Sequence[str] = ()) -> Part:
    """Judge, count and write down the records of one block of lines; ``None`` stands for a blank line."""
    out: list[bytes] = []
    rows: list[tuple[object, ...]] = []
    cells: dict[Cell, int] = {}
    ledger, index, places = Ledger(), IdIndex(), Places()
    notable: list[Record] = []
    sentences: dict[int, str] = {}
    decided: dict[str, Record] = {}
    start = 0
    for found in records:
        ledger.lines += 1
        if found is None:
            ledger.blank += 1
            continue
        record, sentence = _judged(found, judgement)
        try:
            raw = record.to_json()
        except TypeError as error:  # judged again: what was a pass is now the metric's error, and blocks
            record, sentence = _judged(found.unwritable(error), judgement)
            raw = record.to_json()
        if sentence is not None:
            sentences[record.line] = sentence
        out.append(raw)
        rows.append((record.case_id, record.state, record.value, record.decision))
        cell = cell_of(record, reviewed)
        cells[cell] = cells.get(cell, 0) + 1
        if record.case_id is not None:
            index.add(record.case_id)
            if judgement and judgement.keep_decisions:
                decided[record.case_id] = _slim(record)
        is_notable = _is_notable(record, judgement)
        if is_notable:
            notable.append(_slim(record))
        places.add(record, start, len(raw), passes=not is_notable)
        start += len(raw)
    for cell, count in cells.items():
        ledger.count(cell, count)
    edges = [record for record in notable if is_knife_edge(record)]
    raw_rows = orjson.dumps(rows)[1:-1] + b"," if rows else b""
    return Part(b"".join(out), raw_rows, ledger, notable, edges, sentences, decided, index.hashes, places, {})


def _judged(record: Record, judgement: Judgement | None) -> tuple[Record, str | None]:
    """Return the record as the policy sees it and, where it does not pass, the sentence of its diagnosis."""
    if judgement is None:
        return record, None
    record = record.ruled(judgement.rule(record))
    if not _is_notable(record, judgement):
        return record, None
    diagnosis = judgement.diagnose(record)
    return record._replace(owner=diagnosis.owner), diagnosis.sentence


def _is_notable(record: Record, judgement: Judgement | None) -> bool:
    return record.state != "scored" or (judgement is not None and record.decision != "pass")


def _slim(record: Record) -> Record:
    return record._replace(inputs=None, evidence=None)


class Collector:
    """Adds parts up, in order."""

    def __init__(self, sink: RecordSink, on_rows: Callable[[int], object]) -> None:
        self.ledger = Ledger()
        self.index = IdIndex()
        self.near: Counter[str] = Counter()
        self._sink = sink
        self._on_rows = on_rows
        self._notable: list[Record] = []
        self._edges: list[Record] = []
        self._sentences: dict[int, str] = {}
        self._decided: dict[str, Record] = {}
        self._hash = hashlib.sha256()
        self._places = Places()
        self._written = 0

    def add(self, part: Part) -> None:
        """Add the next block."""
        self._sink.write(part.records)
        self._hash.update(part.rows)
        self.ledger.merge(part.ledger)
        self.index.hashes.extend(part.ids)
        self.near.update(part.near)
        self._notable += part.notable
        self._edges += part.edges
        self._sentences |= part.sentences
        self._decided |= part.decided
        self._places.merge(part.places, self._written)
        self._written += len(part.records)
        self._on_rows(part.ledger.lines)

    def finish(self, findings: list[str]) -> Streamed:
        """Hold the ledger's law and return what the pass came to."""
        self.ledger.check()
        rows_hash = "sha256:" + self._hash.hexdigest()
        return Streamed(
            self.ledger,
            self._notable,
            self._edges,
            self._sentences,
            self._decided,
            rows_hash,
            self._places,
            findings,
        )
