"""Dotted paths into a trace, such as ``docs[*].text`` or ``["a key.with dots"]``; where one breaks is told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from evalkit.contract import EvalkitError

__all__ = ["EACH", "Looked", "Step", "head_of", "look_up", "parse_path"]

Step = str | int
EACH: Step = "[*]"
"""The step that goes into every item of a list, or every value of an object; no bare key is spelt like it."""

_STEP = re.compile(
    r"""(?:^|\.)(?P<key>[^.\[\]"]+)          # key, .key
      | \[(?P<index>-?\d+)\]                # [0], [-1]
      | (?P<each>\[\*\])                    # [*]
      | (?:^|\.)?\["(?P<quoted>[^"]+)"\]    # ["key.with.dots"]
    """,
    re.VERBOSE,
)


class Looked(NamedTuple):
    """What stands at the end of a path."""

    value: Any
    """``None`` where nothing does."""
    is_present: bool
    """False where a key is absent; a ``null`` that is written there is present."""
    broke: str = ""
    """Where and why the path ends early, for example ``retriever.output is absent``."""


@lru_cache(maxsize=4096)
def parse_path(text: str) -> tuple[Step, ...]:
    """Take a path apart.

    Raises
    ------
    EvalkitError
        Where it is no path, naming the place.

    Examples
    --------
    >>> parse_path('spans[0].attributes["input.value"].docs[*].text')
    ('spans', 0, 'attributes', 'input.value', 'docs', '[*]', 'text')
    """
    steps: list[Step] = []
    at = 0
    while at < len(text) and not text.startswith("."):
        match = _STEP.match(text, at)
        if match is None or match.end() == at:
            break
        found = match.groupdict()
        if found["index"] is not None:
            steps.append(int(found["index"]))
        else:
            steps.append(found["each"] or found["key"] or found["quoted"])
        at = match.end()
    if at < len(text) or not steps:
        msg = f"this is no path into a trace: {text!r} (at character {at + 1})"
        raise EvalkitError(msg, do='write keys and items as in a.b[0].c, docs[*].text or ["a key.with dots"]')
    return tuple(steps)


def head_of(text: str) -> str | None:
    """Return the top-level key that a path starts at; ``None`` where it starts in a list."""
    first = parse_path(text)[0]
    return first if isinstance(first, str) and first != EACH else None


def look_up(data: Any, text: str) -> Looked:
    """Follow a path; it never raises for what is in the trace.

    After ``[*]`` the value is a list, flat however many ``[*]`` there are; an item that lacks the rest of the path is
    ``None`` in it, so that nothing moves up into its place.

    Examples
    --------
    >>> trace = {"retriever": {"docs": [{"text": "a"}, {"id": 2}]}, "answer": None}
    >>> look_up(trace, "retriever.docs[*].text").value
    ['a', None]
    >>> look_up(trace, "answer")
    Looked(value=None, is_present=True, broke='')
    >>> look_up(trace, "retriever.output.docs").broke
    'retriever.output is absent'
    """
    if type(data) is dict and text in data and text.isidentifier():  # most paths are one key
        return Looked(data[text], True)
    return _follow(data, parse_path(text), 0)


def _follow(value: Any, steps: tuple[Step, ...], at: int) -> Looked:
    while at < len(steps):
        step = steps[at]
        if step == EACH:
            return _each(value, steps, at)
        if isinstance(step, int):
            if not isinstance(value, list):
                return _broken(steps, at, value, "a list")
            if not -len(value) <= step < len(value):
                return Looked(None, False, f"{_shown(steps[: at + 1])} is beyond a list of {len(value)}")
            value = value[step]
        else:
            if not isinstance(value, Mapping):
                return _broken(steps, at, value, "an object")
            if step not in value:
                return Looked(None, False, f"{_shown(steps[: at + 1])} is absent")
            value = value[step]
        at += 1
    return Looked(value, True)


def _each(value: Any, steps: tuple[Step, ...], at: int) -> Looked:
    if value is None:
        return Looked(None, True)
    if not isinstance(value, list | Mapping):
        return _broken(steps, at, value, "a list")
    rest = at + 1
    items: list[Any] = []
    for item in value.values() if isinstance(value, Mapping) else value:
        found = _follow(item, steps, rest)
        if EACH in steps[rest:] and isinstance(found.value, list):
            items += found.value
        else:
            items.append(found.value)
    return Looked(items, True)


def _broken(steps: tuple[Step, ...], at: int, value: Any, wanted: str) -> Looked:
    where = _shown(steps[:at]) or "the trace"
    if value is None:
        return Looked(None, False, f"{where} is null")
    return Looked(None, False, f"{where} is {_kind(value)}, not {wanted}")


def _kind(value: Any) -> str:
    words = {str: "a text", list: "a list", bool: "true or false", int: "a number", float: "a number"}
    return words.get(type(value), "an object")


def _shown(steps: tuple[Step, ...]) -> str:
    shown = ""
    for step in steps:
        if step == EACH or isinstance(step, int):
            shown += "[*]" if step == EACH else f"[{step}]"
        elif re.search(r'[.\[\]"]', str(step)):
            shown += f'["{step}"]'
        else:
            shown += f".{step}" if shown else str(step)
    return shown
