"""Whether a policy may be used at all: for this metric, on this day, on these cases. Each reason against it blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import Metric, Outcome, sha256_file
from evalkit.contract.judge import Judge
from evalkit.decisions.blockers import Blocker
from evalkit.decisions.controlling.frozen import control_run_problems
from evalkit.decisions.policy import Policy, PolicyFile, SliceLimits

__all__ = ["PROVISIONAL_DAYS", "WARN_DAYS", "Subject", "expiry_warnings", "last_day", "unfit"]

PROVISIONAL_DAYS = 60
WARN_DAYS = 14


class Subject(NamedTuple):
    """What the policy is applied to, as hashes that it may have frozen."""

    metric_fingerprint: str
    cases_sha256: str
    lock_sha256: str | None
    judge: str | None


def unfit(file: PolicyFile, metric: Metric, subject: Subject, as_of: date) -> list[Blocker]:
    """Return every reason why the policy cannot be used; an empty list means that it can."""
    if file.policy is None:
        return [_policy(problem, "mend the policy file") for problem in file.problems]
    policy = file.policy
    return [
        *_wrong_metric(policy, metric),
        *_out_of_date(policy, as_of),
        *_wrong_limits(policy, metric),
        *_wrong_basis(file, policy),
        *_unvalidated(policy, metric),
        *_thawed(policy, subject),
        *control_run_problems(file, metric, subject.metric_fingerprint, subject.judge),
    ]


def _policy(sentence: str, do: str, kind: str = "policy", owner: str = "policy") -> Blocker:
    return Blocker(kind, Outcome.incomplete, owner, sentence, do)


def _wrong_metric(policy: Policy, metric: Metric) -> Iterator[Blocker]:
    if policy.metric != metric.name:
        yield _policy(
            f"the policy is for the metric {policy.metric!r}, but {metric.name!r} was scored",
            "give the policy of this metric, or the metric of this policy",
        )
    if policy.contract_version != metric.version:
        yield _policy(
            f"contract change: the policy was approved for contract version {policy.contract_version!r}, "
            f"{metric.name} has {metric.version!r}",
            "review the limits against the new contract and approve a new policy version",
        )
    if policy.require_contract and metric.contract is None:
        yield _policy(
            f"the policy requires a contract, and {metric.name} has none",
            "write one with evalkit.attach(metric, Contract(...))",
        )


def last_day(policy: Policy) -> date | None:
    """Return the last day on which the policy holds: its own date, or 60 days for a provisional one."""
    days = [policy.expires_on] if policy.expires_on else []
    if policy.basis == "provisional" and policy.approved_on:
        days.append(policy.approved_on + timedelta(days=PROVISIONAL_DAYS))
    return min(days, default=None)


def _out_of_date(policy: Policy, as_of: date) -> Iterator[Blocker]:
    last = last_day(policy)
    if last is not None and last < as_of:
        why = f" (provisional: {PROVISIONAL_DAYS} days at most)" if policy.basis == "provisional" else ""
        yield _policy(
            f"the policy expired on {last}{why}; the run is judged as of {as_of}",
            "review it and approve a new version, or pass --as-of for a run of an earlier day",
            kind="expired",
        )
    for override in policy.overrides:
        if override.expires_on < as_of:
            yield _policy(
                f"the override of {override.case_id!r} expired on {override.expires_on}",
                f"finish its follow-up ({override.follow_up}), then remove or renew it",
                kind="expired",
            )
    if policy.observation and policy.observation.until < as_of:
        yield _policy(
            f"the observation window of {policy.observation.old_metric!r} ended on {policy.observation.until}",
            "remove [observation] and the old metric",
            kind="expired",
        )


def expiry_warnings(policy: Policy, as_of: date) -> list[str]:
    """Return a warning for each date that comes up within two weeks."""
    dates = [("the policy", last_day(policy))]
    dates += [(f"the override of {o.case_id!r}", o.expires_on) for o in policy.overrides]
    if policy.observation:
        dates.append((f"the observation of {policy.observation.old_metric!r}", policy.observation.until))
    return [
        f"{what} expires on {day}, in {(day - as_of).days} days"
        for what, day in dates
        if day and 0 <= (day - as_of).days <= WARN_DAYS
    ]


def _wrong_limits(policy: Policy, metric: Metric) -> Iterator[Blocker]:
    for name, limits in policy.slices.items():
        where = f"slices.{name}"
        if metric.kind == "ranking":
            if limits.decide == "policy":
                yield _policy(
                    f"{where} has limits, but {metric.name} gives rankings, which no limit can decide",
                    'let people decide them: decide = "review" (and neither bound nor labels)',
                )
        elif metric.kind == "numeric":
            yield from _wrong_bound(where, limits, metric)
        elif limits.minimum is not None or limits.maximum is not None:
            yield _policy(
                f"{where} has a numeric bound, but {metric.name} gives {metric.kind} values", "use require = [labels]"
            )
        else:
            unlisted = [label for label in (*limits.require, *limits.review) if label not in metric.allowed_values]  # type: ignore[operator]
            for label in unlisted:
                yield _policy(
                    f"{where} names the label {label!r}, which {metric.name} cannot give",
                    f"its labels are {', '.join(map(repr, metric.allowed_values))}",  # type: ignore[arg-type]
                )


def _wrong_bound(where: str, limits: SliceLimits, metric: Metric) -> Iterator[Blocker]:
    allowed = metric.allowed_values
    ends = (allowed[0], allowed[-1]) if isinstance(allowed, tuple | range) else (0, 0)
    if limits.require:
        yield _policy(f"{where} requires labels, but {metric.name} gives numbers", "use minimum (or maximum)")
    better = metric.contract.better if metric.contract else "higher"
    wrong = limits.maximum if better == "higher" else limits.minimum
    if wrong is not None:
        right = "minimum" if better == "higher" else "maximum"
        yield _policy(f"{where} bounds the wrong side: {better} values of {metric.name} are better", f"use {right}")
    for word in ("minimum", "maximum"):
        bound = getattr(limits, word)
        if bound is not None and not ends[0] <= bound <= ends[1]:
            yield _policy(
                f"{where}.{word} = {bound!r} lies outside the range of {metric.name}, {ends[0]!r} to {ends[1]!r}",
                "write it on the metric's own scale",
            )


def _wrong_basis(file: PolicyFile, policy: Policy) -> Iterator[Blocker]:
    if policy.basis != "calibrated":
        return
    record = _calibration_record(file.path.parent, str(policy.calibration))
    if record is None:
        yield _policy(
            f"no .json file beside {file.path.name} has the hash of its calibration, {policy.calibration}",
            "put the calibration record beside the policy, or calibrate again",
        )
        return
    if record.get("metric") != policy.metric or record.get("contract_version") != policy.contract_version:
        yield _policy(
            f"the calibration record is of {record.get('metric')!r}, contract {record.get('contract_version')!r}",
            f"calibrate {policy.metric!r}, contract {policy.contract_version!r}",
        )
    known = record.get("slices")
    for name, limits in policy.slices.items():
        if limits.decide == "policy":
            yield from _uncertified(name, limits, known.get(name) if isinstance(known, Mapping) else None)


def _uncertified(name: str, limits: SliceLimits, certified: object) -> Iterator[Blocker]:
    do = f'calibrate that slice, or let people decide it: slices.{name}.decide = "review"'
    if certified is None:
        yield _policy(f"the calibration record does not cover slices.{name}", do)
        return
    threshold = certified.get("threshold") if isinstance(certified, Mapping) else None
    if not isinstance(threshold, int | float):
        return
    # A stricter bound lets through no more than the certified one did; a laxer one was never certified.
    is_laxer = limits.minimum is not None and limits.minimum < threshold
    if is_laxer or (limits.maximum is not None and limits.maximum > threshold):
        bound = limits.minimum if limits.minimum is not None else limits.maximum
        yield _policy(f"slices.{name} is bound at {bound!r}, but its calibration certified {threshold!r}", do)


def _unvalidated(policy: Policy, metric: Metric) -> Iterator[Blocker]:
    """Look for a judgement that would block although nobody has compared it with people's."""
    is_judged = isinstance(metric, Judge)
    needs_it = is_judged or (metric.contract is not None and metric.contract.needs_validation)
    decides = any(limits.decide == "policy" for limits in policy.slices.values())
    if needs_it and decides and policy.mode == "block" and policy.basis == "by_definition":
        what = "gives what a model judges" if is_judged else "stands for a judgement of its domain"
        yield _policy(
            f'the policy rests on basis = "by_definition", but {metric.name} {what}: a comparison with labels of '
            "independent reviewers over the same answers is missing",
            'calibrate it (basis = "calibrated"), let it block for 60 days at most (basis = "provisional"), or only '
            'report (mode = "report")',
        )


def _calibration_record(folder: Path, wanted: str) -> Mapping[str, Any] | None:
    for path in sorted(folder.glob("*.json")):
        if path.is_file() and sha256_file(path) == wanted:
            try:
                return parse_object(path.read_bytes())
            except JsonProblem:
                return None
    return None


def _thawed(policy: Policy, subject: Subject) -> Iterator[Blocker]:
    for name, frozen in policy.frozen.model_dump(exclude_none=True, exclude={"controls"}).items():
        found = getattr(subject, name)
        # The hash of a file may be written as other tools print it, without our prefix.
        if frozen.removeprefix("sha256:") != (found or "").removeprefix("sha256:"):
            owner = {"metric_fingerprint": "metric", "cases_sha256": "test-data", "judge": "judge"}
            yield _policy(
                f"{name} is frozen at {_shorten(frozen)}, but this run has {_shorten(found)}",
                "go back to what was approved, or review the change and freeze the new hash",
                kind="frozen",
                owner=owner.get(name, "policy"),
            )


def _shorten(value: str | None) -> str:
    return f"{value[:23]}…" if value and len(value) > 24 else repr(value)
