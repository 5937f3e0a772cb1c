"""The audit of an adapter: every trace held against what it preserved, faults planted into it, untouched traces scored.

All of it in one pass over the file, before any judge is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evalkit.cases.adapters.apply import Mapper
from evalkit.cases.adapters.case import CaseMaker, fed_meanings
from evalkit.cases.adapters.checks import CHECKS, Check, Pair
from evalkit.cases.adapters.declare import Adapter
from evalkit.cases.adapters.feeding import FEED_CHECKS, FeedCheck, applicability, meanings_needed
from evalkit.cases.adapters.observed import Happened, happened_in, witnessed_by
from evalkit.cases.adapters.profile import FILE_CHECKS, MEANINGS, FileCheck, FileProfile
from evalkit.cases.traces import READERS
from evalkit.contract import Metric, sha256_file
from evalkit.mutate.audited import EXAMPLES, Audit, CheckResult, Example
from evalkit.mutate.controls import ControlRoom
from evalkit.mutate.matrix import KillMatrix
from evalkit.mutate.planting_traces import Planter, feed_mutants, file_mutants

__all__ = ["AuditOptions", "audit"]

_SAMPLE_ROWS, _SAMPLE_TEXT = 60, 64_000_000
"""Rows, and characters of their passages, that the faults of a whole file are planted into."""
_CORE = ("answer", "retrieved")
"""Meanings whose lineage must have been seen by the trace itself; without that a person has to confirm them."""


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """What an audit may be told besides adapter, traces and metrics."""

    sink: Callable[[dict[str, Any]], object] = lambda _: None
    """Takes the case of each trace, in order: this is how `adapt` writes them in the same pass."""
    amend: Callable[[dict[str, Any]], dict[str, Any]] = lambda case: case
    """Adds to a case what does not come from the trace: claims that people approved."""
    also_fed: frozenset[str] = frozenset()
    """Parameters that `amend` feeds."""
    on_rows: Callable[[int], object] = lambda _: None
    checks: Mapping[str, Check] = field(default_factory=lambda: CHECKS)
    file_checks: Mapping[str, FileCheck] = field(default_factory=lambda: FILE_CHECKS)
    feed_checks: Mapping[str, FeedCheck] = field(default_factory=lambda: FEED_CHECKS)


def audit(
    adapter: Adapter, traces: Path | str, metrics: Sequence[Metric] = (), *, options: AuditOptions | None = None
) -> Audit:
    """Audit an adapter on a file of traces.

    Parameters
    ----------
    adapter : Adapter
    traces : path
    metrics : sequence of Metric, optional
        That will read the cases: what they need is checked, untouched traces are scored by them, and what they cannot
        see of a fault is told. A judge is never asked.
    options : AuditOptions, optional

    Raises
    ------
    EvalkitError
        Where the file cannot be read at all.
    """
    traces, options = Path(traces), options or AuditOptions()
    run = _Run(adapter, metrics, options)
    for trace in READERS[adapter.reads](traces):
        run.add(trace)
        options.on_rows(1)
    return run.finish(traces)


class _Run:
    def __init__(self, adapter: Adapter, metrics: Sequence[Metric], options: AuditOptions) -> None:
        self.adapter, self.metrics, self.options = adapter, metrics, options
        self.maker = CaseMaker(adapter, (p.name for metric in metrics for p in metric.parameters))
        self.feeds = self.maker.feeds | dict.fromkeys(options.also_fed, "claims")
        self.mapper = Mapper(adapter)
        self.mapped = frozenset(name for name in MEANINGS if adapter.place_of(name) is not None)
        self.witnessed = witnessed_by(adapter.observed)
        self.profile = self._profile()
        self.room = ControlRoom(self.maker, metrics, options.amend)
        self.planter = Planter(options.checks, self.room)
        self.results = {name: self._result(check) for name, check in options.checks.items()}
        self.notes: Counter[str] = Counter()
        self.sample: list[Pair] = []
        self.sample_text = 0
        self.previous: Pair | None = None
        self.first: Pair | None = None

    def _profile(self) -> FileProfile:
        optional = {"error", *self.adapter.optional}
        needed = (self.mapped - optional).union(*(meanings_needed(self.feeds, metric) for metric in self.metrics))
        required = {p.name for metric in self.metrics for p in metric.parameters if p.required}
        fields = frozenset(name for name in required if self.feeds.get(name) == f"field:{name}")
        return FileProfile(self.mapped, needed, frozenset(self.adapter.constant), fields)

    def _result(self, check: Check) -> CheckResult:
        unasked = ""
        if check.meaning is not None and check.meaning not in self.mapped:
            unasked = f"the adapter does not map {check.meaning}"
        elif check.meaning is not None and check.meaning not in self.witnessed:
            unasked = f"no record of {check.meaning} was declared (observed=...)"
        return CheckResult(check.name, check.asks, unasked=unasked)

    def add(self, trace: Any) -> None:
        adapted = self.mapper.adapted(trace)
        observed = self.adapter.observed
        happened = happened_in(trace, adapted.trace_id, observed) if observed else Happened(trace_id=adapted.trace_id)
        pair = Pair(adapted, happened, self.mapped, self.witnessed)
        self.options.sink(self.options.amend(self.maker.case(adapted, happened)))
        self.profile.add(pair)
        self.notes.update(note for note in (*adapted.notes, *(slip.sentence for slip in adapted.slips)))
        is_clean = self._check(pair)
        self._keep(pair, is_clean)

    def _check(self, pair: Pair) -> bool:
        is_clean = True
        for name, check in self.options.checks.items():
            result = self.results[name]
            if result.unasked:
                continue
            result.rows += 1
            if (sentence := check.find(pair)) is not None:
                is_clean = False
                result.failed += 1
                if len(result.examples) < EXAMPLES:
                    result.examples.append(Example(pair.adapted.trace_id, pair.adapted.where, sentence))
        return is_clean

    def _keep(self, pair: Pair, is_clean: bool) -> None:
        if not is_clean:
            return
        if self.previous is not None and not self.planter.is_done:
            # A row is planted into once the next one is known: a later turn's question is taken from there.
            self.planter.plant(self.previous, pair)
        self.first = self.first or pair
        self.previous = pair
        if len(self.sample) < _SAMPLE_ROWS and self.sample_text < _SAMPLE_TEXT:
            self.sample.append(pair)
            self.sample_text += sum(len(passage.text) for passage in pair.happened.passages or ())

    def finish(self, traces: Path) -> Audit:
        if self.previous is not None and self.first is not None:
            self.planter.plant(self.previous, self.first)
        mutants = (
            *self.planter.mutants(),
            *file_mutants(self.sample, self.profile, self.options.file_checks),
            *feed_mutants(self.feeds, self.metrics, self.options.feed_checks),
        )
        shown = [pair.happened.trace_id for pair in self.sample]
        matrix = KillMatrix(
            subject=f"{self.adapter.name} {self.adapter.revision}",
            cases=tuple(dict.fromkeys([*shown, *(name for mutant in mutants for name in mutant.killed_by)])),
            mutants=mutants,
            full=True,
            facts={"adapter_fingerprint": self.adapter.fingerprint},
        )
        fed = fed_meanings(self.feeds)
        return Audit(
            adapter=self.adapter,
            traces=traces.name,
            traces_sha256=sha256_file(traces),
            rows=self.profile.rows,
            checks=(*self.results.values(), *self._of_file(), *self._of_feeds()),
            profile=self.profile,
            matrix=matrix,
            controls=tuple(self.planter.controls()),
            applicability=tuple(applicability(self.feeds, metric) for metric in self.metrics),
            sights=self.room.sights,
            unseen=tuple(name for name in _CORE if name in (fed & self.mapped) - self.witnessed),
            notes=tuple(f"{note} ({n} rows)" if n > 1 else note for note, n in self.notes.most_common(20)),
        )

    def _of_file(self) -> Iterator[CheckResult]:
        for name, check in self.options.file_checks.items():
            yield _settled(CheckResult(name, check.asks, rows=self.profile.rows), check.find(self.profile))

    def _of_feeds(self) -> Iterator[CheckResult]:
        for name, check in self.options.feed_checks.items():
            result = CheckResult(name, check.asks, rows=len(self.metrics))
            if not self.metrics:
                yield replace(result, unasked="no metric was named (--metric)")
                continue
            found = (sentence for metric in self.metrics for sentence in check.find(self._own_feeds(metric), metric))
            yield _settled(result, found)

    def _own_feeds(self, metric: Metric) -> dict[str, str]:
        return {p.name: self.feeds[p.name] for p in metric.parameters if p.name in self.feeds}


def _settled(result: CheckResult, sentences: Iterator[str]) -> CheckResult:
    for sentence in sentences:
        result.failed += 1
        result.examples.append(Example("", "", sentence))
    return result
