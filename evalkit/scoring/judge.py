"""Judge runs: recorded verdicts are read, the others are asked for once, and everything ends in a run folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from evalkit.cases.adapter_stamp import refuse_unaudited
from evalkit.cases.lines import check_cases_file
from evalkit.cases.read import CaseFile
from evalkit.contract import sha256_file
from evalkit.contract.judge import Judge
from evalkit.scoring.judging.budget import Budget
from evalkit.scoring.judging.cassette import Cassette, read_cassette
from evalkit.scoring.judging.folder import JudgeFolder
from evalkit.scoring.judging.kinds import replay_for, rows_of
from evalkit.scoring.judging.options import DEFAULT_STORE, JudgeOptions, environment_settings
from evalkit.scoring.judging.replay import ReplayScorer, request_maker
from evalkit.scoring.judging.request import JudgeSettings
from evalkit.scoring.judging.rows import Recorded
from evalkit.scoring.judging.session import JudgeRun, Session
from evalkit.scoring.judging.verdicts import VerdictStore
from evalkit.scoring.records import Record

__all__ = [
    "DEFAULT_STORE",
    "Budget",
    "JudgeOptions",
    "JudgeRun",
    "JudgeSettings",
    "ReplayScorer",
    "environment_settings",
    "neighbour_cassette",
    "replay_records",
    "replay_scorer",
    "request_maker",
    "run_judge",
]


def neighbour_cassette(judge: Judge, cases: Path) -> Path | None:
    """Return the cassette that lies beside the cases, ``NAME.cassette.jsonl``; ``None`` where there is none."""
    path = cases.parent / f"{judge.name}.cassette.jsonl"
    return path if path.is_file() else None


async def run_judge(
    judge: Judge, cases: Path | str, folder: Path | str, options: JudgeOptions | None = None
) -> JudgeRun:
    """Judge cases into a run folder.

    A folder whose run was interrupted is continued: no verdict is lost, and none is paid for twice.

    Parameters
    ----------
    judge : Judge
    cases : path
        A ``.jsonl`` file.
    folder : path
        New, or that of an interrupted run of the same judge, cases and configuration.
    options : JudgeOptions, optional

    Raises
    ------
    EvalkitError
        Before anything is paid, where the run cannot work at all (no key, no budget, no price, a refused parameter);
        later only where its own files cannot be written.
    """
    options = options or JudgeOptions()
    cases, folder = Path(cases), Path(folder)
    check_cases_file(cases)
    if options.settings is None and options.replay is None:
        options = replace(options, replay=neighbour_cassette(judge, cases))
    cassette = read_cassette(options.replay) if options.replay else None
    rows = rows_of(judge, request_maker(judge, options.settings, cassette), options.feeds)
    if cassette is None:
        options.check_declared()
        refuse_unaudited(judge, cases)
    subject = {
        "judge": judge.name,
        "fingerprint": judge.fingerprint,
        "configuration": rows.maker.configuration_hash + (f" x{options.repeat}" if options.repeat > 1 else ""),
        "cases": sha256_file(cases),
    }
    store = VerdictStore(options.store) if cassette is None else None
    try:
        home = JudgeFolder(folder, subject)
        try:
            file = CaseFile(cases, rows.required, rows.optional)
            return await Session(rows, file, home, store, cassette, options).run()
        finally:
            home.close()
    finally:
        if store:
            store.close()


def replay_records(
    judge: Judge,
    cases: Path | str | CaseFile,
    recorded: Recorded,
    *,
    settings: JudgeSettings | None = None,
    feeds: Mapping[str, str] | None = None,
) -> Iterator[Record]:
    """Read recorded verdicts for cases, in input order; nothing is ever sent.

    Parameters
    ----------
    judge : Judge
    cases : path or CaseFile
    recorded : Cassette or VerdictStore
        Where verdicts are kept; a question that is not there is *unrun*.
    settings : JudgeSettings, optional
        Under which the keys are made; those of the cassette by default.
    """
    score = replay_scorer(judge, recorded, settings=settings, feeds=feeds)
    file = cases if isinstance(cases, CaseFile) else CaseFile(cases, score.required, score.optional)
    return map(score.record, file)


def replay_scorer(
    judge: Judge,
    recorded: Recorded,
    *,
    settings: JudgeSettings | None = None,
    feeds: Mapping[str, str] | None = None,
) -> ReplayScorer:
    """Return what stands in for a metric's scorer, so that a file of cases is gated from recorded verdicts."""
    cassette = recorded if isinstance(recorded, Cassette) else None
    rows = rows_of(judge, request_maker(judge, settings, cassette), feeds)
    return replay_for(rows)(rows, recorded)
