"""A run against an earlier one: which failures are new, known or fixed, and whether that is more than noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit.contract import EvalkitError, Metric
from evalkit.decisions.binomial import mcnemar_p
from evalkit.scoring.parts import Rule
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run

__all__ = ["Baseline", "Compared", "read_baseline"]


class Baseline(NamedTuple):
    """The earlier run's decisions, made anew under today's policy: a moved limit is not taken for a moved score."""

    run_id: str
    decided: Mapping[str, str]
    """Decision, or else state, by case id."""

    def failing(self) -> frozenset[str]:
        """Return the case ids that the baseline fails."""
        return frozenset(case_id for case_id, word in self.decided.items() if word == "fail")

    def compare(self, records: Mapping[str, Record]) -> Compared:
        """Split the failures of both runs; `records` are those of this run, by case id."""
        now = {case_id: record.decision or record.state for case_id, record in records.items()}
        old, new = self.failing(), {case_id for case_id, word in now.items() if word == "fail"}
        both = {"pass", "fail", "review"}
        paired = [c for c in now if now[c] in both and self.decided.get(c) in both]
        only_old = sum(c in old and c not in new for c in paired)
        only_new = sum(c in new and c not in old for c in paired)
        return Compared(
            run_id=self.run_id,
            new=sorted(new - old),
            known=sorted(new & old),
            fixed=sorted(case_id for case_id in old if now.get(case_id) == "pass"),
            unjudged=sorted(case_id for case_id in old & now.keys() if now[case_id] not in ("pass", "fail")),
            vanished=sorted(old - now.keys()),
            appeared=len(now.keys() - self.decided.keys()),
            pairs=len(paired),
            only_old=only_old,
            only_new=only_new,
            p_value=mcnemar_p(only_old, only_new),
        )


class Compared(NamedTuple):
    """Failures now against failures then."""

    run_id: str
    new: list[str]
    known: list[str]
    fixed: list[str]
    unjudged: list[str]
    """Failed before, and now not scored or waiting for a person: not fixed."""
    vanished: list[str]
    """Failed before, and now not in the file: not fixed either."""
    appeared: int
    """Cases that the baseline did not have."""
    pairs: int
    """Cases decided in both runs: what the test rests on."""
    only_old: int
    only_new: int
    p_value: float | None
    """Exact two-sided McNemar test over the pairs; ``None`` where none differs."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return self._asdict()


def read_baseline(run: Run, metric: Metric, rule: Rule) -> Baseline:
    """Read an earlier run of the same metric and contract version, and rule on its values anew."""
    found = run.manifest["metric"]
    if found.get("name") != metric.name or found.get("contract_version") != metric.version:
        msg = (
            f"the baseline is a run of {found.get('name')!r}, contract {found.get('contract_version')!r}; this is "
            f"{metric.name!r}, contract {metric.version!r}: rows of different contracts are not compared"
        )
        raise EvalkitError(msg, where=str(run.folder), do="make a baseline run with this metric and contract")
    run.check()
    decided = {
        record.case_id: (rule(record).decision or record.state)
        for record in run.records()
        if record.case_id is not None
    }
    return Baseline(str(run.manifest.get("run_id")), decided)
