"""From a metric and its cases to its kill matrix: the unmutated metric, two controls, every mutant, every survivor."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from evalkit.contract import EvalkitError, Metric, example_list, sha256_file
from evalkit.mutate.blueprint import Versions
from evalkit.mutate.equivalent import check_equivalents, read_equivalents
from evalkit.mutate.expect import Difference, difference
from evalkit.mutate.matrix import Kill, KillMatrix, Mutant
from evalkit.mutate.plant import Planted, Planting, plant
from evalkit.mutate.reached import reached_lines
from evalkit.mutate.runner import Beat, Limits, Stopped, Task, run_tasks
from evalkit.mutate.suggest import suggest
from evalkit.mutate.trials import Trial, Trials, read_trials

__all__ = ["judge_task", "matrix_of"]

_STEP_OF_BUILDING = 0


def matrix_of(
    metric: Metric,
    cases: Path,
    *,
    feeds: Mapping[str, str] | None = None,
    equivalent: Path | None = None,
    full: bool = False,
    suggestions: bool = True,
    limits: Limits | None = None,
    on_mutant: Callable[[int, int], object] = lambda *_: None,
) -> KillMatrix:
    """Mutate a metric's source and see which case catches what.

    It forks the calling process, which should be a fresh one: `evalkit.mutate.kill_matrix` starts it.

    Parameters
    ----------
    metric : Metric
        Written as a function in a file.
    cases : Path
        Contract cases, each with its ``oracle``.
    feeds : mapping, optional
        ``{parameter: key}`` where a parameter is fed by a key of another name.
    equivalent : Path, optional
        The reviewed file of equivalent mutants.
    full : bool
        Show every case to every mutant, instead of stopping at the first that kills it; and note the lines that each
        case reaches.
    suggestions : bool
        Search for the smallest case that would kill each survivor.
    limits : Limits, optional
        Time for each case and memory.
    on_mutant : callable, optional
        Called with how many mutants are done, and of how many.

    Raises
    ------
    EvalkitError
        Where the unmutated metric fails a case, a control goes wrong, or something cannot be read: there is no score.
    """
    limits = limits or Limits()
    suite = read_trials(cases, metric, feeds)
    reviewed = read_equivalents(equivalent) if equivalent else {}
    planting = plant(metric)
    _check_controls(planting, suite.trials, limits)
    mutants = _judged(planting, suite.trials, limits, full=full, on_mutant=on_mutant)
    mutants = check_equivalents(reviewed, mutants, equivalent.name if equivalent else "")
    mutants = _with_suggestions(planting, mutants, suite, limits) if suggestions else mutants
    return KillMatrix(
        subject=metric.name,
        cases=tuple(trial.case_id for trial in suite.trials),
        mutants=(*mutants, *_idle(planting)),
        full=full,
        facts={
            "metric": metric.name,
            "contract_version": metric.version,
            "metric_fingerprint": metric.fingerprint,
            "cases_sha256": sha256_file(cases),
            "cases_without_oracle": list(suite.without_oracle),
            **({"reached_lines": reached_lines(planting.blueprint, suite.trials, limits)} if full else {}),
        },
    )


# --- one task -------------------------------------------------------------------------------------------------------


def judge_task(
    versions: Versions, build: Callable[[], Callable[..., Any]], trials: Sequence[Trial], *, full: bool
) -> Task:
    """Return the task that builds a version of a metric and yields ``[trial, by, seen]`` for each case it fails."""

    def task(beat: Beat) -> Iterator[Any]:
        beat(_STEP_OF_BUILDING)
        try:
            measure = versions.measure(build())
        except BaseException as error:  # noqa: BLE001 - a mutant may fail in any way while it is built, too
            yield [0, "state", f"cannot be built: {type(error).__name__}: {error}"[:200]]
            return
        for number, trial in enumerate(trials):
            beat(number)
            found = _first_difference(measure, trial)
            if found:
                yield [number, found.by, found.seen]
                if not full:
                    return

    return task


def _first_difference(measure: Callable[[Any], Any], trial: Trial) -> Difference | None:
    try:
        return difference(measure(orjson.loads(trial.inputs)), trial.oracle)
    except BaseException as error:  # noqa: BLE001 - what escapes even the metric's own guard (KeyboardInterrupt)
        return Difference("state", f"{type(error).__name__} escaped")


def _kills(events: Iterator[Any], trials: Sequence[Trial], on_task: Callable[[int], object]) -> dict[int, list[Kill]]:
    kills: dict[int, list[Kill]] = {}
    for event in events:
        on_task(event.task)
        if isinstance(event.message, Stopped):
            kill = Kill(trials[event.message.step].case_id, event.message.how, event.message.seen)
        else:
            number, by, seen = event.message
            kill = Kill(trials[number].case_id, by, seen)
        kills.setdefault(event.task, []).append(kill)
    return kills


# --- controls -------------------------------------------------------------------------------------------------------


def _check_controls(planting: Planting, trials: Sequence[Trial], limits: Limits) -> None:
    metric, versions = planting.blueprint.metric, Versions(planting.blueprint.metric)
    builds = (lambda: metric.function, planting.blueprint.function, lambda: _destroyed)
    tasks = [judge_task(versions, build, trials, full=index < 2) for index, build in enumerate(builds)]
    kills = _kills(run_tasks(tasks, limits), trials, lambda _: None)
    if red := kills.get(0):
        named = example_list([f"{kill.case_id} ({kill.by}: {kill.seen})" for kill in red])
        msg = f"the unmutated metric fails {len(red)} of its {len(trials)} cases: {named}"
        do = "mend the metric or the cases; a score would mean nothing"
        slow = "; or give each case more time with --seconds" if any(kill.by == "time" for kill in red) else ""
        raise EvalkitError(msg, where=metric.name, do=do + slow)
    if changed := kills.get(1):
        named = example_list([f"{kill.case_id} ({kill.by}: {kill.seen})" for kill in changed])
        msg = f"the control without a change was killed: built anew, the metric behaves differently on {named}"
        do = "what its module sets up besides functions and constants cannot be repeated; move it into functions"
        raise EvalkitError(msg, where=metric.name, do=do)
    if 2 not in kills:
        msg = f"the control with a destroyed result survived: none of {len(trials)} cases reads what the metric returns"
        raise EvalkitError(msg, where=metric.name, do="add a case that the metric scores")


def _destroyed(**_: Any) -> None:
    """Stand for a metric whose result is lost."""


# --- mutants --------------------------------------------------------------------------------------------------------


def _judged(
    planting: Planting,
    trials: Sequence[Trial],
    limits: Limits,
    *,
    full: bool,
    on_mutant: Callable[[int, int], object],
) -> list[Mutant]:
    planted = planting.mutants
    able = [p for p in planted if not _lacking(p)]
    for name in {name for p in able for name in p.change.modules}:
        importlib.import_module(name)  # here, once, and not within the time limit of a mutant
    versions = Versions(planting.blueprint.metric)
    tasks = [judge_task(versions, _builder(planting, p), trials, full=full) for p in able]
    kills = _kills(run_tasks(tasks, limits), trials, lambda index: on_mutant(index, len(able)))
    by_id = {p.id: tuple(kills.get(index, ())) for index, p in enumerate(able)}
    return [_mutant(p, by_id.get(p.id)) for p in planted]


def _builder(planting: Planting, planted: Planted) -> Callable[[], Callable[..., Any]]:
    return lambda: planting.blueprint.function(planted.change)


def _lacking(planted: Planted) -> list[str]:
    return [name for name in planted.change.modules if importlib.util.find_spec(name) is None]


def _mutant(planted: Planted, kills: tuple[Kill, ...] | None) -> Mutant:
    status = "not_applicable" if kills is None else "killed" if kills else "survived"
    return Mutant(
        id=planted.id,
        operator=planted.operator.name,
        description=planted.operator.description,
        where=planted.where,
        line=planted.line,
        diff=planted.diff,
        status=status,  # type: ignore[arg-type] # one of the literals above
        kills=kills or (),
        note=f"{', '.join(_lacking(planted))} is not installed here" if kills is None else "",
    )


def _idle(planting: Planting) -> Iterator[Mutant]:
    """Name the operators that found nothing to change: what was not tried is said."""
    for operator in planting.idle:
        yield Mutant(
            id=f"{planting.blueprint.metric.name}:{operator.name}",
            operator=operator.name,
            description=operator.description,
            status="not_applicable",
            note="nothing of the kind in this metric",
        )


def _with_suggestions(planting: Planting, mutants: list[Mutant], suite: Trials, limits: Limits) -> list[Mutant]:
    changes = {planted.id: planted.change for planted in planting.mutants}
    waiting = {mutant.id: changes[mutant.id] for mutant in mutants if mutant.status == "survived"}
    found = suggest(planting.blueprint, waiting, suite, limits)
    return [
        replace(mutant, suggested_case=found[mutant.id].case, note=found[mutant.id].note)
        if mutant.id in found
        else mutant
        for mutant in mutants
    ]
