"""The kill matrix of a policy and the gate: release rows and the gate's own cases against every planted fault."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalkit.cases.read import Case, CaseFile
from evalkit.contract import EvalkitError, Metric, example_list, sha256_file
from evalkit.decisions.fitness import last_day
from evalkit.decisions.gate import GateOptions
from evalkit.decisions.policy import Policy, PolicyFile, read_policy
from evalkit.mutate.faults import NO_FAULT, Fault, Seen, Setting, run_faulty
from evalkit.mutate.gate_faults import GATE_FAULTS
from evalkit.mutate.matrix import Kill, KillMatrix, Mutant
from evalkit.mutate.policy_faults import policy_faults
from evalkit.mutate.probes import DAY, PROBED, SEEN, Probe, plain_policy, probes_of, stand_in
from evalkit.mutate.runner import Beat, Limits, Stopped, Task, run_tasks
from evalkit.scoring.score import Scorer

__all__ = ["gate_matrix_of"]

_OUTCOME = "the outcome of the rows"
_SLOW = Limits(seconds=60.0)
"""A file of release rows may be large, and none of these faults hangs."""


class _Bench(NamedTuple):
    """Everything a fault is tried on."""

    setting: Setting
    file: PolicyFile
    rows: Path
    options: GateOptions
    plain: Setting
    probes: Sequence[tuple[Probe, Path]]


def gate_matrix_of(
    metric: Metric, policy: Path, rows: Path, *, feeds: Mapping[str, str] | None = None, full: bool = False
) -> KillMatrix:
    """Plant faults in a policy and in the gate, and see which row or which of the gate's own cases notices.

    A row notices a fault when its state or decision changes; rows are judged as of the day the policy was approved, so
    that the matrix does not change by calendar. The gate's own cases come after the rows and state what they expect in
    terms of the policy alone.

    Raises
    ------
    EvalkitError
        Where the policy cannot be used, or the unmutated gate fails one of its own cases.
    """
    file = read_policy(policy)
    if file.policy is None:
        msg = f"the policy cannot be used: {example_list(file.problems)}"
        raise EvalkitError(msg, where=str(policy), do="mend the policy file")
    if metric.kind == "ranking":
        msg = f"{metric.name} gives rankings, which no limit can decide"
        raise EvalkitError(msg, do="leave --policy out")
    stand = stand_in(metric)
    plain = plain_policy(file.policy, metric)
    with tempfile.TemporaryDirectory(prefix="evalkit-probes-") as folder:
        probes = [_written(probe, Path(folder), stand) for probe in probes_of(plain, stand)]
        options = GateOptions(as_of=_day(file.policy), feeds=feeds or {})
        bench = _Bench(Setting(metric, file.policy), file, rows, options, Setting(stand, plain), probes)
        expected = _baseline(bench)
        faults = [*policy_faults(file.policy, metric), *GATE_FAULTS]
        why_not = {id(fault): fault.why_not(bench.plain) for fault in faults}
        able = [fault for fault in faults if not why_not[id(fault)]]
        kills = _kills([_task(fault, bench, expected, full=full) for fault in able])
    by_fault = {id(fault): kills.get(index, []) for index, fault in enumerate(able)}
    return KillMatrix(
        subject=f"{metric.name} under {file.policy.name}",
        cases=(*expected.rows, _OUTCOME, *(_name(probe) for probe, _ in probes)),
        mutants=tuple(_mutant(fault, by_fault.get(id(fault)), why_not[id(fault)], faults) for fault in faults),
        full=full,
        facts={"policy": file.policy.name, "policy_sha256": file.sha256, "rows_sha256": sha256_file(rows)},
    )


def _day(policy: Policy) -> date:
    return policy.approved_on or last_day(policy) or DAY


def _name(probe: Probe) -> str:
    return f"gate/{probe.name}"


def _written(probe: Probe, folder: Path, metric: Metric) -> tuple[Probe, Path]:
    """Write a probe's rows, and bind its override to what the probed row shows."""
    path = folder / f"{probe.name}.jsonl"
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in probe.rows) + b"\n" * probe.blank_lines)
    scorer = Scorer(metric)
    records = [scorer.record(item) for item in CaseFile(path) if isinstance(item, Case)]
    shown = next((record.seen_hash for record in records if record.case_id == PROBED), None)
    return replace(probe, policy=lambda policy: _shown(probe.policy(policy), shown)), path


def _shown(policy: Policy, seen_hash: str | None) -> Policy:
    bound = [o.model_copy(update={"seen_hash": seen_hash}) if o.seen_hash == SEEN else o for o in policy.overrides]
    return policy.model_copy(update={"overrides": tuple(bound)})


# --- in the children ------------------------------------------------------------------------------------------------


def _rows_seen(fault: Fault, bench: _Bench) -> Seen:
    return run_faulty(fault, bench.setting, bench.file, bench.rows, bench.options)


def _probe_seen(fault: Fault, bench: _Bench, probe: Probe, path: Path) -> Seen:
    setting = bench.plain._replace(policy=probe.policy(bench.plain.policy))
    return run_faulty(fault, setting, bench.file, path, GateOptions(as_of=DAY))


def _baseline(bench: _Bench) -> Seen:
    """Return what the unmutated gate says of the rows, once it has passed its own cases."""

    def task(beat: Beat) -> Iterator[Any]:
        beat(0)
        seen = _rows_seen(NO_FAULT, bench)
        yield ["rows", seen._replace(records={})._asdict()]
        for number, (probe, path) in enumerate(bench.probes):
            beat(number)
            found = _probe_seen(NO_FAULT, bench, probe, path)
            if wrong := _wrong(probe, found):
                yield ["wrong", f"{_name(probe)} ({wrong}; {example_list(list(found.blockers)) or 'no blocker'})"]

    rows, wrong = None, []
    for event in run_tasks([task], _SLOW):
        if isinstance(event.message, Stopped):
            msg = f"the gate {event.message.seen} on these rows"
            raise EvalkitError(msg, where=str(bench.rows))
        kind, content = event.message
        if kind == "rows":
            rows = content
        else:
            wrong.append(content)
    if wrong or rows is None:
        msg = f"the unmutated gate fails {len(wrong)} of its own {len(bench.probes)} cases: {example_list(wrong, 3)}"
        raise EvalkitError(
            msg, where=bench.file.path.name, do="see that the policy fits the metric: evalkit gate says why"
        )
    return Seen(
        rows["outcome"], {name: tuple(pair) for name, pair in rows["rows"].items()}, tuple(rows["blockers"]), {}
    )


def _wrong(probe: Probe, seen: Seen) -> str:
    decision = seen.rows.get(PROBED, (None, None))[1]
    if probe.decision is not None and decision != probe.decision:
        return f"decision: {decision} instead of {probe.decision}"
    return "" if seen.outcome == probe.outcome else f"outcome: {seen.outcome} instead of {probe.outcome}"


def _task(fault: Fault, bench: _Bench, expected: Seen, *, full: bool) -> Task:
    def task(beat: Beat) -> Iterator[Any]:
        for kill in _noticed(fault, bench, expected, beat):
            yield kill
            if not full:
                return

    return task


def _noticed(fault: Fault, bench: _Bench, expected: Seen, beat: Beat) -> Iterator[list[str]]:
    """Yield ``[case, by, seen]`` for each row and each probe that shows the fault."""
    beat(0)
    seen = _rows_seen(fault, bench)
    for name, (state, decision) in expected.rows.items():
        now = seen.rows.get(name, ("left out", None))
        if now[0] != state:
            yield [name, "state", f"{now[0]} instead of {state}"]
        elif now[1] != decision:
            yield [name, "decision", f"{now[1]} instead of {decision}"]
    if seen.outcome != expected.outcome:
        yield [_OUTCOME, "outcome", f"{seen.outcome} instead of {expected.outcome}"]
    for number, (probe, path) in enumerate(bench.probes):
        beat(number)
        if wrong := _wrong(probe, _probe_seen(fault, bench, probe, path)):
            by, _, what = wrong.partition(": ")
            yield [_name(probe), by, what]


# --- the matrix -----------------------------------------------------------------------------------------------------


def _kills(tasks: Sequence[Task]) -> dict[int, list[Kill]]:
    kills: dict[int, list[Kill]] = {}
    for event in run_tasks(tasks, _SLOW):
        if isinstance(event.message, Stopped):
            kill = Kill("the gate itself", event.message.how, event.message.seen)
        else:
            kill = Kill(*event.message)
        kills.setdefault(event.task, []).append(kill)
    return kills


def _mutant(fault: Fault, kills: list[Kill] | None, why_not: str, faults: Sequence[Fault]) -> Mutant:
    alike = [
        other for other in faults if (other.layer, other.where, other.name) == (fault.layer, fault.where, fault.name)
    ]
    number = next(i for i, other in enumerate(alike, 1) if other is fault)
    place = f"{fault.where}:" if fault.layer == "policy" else ""
    return Mutant(
        id=f"{fault.layer}:{place}{fault.name}{f':{number}' if number > 1 else ''}",
        operator=fault.name,
        description=fault.description,
        layer=fault.layer,
        where=fault.where,
        diff=fault.diff,
        status="not_applicable" if why_not else "killed" if kills else "survived",
        kills=tuple(kills or ()),
        note=why_not,
    )
