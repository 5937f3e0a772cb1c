"""The gate's own cases: small files whose outcome is known from the policy's words alone, not from the gate's code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from evalkit.contract import Contract, EvalkitError, InvalidRow, Metric, make_metric
from evalkit.decisions.policy import Frozen, Override, Policy, SliceLimits
from evalkit.mutate.gate_faults import best_value, worst_value

__all__ = ["DAY", "PROBED", "SEEN", "Probe", "plain_policy", "probes_of", "stand_in"]

DAY = date(2026, 11, 30)
"""The clock of all probes: no probe turns red by calendar."""

PROBED = "probed"
"""The case id of the row that a probe is about."""
SEEN = "sha256:as-shown"
"""Stands in an override for the hash of what the probed row shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A file of rows, and what a gate must say of it."""

    name: str
    rows: tuple[Mapping[str, Any], ...]
    outcome: str
    decision: str | None = None
    """Of the row named ``probed``, where there is one."""
    policy: Callable[[Policy], Policy] = lambda policy: policy
    """What the policy says for this probe besides its slices and limits."""
    blank_lines: int = 0


def stand_in(metric: Metric) -> Metric:
    """Return a metric with the same name, contract version and values, whose score is an input.

    So every value can be put before the gate, whether or not the metric's own formula can reach it.
    """
    contract = metric.contract and Contract(
        version=metric.contract.version,
        measures="what the row says",
        reviewed=(),
        produced=("given", "broken"),
        invalid_when=("given is null",),
        consumed_by="the gate's own cases",
        cannot_establish="anything of a system",
        better=metric.contract.better,
        allows_missing={"given": {"null": "a row that breaks the contract"}},
    )
    return make_metric(_given, metric.allowed_values, name=metric.name, contract=contract)


def _given(given: float | str | None, broken: bool = False) -> Any:
    if broken:
        msg = "the metric failed"
        raise RuntimeError(msg)
    if given is None:
        msg = "given is null"
        raise InvalidRow(msg)
    return given


def plain_policy(policy: Policy, metric: Metric) -> Policy:
    """Return the policy with its slices' limits and its limits of rows, and nothing that a probe does not ask for.

    Raises
    ------
    EvalkitError
        Where no slice is decided by a limit, so that there is nothing to probe.
    """
    kept = ("minimum", "maximum", "review_band", "require", "review")
    slices = {
        name: SliceLimits.model_construct(**{key: getattr(limits, key) for key in kept}, decide="policy")
        for name, limits in policy.slices.items()
        if limits.minimum is not None or limits.maximum is not None or limits.require
    }
    if not slices:
        msg = f"no slice of the policy {policy.name!r} is decided by a limit: people decide every row"
        raise EvalkitError(msg, do="leave --policy out; the gate's faults need a limit to show themselves")
    return policy.model_copy(
        update={
            "slices": slices,
            "mode": "block",
            "metric": metric.name,
            "contract_version": metric.version,
            "approved_on": DAY,
            "expires_on": DAY + timedelta(days=30),
            "basis": "by_definition",
            "block_on": "all",
            "frozen": Frozen(),
            "overrides": (),
            "observation": None,
            "require_contract": False,
        }
    )


def probes_of(policy: Policy, metric: Metric) -> list[Probe]:
    """Return the probes for a plain policy: every limit from both sides, every way not to be judged, every date."""
    made = _Rows(policy, metric, _home(policy, metric))
    found = [*_states(made), *_dates(made), *_overrides(made)]
    for name, limits in policy.slices.items():
        found += _labels(made, name, limits) if limits.require else _bounds(made, name, limits)
    return found


def _home(policy: Policy, metric: Metric) -> str:
    """Choose the slice of rows that are about something else: one where a row can fail and a mean can hide it."""

    def rank(name: str) -> int:
        bounds = {policy.slices[name].minimum, policy.slices[name].maximum}
        return (worst_value(metric) in bounds) * 2 + (best_value(metric) in bounds)

    return min(policy.slices, key=rank)


class _Rows:
    """Makes the rows of a probe: the one that is probed, among rows that are as good as can be."""

    def __init__(self, policy: Policy, metric: Metric, home: str) -> None:
        self.policy, self.metric, self.home = policy, metric, home
        limits = policy.slices[home]
        labels = limits.require
        self.best = labels[0] if labels else best_value(metric)
        self.worst = self._failing_label(limits) if labels else worst_value(metric)

    def _failing_label(self, limits: SliceLimits) -> Any:
        allowed: Any = self.metric.allowed_values
        return next((label for label in allowed if label not in (*limits.require, *limits.review)), None)

    @property
    def can_fail(self) -> bool:
        """Whether a row of the home slice can fail at all."""
        limits = self.policy.slices[self.home]
        return self.worst is not None and self.worst not in (limits.minimum, limits.maximum)

    def good(self, count: int = 0) -> tuple[dict[str, Any], ...]:
        """Return as many good rows as the policy wants scored, or `count`."""
        wanted = max(count, self.policy.limits.min_scored)
        return tuple({"case_id": f"good-{n}", "slice": self.home, "given": self.best} for n in range(wanted))

    def among_good(self, count: int = 0, **fields: Any) -> tuple[dict[str, Any], ...]:
        """Return good rows and the probed one."""
        return (*self.good(count), {"case_id": PROBED, "slice": self.home, **fields})


def _bounds(made: _Rows, name: str, limits: SliceLimits) -> Iterator[Probe]:
    bound = limits.minimum if limits.minimum is not None else limits.maximum
    assert bound is not None  # noqa: S101 - a plain policy's slices have labels or a bound
    beyond = _beyond(bound, made.metric, is_minimum=limits.minimum is not None)
    yield _row(made, f"at-the-limit-{name}", name, bound, "pass")
    if not limits.review_band:
        if beyond is not None:
            yield _row(made, f"just-beyond-the-limit-{name}", name, beyond, "fail")
        return
    sign = -1 if limits.minimum is not None else 1
    edge = float(Decimal(repr(bound)) + sign * Decimal(repr(limits.review_band)))
    past = _beyond(edge, made.metric, is_minimum=limits.minimum is not None)
    if beyond is not None:
        yield _row(made, f"just-beyond-the-limit-{name}", name, beyond, "review")
    if _is_allowed(edge, made.metric):
        yield _row(made, f"at-the-edge-of-the-band-{name}", name, edge, "review")
    if past is not None and _is_allowed(past, made.metric):
        yield _row(made, f"just-beyond-the-band-{name}", name, past, "fail")


def _beyond(value: float, metric: Metric, *, is_minimum: bool) -> float | None:
    """Return the next worse value, if the metric can give one."""
    if isinstance(metric.allowed_values, range):
        found: float = value - metric.allowed_values.step if is_minimum else value + metric.allowed_values.step
    else:
        found = math.nextafter(value, -math.inf if is_minimum else math.inf)
    return found if _is_allowed(found, metric) else None


def _is_allowed(value: float, metric: Metric) -> bool:
    allowed = metric.allowed_values
    if isinstance(allowed, tuple):
        return allowed[0] <= value <= allowed[1]
    return isinstance(allowed, range) and value in allowed


def _labels(made: _Rows, name: str, limits: SliceLimits) -> Iterator[Probe]:
    labels: Any = made.metric.allowed_values
    for label in labels:
        decision = "pass" if label in limits.require else "review" if label in limits.review else "fail"
        yield _row(made, f"label-{label}-{name}", name, label, decision)


_OUTCOMES = {"pass": "passed", "review": "review_required", "fail": "quality_failed"}


def _row(made: _Rows, name: str, slice_name: str, value: Any, decision: str) -> Probe:
    rows = made.among_good(slice=slice_name, given=value)
    return Probe(name=name, rows=rows, outcome=_OUTCOMES[decision], decision=decision)


def _states(made: _Rows) -> Iterator[Probe]:
    limits = made.policy.limits
    yield Probe(name="no-rows", rows=(), outcome="incomplete")
    yield Probe(name="blank-lines-only", rows=(), blank_lines=3, outcome="incomplete")
    if limits.min_scored > 1:
        yield Probe(name="one-row-fewer-than-wanted", rows=made.good()[1:], outcome="incomplete")
    for state, limit, fields in (
        ("invalid", limits.invalid, {"given": None}),
        ("error", limits.error, {"given": made.best, "broken": True}),
    ):
        bad = tuple({"case_id": f"bad-{n}", "slice": made.home, **fields} for n in range(limit + 1))
        rows = (*made.good(2 * limit + 3), *bad)
        yield Probe(name=f"one-{state}-row-more-than-allowed", rows=rows, outcome="incomplete")
        if made.can_fail:
            failing = {"case_id": PROBED, "slice": made.home, "given": made.worst}
            yield Probe(name=f"{state}-and-failing", rows=(*rows, failing), outcome="incomplete", decision="fail")
    unknown = made.among_good(slice="no-such-slice", given=made.best)
    yield Probe(name="unknown-slice", rows=unknown, outcome="incomplete")
    if made.can_fail:
        yield Probe(
            name="failing-row-that-only-shows",
            rows=made.among_good(given=made.worst, blocking=False),
            outcome="passed",
            decision="fail",
        )
        yield Probe(
            name="one-failing-row-among-many-good",
            rows=made.among_good(99, given=made.worst),
            outcome="quality_failed",
            decision="fail",
        )


def _dates(made: _Rows) -> Iterator[Probe]:
    yield Probe(name="last-day-of-the-policy", rows=made.good(), outcome="passed", policy=_update(expires_on=DAY))
    yield Probe(
        name="the-day-after",
        rows=made.good(),
        outcome="incomplete",
        policy=_update(expires_on=DAY - timedelta(days=1)),
    )
    yield Probe(
        name="another-contract-version",
        rows=made.good(),
        outcome="incomplete",
        policy=_update(contract_version=f"{made.metric.version}-next"),
    )


def _overrides(made: _Rows) -> Iterator[Probe]:
    if not made.can_fail:
        return
    rows = made.among_good(given=made.worst)
    for name, days, seen, outcome in (
        ("override-in-force", 1, SEEN, "passed"),
        ("override-on-its-last-day", 0, SEEN, "passed"),
        ("override-that-has-expired", -1, SEEN, "incomplete"),
        ("override-of-another-answer", 1, "sha256:of-another-answer", "quality_failed"),
    ):
        yield Probe(name=name, rows=rows, outcome=outcome, decision="fail", policy=_override(days, seen))


def _update(**fields: Any) -> Callable[[Policy], Policy]:
    return lambda policy: policy.model_copy(update=fields)


def _override(days: int, seen_hash: str) -> Callable[[Policy], Policy]:
    override = Override.model_construct(
        case_id=PROBED,
        seen_hash=seen_hash,
        approver="the gate's own cases",
        reason="to be probed",
        expires_on=DAY + timedelta(days=days),
        follow_up="none",
    )
    return _update(overrides=(override,))
