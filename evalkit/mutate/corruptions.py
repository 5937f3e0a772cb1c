"""Faults an adapter may have, planted one at a time into what it made of the user's own traces.

Each names the check that must find it. A plant returns ``None`` where there is nothing to corrupt: an answer that
equals its reference cannot be exchanged with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from evalkit.cases.adapters.checks import Pair
from evalkit.cases.lookup import Passage

__all__ = ["CORRUPTIONS", "Corruption"]


class Corruption(NamedTuple):
    """One planted fault of one row."""

    name: str
    description: str
    check: str
    """The check that must name it."""
    plant: Callable[[Pair, Pair], Pair | None]
    """Makes the faulty row, with another row of the file to take from."""


def _with(pair: Pair, **changed: Any) -> Pair:
    return pair._replace(adapted=replace(pair.adapted, **changed))


def _said(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip())


def _is_answered(pair: Pair) -> bool:
    return "answer" in pair.mapped & pair.witnessed and pair.happened.error is None and _said(pair.adapted.answer)


def _has_reference(pair: Pair) -> bool:
    return "reference" in pair.mapped and _said(pair.adapted.reference)


def _given(pair: Pair) -> tuple[Passage, ...] | None:
    """Return the passages of a row where they can be held against the trace."""
    is_checked = "retrieved" in pair.mapped & pair.witnessed and isinstance(pair.adapted.retrieved, tuple)
    return pair.adapted.retrieved if is_checked else None


def _gold(pair: Pair) -> tuple[Passage, ...]:
    if isinstance(pair.adapted.reference_contexts, tuple) and pair.adapted.reference_contexts:
        return pair.adapted.reference_contexts
    return (Passage(pair.adapted.reference),) if _has_reference(pair) else ()


def _gold_texts(pair: Pair) -> set[str]:
    return {p.text for p in pair.happened.reference_contexts or ()} | {pair.happened.reference or ""}


# --- passages -------------------------------------------------------------------------------------------------------


def _reference_as_retrieved(pair: Pair, _: Pair) -> Pair | None:
    given, gold = _given(pair), _gold(pair)
    if given is None or not {p.text for p in gold} - {p.text for p in given}:
        return None
    return _with(pair, retrieved=gold)


def _wrong_revision(pair: Pair, _: Pair) -> Pair | None:
    given = _given(pair) or ()
    for at, passage in enumerate(given):
        part = next((name for name in ("revision", "document_id", "passage_id") if getattr(passage, name)), None)
        if part:
            other = passage._replace(**{part: f"{getattr(passage, part)}-other"})
            return _with(pair, retrieved=(*given[:at], other, *given[at + 1 :]))
    return None


def _dropped(pair: Pair, _: Pair) -> Pair | None:
    given = _given(pair)
    return _with(pair, retrieved=tuple(p for p in given if p.text != given[-1].text)) if given else None


def _reordered(pair: Pair, _: Pair) -> Pair | None:
    given = _given(pair) or ()
    other = given[::-1]
    return _with(pair, retrieved=other) if [p.text for p in other] != [p.text for p in given] else None


def _deduplicated(pair: Pair, _: Pair) -> Pair | None:
    given = _given(pair) or ()
    unique = tuple({p.text: p for p in reversed(given)}.values())[::-1]
    return _with(pair, retrieved=unique) if len(unique) < len(given) else None


def _stringified(pair: Pair, _: Pair) -> Pair | None:
    given = _given(pair)
    return _with(pair, retrieved=str([p.text for p in given])) if given else None


def _neighbour_passages(pair: Pair, other: Pair) -> Pair | None:
    given, theirs = _given(pair), other.adapted.retrieved
    if given is None or not isinstance(theirs, tuple):
        return None
    known = {p.text for p in given} | _gold_texts(pair)
    return _with(pair, retrieved=theirs) if any(p.text not in known for p in theirs) else None


def _is_lost(pair: Pair) -> bool:
    return "retrieved" in pair.mapped & pair.witnessed and pair.happened.passages is None


def _lost_as_empty(pair: Pair, _: Pair) -> Pair | None:
    return _with(pair, retrieved=()) if _is_lost(pair) else None


def _empty_as_lost(pair: Pair, _: Pair) -> Pair | None:
    return _with(pair, retrieved=None) if _given(pair) == () else None


def _lost_filled(pair: Pair, other: Pair) -> Pair | None:
    gold = _gold(pair) or other.adapted.retrieved or ()
    return _with(pair, retrieved=gold) if _is_lost(pair) and isinstance(gold, tuple) and gold else None


# --- answer, reference, question, id --------------------------------------------------------------------------------


def _swapped(pair: Pair, _: Pair) -> Pair | None:
    answer, reference = pair.adapted.answer, pair.adapted.reference
    if not (_is_answered(pair) and _has_reference(pair)) or answer == reference:
        return None
    return _with(pair, answer=reference, reference=answer)


def _answer_from_reference(pair: Pair, _: Pair) -> Pair | None:
    if not (_is_answered(pair) and _has_reference(pair)) or pair.adapted.answer == pair.adapted.reference:
        return None
    return _with(pair, answer=pair.adapted.reference)


def _reference_from_answer(pair: Pair, _: Pair) -> Pair | None:
    if not (_is_answered(pair) and _has_reference(pair)) or pair.adapted.answer == pair.adapted.reference:
        return None
    return _with(pair, reference=pair.adapted.answer) if "reference" in pair.witnessed else None


def _neighbour_answer(pair: Pair, other: Pair) -> Pair | None:
    theirs = other.adapted.answer
    if not _is_answered(pair) or not _said(theirs) or theirs in (pair.adapted.answer, pair.happened.reference):
        return None
    return _with(pair, answer=theirs)


def _error_as_answer(pair: Pair, _: Pair) -> Pair | None:
    error = pair.happened.error
    if "answer" not in pair.mapped & pair.witnessed or not _said(error) or error == pair.happened.reference:
        return None
    return _with(pair, answer=error, error=None)


def _failure_filled(pair: Pair, _: Pair) -> Pair | None:
    has_failed = pair.happened.error is not None or not _said(pair.happened.answer)
    if "answer" not in pair.mapped & pair.witnessed or not has_failed or not _said(pair.happened.reference):
        return None
    return _with(pair, answer=pair.happened.reference, error=None)


def _later_question(pair: Pair, other: Pair) -> Pair | None:
    if "question" not in pair.mapped & pair.witnessed:
        return None
    own = pair.adapted.question
    later = next((turn for turn in reversed(pair.happened.turns) if turn != own), other.adapted.question)
    return _with(pair, question=later) if _said(later) and later != own else None


def _gold_from_retrieved(pair: Pair, _: Pair) -> Pair | None:
    retrieved, gold = pair.adapted.retrieved, pair.adapted.reference_contexts
    is_checked = "reference_contexts" in pair.mapped & pair.witnessed and gold
    return _with(pair, reference_contexts=retrieved) if is_checked and retrieved and retrieved != gold else None


def _neighbour_id(pair: Pair, other: Pair) -> Pair | None:
    theirs = other.adapted.trace_id
    return _with(pair, trace_id=theirs) if theirs != pair.adapted.trace_id else None


_ALL = (
    Corruption("reference_as_retrieved", "reference passages put in place of retrieved ones", "retrieved_not_gold",
               _reference_as_retrieved),
    Corruption("answer_and_reference_swapped", "answer and reference exchanged", "answer_not_swapped", _swapped),
    Corruption("wrong_revision", "the right text under another document revision", "passages_identity",
               _wrong_revision),
    Corruption("contexts_dropped", "one passage left out", "passages_whole", _dropped),
    Corruption("contexts_reordered", "passages in reverse order", "passages_in_order", _reordered),
    Corruption("contexts_deduplicated", "a passage that was given twice kept once", "passages_counted",
               _deduplicated),
    Corruption("contexts_stringified", "the list written as Python prints it", "field_types", _stringified),
    Corruption("later_turn_question", "the question of a later turn, or of the next trace", "question_of_turn",
               _later_question),
    Corruption("error_as_answer", "the application's error text as its answer", "error_is_not_answer",
               _error_as_answer),
    Corruption("neighbour_passages", "the passages of another trace", "passages_of_trace", _neighbour_passages),
    Corruption("neighbour_answer", "the answer of another trace", "answer_is_observed", _neighbour_answer),
    Corruption("neighbour_id", "the id of another trace", "trace_identity", _neighbour_id),
    Corruption("answer_from_reference", "the reference copied into the answer", "answer_not_reference",
               _answer_from_reference),
    Corruption("reference_from_answer", "the answer copied into the reference", "reference_is_reviewed",
               _reference_from_answer),
    Corruption("gold_from_retrieved", "retrieved passages as reference passages", "gold_is_reviewed",
               _gold_from_retrieved),
    Corruption("failure_filled_from_gold", "the reference as the answer of a trace that failed",
               "failure_not_filled", _failure_filled),
    Corruption("lost_as_empty", "null (lost) passages as [] (nothing retrieved)", "lost_is_not_empty",
               _lost_as_empty),
    Corruption("empty_as_lost", "[] (nothing retrieved) as null (lost)", "empty_is_not_lost", _empty_as_lost),
    Corruption("lost_filled", "lost passages filled from elsewhere", "lost_not_filled", _lost_filled),
)  # fmt: skip

CORRUPTIONS: Mapping[str, Corruption] = {corruption.name: corruption for corruption in _ALL}
"""Every fault of one row, by name; the first ten are the ones of which users report."""
