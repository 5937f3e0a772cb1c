"""One trace through an adapter: its meanings, what is wrong with them, and both forms of what was transformed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from evalkit.cases.adapters.declare import TEXT_MEANINGS, Adapter
from evalkit.cases.adapters.meanings import Adapted, Problem
from evalkit.cases.adapters.places import At, PassagesAt
from evalkit.cases.adapters.values import Read, read_error, read_passages, read_text, read_value
from evalkit.cases.lookup import Passage
from evalkit.cases.shape import is_near
from evalkit.cases.traces.trace import Trace

__all__ = ["Mapper"]

_PASSAGES = ("retrieved", "reference_contexts")
_ROWS = ("jsonl", "csv")
"""Formats whose top-level keys people write by hand, and so misspell."""


class Mapper:
    """An adapter made ready for one file of traces."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self._known = adapter.heads()
        self._looks_for_slips = adapter.reads in _ROWS

    def adapted(self, trace: Trace) -> Adapted:
        """Read one trace; it never raises for what is in the trace."""
        trace_id, id_problem = self._trace_id(trace)
        unusable = trace.problem or id_problem
        if trace.problem and not trace.data:
            return Adapted(trace_id=trace_id, number=trace.number, where=trace.where, unusable=unusable)
        reads = {name: self._read(name, trace.data) for name in (*TEXT_MEANINGS, *_PASSAGES)}
        values = {name: read.value for name, read in reads.items()}
        # What an application says when it fails is not an answer, wherever it was written.
        if values["error"] is not None:
            values["answer"] = None
        session = self._read("session_id", trace.data).value
        return Adapted(
            trace_id=trace_id,
            number=trace.number,
            where=trace.where,
            **values,
            session_id=session if isinstance(session, str) else None,
            fields=self._others(self.adapter.fields, trace.data),
            evidence=self._others(self.adapter.evidence, trace.data),
            transformed={name: _forms(read) for name, read in reads.items() if read.by},
            problems=tuple(Problem(name, f"{name} {read.problem}") for name, read in reads.items() if read.problem),
            absent=tuple(Problem(name, read.absent) for name, read in reads.items() if read.absent),
            slips=tuple(self._slips(reads, trace.data)),
            notes=(*trace.notes, *_notes(reads)),
            unusable=unusable,
        )

    def _trace_id(self, trace: Trace) -> tuple[str, str | None]:
        named = f"line-{trace.number:06d}"
        place = self.adapter.place_of("trace_id")
        read = read_value(place, trace.data) if place else Read(None)
        if isinstance(read.value, str) and read.value.strip():
            return read.value, None
        if isinstance(read.value, int) and not isinstance(read.value, bool):
            return str(read.value), None
        if read.value is None and self.adapter.names_by_line:
            return named, None
        reason = f"it has no id: {read.absent or f'a non-blank text was expected, got {read.value!r:.60}'}"
        return named, reason

    def _read(self, name: str, data: Mapping[str, Any]) -> Read:
        place = self.adapter.place_of(name)
        if place is None:
            return Read(None)
        if isinstance(place, PassagesAt):
            return read_passages(place, data)
        return read_error(place, data) if name == "error" else read_text(place, data)

    def _others(self, places: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
        read = {key: read_value(place, data) for key, place in places.items() if isinstance(place, At)}
        return {key: one.value for key, one in read.items() if one.absent is None}

    def _slips(self, reads: Mapping[str, Read], data: Mapping[str, Any]) -> Iterator[Problem]:
        if not self._looks_for_slips:
            return
        for name, read in reads.items():
            place = self.adapter.place_of(name)
            if read.absent is None or place is None:
                continue
            for head in place.heads():
                slip = next((key for key in data if key not in self._known and _near(key, head)), None)
                if slip:
                    sentence = f"{head} is absent, but the unknown key {slip!r} is one slip away from it: rename it"
                    yield Problem(name, sentence)


_near = lru_cache(maxsize=4096)(is_near)


def _notes(reads: Mapping[str, Read]) -> Iterator[str]:
    for name, read in reads.items():
        yield from (f"{name}: {note}" for note in read.notes)


def _forms(read: Read) -> dict[str, Any]:
    return {"observed": _plain(read.raw), "given": _plain(read.value), "by": read.by}


def _plain(value: Any) -> Any:
    """Return passages by their texts: that is all a transformation changes."""
    if isinstance(value, tuple):
        return [passage.text if isinstance(passage, Passage) else passage for passage in value]
    return value
