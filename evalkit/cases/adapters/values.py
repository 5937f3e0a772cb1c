"""One place of a trace read: its value as the meaning needs it, or in words why it cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit.cases.adapters.join import identified
from evalkit.cases.adapters.paths import Looked, look_up
from evalkit.cases.adapters.places import At, PassagesAt
from evalkit.cases.lookup import Passage
from evalkit.cases.strict_json import JsonProblem
from evalkit.cases.traces.json_text import json_value
from evalkit.contract import canonical_json

__all__ = ["Read", "list_fault", "read_error", "read_passages", "read_text", "read_value"]


class Read(NamedTuple):
    """What stands at a place."""

    value: Any
    problem: str | None = None
    """Why it cannot be used; `value` is then what was found, unchanged."""
    absent: str | None = None
    """Where the path breaks, if nothing stands there at all (not even ``null``)."""
    raw: Any = None
    """Before the transformation, where there was one that changed something."""
    by: str | None = None
    """The transformation's name."""
    notes: tuple[str, ...] = ()


def read_value(place: At | PassagesAt, data: Mapping[str, Any]) -> Read:
    """Look a place up: the first path that leads to more than ``null``, decoded where the place says so."""
    found = _preferred(place.paths, data)
    if found.value is None and isinstance(place, At) and place.otherwise:
        inner = read_value(place.otherwise, data)
        return inner if inner.absent is None or not found.is_present else Read(None)
    if not found.is_present:
        return Read(None, absent=found.broke)
    if place.decode == "json" and isinstance(found.value, str):
        try:
            return _transformed(place, Read(json_value(found.value)))
        except JsonProblem as problem:
            return Read(found.value, list_fault(found.value) or f"is a text, and not the JSON it should be: {problem}")
    return _transformed(place, Read(found.value))


def _preferred(paths: tuple[str, ...], data: Mapping[str, Any]) -> Looked:
    """Follow the first path that leads to more than ``null``; else the first to ``null``; else say where it breaks."""
    best: Looked | None = None
    for path in paths:
        looked = look_up(data, path)
        if looked.value is not None:
            return looked
        if best is None or (looked.is_present and not best.is_present):
            best = looked
    assert best is not None  # noqa: S101 - a place has at least one path
    return best


def _transformed(place: At | PassagesAt, read: Read) -> Read:
    # The transformation of passages is applied to each text, once they have been read.
    if isinstance(place, PassagesAt) or place.transform is None or read.value is None:
        return read
    return _apply(place, read.value)


def _apply(place: At | PassagesAt, value: Any) -> Read:
    assert place.transform is not None  # noqa: S101 - asked by both callers
    name = place.transform.__name__
    try:
        made = place.transform(value)
    except Exception as error:  # noqa: BLE001 - a user's function; its fault is the row's problem, with its name
        return Read(value, f"could not be transformed: {name} raised {type(error).__name__}: {error}"[:300])
    return Read(made) if made is None or made == value else Read(made, raw=value, by=name)


def read_text(place: At, data: Mapping[str, Any]) -> Read:
    """Read a text; ``null`` is ``None``, and nothing else becomes a text."""
    read = read_value(place, data)
    if read.problem or read.value is None or isinstance(read.value, str):
        return read
    return read._replace(problem=f"is {_kind(read.value)}, not a text: say where in it the text stands")


def read_error(place: At, data: Mapping[str, Any]) -> Read:
    """Read how the application failed, as a text; ``None`` where it did not (blank, ``false`` or ``null``)."""
    read = read_value(place, data)
    if isinstance(read.value, str):
        return read._replace(value=read.value if read.value.strip() else None)
    if read.value in (None, False, [], {}):
        return read._replace(value=None)
    return read._replace(value=canonical_json(read.value).decode())


def read_passages(place: PassagesAt, data: Mapping[str, Any]) -> Read:
    """Read a list of passages; ``null`` is ``None`` (lost), ``[]`` is ``()`` (nothing retrieved)."""
    read = read_value(place, data)
    if read.problem or read.value is None:
        return read
    if not isinstance(read.value, list):
        fault = list_fault(read.value) if isinstance(read.value, str) else None
        return read._replace(problem=fault or f"is {_kind(read.value)}, not a list of passages")
    passages: list[Passage] = []
    for number, item in enumerate(read.value, start=1):
        found = _passage(place, item)
        if isinstance(found, str):
            return read._replace(problem=f"item {number} {found}")
        passages.append(found)
    if place.ids_at and isinstance((ids := read_value(place.ids_at, data)).value, list):
        if len(ids.value) != len(passages):
            return read._replace(problem=f"holds {len(passages)} passages; {place.ids} names {len(ids.value)} ids")
        passages = [p._replace(passage_id=_identity(i)) for p, i in zip(passages, ids.value, strict=True)]
    if place.given_at and isinstance((given := read_passages(place.given_at, data)).value, tuple):
        passages = list(identified(given.value, passages))
    notes = ("some passages are blank",) if any(not passage.text.strip() for passage in passages) else ()
    return _each_transformed(place, Read(tuple(passages), notes=notes))


def _each_transformed(place: PassagesAt, read: Read) -> Read:
    if place.transform is None:
        return read
    made: list[Passage] = []
    changed = False
    for number, passage in enumerate(read.value, start=1):
        one = _apply(place, passage.text)
        if one.problem or not isinstance(one.value, str):
            reason = one.problem or f"was transformed into {_kind(one.value)}, not a text"
            return read._replace(problem=f"item {number} {reason}")
        changed = changed or one.by is not None
        made.append(passage._replace(text=one.value))
    if not changed:
        return read
    return read._replace(value=tuple(made), raw=read.value, by=place.transform.__name__)


def _passage(place: PassagesAt, item: Any) -> Passage | str:
    if place.item is not None:
        try:
            item = place.item(item)
        except Exception as error:  # noqa: BLE001 - a user's function; its fault is the row's problem, with its name
            return f"could not be taken apart: {place.item.__name__} raised {type(error).__name__}: {error}"[:300]
    if isinstance(item, str):
        return Passage(item)
    if not isinstance(item, Mapping):
        return f"is {_kind(item)}, neither a text nor an object"
    text = _inner(item, place.text)
    if not isinstance(text.value, str):
        return f"has no text: {text.broke or f'{place.text} is {_kind(text.value)}'}"
    ids = [_inner(item, part).value for part in (place.document_id, place.revision, place.passage_id)]
    return Passage(text.value, *(_identity(value) for value in ids))


def _inner(item: Mapping[str, Any], part: str | tuple[str, ...]) -> Looked:
    return _preferred((part,) if isinstance(part, str) else part, item)


def _identity(value: Any) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # some stores count their documents
    return value if isinstance(value, str) else None


def list_fault(text: str) -> str | None:
    """Say what a text is that should have been a list, with the exact fix; ``None`` where it may be anything.

    >>> list_fault("['Paris is big', 'Paris is old']")
    "is Python's printed form of a list, not JSON: export it with json.dumps (in pandas
    frame[column].map(json.dumps)); it is never evaluated"
    """
    stripped = text.strip()
    if not (stripped.startswith("[") and stripped.endswith("]")):
        return "is a text, not a list of passages: if it is one passage, write it as a list of one"
    try:
        json_value(text)
    except JsonProblem:
        return (
            "is Python's printed form of a list, not JSON: export it with json.dumps (in pandas "
            "frame[column].map(json.dumps)); it is never evaluated"
        )
    return "is a text that holds a JSON list: declare decode='json' for it, or export it as a list"


def _kind(value: Any) -> str:
    words = {str: "a text", list: "a list", bool: "true or false", int: "a number", float: "a number"}
    return "null" if value is None else words.get(type(value), "an object")
