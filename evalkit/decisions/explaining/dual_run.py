"""Two metrics over the same stored cases: the records of both, side by side, under one policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.read import BadLine, Case, CaseFile
from evalkit.contract import EvalkitError, Metric
from evalkit.decisions.explaining.paired_runs import RowPair, checked_records, pair_records
from evalkit.decisions.explaining.run_facts import RunFacts
from evalkit.decisions.policy import Policy
from evalkit.decisions.rules import rule_of
from evalkit.scoring.records import Record
from evalkit.scoring.retention import is_kept_in_full
from evalkit.scoring.run import Run, installed_versions
from evalkit.scoring.score import Scorer

__all__ = ["DualRun", "Side", "dual_run"]


class Side(NamedTuple):
    """One side of a dual run: a metric to be asked now, or a run that was made with one."""

    facts: RunFacts
    metric: Metric | None
    run: Run | None

    @classmethod
    def of(cls, given: Metric | Run) -> Side:
        """Take a metric or a run."""
        if isinstance(given, Run):
            return cls(RunFacts(given.manifest), None, given)
        facts = {
            "name": given.name,
            "contract_version": given.version,
            "fingerprint": given.fingerprint,
            "origin": given.origin,
            "declaration": given.declaration(),
            "contract": given.contract.facts() if given.contract else None,
            "preparation": given.preparation_facts(),
        }
        return cls(RunFacts({"metric": facts, **installed_versions()}), given, None)

    @property
    def version(self) -> str:
        """The contract version of this side."""
        return str(self.facts.metric.get("contract_version"))


class DualRun:
    """Pairs of records, made as they are asked for; `notes` is complete afterwards.

    A row that is written for the contract version of one side is read by the other side as it is: a rehearsal asks
    what the new version would say of the old rows, and a note counts them.
    """

    def __init__(
        self, old: Side, new: Side, cases: Path, policy: Policy | None, feeds: Mapping[str, str] | None = None
    ) -> None:
        self.old, self.new = old, new
        self._cases, self._policy, self._feeds = cases, policy, feeds
        self._lent = 0

    def __iter__(self) -> Iterator[RowPair]:
        self._lent = 0
        if self.old.run is None and self.new.run is None:
            return self._in_step()
        return pair_records(self._records(self.old), self._records(self.new))

    def notes(self) -> list[str]:
        """Say what the reader must know of how the rows were read."""
        if not self._lent:
            return []
        versions = " and ".join(sorted({self.old.version, self.new.version}))
        return [f"{self._lent} rows name one of the contract versions {versions}; both sides read them as they are"]

    def _in_step(self) -> Iterator[RowPair]:
        scorers = [Scorer(side.metric, self._feeds) for side in (self.old, self.new) if side.metric]
        rules = [rule_of(self._policy, scorer.metric) if self._policy else None for scorer in scorers]
        required = tuple(dict.fromkeys(key for scorer in scorers for key in scorer.required))
        optional = tuple(dict.fromkeys(key for scorer in scorers for key in scorer.optional if key not in required))
        for item in _items(self._cases, required, optional):
            records = [
                _ruled(scorer.record(self._lend(item, scorer.metric)), rule)
                for scorer, rule in zip(scorers, rules, strict=True)
            ]
            yield RowPair(*records)

    def _records(self, side: Side) -> Iterator[Record]:
        if side.run is not None:
            rule = rule_of(self._policy, None) if self._policy else None
            yield from (_ruled(record, rule) for record in checked_records(side.run))
        elif side.metric is not None:
            scorer = Scorer(side.metric, self._feeds)
            rule = rule_of(self._policy, side.metric) if self._policy else None
            for item in _items(self._cases, scorer.required, scorer.optional):
                yield _ruled(scorer.record(self._lend(item, side.metric)), rule)

    def _lend(self, item: Case | BadLine, metric: Metric) -> Case | BadLine:
        if isinstance(item, BadLine):
            return item
        wanted = item.fields.get("contract_version")
        if wanted in (None, metric.version) or wanted not in (self.old.version, self.new.version):
            return item
        self._lent += 1
        return item._replace(fields={**item.fields, "contract_version": metric.version})


def dual_run(
    old: Metric | Run,
    new: Metric | Run,
    cases: Path | str,
    *,
    policy: Policy | None = None,
    feeds: Mapping[str, str] | None = None,
) -> DualRun:
    """Set up a dual run; nothing is read before its pairs are asked for.

    Parameters
    ----------
    old, new : Metric or Run
        A run stands for the metric that made it: its records are taken as they are.
    cases : path
        A ``.jsonl`` file, or a run folder whose stored inputs are scored again.
    policy : Policy, optional
        Decides both sides, whatever contract version it was approved for.
    """
    sides = (Side.of(old), Side.of(new))
    if policy is not None:
        for side in sides:
            _check_limits(policy, side)
    return DualRun(*sides, Path(cases), policy, feeds)


def _ruled(record: Record, rule: Any) -> Record:
    return record.ruled(rule(record)) if rule else record


def _items(cases: Path, required: tuple[str, ...], optional: tuple[str, ...]) -> Iterable[Case | BadLine]:
    if not cases.is_dir():
        return CaseFile(cases, required, optional)
    from evalkit.scoring.run import open_run

    return map(_stored, checked_records(open_run(cases)))


def _stored(record: Record) -> Case | BadLine:
    """Turn a record back into the case it was, as far as it was kept."""
    if record.inputs is None or record.case_id is None:
        kind = record.error_kind or "bad_case"
        return BadLine(
            record.line, record.case_id, record.reason, kind, record.input_hash, record.slice, record.blocking
        )
    if cut := [name for name, value in record.inputs.items() if not is_kept_in_full(value)]:
        msg = f"the run did not keep {cut[0]!r} in full, so it cannot be scored again"
        raise EvalkitError(msg, where=f"case {record.case_id!r}", do="give the original file of cases")
    fields = {
        **record.inputs,
        **record.lineage,
        "evidence": record.evidence,
        "requirement_set_version": record.requirement_set_version,
    }
    return Case(record.line, record.case_id, record.slice, record.blocking, fields)


def _check_limits(policy: Policy, side: Side) -> None:
    kind = (side.facts.metric.get("declaration") or {}).get("kind")
    for name, limits in policy.slices.items():
        has_bound = limits.minimum is not None or limits.maximum is not None
        if has_bound and kind != "numeric":
            msg = f"slices.{name} has a numeric bound, but {side.facts.metric.get('name')} gives {kind} values"
            raise EvalkitError(msg, do="give a policy whose limits fit both metrics, or leave --policy out")
