"""What a policy says of one row. Comparison is exact; nothing is averaged; a missing value is never decided."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from evalkit.contract import Decision, Metric
from evalkit.decisions.policy import Policy, SliceLimits
from evalkit.scoring.parts import Rule
from evalkit.scoring.records import Record, Ruling
from evalkit.scoring.repeats import is_tie

__all__ = ["covers", "rule_of"]

_Compare = Callable[[Record], Ruling]


def covers(policy: Policy, slice_name: str) -> bool:
    """Tell whether the policy has limits for a slice; there is no default for an unknown one."""
    return slice_name in policy.slices


def rule_of(policy: Policy, metric: Metric | None) -> Rule:
    """Compile a policy into a function of one record.

    A record that was not scored, or whose slice the policy does not know, gets no decision: the gate counts it apart.
    """
    contract = metric.contract if metric else None  # explaining an old run knows its policy, not always its metric
    owner_of_fail = contract.owners.get("fail", "answer") if contract else "answer"
    compare = {name: _comparison(limits, policy.version, owner_of_fail) for name, limits in policy.slices.items()}

    def rule(record: Record) -> Ruling:
        if record.state != "scored" or (found := compare.get(record.slice)) is None:
            # An earlier run's owner of a scored row rests on the limits of then.
            return Ruling(None, None, policy.version, None if record.state == "scored" else record.owner)
        ruling = found(record)
        # Repeats of a judge that are evenly split are no verdict: whatever the value says, a person decides.
        is_split = record.judge is not None and is_tie(record)
        return ruling._replace(decision="review", owner="judge") if is_split else ruling

    return rule


def _comparison(limits: SliceLimits, version: str, owner: str) -> _Compare:
    if limits.decide == "review":
        bound = limits.minimum if limits.minimum is not None else limits.maximum
        verdict = Ruling("review", bound, version, "policy")
        return lambda _: verdict
    if limits.require:
        return _labels(limits, version, owner)
    return _bound(limits, version, owner)


def _labels(limits: SliceLimits, version: str, owner: str) -> _Compare:
    passes, reviews = frozenset(limits.require), frozenset(limits.review)

    def compare(record: Record) -> Ruling:
        value = record.value
        decision: Decision = "pass" if value in passes else "review" if value in reviews else "fail"
        return Ruling(decision, None, version, None if decision == "pass" else owner)

    return compare


def _bound(limits: SliceLimits, version: str, owner: str) -> _Compare:
    is_minimum = limits.minimum is not None
    bound = limits.minimum if limits.minimum is not None else limits.maximum
    assert bound is not None  # noqa: S101 - the policy's own validation leaves no other way to get here
    passed = Ruling("pass", bound, version, None)
    # In decimals, as the policy's readers reckon: 0.8 - 0.1 is 0.7, not the 0.7000000000000001 of binary floats.
    width = Decimal(repr(limits.review_band))
    edge = float(Decimal(repr(bound)) - width if is_minimum else Decimal(repr(bound)) + width)

    def compare(record: Record) -> Ruling:
        value = record.value
        assert isinstance(value, int | float)  # noqa: S101 - a policy that names a bound is refused for labels
        if value >= bound if is_minimum else value <= bound:
            return passed
        in_band = value >= edge if is_minimum else value <= edge  # without a band the edge is the bound
        return Ruling("review" if in_band else "fail", bound, version, owner)

    return compare
