"""What a trace preserved of what happened, read apart from the mapping: the side of an audit that is believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evalkit.cases.adapters.declare import Observed
from evalkit.cases.adapters.join import identified, sent_in
from evalkit.cases.adapters.places import At, PassagesAt
from evalkit.cases.adapters.values import read_error, read_passages, read_text, read_value
from evalkit.cases.lookup import Passage
from evalkit.cases.traces.trace import Trace

__all__ = ["Happened", "happened_in", "witnessed_by"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Happened:
    """The facts of one trace, as far as it kept them; ``None`` is "not recorded"."""

    trace_id: str
    answer: str | None = None
    question: str | None = None
    turns: tuple[str, ...] = ()
    """All questions of the conversation, where the trace holds several."""
    passages: tuple[Passage, ...] | None = None
    """What generation was given, in order, with the identity under which it was retrieved."""
    reference: str | None = None
    reference_contexts: tuple[Passage, ...] | None = None
    error: str | None = None
    is_from_prompt: bool = False
    """Whether `passages` was read off the prompt that was sent."""

    @property
    def turn(self) -> int | None:
        """Which turn is evaluated, counted from 1; ``None`` for a single question."""
        if len(self.turns) < 2 or self.question not in self.turns:
            return None
        return len(self.turns) - self.turns[::-1].index(self.question)


def witnessed_by(observed: Observed | None) -> frozenset[str]:
    """Return the meanings of which the trace keeps a record that an audit may read."""
    if observed is None:
        return frozenset()
    found = {name for name in ("question", "answer", "reference", "reference_contexts") if getattr(observed, name)}
    if observed.retrieved is not None or observed.given is not None:
        found.add("retrieved")
    return frozenset(found)


def happened_in(trace: Trace, trace_id: str, observed: Observed) -> Happened:
    """Read the facts of one trace; what is not a text or a list of passages is not recorded."""
    data = trace.data

    def text(place: Any) -> str | None:
        read = read_text(place, data) if isinstance(place, At) else None
        return read.value if read and isinstance(read.value, str) else None

    def passages(place: Any) -> tuple[Passage, ...] | None:
        read = read_passages(place, data) if isinstance(place, PassagesAt) else None
        return read.value if read and isinstance(read.value, tuple) else None

    retrieved, given, prompt = passages(observed.retrieved), passages(observed.given), text(observed.prompt)
    turns = read_value(observed.turns, data).value if isinstance(observed.turns, At) else None
    in_prompt = sent_in(prompt, retrieved) if given is None and retrieved and prompt else None
    error = read_error(observed.error, data).value if isinstance(observed.error, At) else None
    return Happened(
        trace_id=trace_id,
        answer=text(observed.answer),
        question=text(observed.question),
        turns=tuple(turn for turn in turns if isinstance(turn, str)) if isinstance(turns, list) else (),
        passages=identified(given, retrieved) if given is not None else (in_prompt or retrieved),
        reference=text(observed.reference),
        reference_contexts=passages(observed.reference_contexts),
        error=error,
        is_from_prompt=in_prompt is not None,
    )
