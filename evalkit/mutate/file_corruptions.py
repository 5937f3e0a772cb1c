"""Faults that no single row shows: of a file whose every record agrees with itself, and of what a metric is fed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evalkit.cases.adapters.checks import Pair
from evalkit.cases.adapters.meanings import FEEDABLE
from evalkit.contract import Metric

__all__ = ["FEED_CORRUPTIONS", "FILE_CORRUPTIONS", "FeedCorruption", "FileCorruption"]


class FileCorruption(NamedTuple):
    """One planted fault of a file."""

    name: str
    description: str
    check: str
    plant: Callable[[Sequence[Pair]], list[Pair] | None]
    needs: str
    """What a file must have for it."""


class FeedCorruption(NamedTuple):
    """One planted fault of what a metric receives."""

    name: str
    description: str
    check: str
    plant: Callable[[Mapping[str, str], Metric], dict[str, str] | None]
    needs: str


def _both(pair: Pair, **changed: object) -> Pair:
    """Change a row and the trace it came from alike: the application itself recorded the wrong thing."""
    adapted = replace(pair.adapted, transformed={}, **changed)  # type: ignore[arg-type] # names of its fields
    renamed = {"passages" if name == "retrieved" else name: value for name, value in changed.items()}
    return pair._replace(adapted=adapted, happened=replace(pair.happened, **renamed))  # type: ignore[arg-type]


def _constant(pairs: Sequence[Pair]) -> list[Pair] | None:
    meaning = next((name for name in ("question", "answer") if pairs and name in pairs[0].mapped), None)
    first = next((getattr(p.adapted, meaning) for p in pairs if getattr(p.adapted, meaning)), None) if meaning else None
    if not first or meaning is None or len(pairs) < 3:
        return None
    return [_both(pair, **{meaning: first}) for pair in pairs]


def _blank(pairs: Sequence[Pair]) -> list[Pair] | None:
    return [_both(pair, answer="  ") for pair in pairs] if any(pair.adapted.answer for pair in pairs) else None


def _absent(pairs: Sequence[Pair]) -> list[Pair] | None:
    return [_both(pair, answer=None) for pair in pairs] if any(pair.adapted.answer for pair in pairs) else None


def _gold(pairs: Sequence[Pair]) -> list[Pair] | None:
    both = [pair for pair in pairs if pair.adapted.reference_contexts and pair.adapted.retrieved]
    if len(both) < 20:
        return None
    return [_both(pair, retrieved=pair.adapted.reference_contexts) for pair in both]


def _one_id(pairs: Sequence[Pair]) -> list[Pair] | None:
    if len(pairs) < 2:
        return None
    return [_both(pair, trace_id=pairs[0].adapted.trace_id) if at == 1 else pair for at, pair in enumerate(pairs)]


FILE_CORRUPTIONS: Mapping[str, FileCorruption] = {
    corruption.name: corruption
    for corruption in (
        FileCorruption("constant_question", "one text read as the question of every trace", "no_constant_field",
                       _constant, "three rows with a question or an answer"),
        FileCorruption("blank_answers", "every answer blank", "no_blank_field", _blank, "an answer"),
        FileCorruption("answers_nowhere", "a path that leads nowhere, for every answer", "no_absent_field", _absent,
                       "an answer"),
        FileCorruption("gold_at_the_source", "the application logged the reference passages as retrieved",
                       "retrieved_differs_from_reference", _gold,
                       "twenty rows with retrieved and reference passages"),
        FileCorruption("one_id_for_two", "one id for two traces", "ids_are_distinct", _one_id, "two rows"),
    )
}  # fmt: skip
"""Every fault of a file, by name."""


def _gold_for_blind(feeds: Mapping[str, str], metric: Metric) -> dict[str, str] | None:
    fed = next((name for name, meaning in feeds.items() if meaning in FEEDABLE), None)
    if fed is None or metric.contract is None or metric.contract.reference_dependent:
        return None
    return {**feeds, fed: "reference"}


def _gold_as_produced(feeds: Mapping[str, str], metric: Metric) -> dict[str, str] | None:
    contract = metric.contract
    fed = next((name for name in feeds if contract and name in contract.produced), None)
    if fed is None or contract is None or not contract.reference_dependent:
        return None
    return {**feeds, fed: "reference"}


def _unfed(feeds: Mapping[str, str], metric: Metric) -> dict[str, str] | None:
    needed = next((p.name for p in metric.parameters if p.required and p.name in feeds), None)
    return {name: meaning for name, meaning in feeds.items() if name != needed} if needed else None


FEED_CORRUPTIONS: Mapping[str, FeedCorruption] = {
    corruption.name: corruption
    for corruption in (
        FeedCorruption("reference_to_blind_metric", "the reference fed to a metric that does not use one",
                       "gold_stays_out", _gold_for_blind, "an input fed by a meaning, and no use of a reference"),
        FeedCorruption("reference_as_produced", "the reference fed as what the system produced", "roles_agree",
                       _gold_as_produced, "a metric that uses a reference"),
        FeedCorruption("input_not_fed", "an input that nothing feeds", "inputs_are_fed", _unfed, "an input"),
    )
}  # fmt: skip
"""Every fault of what a metric receives, by name."""
