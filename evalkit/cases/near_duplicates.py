"""Rows that are almost the same text: counted as independent, they make a sample look larger than it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

__all__ = ["ALIKE", "MOST_TEXTS", "NearPair", "near_duplicates", "text_of"]

ALIKE = 90.0
"""Similarity from which two texts are near-duplicates: of 100 characters, words in any order, ten may differ."""

MOST_TEXTS = 20_000
"""Beyond this many texts only equal ones are found: looking for near ones would take minutes."""

_SHARED = 0.75
"""Near-duplicates have at least this share of their words in common: a typing error in every third word hides one."""

_FEWEST_WORDS = 4
_PLACES = 2_048
_ROWS = 512
_WORD = re.compile(r"\w+")


class NearPair(NamedTuple):
    """Two cases with almost the same text."""

    first: str
    second: str
    similarity: float
    """0..100; 100 for the same words."""


def text_of(inputs: Mapping[str, Any] | None, evidence: Mapping[str, Any] | None) -> str:
    """Return what a row says: question and answer, or else the metric's inputs that are texts.

    Ids, numbers and passages are no text of the row's own: rows that share them are not copies of each other. Empty
    where there is none, or only hashes were kept.

    >>> text_of({"required_claim_ids": ["a"]}, {"question": "When?", "answer": "On Monday.", "retrieved": None})
    'When? On Monday.'
    >>> text_of({"response": "On Monday.", "score": 0.5}, None)
    'On Monday.'
    """
    parts = [evidence.get(key) for key in ("question", "answer")] if evidence else []
    texts = [part for part in parts if isinstance(part, str)]
    return " ".join(texts or [part for part in (inputs or {}).values() if isinstance(part, str)])


def near_duplicates(
    texts: Mapping[str, str], *, apart: Mapping[str, str | None] | None = None, alike: float = ALIKE
) -> list[NearPair]:
    """Return the pairs of texts that are alike, in the order of `texts`.

    Words are folded and sorted first, so that a shuffled sentence is found too (rapidfuzz's token sort ratio).

    When it misleads: two answers may share nearly all words and differ in the one that matters ("is" and "is not").
    They still are one draw, not two.

    Parameters
    ----------
    texts : mapping of case id to text
        Those of fewer than four words are passed over: a verdict or a name is no text that could be copied.
    apart : mapping of case id to group, optional
        Only pairs of different groups are returned, for example of different partitions.
    alike : float
        Similarity, 0..100, from which a pair counts.

    Examples
    --------
    >>> near_duplicates({"a": "Refunds take five days.", "b": "refunds take FIVE days", "c": "No refund."})
    [NearPair(first='a', second='b', similarity=100.0)]
    """
    words = {name: sorted(_WORD.findall(text.casefold())) for name, text in texts.items()}
    names = [name for name, found in words.items() if len(found) >= _FEWEST_WORDS]
    folded = [" ".join(words[name]) for name in names]
    found = _equal(folded) if len(names) > MOST_TEXTS else _alike([words[name] for name in names], folded, alike)
    pairs = [NearPair(names[i], names[j], similarity) for i, j, similarity in found]
    return pairs if apart is None else [p for p in pairs if apart.get(p.first) != apart.get(p.second)]


def _equal(folded: Sequence[str]) -> list[tuple[int, int, float]]:
    first: dict[str, int] = {}
    pairs = []
    for j, text in enumerate(folded):
        i = first.setdefault(text, j)
        if i != j:
            pairs.append((i, j, 100.0))
    return pairs


def _alike(words: Sequence[Sequence[str]], folded: Sequence[str], alike: float) -> list[tuple[int, int, float]]:
    from rapidfuzz import fuzz

    pairs = []
    for i, j in _sharing_words(words):
        similarity = fuzz.ratio(folded[i], folded[j], score_cutoff=alike)
        if similarity:
            pairs.append((i, j, round(similarity, 1)))
    return sorted(pairs)


def _sharing_words(words: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
    """Yield the pairs with enough words in common.

    Each text becomes a vector of counts over hashed words (a word that occurs twice counts as two), and one product of
    matrices compares a block of texts with all others. Words that fall into one place only make texts look more alike,
    so no pair is missed; those left over are compared word by word.
    """
    import numpy as np

    bags = [{(word, copy) for word, n in Counter(found).items() for copy in range(n)} for found in words]
    sizes = np.array([len(bag) for bag in bags], dtype=np.float32)
    counts = np.zeros((len(bags), _PLACES), dtype=np.float32)
    for row, bag in zip(counts, bags, strict=True):
        for word, copy in bag:
            row[(crc32(word.encode()) + copy) % _PLACES] += 1
    for start in range(0, len(bags), _ROWS):
        common = counts[start : start + _ROWS] @ counts[start:].T
        wanted = _SHARED / 2 * (sizes[start : start + _ROWS, None] + sizes[None, start:])
        for row, column in np.argwhere(common >= wanted):
            i, j = start + int(row), start + int(column)
            if i < j and 2 * len(bags[i] & bags[j]) >= _SHARED * (len(bags[i]) + len(bags[j])):
                yield i, j
