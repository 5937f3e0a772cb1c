"""The checks of a trace's lineage: what the case would say against what the trace preserved, each with its diagnosis.

The checks do not overlap: what one of them names, no other does. So a check that is taken away leaves a hole, and the
corruption that it was there for comes through (`evalkit.mutate.corruptions` plants each of them).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from evalkit.cases.adapters.compare import (
    PassageSides,
    diagnose_answer,
    diagnose_passages,
    diagnose_reference,
)
from evalkit.cases.adapters.meanings import Adapted
from evalkit.cases.adapters.observed import Happened
from evalkit.cases.lookup import Passage

__all__ = ["CHECKS", "Check", "Pair"]


class Pair(NamedTuple):
    """One trace on both sides of an audit."""

    adapted: Adapted
    happened: Happened
    mapped: frozenset[str]
    """Meanings that the adapter reads at all."""
    witnessed: frozenset[str]
    """Meanings of which the trace keeps a record that the audit may read."""


class Check(NamedTuple):
    """One question that is asked of every trace."""

    name: str
    meaning: str | None
    """What it looks at; it can only be asked where the trace keeps a record of that."""
    asks: str
    """What must hold."""
    find: Callable[[Pair], str | None]
    """The diagnosis where it does not; ``None`` where it holds or nothing was recorded to hold it against."""


_PASSAGES = ("retrieved", "reference_contexts")


def _both(pair: Pair, meaning: str) -> bool:
    """Tell whether a meaning can be compared; what is of the wrong type is `_types`' business alone."""
    is_kept = meaning in pair.mapped and meaning in pair.witnessed and not pair.adapted.unusable
    value = getattr(pair.adapted, meaning)
    return is_kept and (_are_passages(value) if meaning in _PASSAGES else isinstance(value, str | None))


def _identity(pair: Pair) -> str | None:
    adapted, happened = pair.adapted.trace_id, pair.happened.trace_id
    return None if adapted == happened else f"the case is named {adapted!r}, its trace {happened!r}"


def _types(pair: Pair) -> str | None:
    if pair.adapted.unusable:
        return f"it gives no row: {pair.adapted.unusable}"
    if pair.adapted.problems:
        return pair.adapted.problems[0].sentence
    for meaning in ("question", "answer", "reference"):
        value = getattr(pair.adapted, meaning)
        if not isinstance(value, str | None):
            return f"{meaning} is {type(value).__name__}, not a text"
    for meaning in _PASSAGES:
        if not _are_passages(getattr(pair.adapted, meaning)):
            return f"{meaning} is {type(getattr(pair.adapted, meaning)).__name__}, not a list of passages"
    return None


def _are_passages(value: Any) -> bool:
    return value is None or (isinstance(value, tuple) and all(isinstance(item, Passage) for item in value))


def _question(pair: Pair) -> str | None:
    asked, given = pair.happened.question, _form(pair, "question")
    if not _both(pair, "question") or given == asked:
        return None
    turns = pair.happened.turns
    if given in turns:
        turn = f"turn {turns.index(given) + 1} of {len(turns)}"
        return f"the question is that of {turn}; turn {pair.happened.turn} is evaluated"
    return f"the question {_short(given)} is not the one that was asked: {_short(asked)}"


def _form(pair: Pair, meaning: str) -> Any:
    """Return the form of a meaning that can be held against the trace.

    That is the one before a declared transformation, unless the value was changed after it, or the trace's own record
    was read through the same transformation.
    """
    adapted, happened = pair.adapted, pair.happened
    value, forms = getattr(adapted, meaning), adapted.transformed.get(meaning)
    if forms is None or value == getattr(happened, "passages" if meaning == "retrieved" else meaning):
        return value
    if meaning not in _PASSAGES:
        return forms["observed"] if value == forms["given"] else value
    if not _are_passages(value) or value is None:
        return value
    before = dict(zip(forms["given"], forms["observed"], strict=True))
    return tuple(passage._replace(text=before.get(passage.text, passage.text)) for passage in value)


def _answer_check(kind: str) -> Callable[[Pair], str | None]:
    def find(pair: Pair) -> str | None:
        if not _both(pair, "answer"):
            return None
        found = diagnose_answer(_form(pair, "answer"), _form(pair, "reference"), pair.happened)
        return found.sentence if found and found.kind == kind else None

    return find


def _reference_check(pair: Pair) -> str | None:
    if not _both(pair, "reference"):
        return None
    answer, reference = _form(pair, "answer"), _form(pair, "reference")
    return diagnose_reference(answer, reference, pair.happened)


def _passage_check(kind: str) -> Callable[[Pair], str | None]:
    def find(pair: Pair) -> str | None:
        adapted = _form(pair, "retrieved")
        if not _both(pair, "retrieved"):
            return None
        found = diagnose_passages(PassageSides(adapted, pair.happened.passages, pair.happened))
        return found.sentence if found and found.kind == kind else None

    return find


def _reference_contexts(pair: Pair) -> str | None:
    adapted, reviewed = _form(pair, "reference_contexts"), pair.happened.reference_contexts
    if not _both(pair, "reference_contexts") or adapted == reviewed:
        return None
    return (
        f"reference_contexts are {_count(adapted)} that the trace does not hold as reference; it has {_count(reviewed)}"
    )


def _count(passages: tuple[Passage, ...] | None) -> str:
    return "none (null)" if passages is None else f"{len(passages)} passages"


def _short(text: Any) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else f"{shown[:57]}...{shown[0]}"


_ALL = (
    Check("trace_identity", None, "a case carries the id of its own trace", _identity),
    Check("field_types", None, "each meaning is a text, or a list of passages, and can be used", _types),
    Check("question_of_turn", "question", "the question is that of the turn that is evaluated", _question),
    Check("answer_is_observed", "answer", "the answer is the observed output, word for word", _answer_check("other")),
    Check("answer_not_reference", "answer", "the answer was not taken from the reference", _answer_check("reference")),
    Check("answer_not_swapped", "answer", "answer and reference are not exchanged", _answer_check("swapped")),
    Check("error_is_not_answer", "answer", "what a failing application says is no answer", _answer_check("error")),
    Check("failure_not_filled", "answer", "no missing answer was filled from gold", _answer_check("filled")),
    Check("reference_is_reviewed", "reference", "the reference is the reviewed one of the trace", _reference_check),
    Check("gold_is_reviewed", "reference_contexts", "reference passages are the trace's own", _reference_contexts),
    Check("retrieved_not_gold", "retrieved", "no reference stands in for a passage", _passage_check("reference")),
    Check("passages_of_trace", "retrieved", "generation was given every passage", _passage_check("foreign")),
    Check("passages_whole", "retrieved", "no passage that generation was given is missing", _passage_check("dropped")),
    Check("passages_counted", "retrieved", "a passage given twice is there twice", _passage_check("count")),
    Check("passages_in_order", "retrieved", "passages stand in the order they were given", _passage_check("order")),
    Check("passages_identity", "retrieved", "document, revision and passage id are kept", _passage_check("identity")),
    Check("lost_is_not_empty", "retrieved", "lost passages are no empty retrieval", _passage_check("emptied")),
    Check("empty_is_not_lost", "retrieved", "an empty retrieval is not called lost", _passage_check("lost")),
    Check("lost_not_filled", "retrieved", "lost passages were not filled from elsewhere", _passage_check("filled")),
)

CHECKS: Mapping[str, Check] = {check.name: check for check in _ALL}
"""Every check of one trace, by name."""
