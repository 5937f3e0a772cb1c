"""What a manifest says of a whole run, read once: all that two runs are compared by besides their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from evalkit.contract import Decision
from evalkit.decisions.explaining.divergence import Promises, promises_of
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run

__all__ = ["RunFact", "RunFacts", "compare_facts", "read_facts"]


@dataclass(frozen=True)
class RunFacts:
    """The manifest of one run, as far as an explanation asks it."""

    manifest: Mapping[str, Any]

    @property
    def run_id(self) -> str:
        """Which run it is."""
        return str(self.manifest.get("run_id"))

    @cached_property
    def metric(self) -> Mapping[str, Any]:
        """Name, contract version, fingerprint, origin, declaration and contract of the metric."""
        return _mapping(self.manifest.get("metric"))

    @cached_property
    def hooks(self) -> Mapping[str, Mapping[str, Any]]:
        """Preparation hooks by the input that each changes: its name and the hash of its source."""
        return _mapping(_mapping(self.metric.get("preparation")).get("hooks"))

    @property
    def metric_source(self) -> Any:
        """The fingerprint of the metric itself, without its hooks."""
        without = _mapping(self.metric.get("preparation")).get("fingerprint_without")
        return without or self.metric.get("fingerprint")

    @cached_property
    def contract_terms(self) -> Mapping[str, Any]:
        """What decides a row's state or value; wording may be improved without changing the contract."""
        contract = _mapping(self.metric.get("contract"))
        terms = {key: contract.get(key) for key in ("better", "allows_missing", "reviewed", "produced")}
        return {"metric": self.metric.get("name"), "version": self.metric.get("contract_version"), **terms}

    @cached_property
    def promises(self) -> Promises:
        """Roles and owners of the contract."""
        return promises_of(self.metric.get("contract"))

    @property
    def policy(self) -> Mapping[str, Any] | None:
        """The policy as it was; ``None`` for a run that was only scored."""
        policy = self.manifest.get("policy")
        return policy if isinstance(policy, Mapping) else None

    @property
    def policy_version(self) -> str | None:
        """The policy's version."""
        return self.policy.get("version") if self.policy else None

    def limits(self, slice_name: str) -> Any:
        """Return what the policy asks of a slice."""
        return _mapping(self.policy.get("slices")).get(slice_name) if self.policy else None

    @cached_property
    def decide(self) -> Callable[[Record], Decision | None] | None:
        """The policy as a function of one record; ``None`` where it was not kept or cannot be read any more."""
        if self.policy is None:
            return None
        from pydantic import ValidationError

        from evalkit.decisions.policy import Policy
        from evalkit.decisions.rules import rule_of

        try:
            rule = rule_of(Policy.model_validate_json(orjson.dumps(self.policy)), None)
        except ValidationError:
            return None
        return lambda record: rule(record).decision

    @cached_property
    def judge(self) -> Mapping[str, Any]:
        """The judge's configuration; empty for a metric without one."""
        return _mapping(self.manifest.get("judge"))

    @cached_property
    def declaration(self) -> Mapping[str, Any]:
        """What the metric declared: kind and allowed values; for a judge its prompt, labels and reading as well."""
        return _mapping(self.metric.get("declaration"))

    @property
    def uses_ragas(self) -> bool:
        """Whether the metric was written for ragas, whose version then may have had a say in the values."""
        return self.metric.get("origin") == "ragas"

    @cached_property
    def adapter(self) -> Mapping[str, Any]:
        """How traces became cases: revision and mapping, without what belongs to these cases alone."""
        adapter = _mapping(self.manifest.get("adapter"))
        return {key: value for key, value in adapter.items() if key not in ("audit", "cases", "cases_sha256")}


class RunFact(NamedTuple):
    """One fact about two whole runs."""

    what: str
    old: Any
    new: Any


def read_facts(run: Run) -> RunFacts:
    """Read the facts of an opened run."""
    return RunFacts(run.manifest)


def compare_facts(old: RunFacts, new: RunFacts) -> tuple[list[RunFact], list[str]]:
    """Return which facts of two runs differ, and the names of those that were recorded and are the same."""
    differ: list[RunFact] = []
    same: list[str] = []
    for what, read in _FACTS.items():
        before, after = read(old), read(new)
        if before != after:
            differ.append(RunFact(what, before, after))
        elif before is not None:
            same.append(what)
    return differ, same


_FACTS: Mapping[str, Callable[[RunFacts], Any]] = {
    "metric": lambda facts: facts.metric.get("name"),
    "contract version": lambda facts: facts.metric.get("contract_version"),
    "policy version": lambda facts: facts.policy_version,
    "limits": lambda facts: facts.policy.get("slices") if facts.policy else None,
    "metric source": lambda facts: facts.metric_source,
    "preparation": lambda facts: facts.hooks or None,
    "adapter": lambda facts: facts.adapter or None,
    "cases": lambda facts: facts.manifest.get("cases_sha256"),
    "judge": lambda facts: facts.judge or None,
    "ragas version": lambda facts: facts.manifest.get("ragas"),
    "evalkit version": lambda facts: facts.manifest.get("evalkit"),
    "Python version": lambda facts: facts.manifest.get("python"),
    "lock file": lambda facts: facts.manifest.get("lock_sha256"),
    "redaction": lambda facts: _mapping(facts.metric.get("contract")).get("redact"),
}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
