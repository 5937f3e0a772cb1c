"""A fault of a policy or a gate, and the places where a gate passes things on and a fault can take hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple

import orjson

import evalkit.decisions.gate as gate_module
import evalkit.decisions.gate_source as gate_source
from evalkit.cases.read import BadLine, Case
from evalkit.contract import Metric
from evalkit.decisions.gate import GateOptions, GateResult, gate
from evalkit.decisions.policy import Policy, PolicyFile
from evalkit.decisions.rules import rule_of
from evalkit.scoring.parts import Rule
from evalkit.scoring.records import Record, Ruling
from evalkit.scoring.score import RowScorer, Scorer

__all__ = ["NO_FAULT", "Fault", "Seen", "Setting", "run_faulty"]


class Setting(NamedTuple):
    """What a fault may look at."""

    metric: Metric
    policy: Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What a fault does to the policy, to a record, to a row's ruling or to the result; nothing, unless said."""

    name: str
    description: str
    diff: str = ""
    layer: Literal["policy", "gate"] = "gate"
    where: str = "gate"
    policy: Callable[[Setting], Policy] = lambda setting: setting.policy
    record: Callable[[Record, Setting], Record] = lambda record, _: record
    ruling: Callable[[Ruling, Record, Setting], Ruling] = lambda ruling, *_: ruling
    result: Callable[[GateResult], GateResult] = lambda result: result
    why_not: Callable[[Setting], str] = lambda _: ""
    """Why it cannot show itself under this policy; empty where it can."""


NO_FAULT = Fault(name="none", description="the control: nothing changed")


class Seen(NamedTuple):
    """What a gate said of a file: the outcome, and of each row its state and decision."""

    outcome: str
    rows: dict[str, tuple[str, str | None]]
    blockers: tuple[str, ...]
    """The sentences of the blockers."""
    records: dict[str, dict[str, Any]]


def run_faulty(fault: Fault, setting: Setting, file: PolicyFile, cases: Path, options: GateOptions) -> Seen:
    """Run the real gate with a fault in it.

    The fault takes hold in names of the gate's modules, so this is called in forked children only.
    """
    faulty = Setting(setting.metric, fault.policy(setting))
    planted: list[tuple[ModuleType, str, object]] = [
        (gate_module, "read_policy", lambda _: file._replace(policy=faulty.policy, problems=[])),
        (gate_module, "rule_of", _rule(fault, faulty)),
        (gate_source, "scorer_of", _scorer(fault, faulty)),
    ]
    for module, name, value in planted:  # all anew in each call: whatever the last fault left there is gone
        setattr(module, name, value)
    sink = _Sink()
    result = fault.result(gate(setting.metric, cases, file.path, options=options, sink=sink))
    rows = {name: (record["state"], record["decision"]) for name, record in sink.records.items()}
    return Seen(result.outcome.name, rows, tuple(b.sentence for b in result.blockers), sink.records)


def _scorer(fault: Fault, setting: Setting) -> Callable[[Metric, Path, Mapping[str, str]], RowScorer]:
    class Faulty(Scorer):
        def record(self, item: Case | BadLine) -> Record:
            return fault.record(super().record(item), setting)

    return lambda metric, _, feeds: Faulty(metric, feeds)


def _rule(fault: Fault, setting: Setting) -> Callable[[Policy, Metric | None], Rule]:
    def made(policy: Policy, metric: Metric | None) -> Rule:
        rule = rule_of(policy, metric)
        return lambda record: fault.ruling(rule(record), record, setting)

    return made


class _Sink:
    """Keeps each row's record, by case id or line."""

    def __init__(self) -> None:
        self.records: dict[str, dict[str, Any]] = {}

    def write(self, raw: bytes) -> None:
        for line in raw.splitlines():
            record = orjson.loads(line)
            self.records[record["case_id"] or f"line {record['line']}"] = record

    def restart(self) -> None:
        self.records.clear()
