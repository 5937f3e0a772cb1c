"""The table of comparisons, in the order in which a change is looked for: the first that differs is named."""

from __future__ import annotations

from typing import NamedTuple

from evalkit.decisions.explaining import agreed_changes as agreed
from evalkit.decisions.explaining import judge_changes as judge
from evalkit.decisions.explaining import system_changes as system
from evalkit.decisions.explaining.divergence import Divergence
from evalkit.decisions.explaining.kept import Difference
from evalkit.decisions.explaining.sides import Compare, Sides

__all__ = ["COMPARISONS", "Diverged", "first_divergence"]

COMPARISONS: dict[Divergence, Compare] = {
    "contract": agreed.contract,
    "required_set": agreed.required_set,
    "policy": agreed.policy,
    "metric": agreed.metric,
    "adapter": agreed.adapter,
    "dataset": agreed.dataset,
    "reference": agreed.reference,
    "retrieval": system.retrieval,
    "document_identity": system.document_identity,
    "answer": system.answer,
    "attribution": system.attribution,
    "supported_set": system.supported_set,
    "rubric": judge.judge_part("rubric", "the rubric"),
    "prompt": judge.judge_part("prompt", "the judge's prompt"),
    "judge_model": judge.judge_part("judge_model", "the judge's model"),
    "provider_settings": judge.judge_part("provider_settings", "the provider settings"),
    "ragas_version": judge.ragas_version,
    "labels": judge.judge_part("labels", "the judge's labels"),
    "parser": judge.judge_part("parser", "the parser of replies"),
    "state": judge.state,
}
"""One comparison for each word of `ORDER` but ``none``."""


class Diverged(NamedTuple):
    """What two sides of a row differ in."""

    first: Divergence
    difference: Difference | None
    """``None`` where nothing that was kept differs."""
    also: tuple[Divergence, ...]
    """What differs further down the order; most of it follows from the first."""


def first_divergence(sides: Sides) -> Diverged:
    """Ask every comparison, in order; the first that finds a difference names the evidence to look at."""
    found = {word: difference for word, compare in COMPARISONS.items() if (difference := compare(sides))}
    if not found:
        return Diverged("none", None, ())
    first, *rest = found
    return Diverged(first, found[first], tuple(rest))
