"""The coordinator: hands out parts, takes each exactly once, finds ids that occur in several, joins all in order."""

from __future__ import annotations

import hashlib
import shutil
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.identity import Resolved, resolve_groups
from evalkit.contract import EvalkitError
from evalkit.scoring.engines.cuts import CasePart, Cut
from evalkit.scoring.engines.task import Job, Look, LookTask, PartDone, ScoreTask, look_again, score_part
from evalkit.scoring.parts import Collector, RecordSink, Streamed

__all__ = ["PARTS", "Engine", "Joined", "score_parts"]

PARTS = "parts"
"""The folder of a run that keeps the records of each part."""

Engine = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
"""Runs a function on each task somewhere and yields the results in any order: all that an engine is."""


class Joined(NamedTuple):
    """What scoring in parts came to."""

    streamed: Streamed
    parts: list[dict[str, Any]]
    """For the manifest: which lines of which file each part is, and the hash of its records."""


def score_parts(
    cut: Cut, job: Job, sink: RecordSink, run: Engine, *, on_rows: Callable[[int], object] = lambda _: None
) -> Joined:
    """Score every part and join the records in input order.

    A part is taken when its result is here: its attempt is then renamed to ``part-00000.jsonl``. What other attempts
    left (of a worker that was killed, or only thought to be dead) is removed, so nothing is lost and nothing doubled.

    Parameters
    ----------
    cut : Cut
    job : Job
        Its folder is made here, and removed if this fails: half a run is no run.
    sink : RecordSink
        Takes the joined records.
    run : Engine
    """
    folder = Path(job.folder)
    folder.mkdir()
    try:
        done: dict[int, PartDone] = {}
        _take(run(score_part, [ScoreTask(job, part, {}) for part in cut.parts]), folder, done, on_rows)
        resolved = _resolve(cut.parts, done, run)
        if again := _with_duplicates(cut.parts, resolved, job):
            _take(run(score_part, again), folder, done, lambda _: None)
        for attempt in folder.glob("*.attempt"):
            attempt.unlink()
        return _joined(cut, done, folder, sink, resolved)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _take(
    results: Iterable[PartDone], folder: Path, done: dict[int, PartDone], on_rows: Callable[[int], object]
) -> None:
    for result in results:
        try:
            (folder / result.attempt).rename(_records_of(folder, result.number))
        except OSError as error:
            msg = f"the records that a worker wrote are not here ({error.strerror or error})"
            mend = "the run folder must lie where every worker sees it under the same path"
            raise EvalkitError(msg, where=str(folder), do=mend) from error
        done[result.number] = result
        on_rows(result.lines)


def _records_of(folder: Path, number: int) -> Path:
    return folder / f"part-{number:05}.jsonl"


# --- ids that occur in several parts --------------------------------------------------------------------------------


def _resolve(parts: Sequence[CasePart], done: Mapping[int, PartDone], run: Engine) -> Resolved:
    """Find ids that occur twice, in one part or in several: by hash first, then in the lines themselves."""
    # Arrays, because eight bytes a row is what a coordinator of many machines can bear.
    import numpy as np

    ids = {number: np.asarray(result.ids) for number, result in done.items()}
    ordered = np.sort(np.concatenate([*ids.values(), np.array([], dtype=np.int64)]))
    suspects = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(suspects):
        return Resolved({}, [])
    found = {number: np.intersect1d(own, suspects) for number, own in ids.items()}
    tasks = [LookTask(part, frozenset(found[part.number].tolist())) for part in parts if len(found[part.number])]
    looks: list[Look] = sorted(run(look_again, tasks), key=lambda look: look.number)
    groups: dict[str, dict[str, list[int]]] = {}
    for look in looks:
        for folded, alike in look.groups.items():
            for case_id, lines in alike.items():
                groups.setdefault(folded, {}).setdefault(case_id, []).extend(lines)
    return resolve_groups(groups)


def _with_duplicates(parts: Sequence[CasePart], resolved: Resolved, job: Job) -> list[ScoreTask]:
    """Return the parts to score again, now that they can be told which of their ids occur elsewhere."""
    known: dict[int, dict[str, tuple[int, ...]]] = {}
    for case_id, found in resolved.duplicates.items():
        for line in found.lines:
            at = bisect_right(parts, line, key=lambda part: part.first) - 1
            known.setdefault(at, {})[case_id] = found.lines
    return [ScoreTask(job, parts[at], ids) for at, ids in sorted(known.items())]


# --- one run --------------------------------------------------------------------------------------------------------


def _joined(cut: Cut, done: Mapping[int, PartDone], folder: Path, sink: RecordSink, resolved: Resolved) -> Joined:
    collector = Collector(sink, lambda _: None)
    facts = []
    for part in cut.parts:
        result, digest, blank, rows = done[part.number], hashlib.sha256(), 0, 0
        with _records_of(folder, part.number).open("rb") as records:
            for block, size in zip(result.blocks, result.sizes, strict=True):
                raw = records.read(size)
                digest.update(raw)
                collector.add(block._replace(records=raw))
                blank += block.ledger.blank
                rows += block.ledger.total()
        if digest.hexdigest() != result.sha256:
            msg = "are not the records that the worker wrote"
            raise EvalkitError(msg, where=part.where, do="check the storage that workers share, and score again")
        facts.append(_facts(part, result, blank, rows))
    near = [f"{sentence} ({count} rows)" for sentence, count in sorted(Counter(collector.near).items())]
    return Joined(collector.finish([*cut.findings, *resolved.twins, *near]), facts)


def _facts(part: CasePart, result: PartDone, blank: int, rows: int) -> dict[str, Any]:
    return {
        "records": f"{PARTS}/part-{part.number:05}.jsonl",
        "cases": part.name,
        "first_line": part.first,
        "lines": part.lines,
        "blank": blank,
        "rows": rows,
        "cases_sha256": f"sha256:{part.sha256}",
        "records_sha256": f"sha256:{result.sha256}",
    }
