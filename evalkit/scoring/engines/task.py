"""What a worker does with one part: score it, write its records under a name of its own, tell what it came to."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evalkit.cases.identity import fold, id_of
from evalkit.cases.lines import Block, lines_of
from evalkit.contract import EvalkitError
from evalkit.scoring.engines.cuts import CasePart, blocks_of
from evalkit.scoring.partition import SUSPICIOUS_KEYS, frame_of_lines, metric_in_process, records_in, score_partition
from evalkit.scoring.parts import Part, part_of
from evalkit.scoring.records import Record
from evalkit.scoring.run import installed_versions

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Job", "Look", "LookTask", "PartDone", "ScoreTask", "id_hash", "look_again", "metric_here", "score_part"]


class Job(NamedTuple):
    """What is the same for every part."""

    metric: str
    """As a worker can name it: the path of a file is absolute."""
    feeds: Mapping[str, str]
    reviewed: tuple[str, ...]
    folder: str
    """Where workers put their records."""
    expected: Mapping[str, str | None]
    """`metric_here` of the coordinator, which is what the manifest will say."""


class ScoreTask(NamedTuple):
    """One part to score."""

    job: Job
    part: CasePart
    duplicates: Mapping[str, tuple[int, ...]]
    """Ids of this part that occur more than once anywhere, with all their lines."""


class PartDone(NamedTuple):
    """What one attempt at a part came to; its records lie in a file that no other attempt writes."""

    number: int
    attempt: str
    """Name of the file."""
    sha256: str
    blocks: tuple[Part, ...]
    """Without their records, and without hashes of ids (those are of one process only)."""
    sizes: tuple[int, ...]
    """Bytes of each block's records."""
    ids: array[int]
    """`id_hash` of each case id."""

    @property
    def lines(self) -> int:
        """Lines, blank ones included."""
        return sum(block.ledger.lines for block in self.blocks)


class LookTask(NamedTuple):
    """One part to read again for ids whose hash occurs elsewhere, too."""

    part: CasePart
    suspects: frozenset[int]


class Look(NamedTuple):
    """Where the suspicious ids of a part are: ``{folded id: {id: lines}}``."""

    number: int
    groups: dict[str, dict[str, list[int]]]


def metric_here(spec: str) -> dict[str, str | None]:
    """Say which metric and which versions this process has: what it scores may depend on them."""
    return installed_versions() | {"source of the metric": metric_in_process(spec).fingerprint}


def id_hash(case_id: str) -> int:
    """Return 64 bits of a folded id that are the same in every process (Python's own hash is not).

    >>> id_hash("ROW-1 ") == id_hash("row-1")
    True
    """
    folded = fold(case_id).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(folded, digest_size=8).digest(), "big", signed=True)


def score_part(task: ScoreTask) -> PartDone:
    """Score one part.

    An engine may start a part twice: a worker was slow, or was thought to be dead. Each attempt writes a file of its
    own, and only the one whose name reaches the coordinator is ever used.

    Raises
    ------
    EvalkitError
        Where this process has another metric, the cases cannot be read here or have changed, or the records cannot be
        written.
    """
    _refuse_another_metric(task.job)
    part, digest = task.part, hashlib.sha256()
    attempt = f"part-{part.number:05}.{secrets.token_hex(4)}.attempt"
    blocks, sizes, ids = list[Part](), list[int](), array("q")
    path = Path(task.job.folder) / attempt
    try:
        with path.open("wb") as out:
            for block in blocks_of(part):
                found = _block(task, block)
                out.write(found.records)
                digest.update(found.records)
                sizes.append(len(found.records))
                ids.extend(found.ids)
                blocks.append(found._replace(records=b"", ids=array("q")))
    except OSError as error:
        msg = f"records cannot be written by a worker ({error.strerror or error})"
        mend = "free space; the run folder must lie where every worker sees it under the same path"
        raise EvalkitError(msg, where=part.where, do=mend) from error
    return PartDone(part.number, attempt, digest.hexdigest(), tuple(blocks), tuple(sizes), ids)


def _refuse_another_metric(job: Job) -> None:
    for name, here in metric_here(job.metric).items():
        if here != job.expected[name]:
            msg = f"a worker has another {name} than the process that started the run: {here} and {job.expected[name]}"
            mend = "give the workers the same environment and files, and restart them"
            raise EvalkitError(msg, where=job.metric, do=mend)


def _block(task: ScoreTask, block: Block) -> Part:
    lines, job = lines_of(block), task.job
    with contextlib.redirect_stdout(sys.stderr):  # a worker's standard output is that of the command
        frame = score_partition(frame_of_lines(lines), job.metric, feeds=job.feeds, duplicates=task.duplicates)
    done = part_of(_with_blanks(frame, len(lines)), None, job.reviewed)
    ids = array("q", (id_hash(case_id) for case_id in frame["case_id"] if isinstance(case_id, str)))
    return done._replace(ids=ids, near=frame.attrs[SUSPICIOUS_KEYS], notable=[], edges=[])


def _with_blanks(frame: pd.DataFrame, lines: int) -> Iterator[Record | None]:
    return chain(records_in(frame), repeat(None, lines - len(frame)))


def look_again(task: LookTask) -> Look:
    """Read a part once more and say where its suspicious ids are."""
    return Look(task.part.number, _groups(task.suspects, blocks_of(task.part)))


def _groups(suspects: frozenset[int], blocks: Iterable[Block]) -> dict[str, dict[str, list[int]]]:
    groups: dict[str, dict[str, list[int]]] = {}
    for block in blocks:
        for line in lines_of(block):
            if (case_id := id_of(line.raw)) is not None and id_hash(case_id) in suspects:
                groups.setdefault(fold(case_id), {}).setdefault(case_id, []).append(line.number)
    return groups
