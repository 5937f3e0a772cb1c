"""The layout of a JSON file that evalkit wrote and somebody may have edited: what is absent or of another kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

__all__ = ["NUMBER", "TEXT", "Each", "Layout", "misfit"]


class Each(NamedTuple):
    """An object whose keys are names; each value has the same layout."""

    of: Layout


Layout: TypeAlias = "tuple[type, ...] | list[Any] | Mapping[str, Any] | Each"
"""Types that a value may have; ``[layout]``: a list of such; a mapping: an object with at least these keys."""

TEXT, NUMBER = (str,), (int, float)
_WORDS = {str: "a text", int: "a whole number", float: "a number", type(None): "null", dict: "an object"}


def misfit(found: Any, layout: Layout, at: str = "it") -> str | None:
    """Return the first thing that is not laid out as expected; ``None`` where everything is.

    >>> misfit({"rows": [{"case_id": 5}]}, {"rows": [{"case_id": TEXT}]})
    'rows[0].case_id must be a text; got 5'
    >>> misfit({"rows": []}, {"rows": [{"case_id": TEXT}]})
    """
    if isinstance(layout, Each):
        return _of_kind(found, dict, at) or _first(found, dict.fromkeys(found, layout.of), at)
    if isinstance(layout, list):
        return _of_kind(found, list, at) or _first_item(found, layout[0], at)
    if isinstance(layout, Mapping):
        return _of_kind(found, dict, at) or _first(found, layout, at)
    # Exactly these types: True is no number.
    return None if type(found) in layout else _wanted(" or ".join(_WORDS[kind] for kind in layout), found, at)


def _of_kind(found: Any, kind: type, at: str) -> str | None:
    return None if isinstance(found, kind) else _wanted("an object" if kind is dict else "a list", found, at)


def _wanted(words: str, found: Any, at: str) -> str:
    return f"{at} must be {words}; got {found!r:.60}"


def _first(found: Mapping[str, Any], layout: Mapping[str, Any], at: str) -> str | None:
    for key, inner in layout.items():
        place = key if at == "it" else f"{at}.{key}"
        if key not in found:
            return f"{place} is absent"
        if problem := misfit(found[key], inner, place):
            return problem
    return None


def _first_item(found: list[Any], layout: Layout, at: str) -> str | None:
    places = (misfit(item, layout, f"{at}[{number}]") for number, item in enumerate(found))
    return next((problem for problem in places if problem), None)
