"""Comparing what was kept, in full, as an excerpt or as a hash, and showing the difference without republishing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.contract import canonical_json, sha256_of
from evalkit.scoring.retention import is_kept_in_full

__all__ = ["Difference", "Shown", "differs", "id_text", "is_readable", "list_words", "mark", "names", "same_items"]

_WINDOW = 120
"""Characters shown of a long text, around the first difference."""


class Shown(NamedTuple):
    """The two sides of a difference, shortened; ``[-…-]`` and ``{+…+}`` mark what differs in a text."""

    old: str
    new: str


class Difference(NamedTuple):
    """One piece of evidence that differs between two runs of a row."""

    what: str
    """Which piece: ``evidence.answer``, ``required_claim_ids``, ``policy`` ..."""
    text: str
    """The same in words, as the end of a sentence."""
    shown: Shown


def is_readable(value: Any) -> bool:
    """Tell whether a value is there and was kept in full."""
    return value is not None and is_kept_in_full(value)


def differs(old: Any, new: Any) -> bool:
    """Compare two kept values; one that is only known by its hash is compared by hash (of the redacted value).

    >>> differs("secret", {"sha256": sha256_of("secret"), "excerpt": None})
    False
    """
    if old == new:
        return False
    if is_kept_in_full(old) and is_kept_in_full(new):
        return True
    return bool(_hash_of(old) != _hash_of(new))


def _hash_of(value: Any) -> Any:
    if value is None:
        return None
    return sha256_of(value) if is_kept_in_full(value) else value["sha256"]


def same_items(old: Any, new: Any) -> bool:
    """Tell whether two lists hold the same items in any order (anything else is compared as it is)."""
    if old == new:
        return True
    if isinstance(old, list) and isinstance(new, list):
        return Counter(map(canonical_json, old)) == Counter(map(canonical_json, new))
    return not differs(old, new)


def id_text(item: Any) -> str:
    """Show an id as it is, and in quotes where white space or other trouble would hide in it."""
    is_tidy = isinstance(item, str) and item.isprintable() and item == item.strip() != ""
    return item if is_tidy else repr(item)


def list_words(old: Any, new: Any, by: Callable[[Any], str] = id_text) -> str:
    """Say what two lists gained and lost; for what was not kept in full, that it changed.

    >>> list_words(["a", "b"], ["b", "c ", "d"])
    "gained 'c ', d and lost a (2 -> 3)"
    """
    if not (isinstance(old, list) and isinstance(new, list)):
        return _unlisted_words(old, new)
    before, after = Counter(map(by, old)), Counter(map(by, new))
    parts = [
        f"{word} {names(list((items).elements()))}"
        for word, items in (("gained", after - before), ("lost", before - after))
        if items
    ]
    return f"{' and '.join(parts) or 'has the same items in another order'} ({len(old)} -> {len(new)})"


def _unlisted_words(old: Any, new: Any) -> str:
    words = [_kind(old), _kind(new)]
    return f"went from {words[0]} to {words[1]}" if words[0] != words[1] else f"changed ({words[0]})"


def _kind(value: Any) -> str:
    if value is None:
        return "null or absent"
    if not is_kept_in_full(value):
        return "kept only as an excerpt" if value["excerpt"] is not None else "kept only as a hash"
    return f"{len(value)} items" if isinstance(value, list) else type(value).__name__


def names(items: Sequence[str], most: int = 4) -> str:
    """Join names, at most `most`, and say how many more there are."""
    rest = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + rest


def mark(old: Any, new: Any) -> Shown:
    """Show both sides around their first difference.

    >>> mark("We refund within 30 days.", "We refund within 14 days.")
    Shown(old='We refund within [-30-] days.', new='We refund within {+14+} days.')
    """
    before, after = _as_text(old), _as_text(new)
    if before == after or not (isinstance(old, str) and isinstance(new, str)):
        return Shown(_cut(before), _cut(after))
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    return Shown(_around(before, head, tail, "[-", "-]"), _around(after, head, tail, "{+", "+}"))


def _common(one: str, other: str) -> int:
    """Length of the common beginning, moved back to the start of a word."""
    length = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    ends_here = all(length == len(text) or text[length] == " " for text in (one, other))
    return length if ends_here else one.rfind(" ", 0, length) + 1


def _around(text: str, head: int, tail: int, opening: str, closing: str) -> str:
    end = len(text) - tail
    middle = text[head:end]
    if len(middle) > _WINDOW:
        middle = f"{middle[:_WINDOW]}…"
    before, after = text[:head], text[end:]
    room = max(20, (_WINDOW - len(middle)) // 2)
    left = f"…{before[-room:]}" if len(before) > room else before
    right = f"{after[:room]}…" if len(after) > room else after
    return f"{left}{opening}{middle}{closing}{right}" if middle else f"{left}{right}"


def _as_text(value: Any) -> str:
    if value is None:
        return "null"
    if not is_kept_in_full(value):
        excerpt = f" {value['excerpt']}" if value["excerpt"] is not None else ""
        return f"{str(value['sha256'])[:19]}…{excerpt}"
    if isinstance(value, str):
        return value
    return canonical_json(_plain(value)).decode()


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _cut(text: str, most: int = 2 * _WINDOW) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
