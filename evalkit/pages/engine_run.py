"""The whole of ``evalkit score --engine``: cut the cases, score the parts elsewhere, make one run folder of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from evalkit.cases.adapter_stamp import AdapterStamp, adapter_of, stamp_path
from evalkit.contract import EvalkitError
from evalkit.pages.progress import counting
from evalkit.pages.publish import CasesFacts, Scored, finish_scored
from evalkit.scoring.engines.cuts import cut_into_parts, files_of
from evalkit.scoring.engines.join import PARTS, Engine, score_parts
from evalkit.scoring.engines.task import Job, metric_here
from evalkit.scoring.load import load_metric
from evalkit.scoring.run import RunWriter
from evalkit.scoring.score import Scorer

__all__ = ["ENGINES", "engine_named", "score_parts_to_run"]

ENGINES = ("dask",)


def engine_named(name: str, scheduler: str | None = None) -> AbstractContextManager[Engine]:
    """Return the engine of a name, not started yet."""
    if name not in ENGINES:
        msg = f"there is no engine {name!r}"
        raise EvalkitError(msg, do=f"engines are {', '.join(ENGINES)}; without --engine this process scores")
    from evalkit.scoring.engines.dask_cluster import dask_engine

    return dask_engine(scheduler)


def score_parts_to_run(
    spec: str,
    cases: Sequence[str | Path],
    folder: Path,
    engine: AbstractContextManager[Engine],
    *,
    feeds: Mapping[str, str] | None = None,
) -> Scored:
    """Score cases in parts on an engine, into one run folder.

    The records are those of one machine over the same lines in one file, byte for byte; ``parts/`` has them once more,
    a file a part, for whoever reads on in parallel, and the manifest says which lines of which file each part is.

    Parameters
    ----------
    spec : str
        The metric, as on the command line; a path is found by the workers under the same absolute path.
    cases : sequence of str or path
        Files, folders or patterns. Lines are numbered through all files in their order.
    folder : path
        The run folder to make.
    engine : context manager of Engine
        Entered once everything else is known to be right.
    feeds : mapping, optional
    """
    metric = load_metric(spec)
    scorer = Scorer(metric, feeds)
    files = files_of(cases)
    adapter = _adapter(files)
    named = _as_workers_name_it(spec)
    with RunWriter(folder) as writer, counting("rows scored") as on_rows, engine as run:
        cut = cut_into_parts(files)
        job = Job(named, scorer.feeds, scorer.reviewed, str(folder.resolve() / PARTS), metric_here(named))
        joined = score_parts(cut, job, writer, run, on_rows=on_rows)
        facts = CasesFacts(cut.name, cut.sha256, adapter)
        return finish_scored(metric, facts, writer, joined.streamed, {"parts": joined.parts})


def _as_workers_name_it(spec: str) -> str:
    place, separator, name = spec.rpartition(":")
    return f"{Path(place).resolve()}:{name}" if separator and Path(place).is_file() else spec


def _adapter(files: Sequence[Path]) -> AdapterStamp | None:
    if len(files) == 1:
        return adapter_of(files[0])
    if stamped := [file for file in files if stamp_path(file).exists()]:
        msg = "was made by an adapter, whose audit speaks for that file alone and not for a run of several"
        mend = "adapt the traces into one file, or score this one by itself"
        raise EvalkitError(msg, where=stamped[0].name, do=mend)
    return None
