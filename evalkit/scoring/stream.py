"""A whole file through a scorer and a policy, in constant memory and on every core; input order is kept."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from evalkit.cases.identity import IdIndex, Resolved, resolve_ids
from evalkit.cases.lines import Block, lines_of, read_blocks, starts_with_bom
from evalkit.cases.read import BOM_FINDING, LineReader
from evalkit.contract import EvalkitError
from evalkit.scoring.parts import Collector, Judgement, NoSink, Part, RecordSink, Streamed, part_of
from evalkit.scoring.records import Record, Ruling
from evalkit.scoring.score import RowScorer

__all__ = ["stream_cases", "stream_records"]

_PARALLEL_BYTES = 8 << 20
"""Smaller files are done before a second process has started."""


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
    reviewed: Sequence[str] = (),
    on_rows: Callable[[int], object] = lambda _: None,
) -> Streamed:
    """Read the records of an earlier run instead of scoring again, and rule on them anew.

    Without a judgement the records lose what an earlier policy said of them: it is not this gate's decision. `reviewed`
    names the metric's reviewed inputs, from which the number of claims of a row may be read.
    """
    collector = Collector(sink or NoSink(), on_rows)
    collector.ledger.lines = collector.ledger.blank = blank
    for block in read_blocks(path):
        records = (Record.from_json(line.raw, where=f"{path.name}, line {line.number}") for line in lines_of(block))
        collector.add(part_of(records if judgement else map(_undecided, records), judgement, reviewed))
    return collector.finish([])


def _undecided(record: Record) -> Record:
    return record.ruled(Ruling(None, None, None, None if record.state == "scored" else record.owner))


class _CaseJob:
    """Turns a block of lines into a part; inherited by forked workers, so that no metric needs to be pickled."""

    def __init__(self, scorer: RowScorer, judgement: Judgement | None, resolved: Resolved) -> None:
        self._scorer = scorer
        self._judgement = judgement
        self._resolved = resolved

    def __call__(self, block: Block) -> Part:
        reader = LineReader(self._scorer.required, self._scorer.optional, self._resolved.duplicates)
        part = part_of(self._records(reader, block), self._judgement, self._scorer.reviewed)
        return part._replace(near=reader.near.found)

    def _records(self, reader: LineReader, block: Block) -> Iterator[Record | None]:
        record = self._scorer.record
        for item in reader.read_block(block):
            yield None if item is None else record(item)


# --- processes ------------------------------------------------------------------------------------------------------

_job: _CaseJob | None = None


def _run_job(block: Block) -> Part:
    assert _job is not None  # noqa: S101 - set before the fork that made this process
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _job(block)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_with(parent: int) -> None:
    """Make this worker end when its parent does, and no sooner: on Ctrl-C it gives up its block, and the parent speaks.

    A worker that died while it wrote a part would leave the parent reading the rest of it for ever.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

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
            try:
                for block in blocks:
                    waiting.append(pool.submit(_run_job, block))
                    # A short queue: enough to keep every worker busy, and no more of the file in memory than that.
                    if len(waiting) > 2 * workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # what has not begun need not be waited for
                raise
    except BrokenProcessPool as error:
        msg = "a worker process died before its rows were scored (killed, out of memory, or ended by the metric itself)"
        raise EvalkitError(msg, do="free memory and run again into a new folder; nothing was decided") from error
    finally:
        _job = None
