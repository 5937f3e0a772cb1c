"""One trace as its file gives it, before any adapter has looked at it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

__all__ = ["Trace", "TraceReader"]


class Trace(NamedTuple):
    """One trace, or the reason why there is none where one should be."""

    number: int
    """Counted from 1 in the order of the file; for files of one object a line, the physical line."""
    where: str
    """For messages, for example ``line 3``."""
    data: Mapping[str, Any]
    problem: str | None = None
    """Why it cannot be used at all; `data` then holds what could be read."""
    notes: tuple[str, ...] = ()
    """What was odd and could be settled without a guess (a span delivered twice)."""


class TraceReader(Protocol):
    """Reads a file of traces in one format."""

    def __call__(self, path: Path) -> Iterator[Trace]:
        """Yield each trace once, in the order of the file."""
