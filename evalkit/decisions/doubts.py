"""What does not stop a gate but should make its reader look twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from evalkit.contract import Metric, example_list
from evalkit.decisions.fitness import expiry_warnings
from evalkit.decisions.policy import Policy, SliceLimits
from evalkit.scoring.ledger import Ledger

__all__ = ["policy_doubts"]


def policy_doubts(policy: Policy, metric: Metric, ledger: Ledger, as_of: date) -> list[str]:
    """Return a sentence for each: dates that come up, limits that nothing can miss, slices without a row.

    Parameters
    ----------
    policy : Policy
        One that may be used (see `fitness.unfit`).
    metric : Metric
    ledger : Ledger
        Of the rows that were judged.
    as_of : date
        The day on which dates are judged.
    """
    return [
        *expiry_warnings(policy, as_of),
        *_not_yet(policy, as_of),
        *_cannot_fail(policy, metric),
        *_without_rows(policy, ledger),
        *([metric.preparation.in_words()] if metric.preparation else []),
    ]


def _not_yet(policy: Policy, as_of: date) -> Iterator[str]:
    if policy.approved_on and policy.approved_on > as_of:
        yield f"the policy was approved on {policy.approved_on}, after the day this run is judged as of ({as_of})"


def _cannot_fail(policy: Policy, metric: Metric) -> Iterator[str]:
    for name, limits in policy.slices.items():
        if limits.decide == "policy" and _lets_all_through(limits, metric):
            yield f"slices.{name} lets every value of {metric.name} through: a check that cannot fail checks nothing"


def _lets_all_through(limits: SliceLimits, metric: Metric) -> bool:
    allowed = metric.allowed_values
    if isinstance(allowed, list):
        return set(allowed) <= set(limits.require)
    if not isinstance(allowed, tuple | range):
        return False
    is_at_floor = limits.minimum is not None and limits.minimum <= allowed[0]
    return is_at_floor or (limits.maximum is not None and limits.maximum >= allowed[-1])


def _without_rows(policy: Policy, ledger: Ledger) -> Iterator[str]:
    empty = [repr(name) for name in policy.slices if not ledger.total(slice=name)]
    if empty and ledger.total():
        yield f"no row is of {example_list(empty)}, although the policy has limits for it: 0 of {ledger.total()} rows"
