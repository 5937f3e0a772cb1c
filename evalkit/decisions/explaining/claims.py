"""One missing claim: was it said, cited, retrieved? The four endings are told apart, or it is left open and said so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from evalkit.cases.lookup import Match, Passage, Sighting, best_passage, look_for, same_text
from evalkit.decisions.explaining.divergence import Divergence, Promises, owner_of
from evalkit.decisions.explaining.evidence import Citation, EvidenceView

__all__ = ["Ending", "Finding", "find_claim"]

Ending = Literal[
    "never_said", "citation_dropped", "cites_another_document", "not_retrieved", "not_used", "not_counted", "undecided"
]

_WORD_OF: dict[Ending, Divergence] = {
    "never_said": "answer",
    "not_used": "answer",
    "citation_dropped": "attribution",
    "cites_another_document": "attribution",
    "not_retrieved": "retrieval",
    "not_counted": "supported_set",
    "undecided": "none",
}
_EXCERPT = 160


class Finding(NamedTuple):
    """What became of one missing claim."""

    claim_id: str
    ending: Ending
    first_divergence: Divergence
    owner: str | None
    sentence: str
    passage: Passage | None
    """The retrieved passage that repeats most of the claim, whether that is much or little."""
    match: Match | None
    """How much of it; ``None`` where there is nothing to compare."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values; the passage shortened to an excerpt."""
        passage, match = self.passage, self.match
        return {
            **self._asdict(),
            "passage": passage and {**passage._asdict(), "text": passage.text[:_EXCERPT]},
            "match": match and {"score": match.score, "words_found": match.hits, "words": match.words},
        }


class _Place(NamedTuple):
    """Where a claim stands, or why that is not known."""

    sighting: Sighting | Literal["unknown"]
    passage: Passage | None = None
    match: Match | None = None
    lost: str = ""


class _Walk(NamedTuple):
    """What is known of one claim, before it is judged."""

    cites: Sequence[Citation]
    citations_lost: str | None
    said: _Place
    held: _Place
    retrieved: Sequence[Passage]


def find_claim(claim_id: str, view: EvidenceView, promises: Promises) -> Finding:
    """Say what became of one claim that the metric counts as missing."""
    cites = view.citations(claim_id)
    walk = _Walk(
        cites,
        view.citations_lost,
        _in_answer(claim_id, cites, view),
        _in_passages(claim_id, cites, view),
        view.passages,
    )
    ending, text = _cited(walk) if cites else _uncited(walk)
    word = _WORD_OF[ending]
    return Finding(
        claim_id, ending, word, owner_of(word, promises), f"{claim_id}: {text}", walk.held.passage, walk.held.match
    )


# --- where it stands ------------------------------------------------------------------------------------------------


def _in_answer(claim_id: str, cites: Sequence[Citation], view: EvidenceView) -> _Place:
    if view.answer.lost:
        return _Place("unknown", lost=view.answer.lost)
    answer = same_text(view.answer.value)
    if any(cite.span and same_text(cite.span) in answer for cite in cites):
        return _Place("found")
    claim = view.claim(claim_id)
    if claim.lost:
        return _Place("unknown", lost=claim.lost)
    match = look_for(claim.value, view.answer.value)
    return _Place(match.sighting, None, match)


def _in_passages(claim_id: str, cites: Sequence[Citation], view: EvidenceView) -> _Place:
    if view.retrieved.lost:
        return _Place("unknown", lost=view.retrieved.lost)
    if not view.passages:
        return _Place("absent")
    quoted = _quoted(cites, view.passages)
    claim = view.claim(claim_id)
    if claim.lost:
        return _Place("found", quoted) if quoted else _Place("unknown", lost=claim.lost)
    if quoted:
        return _Place("found", quoted, look_for(claim.value, quoted.text))
    best = best_passage(claim.value, view.passages)
    return _Place(best.match.sighting, best.passage, best.match) if best else _Place("absent")


def _quoted(cites: Sequence[Citation], passages: Sequence[Passage]) -> Passage | None:
    """Return the passage that holds a cited span word for word, one of the cited document first."""
    cited = {cite.document_id for cite in cites}
    spans = [same_text(cite.span) for cite in cites if cite.span and cite.span.strip()]
    holding = [passage for passage in passages if any(span in same_text(passage.text) for span in spans)]
    return next((passage for passage in holding if passage.document_id in cited), holding[0] if holding else None)


# --- what that means ------------------------------------------------------------------------------------------------


class _Judged(NamedTuple):
    ending: Ending
    text: str


def _cited(walk: _Walk) -> _Judged:
    cited = sorted({cite.document_id for cite in walk.cites if cite.document_id})
    names = ", ".join(cited) or "no document"
    held, passage = walk.held, walk.held.passage
    if held.sighting == "found" and passage is not None:
        if passage.document_id in cited or (not cited and passage.document_id is None):
            return _Judged(
                "not_counted", f"said, cited and retrieved ({_shown(held)}), and yet not counted as supported"
            )
        text = f"the answer cites {names}, but the passage that holds it was retrieved as {_shown(held)}"
        return _Judged("cites_another_document", f"{text}: the citation points to another document")
    if held.sighting == "absent":
        return _Judged(
            "not_retrieved", f"the answer cites {names}, but its passage was never retrieved ({_searched(walk)})"
        )
    known = {passage.document_id for passage in walk.retrieved}
    if held.sighting == "unknown" and known and cited and not known.intersection(cited):
        text = f"the answer cites {names}, a document of which no passage was retrieved"
        return _Judged("cites_another_document", f"{text}; not decidable here what it should be: {held.lost}")
    why = held.lost or f"words alone do not tell whether a passage holds it ({_closest(walk)})"
    return _Judged("undecided", f"the answer cites {names}; not decidable here: {why}")


def _uncited(walk: _Walk) -> _Judged:
    said, held = walk.said.sighting, walk.held.sighting
    if held == "absent":
        how = "the answer says it, but its passage" if said == "found" else "its passage"
        return _Judged("not_retrieved", f"{how} was never retrieved ({_searched(walk)})")
    open_end = _open_end(walk)
    if said == "found":
        if walk.citations_lost:
            return _Judged("citation_dropped", f"the answer says it, uncounted{open_end}; {walk.citations_lost}")
        where = f", and its passage was retrieved ({_shown(walk.held)})" if held == "found" else ""
        text = f"the answer says it{where}, but no citation is attached to it: it was dropped"
        return _Judged("citation_dropped", text + open_end)
    if said == "absent":
        if held == "found":
            text = f"its passage was retrieved ({_shown(walk.held)}) but not used: the answer does not say it"
            return _Judged("not_used", text)
        return _Judged("never_said", f"the answer never said it{open_end}")
    where = f"its passage was retrieved ({_shown(walk.held)}); " if held == "found" else ""
    why = walk.said.lost or f"the answer repeats {_share(walk.said)}: words alone do not tell whether it says it"
    return _Judged("undecided", f"{where}not decidable here: {why}")


def _open_end(walk: _Walk) -> str:
    if walk.held.sighting == "found":
        return ""
    why = walk.held.lost or f"words alone do not tell ({_closest(walk)})"
    return f"; whether its passage was retrieved is not decidable here: {why}"


def _shown(place: _Place) -> str:
    name = (place.passage.document_id if place.passage else None) or "a passage without document id"
    return f"{name}, {_share(place)}" if place.match else name


def _share(place: _Place) -> str:
    return f"{place.match.hits} of its {place.match.words} words" if place.match else "some of its words"


def _searched(walk: _Walk) -> str:
    # An empty list is a fact; that no passage repeats a claim is a finding about words.
    return f"as far as words tell; {_closest(walk)}" if walk.retrieved else _closest(walk)


def _closest(walk: _Walk) -> str:
    if not walk.retrieved:
        return "nothing was retrieved: []"
    match = walk.held.match
    if match is None:
        return f"{len(walk.retrieved)} passages"
    lacks = f", lacking {' and '.join(match.missing_numbers)}" if match.missing_numbers else ""
    return f"closest of {len(walk.retrieved)}: {_shown(walk.held)}{lacks}"
