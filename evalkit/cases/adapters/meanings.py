"""The meanings an adapter maps, what of them a metric parameter may receive, and one trace read into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from evalkit.cases.lookup import Passage

__all__ = ["FEEDABLE", "Adapted", "Feedable", "Problem", "texts_of"]

Feedable = Literal[
    "question", "answer", "retrieved", "retrieved_passages", "retrieved_ids", "reference", "reference_contexts"
]

FEEDABLE: Mapping[str, str] = {
    "question": "question",
    "answer": "answer",
    "retrieved": "retrieved",
    "retrieved_passages": "retrieved",
    "retrieved_ids": "retrieved",
    "reference": "reference",
    "reference_contexts": "reference_contexts",
}
"""What a parameter may receive, and the meaning it comes from: passages as texts, as objects, or as their ids."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a meaning of one trace cannot be used."""

    meaning: str
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Adapted:
    """One trace read into its meanings, before it is a case."""

    trace_id: str
    number: int
    where: str
    """For messages."""
    question: Any = None
    """A text, or ``None`` where it is not there; anything else is a fault that the audit names."""
    answer: Any = None
    retrieved: Any = None
    """A tuple of `Passage`, or ``None`` where it was lost: not the same as ``()``, nothing retrieved."""
    reference: Any = None
    reference_contexts: Any = None
    error: str | None = None
    session_id: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    transformed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By meaning: what was observed, what was made of it, and by which function."""
    problems: tuple[Problem, ...] = ()
    absent: tuple[Problem, ...] = ()
    """Meanings that stand nowhere, and where their path breaks."""
    slips: tuple[Problem, ...] = ()
    """Meanings that stand nowhere while a key that nobody reads is one slip of the finger away."""
    notes: tuple[str, ...] = ()
    unusable: str | None = None
    """Why the trace as a whole gives no row."""


def texts_of(passages: Any) -> list[str] | None:
    """Return the texts of passages; ``None`` where they were lost or are no passages at all."""
    if not isinstance(passages, Sequence) or isinstance(passages, str):
        return None
    return [passage.text for passage in passages if isinstance(passage, Passage)]
