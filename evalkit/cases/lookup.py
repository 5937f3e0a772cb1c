"""Where a claim's words stand: token recall with a number check. It finds a place to read; it never proves support."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

__all__ = [
    "FOUND",
    "NOT_FOUND",
    "Found",
    "Match",
    "Passage",
    "Sighting",
    "best_passage",
    "look_for",
    "passages_of",
    "same_text",
]

FOUND = 0.7
"""Share of a claim's words (all its numbers among them) from which a text is taken for the place that holds it."""
NOT_FOUND = 0.5
"""Below this share the text is taken not to hold it; between the two, words alone do not decide."""

Sighting = Literal["found", "unclear", "absent"]

_ALIKE = 80  # rapidfuzz ratio: "refunded" for "refund" counts, "refuse" does not
_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")  # noqa: RUF001 - full-width marks end sentences too
_COMMON = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "in", "is", "it", "its", "of",
        "on", "or", "our", "that", "the", "this", "to", "was", "we", "were", "will", "with", "you", "your",
    }
)  # fmt: skip


class Match(NamedTuple):
    """How much of a claim a text repeats."""

    hits: int
    """Distinct words of the claim that the best one or two sentences in a row contain."""
    words: int
    """Distinct words of the claim, those that every text has left out."""
    missing_numbers: tuple[str, ...]
    """Numbers of the claim that the whole text lacks: 30 days and 14 days share every other word."""

    @property
    def score(self) -> float:
        """The share of words found, 0..1 (0 for a claim without words)."""
        return self.hits / self.words if self.words else 0.0

    @property
    def sighting(self) -> Sighting:
        """Whether the text is taken to hold the claim."""
        if self.missing_numbers or self.score < NOT_FOUND:
            return "absent"
        return "found" if self.score >= FOUND else "unclear"


class Passage(NamedTuple):
    """One retrieved passage, as far as it was recorded."""

    text: str
    document_id: str | None = None
    revision: str | None = None
    passage_id: str | None = None


class Found(NamedTuple):
    """The passage that repeats most of a claim."""

    passage: Passage
    match: Match


def passages_of(retrieved: object) -> list[Passage]:
    """Read the passages of ``evidence.retrieved`` (or a plain list of texts), skipping what is neither."""
    if not isinstance(retrieved, list):
        return []
    return [passage for item in retrieved if (passage := _passage(item)) is not None]


def _passage(item: object) -> Passage | None:
    if isinstance(item, str):
        return Passage(item)
    if not isinstance(item, Mapping):
        return None
    text = item.get("text")
    return Passage(
        text if isinstance(text, str) else "",
        *(_text_or_none(item, key) for key in ("document_id", "revision", "passage_id")),
    )


def _text_or_none(item: Mapping[str, Any], key: str) -> str | None:
    value = item.get(key)
    return value if isinstance(value, str) else None


@lru_cache(maxsize=512)
def same_text(text: str) -> str:
    """Fold what does not make another text: composition, width, case and white space.

    >>> same_text("Within  30 Days") == same_text("within 30 days")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def look_for(claim: str, text: str) -> Match:
    """Say how much of `claim` the best one or two sentences of `text` repeat.

    A high share is a place to read, not a proof: a contradiction repeats every word but one.

    Examples
    --------
    >>> look_for("Returns within 30 days.", "You may return it within 30 days. Labels are free.").sighting
    'found'
    >>> look_for("Returns within 30 days.", "You may return it within 14 days.").missing_numbers
    ('30',)
    """
    wanted = frozenset(_tokens(claim))
    present = frozenset(_tokens(text))
    numbers = tuple(sorted(word for word in wanted if word[0].isdigit() and word not in present))
    if not wanted:
        return Match(0, 0, ())
    alike = [_spellings(word, present) for word in wanted]
    best = max((_hits(alike, frozenset(_tokens(window))) for window in _windows(text)), default=0)
    return Match(best, len(wanted), numbers)


def best_passage(claim: str, passages: Sequence[Passage]) -> Found | None:
    """Return the passage that repeats most of a claim, those that lack one of its numbers last; ``None`` for none."""
    found = [Found(passage, look_for(claim, passage.text)) for passage in passages]
    return max(found, key=lambda one: (not one.match.missing_numbers, one.match.score), default=None)


def _hits(alike: Iterable[frozenset[str]], present: frozenset[str]) -> int:
    return sum(not spellings.isdisjoint(present) for spellings in alike)


def _spellings(word: str, present: Iterable[str]) -> frozenset[str]:
    """Return the words of a text that count as `word`: itself, or an inflection of it."""
    if word in present or word[0].isdigit() or len(word) < 4:
        return frozenset((word,))
    from rapidfuzz import fuzz, process  # here, so that a green gate does not load it

    near = process.extract(word, tuple(present), scorer=fuzz.ratio, score_cutoff=_ALIKE, limit=None)
    return frozenset((word, *(spelling for spelling, _, _ in near)))


def _windows(text: str) -> Iterator[str]:
    sentences = [part for part in _SENTENCE_END.split(text) if part and not part.isspace()]
    yield from sentences
    for first, second in pairwise(sentences):
        yield f"{first} {second}"


@lru_cache(maxsize=512)
def _tokens(text: str) -> tuple[str, ...]:
    """Split into words and numbers; scripts without spaces into overlapping pairs of characters."""
    tokens: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _UNSPACED.search(word):
            tokens += [word[at : at + 2] for at in range(len(word) - 1)] or [word]
        else:
            tokens.append(word)
    telling = tuple(token for token in tokens if token not in _COMMON)
    return telling or tuple(tokens)
