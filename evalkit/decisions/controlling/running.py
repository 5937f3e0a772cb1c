"""Runs a judge over its controls: the way of every judge run, but that a recorded failure stands for itself."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit.cases.control_file import ControlSuite, read_controls
from evalkit.contract import EvalkitError
from evalkit.contract.judge import Judge
from evalkit.decisions.controlling.results import Answer, ControlRun, hold
from evalkit.scoring.judge import JudgeOptions, JudgeRun, neighbour_cassette, request_maker, run_judge
from evalkit.scoring.judging.cassette import read_cassette
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.judging.request import RequestMaker
from evalkit.scoring.judging.rows import JudgeRows
from evalkit.scoring.records import Record

__all__ = ["judge_controls", "run_controls"]


def run_controls(
    judge: Judge,
    controls: Path | str | ControlSuite,
    options: JudgeOptions | None = None,
    folder: Path | None = None,
) -> ControlRun:
    """Run a judge over its controls; `judge_controls` is the same where a loop is running already.

    When it misleads: controls show that the judge tells *these* rows apart. How often it is wrong on rows of production
    is what labels are for.

    Parameters
    ----------
    judge : Judge
    controls : path or ControlSuite
        A file of controls; one that has been read must still be that file.
    options : JudgeOptions, optional
        As for any judge run; by default the cassette beside the controls is replayed.
    folder : Path, optional
        Where the run is kept; without one only its result is.

    Raises
    ------
    EvalkitError
        Where a control is not in order or stale, or nothing can be asked or replayed.
    """
    return asyncio.run(judge_controls(judge, controls, options, folder))


async def judge_controls(
    judge: Judge,
    controls: Path | str | ControlSuite,
    options: JudgeOptions | None = None,
    folder: Path | None = None,
) -> ControlRun:
    """Run a judge over its controls, in a notebook's own loop; see `run_controls`."""
    suite = controls if isinstance(controls, ControlSuite) else read_controls(controls, judge)
    options = options or JudgeOptions()
    if options.settings is None and options.replay is None:
        options = replace(options, replay=neighbour_cassette(judge, suite.path))
    cassette = read_cassette(options.replay) if options.replay else None
    maker = request_maker(judge, options.settings, cassette)
    options = replace(options, given=recorded_failures(suite, maker))
    if folder is not None:
        return _concluded(suite, maker, await run_judge(judge, suite.path, folder, options), options)
    with tempfile.TemporaryDirectory(prefix="evalkit-controls-") as scratch:
        done = await run_judge(judge, suite.path, Path(scratch) / "run", options)
        return _concluded(suite, maker, done, options)


def recorded_failures(suite: ControlSuite, maker: RequestMaker) -> dict[str, Kept]:
    """Return the replies that controls of the role ``evaluator_error`` bring along, under the keys they answer.

    Raises
    ------
    EvalkitError
        Where a reply is none, or two of them answer one question.
    """
    found: dict[str, Kept] = {}
    rows = JudgeRows(maker.judge, maker)
    for control in suite.of("evaluator_error"):
        where = f"{suite.path}, line {control.case.line}"
        record, request = rows.prepare(control.case)
        if request is None:
            msg = f"{control.case_id} would never be asked: {record.reason}"
            raise EvalkitError(msg, where=where, do="give it inputs that are in order; its reply is what fails")
        reply = _FIELDS | dict(control.reply or {})
        try:
            kept = Kept.of({"reply": reply}, case_id=control.case_id, prompt_sha256=request.prompt_sha256)
        except ValueError as error:
            msg = f"the reply of {control.case_id} is none: {error}"
            raise EvalkitError(msg, where=where, do=f"its fields are {', '.join(_FIELDS)}") from error
        if found.setdefault(request.key, kept) is not kept:
            msg = f"{control.case_id} has the inputs of another evaluator error"
            raise EvalkitError(msg, where=where, do="give it inputs of its own")
    return found


_FIELDS: dict[str, Any] = {
    "choices": 1, "content": None, "refusal": None, "finish_reason": "stop", "model": None, "usage": None,
}  # fmt: skip


def _concluded(suite: ControlSuite, maker: RequestMaker, done: JudgeRun, options: JudgeOptions) -> ControlRun:
    currency = options.price.currency if options.price else None
    return ControlRun(
        suite=suite,
        judge=_subject(maker),
        results=hold(suite, _answers(done.run.records())),
        note=read_cassette(options.replay).note if options.replay else "",
        calls={name: done.facts[name] for name in ("calls", "cost", "charged", "tokens")} | {"currency": currency},
    )


def _subject(maker: RequestMaker) -> dict[str, Any]:
    """Name what a control run speaks for: another declaration or configuration is another judge."""
    judge = maker.judge
    return {
        "name": judge.name,
        "contract_version": judge.version,
        "rubric_version": judge.rubric_version,
        "fingerprint": judge.fingerprint,
        "configuration_hash": maker.configuration_hash,
        "model": maker.facts["model"],
    }


def _answers(records: Iterable[Record]) -> Mapping[str, Answer]:
    return {
        str(r.case_id): Answer(r.state, r.value, r.reason, r.error_kind, "finish_reason" in (r.judge or {}))
        for r in records
    }
