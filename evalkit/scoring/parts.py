"""Blocks of records judged, counted and written down; their sums, in order."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import orjson

from evalkit.cases.identity import IdIndex
from evalkit.contract import Decision
from evalkit.scoring.ledger import Cell, Ledger, cell_of
from evalkit.scoring.places import Places
from evalkit.scoring.records import Diagnosis, Record, Ruling, is_knife_edge
from evalkit.scoring.spilled import SpilledTexts, spilled_records

__all__ = ["Collector", "Judgement", "MemorySink", "NoSink", "Part", "RecordSink", "Rule", "Streamed", "part_of"]

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


class MemorySink:
    """Keeps the records in memory, as they would be read back from a run folder."""

    def __init__(self) -> None:
        self._raw: list[bytes] = []

    def write(self, raw: bytes) -> None:
        """Keep the next records."""
        self._raw.append(raw)

    def restart(self) -> None:
        """Forget them."""
        self._raw.clear()

    def records(self) -> Iterator[Record]:
        """Return what was kept, in order."""
        return (Record._make(orjson.loads(line).values()) for raw in self._raw for line in raw.splitlines())


class Streamed(NamedTuple):
    """What one pass over a file came to."""

    ledger: Ledger
    notable: Sequence[Record]
    """Records that did not plainly pass, without inputs and evidence (those are in ``records.jsonl``)."""
    knife_edges: Sequence[Record]
    """Rows within 1e-9 of their bound, on the failing side."""
    sentences: Mapping[int, str]
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
    blank = 0
    case_ids: list[str] = []
    notable: dict[int, Record] = {}
    sentences: dict[int, str] = {}
    decided: dict[str, Record] = {}
    keeps = judgement is not None and judgement.keep_decisions
    for found in records:
        if found is None:
            blank += 1
            continue
        record = found
        decision: Decision | None = "pass"
        raw = _passing(record, judgement.rule) if judgement and not keeps else None
        if raw is None:
            record, raw, sentence = _judged(record, judgement)
            decision = record.decision
            if sentence is not None:
                sentences[record.line] = sentence
            if record.state != "scored" or sentence is not None:
                notable[len(out)] = _slim(record)
        out.append(raw)
        rows.append((record.case_id, record.state, record.value, decision))
        cell = cell_of(record, decision, reviewed)
        cells[cell] = cells.get(cell, 0) + 1
        if record.case_id is not None:
            case_ids.append(record.case_id)
            if keeps:
                decided[record.case_id] = _slim(record)
    ledger, index = Ledger(), IdIndex()
    ledger.lines, ledger.blank = blank + len(out), blank
    for cell, count in cells.items():
        ledger.count(cell, count)
    index.add_all(case_ids)
    return Part(
        records=b"".join(out),
        rows=orjson.dumps(rows)[1:-1] + b"," if rows else b"",
        ledger=ledger,
        notable=list(notable.values()),
        edges=[record for record in notable.values() if is_knife_edge(record)],
        sentences=sentences,
        decided=decided,
        ids=index.hashes,
        places=Places.of([len(raw) for raw in out], notable),
        near={},
    )


def _passing(record: Record, rule: Rule) -> bytes | None:
    """Return the line of a record that plainly passes, which most do; ``None`` where there is more to say of it."""
    ruling = rule(record)
    if ruling.decision != "pass":
        return None
    try:
        return record.to_json_under(ruling)
    except TypeError:
        return None


class _Judged(NamedTuple):
    """A record as the policy sees it."""

    record: Record
    raw: bytes
    sentence: str | None
    """What the diagnosis says of a row that does not pass."""


def _judged(found: Record, judgement: Judgement | None) -> _Judged:
    record, sentence = _ruled(found, judgement)
    try:
        raw = record.to_json()
    except TypeError as error:  # judged again: what was a pass is now the metric's error, and blocks
        record, sentence = _ruled(found.unwritable(error), judgement)
        raw = record.to_json()
    return _Judged(record, raw, sentence)


def _ruled(record: Record, judgement: Judgement | None) -> tuple[Record, str | None]:
    if judgement is None:
        return record, None
    record = record.ruled(judgement.rule(record))
    if record.decision == "pass":
        return record, None
    diagnosis = judgement.diagnose(record)
    return record._replace(owner=diagnosis.owner), diagnosis.sentence


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
        self._notable = spilled_records()  # a file of which every row fails must not fill the memory
        self._edges = spilled_records()
        self._sentences = SpilledTexts()
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
        self._notable.extend(part.notable)
        self._edges.extend(part.edges)
        self._sentences.update(part.sentences)
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
