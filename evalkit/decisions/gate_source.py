"""What a gate judges: cases to score, or the records of an earlier run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from evalkit.cases.lines import check_cases_file
from evalkit.contract import Metric, Outcome, sha256_file
from evalkit.decisions.adapter_checks import AdapterSide, adapter_side
from evalkit.decisions.blockers import Blocker
from evalkit.decisions.certifying.instability import repeated_lines
from evalkit.decisions.fitness import Subject
from evalkit.decisions.policy import Policy
from evalkit.scoring.parts import Judgement, RecordSink, Streamed
from evalkit.scoring.run import Run, lock_hash, open_run
from evalkit.scoring.scorer_of import replay_notes, replayed_configuration, scorer_of
from evalkit.scoring.stream import stream_cases, stream_records

__all__ = ["GateSource"]


@dataclass(frozen=True)
class GateSource:
    """Cases to score, or an earlier run to read."""

    metric: Metric
    path: Path
    run: Run | None
    cases_sha256: str

    @classmethod
    def of(cls, metric: Metric, cases: Path) -> GateSource:
        """Look at what was given, refusing a path that is neither cases nor a whole run."""
        if cases.is_dir():
            run = open_run(cases)
            run.check()
            return cls(metric, cases, run, str(run.manifest.get("cases_sha256")))
        check_cases_file(cases, "give the path of a .jsonl file or of a run folder")
        return cls(metric, cases, None, sha256_file(cases))

    @property
    def judge(self) -> Mapping[str, Any] | None:
        """The judge's configuration, for a run that a judge made."""
        return self.run.manifest.get("judge") if self.run else None

    def subject(self) -> Subject:
        """Return the hashes that a policy may have frozen."""
        manifest = self.run.manifest if self.run else {}
        return Subject(
            metric_fingerprint=manifest["metric"].get("fingerprint") if self.run else self.metric.fingerprint,
            cases_sha256=self.cases_sha256,
            lock_sha256=manifest.get("lock_sha256") if self.run else lock_hash(Path.cwd()),
            judge=(self.judge or {}).get("configuration_hash")
            if self.run
            else replayed_configuration(self.metric, self.path),
        )

    def adapter(self) -> AdapterSide:
        """Return which adapter made the cases, and what speaks against it."""
        return adapter_side(self.metric, self.path, self.cases_sha256, self.run.manifest if self.run else None)

    def blockers(self) -> Iterator[Blocker]:
        """Yield what speaks against judging an earlier run with this metric."""
        if self.run is None:
            return
        found = self.run.manifest["metric"]
        if found.get("name") != self.metric.name or found.get("contract_version") != self.metric.version:
            yield Blocker(
                "contract",
                Outcome.incomplete,
                "metric",
                f"contract change: the run was made with {found.get('name')!r}, contract "
                f"{found.get('contract_version')!r}; the metric given is {self.metric.name!r}, contract "
                f"{self.metric.version!r}",
                "score the cases again with this metric",
            )

    def over_cost(self, policy: Policy) -> Iterator[Blocker]:
        """Yield what speaks against a judge's run whose cost the policy bounds: too much, or unknown."""
        limit = policy.limits.cost
        if limit is None or self.run is None or self.judge is None:
            return
        # What is charged includes calls in doubt: they may have been paid for.
        spent = self.run.manifest.get("charged") or self.run.manifest.get("cost")
        paid_calls = bool(self.run.manifest.get("calls"))
        if (spent is None and paid_calls) or (spent is not None and Decimal(spent) > limit):
            came = "nobody knows, for the run had no prices" if spent is None else f"{spent} {policy.limits.currency}"
            yield Blocker(
                "cost",
                Outcome.incomplete,
                "judge",
                f"the policy allows {limit} {policy.limits.currency} for a run, and this one cost: {came}",
                "raise the limit after review, or judge fewer rows",
            )

    def doubts(self, feeds: Mapping[str, str]) -> Iterator[str]:
        """Yield what is doubtful: recorded verdicts; of an earlier run, an edited metric and options that come late."""
        if self.run is None:
            yield from replay_notes(self.metric, self.path)
            return
        if self.run.manifest["metric"].get("fingerprint") != self.metric.fingerprint:
            yield f"the run was scored by another source of {self.metric.name} than the one given: its values stand"
        if repeated := self.run.manifest.get("repeated"):
            yield from repeated_lines(repeated)
        if feeds:
            yield f"--input is ignored: the run's rows are scored already ({', '.join(sorted(feeds))})"

    def stream(
        self,
        judgement: Judgement | None,
        sink: RecordSink | None,
        *,
        feeds: Mapping[str, str],
        workers: int,
        on_rows: Callable[[int], object],
    ) -> Streamed:
        """Score the cases, or read the records, ruling on each as it passes by."""
        if self.run is not None:
            reviewed = self.metric.contract.reviewed if self.metric.contract else ()
            blank = int(self.run.manifest.get("ledger", {}).get("blank", 0))
            return stream_records(
                self.run.records_path, judgement, sink, blank=blank, reviewed=reviewed, on_rows=on_rows
            )
        scorer = scorer_of(self.metric, self.path, feeds)
        return stream_cases(self.path, scorer, judgement, sink, workers=workers, on_rows=on_rows)
