"""Rows that are almost the same text: counted as independent, they make a sample look larger than it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["ALIKE", "MOST_TEXTS", "NearPair", "near_duplicates", "text_of"]

ALIKE = 90.0
"""Similarity from which two texts are near-duplicates: of 100 characters, words in any order, ten may differ."""

MOST_TEXTS = 5_000
"""Beyond this many texts only equal ones are found: comparing each with each takes minutes."""

_FEWEST_WORDS = 4
_ROWS = 256
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
    found = _equal(folded) if len(names) > MOST_TEXTS else _alike(folded, alike)
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


def _alike(folded: Sequence[str], alike: float) -> list[tuple[int, int, float]]:
    import numpy as np
    from rapidfuzz import fuzz, process

    pairs = []
    for start in range(0, len(folded), _ROWS):
        block = folded[start : start + _ROWS]
        scores = process.cdist(block, folded, scorer=fuzz.ratio, score_cutoff=alike, dtype=np.float32)
        for row, column in np.argwhere(scores > 0):
            if start + row < column:
                pairs.append((int(start + row), int(column), round(float(scores[row, column]), 1)))
    return pairs
