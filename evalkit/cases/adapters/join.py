"""Two records of the same passages brought together: what generation was given, and under which identity."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.cases.lookup import Passage

__all__ = ["identified", "sent_in"]


def identified(given: Sequence[Passage], retrieved: Sequence[Passage] | None) -> tuple[Passage, ...]:
    """Give texts without identity the one under which they were retrieved, the first use of a text first.

    >>> identified([Passage("a"), Passage("b")], [Passage("b", "doc-2"), Passage("a", "doc-1")])[0].document_id
    'doc-1'
    """
    waiting = list(retrieved or ())
    found: list[Passage] = []
    for passage in given:
        same = next((other for other in waiting if other.text == passage.text), None)
        if same is not None and (passage.document_id, passage.revision, passage.passage_id) == (None, None, None):
            waiting.remove(same)
            passage = same  # noqa: PLW2901 - the same passage, with its name
        found.append(passage)
    return tuple(found)


def sent_in(prompt: str, retrieved: Sequence[Passage]) -> tuple[Passage, ...] | None:
    """Return what of the retrieved passages was sent, in the order in which it was; ``None`` where words do not tell.

    Runs of white space count as one. A passage inside a longer one counts where it stands on its own as well.
    """
    sent = _folded(prompt)
    texts = {_folded(passage.text) for passage in retrieved}
    if "" in texts:
        return None
    places: list[tuple[int, str]] = []
    taken: list[tuple[int, int]] = []
    for text in sorted(texts, key=len, reverse=True):
        own = [at for at in _occurrences(text, sent) if not any(a <= at and at + len(text) <= b for a, b in taken)]
        own = own or _occurrences(text, sent)[:1]
        places += [(at, text) for at in own]
        taken += [(at, at + len(text)) for at in own]
    if not places:
        return None
    given = [Passage(text) for _, text in sorted(places)]
    named = [passage._replace(text=_folded(passage.text)) for passage in retrieved]
    originals = {_folded(passage.text): passage.text for passage in retrieved}
    return tuple(one._replace(text=originals[one.text]) for one in identified(given, named))


def _folded(text: str) -> str:
    return " ".join(text.split())


def _occurrences(text: str, sent: str) -> list[int]:
    found: list[int] = []
    at = sent.find(text)
    while at >= 0:
        found.append(at)
        at = sent.find(text, at + len(text))
    return found
