"""Where a meaning stands in a trace: paths in order of preference, how a text is decoded, a named transformation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from evalkit.cases.adapters.paths import head_of, parse_path
from evalkit.contract.source import fingerprint_of

__all__ = ["At", "PassagesAt", "as_at", "as_passages_at"]

Paths = str | tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Place:
    """What `At` and `PassagesAt` share: where to look, and what is done to what stands there."""

    path: Paths
    """One path, or several in order of preference: the first that leads to something other than ``null`` counts."""
    decode: Literal["json"] | None = None
    """``json`` where a text holds JSON: parsed strictly, never evaluated, never wrapped in a list by guess."""
    transform: Callable[[Any], Any] | None = None
    """A named function applied to the text (of each passage); both forms are kept, and the case says which was used."""

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,) if isinstance(self.path, str) else tuple(self.path)

    def __post_init__(self) -> None:
        if not self.paths:
            msg = "a place needs at least one path"
            raise ValueError(msg)
        for path in self.paths:
            parse_path(path)
        if self.decode not in (None, "json"):
            msg = f"decode must be 'json' or None; got {self.decode!r}"
            raise ValueError(msg)
        _check_named(self.transform)

    def heads(self) -> Iterator[str]:
        """Yield the top-level keys that are looked at."""
        yield from (head for path in self.paths if (head := head_of(path)))

    def facts(self) -> dict[str, Any]:
        """Return the place as plain JSON values; a transformation by name and by the hash of its source."""
        facts: dict[str, Any] = {"path": list(self.paths)}
        if self.decode:
            facts["decode"] = self.decode
        return facts | ({"transform": _function_facts(self.transform)} if self.transform else {})


def _check_named(function: Callable[[Any], Any] | None) -> None:
    if function is not None and not getattr(function, "__name__", "<").isidentifier():
        msg = f"a function with a name is expected; got {function!r}: a lambda cannot be named in a case"
        raise ValueError(msg)


def _function_facts(function: Callable[[Any], Any]) -> dict[str, str]:
    name = function.__name__
    return {"name": name, "fingerprint": fingerprint_of(function, name)}


@dataclass(frozen=True, kw_only=True)
class At(_Place):
    """Where a text (or any other value) stands.

    Examples
    --------
    >>> At(path=("response", "answer")).facts()
    {'path': ['response', 'answer']}
    """

    otherwise: At | None = None
    """Where to look when none of the paths leads anywhere."""

    def heads(self) -> Iterator[str]:
        """Yield the top-level keys that are looked at."""
        yield from super().heads()
        yield from self.otherwise.heads() if self.otherwise else ()

    def facts(self) -> dict[str, Any]:
        """Return the place as plain JSON values."""
        return super().facts() | ({"otherwise": self.otherwise.facts()} if self.otherwise else {})


@dataclass(frozen=True, kw_only=True)
class PassagesAt(_Place):
    """Where a list of passages stands, and where each item keeps its text and its identity.

    An item that is a plain text is a passage without identity.
    """

    text: Paths = "text"
    document_id: Paths = "document_id"
    revision: Paths = "revision"
    passage_id: Paths = "passage_id"
    item: Callable[[Any], Any] | None = None
    """A named function that takes an item apart, where its parts stand in one text: it gives back an object."""
    ids: Paths | None = None
    """A list beside it that holds the passages' ids, one for one, where the items themselves do not."""
    given: Paths | None = None
    """A list of what generation was given of them (texts, or the same objects): only those count, in that order."""

    @property
    def given_at(self) -> PassagesAt | None:
        """The list that selects, as a place of its own."""
        return None if self.given is None else replace(self, path=self.given, given=None, ids=None, transform=None)

    @property
    def ids_at(self) -> At | None:
        """The list of ids, as a place of its own."""
        return None if self.ids is None else At(path=self.ids, decode=self.decode)

    def heads(self) -> Iterator[str]:
        """Yield the top-level keys that are looked at."""
        yield from super().heads()
        yield from self.given_at.heads() if self.given_at else ()
        yield from self.ids_at.heads() if self.ids_at else ()

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_named(self.item)
        for part in (self.text, self.document_id, self.revision, self.passage_id):
            for path in (part,) if isinstance(part, str) else part:
                parse_path(path)

    def facts(self) -> dict[str, Any]:
        """Return the place as plain JSON values."""
        items = {name: getattr(self, name) for name in ("text", "document_id", "revision", "passage_id")}
        given: dict[str, Any] = {"given": list(self.given_at.paths)} if self.given_at else {}
        given |= {"item": _function_facts(self.item)} if self.item else {}
        given |= {"ids": list(self.ids_at.paths)} if self.ids_at else {}
        return super().facts() | {"items": {k: v if isinstance(v, str) else list(v) for k, v in items.items()}} | given


def as_at(place: At | Paths | None) -> At | None:
    """Let a path stand for the place it names."""
    return place if isinstance(place, At) or place is None else At(path=place)


def as_passages_at(place: PassagesAt | Paths | None) -> PassagesAt | None:
    """Let a path stand for the list it names."""
    return place if isinstance(place, PassagesAt) or place is None else PassagesAt(path=place)
