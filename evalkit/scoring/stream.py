"""A whole file through a scorer and a policy, in constant memory and on every core; input order is kept."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import orjson

from evalkit.cases.identity import IdIndex, Resolved, resolve_ids
from evalkit.cases.lines import Block, Line, lines_of, read_blocks, starts_with_bom
from evalkit.cases.read import BOM_FINDING, LineReader
from evalkit.contract import EvalkitError
from evalkit.scoring.records import Diagnosis, Ledger, Record, Ruling, is_knife_edge
from evalkit.scoring.score import RowScorer

__all__ = [
    "Collector",
    "Judgement",
    "NoSink",
    "Part",
    "RecordSink",
    "Rule",
    "Streamed",
    "part_of",
    "stream_cases",
    "stream_records",
]

Rule = Callable[[Record], Ruling]
Diagnose = Callable[[Record], Diagnosis]


class Judgement(NamedTuple):
    """How a policy looks at records while they pass by."""

    rule: Rule
    diagnose: Diagnose
    """Asked only for rows that do not pass."""
    keep_decisions: bool = False
    """Whether `Streamed.decided` is filled."""


_PARALLEL_BYTES = 8 << 20
"""Smaller files are done before a second process has started."""


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
    findings: list[str]


def stream_cases(
    path: Path,
    scorer: RowScorer,
    judgement: Judgement | None = None,
    sink: RecordSink | None = None,
    *,
    workers: int = 1,
    on_rows: Callable[[int], object] = lambda _: None,
) -> Streamed:
    """Score every line of a file.

    Duplicate case ids are known only at the end of a file. They are rare, so the file is read once in the hope that
    there are none; where there are, the sink restarts and it is read again, knowing them.

    Parameters
    ----------
    workers : int
        Processes. More than one forks, which a notebook kernel (threads) must not do; it pays from some megabytes on.
    """
    sink = sink or NoSink()
    if path.exists() and path.stat().st_size < _PARALLEL_BYTES:
        workers = 1

    def one_pass(resolved: Resolved) -> tuple[Streamed, IdIndex]:
        job = _CaseJob(scorer, judgement, resolved)
        collector = Collector(sink, on_rows)
        for part in _in_order(job, read_blocks(path), workers):
            collector.add(part)
        bom = [BOM_FINDING] if starts_with_bom(path) else []
        near = [f"{sentence} ({count} rows)" for sentence, count in sorted(collector.near.items())]
        return collector.finish([*bom, *resolved.twins, *near]), collector.index

    streamed, index = one_pass(Resolved({}, []))
    resolved = resolve_ids(path, index.suspects())
    if resolved.duplicates:
        sink.restart()
        return one_pass(resolved)[0]
    return streamed._replace(findings=[*resolved.twins, *streamed.findings])


def stream_records(
    path: Path,
    judgement: Judgement | None = None,
    sink: RecordSink | None = None,
    *,
    blank: int = 0,
    on_rows: Callable[[int], object] = lambda _: None,
) -> Streamed:
    """Read the records of an earlier run instead of scoring again, and rule on them anew.

    Without a judgement the records lose what an earlier policy said of them: it is not this gate's decision.
    """
    collector = Collector(sink or NoSink(), on_rows)
    collector.ledger.lines = collector.ledger.blank = blank
    for block in read_blocks(path):
        records = (Record.from_json(line.raw, where=f"{path.name}, line {line.number}") for line in lines_of(block))
        collector.add(part_of(records if judgement else map(_undecided, records), judgement))
    return collector.finish([])


def _undecided(record: Record) -> Record:
    return record.ruled(Ruling(None, None, None, None if record.state == "scored" else record.owner))


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
    near: dict[str, int]


class _CaseJob:
    """Turns a block of lines into a part; inherited by forked workers, so that no metric needs to be pickled."""

    def __init__(self, scorer: RowScorer, judgement: Judgement | None, resolved: Resolved) -> None:
        self._scorer = scorer
        self._judgement = judgement
        self._resolved = resolved

    def __call__(self, block: Block) -> Part:
        reader = LineReader(self._scorer.required, self._scorer.optional, self._resolved.duplicates)
        part = part_of(self._records(reader, lines_of(block)), self._judgement)
        return part._replace(near=reader.near.found)

    def _records(self, reader: LineReader, lines: Iterable[Line]) -> Iterator[Record | None]:
        for line in lines:
            item = reader.read(line)
            yield None if item is None else self._scorer.record(item)


def part_of(records: Iterable[Record | None], judgement: Judgement | None) -> Part:
    """Judge, count and write down the records of one block of lines; ``None`` stands for a blank line."""
    out: list[bytes] = []
    rows: list[tuple[object, ...]] = []
    ledger, index = Ledger(), IdIndex()
    notable: list[Record] = []
    sentences: dict[int, str] = {}
    decided: dict[str, Record] = {}
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
        ledger.add(record)
        if record.case_id is not None:
            index.add(record.case_id)
            if judgement and judgement.keep_decisions:
                decided[record.case_id] = _slim(record)
        if _is_notable(record, judgement):
            notable.append(_slim(record))
    edges = [record for record in notable if is_knife_edge(record)]
    raw_rows = orjson.dumps(rows)[1:-1] + b"," if rows else b""
    return Part(b"".join(out), raw_rows, ledger, notable, edges, sentences, decided, index.hashes, {})


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
        self._on_rows(part.ledger.lines)

    def finish(self, findings: list[str]) -> Streamed:
        """Hold the ledger's law and return what the pass came to."""
        self.ledger.check()
        rows_hash = "sha256:" + self._hash.hexdigest()
        return Streamed(self.ledger, self._notable, self._edges, self._sentences, self._decided, rows_hash, findings)


# --- processes ------------------------------------------------------------------------------------------------------

_job: _CaseJob | None = None


def _run_job(block: Block) -> Part:
    assert _job is not None  # noqa: S101 - set before the fork that made this process
    return _job(block)


def _end_with(parent: int) -> None:
    """Make this worker end when its parent does, and end quietly on Ctrl-C (the parent says what there is to say)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    def watch() -> None:  # a worker whose parent was killed would wait for its next block for ever
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _in_order(job: _CaseJob, blocks: Iterator[Block], workers: int) -> Iterator[Part]:
    if workers <= 1:
        yield from map(job, blocks)
        return
    import multiprocessing
    from concurrent.futures import Future, ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    global _job  # noqa: PLW0603 - how a forked worker inherits what cannot be pickled
    _job = job
    waiting: deque[Future[Part]] = deque()
    try:
        fork = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(workers, fork, initializer=_end_with, initargs=(os.getpid(),)) as pool:
            for block in blocks:
                waiting.append(pool.submit(_run_job, block))
                # A short queue: enough to keep every worker busy, and no more of the file in memory than that.
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    except BrokenProcessPool as error:
        msg = "a worker process died before its rows were scored (killed, out of memory, or ended by the metric itself)"
        raise EvalkitError(msg, do="free memory and run again into a new folder; nothing was decided") from error
    finally:
        _job = None
