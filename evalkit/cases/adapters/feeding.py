"""What a metric receives from an adapter: whether gold stays where it is used, and what the metric can answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from evalkit.cases.adapters.meanings import FEEDABLE
from evalkit.contract import Metric

__all__ = ["FEED_CHECKS", "FeedCheck", "applicability", "meanings_needed"]

_GOLD = ("reference", "reference_contexts")


class FeedCheck(NamedTuple):
    """One question that is asked of what a metric receives."""

    name: str
    asks: str
    find: Callable[[Mapping[str, str], Metric], Iterator[str]]


def _gold_stays_out(feeds: Mapping[str, str], metric: Metric) -> Iterator[str]:
    if metric.contract is None or metric.contract.reference_dependent:
        return
    for name in _fed_with(feeds, _GOLD):
        yield f"{metric.name} does not use a reference, but its {name} receives {feeds[name]}"


def _roles_agree(feeds: Mapping[str, str], metric: Metric) -> Iterator[str]:
    contract = metric.contract
    if contract is None or not contract.reference_dependent:
        return
    for name in _fed_with(feeds, _GOLD):
        if name in contract.produced:
            yield f"{name} of {metric.name} is what the system produced, but receives {feeds[name]}, which people wrote"
    for name in _fed_with(feeds, ("answer",)):
        if name in contract.reviewed:
            yield f"{name} of {metric.name} is a reviewed input, but receives the system's answer"


def _all_are_fed(feeds: Mapping[str, str], metric: Metric) -> Iterator[str]:
    for parameter in metric.parameters:
        if parameter.required and parameter.name not in feeds:
            yield f"nothing feeds {parameter.name} of {metric.name}"


def _fed_with(feeds: Mapping[str, str], meanings: tuple[str, ...]) -> list[str]:
    return [name for name, fed in feeds.items() if FEEDABLE.get(fed) in meanings]


_ALL = (
    FeedCheck("gold_stays_out", "a reference goes only to metrics that use one", _gold_stays_out),
    FeedCheck("roles_agree", "reviewed inputs receive reviewed facts, produced ones the system's", _roles_agree),
    FeedCheck("inputs_are_fed", "each input that a metric needs is fed", _all_are_fed),
)

FEED_CHECKS: Mapping[str, FeedCheck] = {check.name: check for check in _ALL}
"""Every check of what a metric receives, by name."""


def meanings_needed(feeds: Mapping[str, str], metric: Metric) -> frozenset[str]:
    """Return the meanings that a metric cannot do without: fed to a required input whose ``null`` is not allowed."""
    allows = metric.contract.allows_missing if metric.contract else {}
    return frozenset(
        FEEDABLE[feeds[parameter.name]]
        for parameter in metric.parameters
        if parameter.required and feeds.get(parameter.name) in FEEDABLE and "null" not in allows.get(parameter.name, ())
    )


def applicability(feeds: Mapping[str, str], metric: Metric) -> dict[str, Any]:
    """Return what a metric can answer of these traces and what it needs for it, as plain JSON values."""
    contract = metric.contract
    allows = contract.allows_missing if contract else {}
    return {
        "metric": metric.name,
        "contract_version": metric.version,
        "measures": contract.measures if contract else None,
        "cannot_establish": contract.cannot_establish if contract else None,
        "reference_dependent": contract.reference_dependent if contract else None,
        "inputs": [
            {
                "name": p.name,
                "required": p.required,
                "role": _role(p.name, metric),
                "fed_by": feeds.get(p.name),
                "allows_missing": dict(allows.get(p.name, {})),
            }
            for p in metric.parameters
        ],
        "unanswered": metric.unanswered(),
    }


def _role(name: str, metric: Metric) -> str | None:
    if metric.contract is None:
        return None
    return "reviewed" if name in metric.contract.reviewed else "produced"
