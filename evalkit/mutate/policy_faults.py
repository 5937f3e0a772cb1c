"""The slips people make in a policy file: a limit moved, slices exchanged, a band forgotten, a count loosened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from evalkit.contract import Metric
from evalkit.decisions.policy import Policy, SliceLimits
from evalkit.mutate.faults import Fault, Setting

__all__ = ["policy_faults"]

_MANY = 1_000_000


def policy_faults(policy: Policy, metric: Metric) -> list[Fault]:
    """Return the faults that this policy can have; what it does not say cannot be said wrongly."""
    return [*_exchanged(policy), *_moved(policy, metric), *_banded(policy), *_relabelled(policy), *_loosened(policy)]


def _slices(name: str, limits: SliceLimits) -> Callable[[Setting], Policy]:
    def changed(setting: Setting) -> Policy:
        return setting.policy.model_copy(update={"slices": {**setting.policy.slices, name: limits}})

    return changed


def _exchanged(policy: Policy) -> Iterator[Fault]:
    for (one, first), (other, second) in pairwise(policy.slices.items()):
        if _bounds(first) != _bounds(second):
            yield Fault(
                name="slices_swapped",
                description="two slices have each other's limits",
                diff=f"- [slices.{one}], [slices.{other}]\n+ [slices.{other}], [slices.{one}]",
                layer="policy",
                where=f"slices.{one}",
                policy=_exchange(one, other),
            )


def _exchange(one: str, other: str) -> Callable[[Setting], Policy]:
    def changed(setting: Setting) -> Policy:
        slices = setting.policy.slices
        if not {one, other} <= slices.keys():
            return setting.policy
        return setting.policy.model_copy(update={"slices": {**slices, one: slices[other], other: slices[one]}})

    return changed


def _bounds(limits: SliceLimits) -> tuple[Any, ...]:
    return limits.minimum, limits.maximum, limits.review_band, set(limits.require), set(limits.review)


def _moved(policy: Policy, metric: Metric) -> Iterator[Fault]:
    allowed = metric.allowed_values
    if not isinstance(allowed, tuple | range):
        return
    step = 1 if isinstance(allowed, range) else (allowed[1] - allowed[0]) / 100
    for name, limits in policy.slices.items():
        for word in ("minimum", "maximum"):
            bound = getattr(limits, word)
            nearby = (round(bound + step, 9), round(bound - step, 9)) if bound is not None else ()
            for moved in nearby:
                if allowed[0] <= moved <= allowed[-1]:
                    yield Fault(
                        name="limit_moved",
                        description="a limit is a little higher or lower than reviewed",
                        diff=f"- {word} = {bound!r}\n+ {word} = {moved!r}",
                        layer="policy",
                        where=f"slices.{name}",
                        policy=_slices(name, limits.model_copy(update={word: moved})),
                    )


def _banded(policy: Policy) -> Iterator[Fault]:
    for name, limits in policy.slices.items():
        if limits.review_band:
            yield Fault(
                name="band_forgotten",
                description="a slice without its review band",
                diff=f"- review_band = {limits.review_band!r}",
                layer="policy",
                where=f"slices.{name}",
                policy=_slices(name, limits.model_copy(update={"review_band": 0.0})),
            )


def _relabelled(policy: Policy) -> Iterator[Fault]:
    for name, limits in policy.slices.items():
        if limits.review:
            yield Fault(
                name="review_label_passes",
                description="labels that need a person are listed as passing",
                diff=f"- review = {list(limits.review)}\n+ require = {[*limits.require, *limits.review]}",
                layer="policy",
                where=f"slices.{name}",
                policy=_slices(
                    name, limits.model_copy(update={"require": (*limits.require, *limits.review), "review": ()})
                ),
            )


def _loosened(policy: Policy) -> Iterator[Fault]:
    for word in ("invalid", "error"):
        yield _limit(policy, word, _MANY, f"any number of {word} rows is allowed")
    if policy.limits.min_scored > 1:
        yield _limit(policy, "min_scored", 1, "one scored row is enough")


def _limit(policy: Policy, word: str, value: int, description: str) -> Fault:
    def changed(setting: Setting) -> Policy:
        limits = setting.policy.limits.model_copy(update={word: value})
        return setting.policy.model_copy(update={"limits": limits})

    return Fault(
        name="limit_loosened",
        description=description,
        diff=f"- {word} = {getattr(policy.limits, word)}\n+ {word} = {value}",
        layer="policy",
        where=f"limits.{word}",
        policy=changed,
    )
