"""The release check: a metric, cases (or a run) and a policy in; one of four outcomes, with its blockers, out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from evalkit.cases.holdout import LEDGER_NAME
from evalkit.contract import Metric, Outcome, sha256_of
from evalkit.decisions.baseline import Baseline, Compared, read_baseline
from evalkit.decisions.blockers import Blocker
from evalkit.decisions.certifying.look import Judged
from evalkit.decisions.doubts import policy_doubts
from evalkit.decisions.fitness import unfit
from evalkit.decisions.gate_source import GateSource
from evalkit.decisions.labelled import Compared as ComparedWithLabels
from evalkit.decisions.labelled import Labelled, LabelSide, judge_labels
from evalkit.decisions.policy import Policy, PolicyFile, read_policy
from evalkit.decisions.rows import Excused, excuse, judge_rows, unjudged
from evalkit.decisions.rules import rule_of
from evalkit.scoring.ledger import Ledger
from evalkit.scoring.parts import Judgement, RecordSink
from evalkit.scoring.places import Places
from evalkit.scoring.records import Diagnosis, Record
from evalkit.scoring.repeats import is_tie
from evalkit.scoring.run import open_run

__all__ = ["GateOptions", "GateResult", "gate"]


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """What a gate may be told besides metric, cases and policy."""

    as_of: date | None = None
    """The day on which dates are judged; today by default, and recorded."""
    baseline: Path | None = None
    labels: Path | None = None
    """What people say of the rows; needed where the policy limits false passes or false fails."""
    causes: Path | None = None
    """What reviewers say of each disagreement between decision and label; a judge's disagreements need it."""
    ledger: Path | None = None
    """Where a look at held-out rows is written down; beside the policy by default."""
    require_revision: str | None = None
    feeds: Mapping[str, str] = field(default_factory=dict)
    workers: int = 1
    """Processes; the command line uses every core, a notebook must not fork."""
    on_rows: Callable[[int], object] = lambda _: None


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """What a gate concludes, and all it rests on."""

    metric: Metric
    policy_file: PolicyFile
    cases: Path
    as_of: date
    cases_sha256: str
    metric_fingerprint: str
    lock_sha256: str | None
    blockers: tuple[Blocker, ...]
    warnings: tuple[str, ...]
    ledger: Ledger
    notable: Sequence[Record]
    knife_edges: Sequence[Record]
    excused: Excused
    compared: Compared | None
    labelled: tuple[Labelled, ...]
    """Decisions beside labels, by slice and partition."""
    rows_hash: str
    places: Places
    """Where the records stand that a page will show."""
    adapter: Mapping[str, Any] | None = None
    """Which adapter made the cases, with its mapping and audit; ``None`` where none did."""
    judge: Mapping[str, Any] | None = None
    """The judge's configuration, where a judge made the run."""

    @property
    def policy(self) -> Policy | None:
        """The policy, where it can be read."""
        return self.policy_file.policy

    @property
    def outcome(self) -> Outcome:
        """The worst of the blockers' outcomes; *passed* without any."""
        return Outcome.worst([blocker.outcome for blocker in self.blockers])

    @property
    def exit_code(self) -> int:
        """The outcome's code; 0 where the policy only reports."""
        return 0 if self.policy is not None and self.policy.mode == "report" else int(self.outcome)

    @property
    def outcome_hash(self) -> str:
        """SHA-256 over what was decided: metric, cases, limits, and each row's state, value and decision."""
        policy = self.policy
        limits = policy.model_dump(mode="json", include={"slices", "limits", "block_on"}) if policy else None
        return sha256_of(
            {
                "metric": self.metric.name,
                "contract_version": self.metric.version,
                "metric_fingerprint": self.metric_fingerprint,
                "cases_sha256": self.cases_sha256,
                "limits": limits,
                "rows": self.rows_hash,
            }
        )


def gate(
    metric: Metric,
    cases: Path | str,
    policy: Path | str,
    *,
    options: GateOptions | None = None,
    sink: RecordSink | None = None,
) -> GateResult:
    """Judge each row of `cases` under `policy`.

    Parameters
    ----------
    metric : Metric
    cases : path
        A ``.jsonl`` file, which is scored, or a run folder, whose records are read instead.
    policy : path
        A ``policy.toml``; one that cannot be used makes the outcome *incomplete* and says why.
    options : GateOptions, optional
    sink : RecordSink, optional
        Where the records go; nothing is written without one.

    Raises
    ------
    EvalkitError
        Where a file cannot be read at all.
    """
    options = options or GateOptions()
    cases = Path(cases)
    as_of = options.as_of or datetime.now(UTC).date()
    policy_file = read_policy(policy)
    source = GateSource.of(metric, cases)
    subject, adapter = source.subject(), source.adapter()
    blockers = [*source.blockers(), *adapter.blockers, *unfit(policy_file, metric, subject, as_of)]
    # A policy for another metric, or with limits that mean nothing, decides nothing; rows are still scored and counted.
    # One that has only expired still shows what it would have said.
    usable = None if any(blocker.kind in ("policy", "contract") for blocker in blockers) else policy_file.policy
    rule = rule_of(usable, metric) if usable else None
    baseline = read_baseline(open_run(options.baseline), metric, rule) if options.baseline and rule else None
    keeps = baseline is not None or options.labels is not None
    judgement = Judgement(rule, _diagnosis(metric), keep_decisions=keeps) if rule else None
    streamed = source.stream(judgement, sink, feeds=options.feeds, workers=options.workers, on_rows=options.on_rows)
    excused, against = Excused([], [], [], []), ComparedWithLabels([], [], [])
    blockers += _wrong_revision(streamed.ledger, options.require_revision)
    if usable:
        excused = excuse(usable, streamed.notable, baseline.failing() if baseline else frozenset(), as_of)
        blockers += [*unjudged(usable, streamed), *judge_rows(usable, streamed, excused)]
        blockers += [*_without_baseline(usable, baseline), *source.over_cost(usable)]
        is_sound = not any(blocker.outcome is Outcome.incomplete for blocker in blockers)
        side = _label_side(metric, source, policy_file, options, as_of, is_sound=is_sound)
        against = judge_labels(usable, streamed, side)
        blockers += against.blockers
        excused = excused.used_for(against.slices)
    doubts = policy_doubts(usable, metric, streamed.ledger, as_of) if usable else []
    warnings = [*streamed.findings, *source.doubts(options.feeds), *doubts, *excused.warnings, *against.warnings]
    return GateResult(
        metric=metric,
        policy_file=policy_file,
        cases=cases,
        as_of=as_of,
        cases_sha256=subject.cases_sha256,
        metric_fingerprint=subject.metric_fingerprint,
        lock_sha256=subject.lock_sha256,
        blockers=tuple(blockers),
        warnings=(*warnings, *_silent_contract(metric)),
        ledger=streamed.ledger,
        notable=streamed.notable,
        knife_edges=streamed.knife_edges,
        excused=excused,
        compared=baseline.compare(streamed.decided) if baseline else None,
        labelled=tuple(against.slices),
        rows_hash=streamed.rows_hash,
        places=streamed.places,
        adapter=adapter.manifest,
        judge=source.judge,
    )


def _label_side(
    metric: Metric, source: GateSource, policy: PolicyFile, options: GateOptions, as_of: date, *, is_sound: bool
) -> LabelSide:
    subject = source.subject()
    return LabelSide(
        metric=metric,
        judged=Judged(metric.name, metric.version, subject.metric_fingerprint, subject.judge),
        labels=options.labels,
        causes=options.causes,
        ledger=options.ledger or policy.path.with_name(LEDGER_NAME),
        as_of=as_of,
        is_sound=is_sound,
    )


def _diagnosis(metric: Metric) -> Callable[[Record], Diagnosis]:
    def diagnose(record: Record) -> Diagnosis:
        if is_tie(record):
            return Diagnosis("judge", "the judge's own repeats are evenly split: nothing is known of the answer")
        # Imported when the first row fails: a green gate does not pay for what explains red ones.
        from evalkit.decisions.triage import triage

        found = triage(record, metric.contract)
        return Diagnosis(found.owner or record.owner, found.sentence)

    return diagnose


def _without_baseline(policy: Policy, baseline: Baseline | None) -> Iterator[Blocker]:
    if policy.block_on == "new" and baseline is None:
        yield Blocker(
            "baseline",
            Outcome.incomplete,
            "policy",
            'the policy blocks on new failures only (block_on = "new"), and no baseline was given',
            "give the run of the main branch with --baseline RUN",
        )


def _wrong_revision(ledger: Ledger, wanted: str | None) -> Iterator[Blocker]:
    if wanted is None:
        return
    other = {revision: n for revision, n in ledger.revisions.items() if revision != wanted}
    if other:
        seen = ", ".join(
            f"{revision!r} on {n}" for revision, n in sorted(other.items(), key=lambda item: str(item[0]))[:5]
        )
        yield Blocker(
            "revision",
            Outcome.incomplete,
            "test-data",
            f"{sum(other.values())} of {ledger.total(blocking=True)} blocking rows are not of system revision "
            f"{wanted!r}: {seen}",
            "run the system under test at that revision and make the cases again",
        )


def _silent_contract(metric: Metric) -> list[str]:
    unanswered = metric.unanswered()
    if not unanswered:
        return []
    return [f"{metric.name} has no contract; unanswered: {'; '.join(unanswered)} (evalkit.attach answers them)"]
