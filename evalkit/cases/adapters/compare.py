"""How an answer, a reference or a list of passages differs from what happened: one kind of difference at a time."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, NamedTuple

from evalkit.cases.adapters.observed import Happened
from evalkit.cases.lookup import Passage

__all__ = ["AnswerFault", "PassageFault", "PassageSides", "diagnose_answer", "diagnose_passages", "diagnose_reference"]


class AnswerFault(NamedTuple):
    """What is wrong with an answer."""

    kind: Literal["error", "filled", "swapped", "reference", "other"]
    sentence: str


class PassageFault(NamedTuple):
    """What is wrong with a list of passages."""

    kind: Literal["reference", "foreign", "dropped", "count", "order", "identity", "emptied", "lost", "filled"]
    sentence: str


class PassageSides(NamedTuple):
    """The passages of a case beside those that generation was given."""

    adapted: tuple[Passage, ...] | None
    given: tuple[Passage, ...] | None
    happened: Happened


def diagnose_answer(answer: Any, reference: Any, happened: Happened) -> AnswerFault | None:
    """Name what is wrong with an answer; ``None`` where it is what was observed."""
    failed = happened.error is not None or not (happened.answer or "").strip()
    if failed:
        return _of_failure(answer, happened)
    if answer == happened.answer:
        return None
    if answer is not None and answer == happened.reference:
        if reference == happened.answer:
            return AnswerFault("swapped", "answer and reference are exchanged: the answer is the reference's text")
        return AnswerFault("reference", "the answer is the reference, not what the system said")
    if answer is None:
        return AnswerFault("other", "the answer is missing, although the trace holds one")
    return AnswerFault("other", f"the answer {_short(answer)} is not the observed output {_short(happened.answer)}")


def _of_failure(answer: Any, happened: Happened) -> AnswerFault | None:
    if answer is None or answer == (happened.answer if happened.error is None else None):
        return None
    if (happened.reference or "").strip() and answer == happened.reference:
        why = f"failed ({_short(happened.error)})" if happened.error is not None else "gave no answer"
        return AnswerFault("filled", f"the application {why}, and the reference was put in as its answer")
    if happened.error is not None:
        return AnswerFault(
            "error", f"the application failed ({_short(happened.error)}), and {_short(answer)} is called an answer"
        )
    return AnswerFault("other", f"the answer {_short(answer)} stands where the trace holds none")


def diagnose_reference(answer: Any, reference: Any, happened: Happened) -> str | None:
    """Name what is wrong with a reference, unless the answer was exchanged with it (that has a check of its own)."""
    is_exchanged = reference == happened.answer and answer == happened.reference
    if reference == happened.reference or is_exchanged:
        return None
    if reference is not None and reference == happened.answer:
        return "the reference is the system's own answer: whatever is compared with it is compared with itself"
    return f"the reference {_short(reference)} is not the reviewed one {_short(happened.reference)}"


def diagnose_passages(sides: PassageSides) -> PassageFault | None:
    """Name what is wrong with a list of passages; ``None`` where it is what generation was given."""
    adapted, given, _ = sides
    if adapted == given:
        return None
    if given is None or adapted is None:
        return _missing(adapted, given)
    return _texts(sides, adapted, given) or _identity(adapted, given)


def _missing(adapted: tuple[Passage, ...] | None, given: tuple[Passage, ...] | None) -> PassageFault:
    if given is None:
        if adapted == ():
            return PassageFault(
                "emptied", "retrieved is [], but the trace lost its passages: null is not an empty retrieval"
            )
        count = len(adapted or ())
        return PassageFault("filled", f"the trace lost its passages, and retrieved holds {count} from elsewhere")
    if given == ():
        return PassageFault("lost", "retrieved is null, but the trace records an empty retrieval: []")
    return PassageFault("dropped", f"all {len(given)} passages that generation was given are missing (null)")


def _texts(sides: PassageSides, adapted: tuple[Passage, ...], given: tuple[Passage, ...]) -> PassageFault | None:
    ours, theirs = [p.text for p in adapted], [p.text for p in given]
    foreign = [text for text in ours if text not in set(theirs)]
    if foreign:
        return _foreign(foreign, sides.happened, len(theirs))
    if lost := [text for text in dict.fromkeys(theirs) if text not in set(ours)]:
        return PassageFault(
            "dropped", f"{len(lost)} of {len(theirs)} passages that generation was given are missing: {_short(lost[0])}"
        )
    if Counter(ours) != Counter(theirs):
        text = next(text for text, n in Counter(theirs).items() if Counter(ours)[text] != n)
        n, m = Counter(theirs)[text], Counter(ours)[text]
        return PassageFault("count", f"generation was given {_short(text)} {n} times, retrieved holds it {m} times")
    if ours != theirs:
        at = next(i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
        return PassageFault(
            "order", f"passage {at + 1} is {_short(ours[at])}; generation was given {_short(theirs[at])} there"
        )
    return None


def _foreign(foreign: list[str], happened: Happened, given: int) -> PassageFault:
    gold = {passage.text for passage in happened.reference_contexts or ()} | {happened.reference or ""}
    if all(text in gold for text in foreign):
        return PassageFault(
            "reference", f"{len(foreign)} reference passages stand in place of the {given} that generation was given"
        )
    other = next(text for text in foreign if text not in gold)
    return PassageFault("foreign", f"retrieved holds a passage that generation was never given: {_short(other)}")


def _identity(adapted: tuple[Passage, ...], given: tuple[Passage, ...]) -> PassageFault | None:
    for number, (ours, theirs) in enumerate(zip(adapted, given, strict=True), start=1):
        for part, word in (("document_id", "document"), ("revision", "revision"), ("passage_id", "passage id")):
            found, wanted = getattr(ours, part), getattr(theirs, part)
            if wanted is not None and found != wanted:
                return PassageFault(
                    "identity", f"passage {number} has the right text under {word} {found!r}; the trace has {wanted!r}"
                )
    return None


def _short(text: Any) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else f"{shown[:57]}...{shown[0]}"
