"""Comparisons of what the system produced: passages, their identity, the answer, its citations, the supported set.

Two answers are hardly ever the same text. Where a metric names the claims that were lost or gained, each comparison
asks about *their* evidence and lets other changes be; without claims, or where they cannot be looked up, anything that
differs counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from evalkit.cases.lookup import Passage, look_for, passages_of, same_text
from evalkit.decisions.explaining.evidence import Citation, EvidenceView
from evalkit.decisions.explaining.kept import (
    Difference,
    Shown,
    differs,
    id_text,
    is_readable,
    list_words,
    mark,
    names,
    same_items,
)
from evalkit.decisions.explaining.sides import Held, InputPair, Sides

__all__ = ["answer", "attribution", "document_identity", "retrieval", "supported_set"]


def retrieval(sides: Sides) -> Difference | None:
    """Compare the passages by their text, not their names: one that is no longer retrieved, or newly is."""
    for pair in sides.inputs.get("retrieval", ()):
        if text := _passages_differ(pair):
            return Difference(pair.name, f"{pair.name}: {text}", mark(pair.old, pair.new))
    pair = sides.evidence("retrieved")
    if not sides.is_recorded_on_both("retrieved") or not differs(pair.old, pair.new):
        return None
    if (held := sides.held) is None:
        text = _passages_differ(pair)
        return Difference(pair.name, text, _shown_passages(pair)) if text else None
    for claim in held:
        if (claim.old is None) != (claim.new is None):
            how = "is no longer retrieved" if claim.new is None else "is retrieved now"
            name = _name(claim.old or claim.new)
            return Difference(
                pair.name, f"the passage that holds {id_text(claim.claim_id)} ({name}) {how}", _shown_held(claim)
            )
    return None


def document_identity(sides: Sides) -> Difference | None:
    """Compare the names of equal texts (document, revision, passage): nothing was lost, a join may be broken."""
    pair = sides.evidence("retrieved")
    for held in sides.held or ():
        if held.old and held.new and held.old[1:] != held.new[1:]:
            what = "unchanged" if same_text(held.old.text) == same_text(held.new.text) else "still retrieved"
            text = (
                f"the passage that holds {id_text(held.claim_id)} is {what}, but is now called {_name(held.new)} "
                f"(was {_name(held.old)}){_still_cited(sides, held)}"
            )
            return Difference(pair.name, text, Shown(_full_name(held.old), _full_name(held.new)))
    if sides.held is not None or not (is_readable(pair.old) and is_readable(pair.new)):
        return None
    before, after = passages_of(pair.old), passages_of(pair.new)
    if _texts(before) == _texts(after) and Counter(p[1:] for p in before) != Counter(p[1:] for p in after):
        text = f"the retrieved passages are the same, under other ids: {list_words(before, after, _full_name)}"
        return Difference(pair.name, text, mark([_full_name(p) for p in before], [_full_name(p) for p in after]))
    return None


def answer(sides: Sides) -> Difference | None:
    """Compare what the answer says; for claims, whether it still says them."""
    for pair in sides.inputs.get("answer", ()):
        if differs(pair.old, pair.new):
            return Difference(pair.name, _answer_words(pair), mark(pair.old, pair.new))
    pair = sides.evidence("answer")
    if not sides.is_recorded_on_both("answer") or not differs(pair.old, pair.new):
        return None
    said = [(claim, _says(sides.old_view, sides, claim), _says(sides.new_view, sides, claim)) for claim in sides.claims]
    if not said or any(None in (before, after) for _, before, after in said):
        return Difference(pair.name, _answer_words(pair), mark(pair.old, pair.new))
    for claim, before, after in said:
        if before != after:
            text = f"the answer {'no longer says' if before else 'now says'} {id_text(claim)}"
            return Difference(pair.name, text, mark(pair.old, pair.new))
    return None


def attribution(sides: Sides) -> Difference | None:
    """Compare the citations: dropped, added, or pointing to another document."""
    for pair in sides.inputs.get("attribution", ()):
        if not same_items(pair.old, pair.new):
            return Difference(pair.name, f"{pair.name} {list_words(pair.old, pair.new)}", mark(pair.old, pair.new))
    pair = sides.evidence("citations")
    if not sides.is_recorded_on_both("citations") or same_items(pair.old, pair.new):
        return None
    if not sides.claims or sides.old_view.citations_lost or sides.new_view.citations_lost:
        return Difference(pair.name, f"the citations changed: {_citation_words(pair)}", mark(pair.old, pair.new))
    for claim in sides.claims:
        before, after = (_targets(view.citations(claim)) for view in (sides.old_view, sides.new_view))
        if before != after:
            text = f"the citation of {id_text(claim)} {_moved(before, after)}"
            return Difference(pair.name, text, Shown(names(before) or "none", names(after) or "none"))
    return None


def supported_set(sides: Sides) -> Difference | None:
    """Compare the list that the score counts, where everything before it is the same."""
    for pair in sides.inputs.get("supported_set", ()):
        if differs(pair.old, pair.new):
            return Difference(pair.name, f"{pair.name} {list_words(pair.old, pair.new)}", mark(pair.old, pair.new))
    return None


# --- passages -------------------------------------------------------------------------------------------------------


def _passages_differ(pair: InputPair) -> str | None:
    """Say how two lists of passages differ in their texts; ids are the business of `document_identity`."""
    if not (is_readable(pair.old) and is_readable(pair.new)):
        return _unreadable_words(pair)
    if not (isinstance(pair.old, list) and isinstance(pair.new, list)):
        return "changed" if differs(pair.old, pair.new) else None
    before, after = passages_of(pair.old), passages_of(pair.new)
    if _texts(before) != _texts(after):
        lost, gained = (_texts(before) - _texts(after)).total(), (_texts(after) - _texts(before)).total()
        return f"{lost} of {len(before)} passages are no longer retrieved, {gained} of {len(after)} are new"
    is_same_order = [same_text(p.text) for p in before] == [same_text(p.text) for p in after]
    return None if is_same_order else f"the same {len(before)} passages were retrieved in another order"


def _unreadable_words(pair: InputPair) -> str | None:
    if not differs(pair.old, pair.new):
        return None
    if None in (pair.old, pair.new):
        side = "new" if pair.new is None else "old"
        return (
            f"the {side} run has null for the passages: the trace was lost, which is not the same as retrieving "
            "nothing; whether retrieval broke is not decidable here"
        )
    return "the passages changed; whether only their ids did is not decidable here: they were kept only as a hash"


def _texts(passages: list[Passage]) -> Counter[str]:
    return Counter(same_text(passage.text) for passage in passages)


def _name(passage: Passage | None) -> str:
    return (passage and (passage.document_id or passage.passage_id)) or "a passage without id"


def _full_name(passage: Passage) -> str:
    parts = (passage.document_id, passage.passage_id, passage.revision and f"revision {passage.revision}")
    return " ".join(part for part in parts if part) or "no id"


def _still_cited(sides: Sides, held: Held) -> str:
    cited = {cite.document_id for cite in sides.new_view.citations(held.claim_id)}
    if held.old and held.new and held.old.document_id in cited - {held.new.document_id}:
        return f"; the citation still names {held.old.document_id}"
    return ""


def _shown_held(held: Held) -> Shown:
    old, new = (f"{_full_name(p)}: {p.text}" if p else "not retrieved" for p in (held.old, held.new))
    return Shown(mark(old, None).old, mark(None, new).new)


def _shown_passages(pair: InputPair) -> Shown:
    old, new = (passages_of(side) for side in (pair.old, pair.new))
    lost, gained = (_only(old, new), _only(new, old))
    return mark(lost, gained) if lost or gained else mark(pair.old, pair.new)


def _only(here: list[Passage], there: list[Passage]) -> list[str]:
    known = _texts(there)
    return [f"{_full_name(passage)}: {passage.text}" for passage in here if same_text(passage.text) not in known]


# --- answer and citations -------------------------------------------------------------------------------------------


def _says(view: EvidenceView, sides: Sides, claim_id: str) -> bool | None:
    """Tell whether an answer says a claim; ``None`` where words alone do not decide it."""
    if view.answer.lost:
        return None
    text = same_text(view.answer.value)
    if any(span in text for span in sides.spans(claim_id)):
        return True
    claim = view.claim(claim_id)
    if claim.lost:
        return None
    sighting = look_for(claim.value, view.answer.value).sighting
    return None if sighting == "unclear" else sighting == "found"


def _answer_words(pair: InputPair) -> str:
    readable = is_readable(pair.old) and is_readable(pair.new)
    return f"{pair.name} changed" + ("" if readable else " (not kept in full on both sides)")


def _targets(cites: list[Citation]) -> list[str]:
    return sorted({cite.document_id or "no document" for cite in cites})


def _moved(before: list[str], after: list[str]) -> str:
    if not after:
        return f"was dropped (it pointed to {names(before)})"
    return f"is new (it points to {names(after)})" if not before else f"points to {names(after)} (was {names(before)})"


def _citation_words(pair: InputPair) -> str:
    return list_words(pair.old, pair.new, lambda item: " -> ".join(_cited_parts(item)))


def _cited_parts(item: object) -> Iterator[str]:
    if isinstance(item, dict):
        yield from (id_text(item.get(key)) for key in ("claim_id", "document_id"))
    else:
        yield repr(item)
