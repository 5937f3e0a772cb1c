"""An adapter: which place of a trace carries which meaning, and which meaning each metric parameter receives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from evalkit.cases.adapters.meanings import FEEDABLE, Feedable
from evalkit.cases.adapters.places import At, PassagesAt, Paths, as_at, as_passages_at
from evalkit.cases.traces import READERS
from evalkit.contract import EvalkitError, sha256_of

__all__ = ["TEXT_MEANINGS", "Adapter", "Observed"]

TEXT_MEANINGS = ("question", "answer", "reference", "error")
_PASSAGE_MEANINGS = ("retrieved", "reference_contexts")


class _Normal:
    """Turns paths given as texts into places, in every field of a declaration."""

    def _normalise(self) -> None:
        for item in fields(self):  # type: ignore[arg-type] # only dataclasses inherit this
            value = getattr(self, item.name)
            if item.name in (*_PASSAGE_MEANINGS, "given"):
                object.__setattr__(self, item.name, as_passages_at(value))
            elif item.name in (*TEXT_MEANINGS, "trace_id", "session_id", "turns", "prompt"):
                object.__setattr__(self, item.name, as_at(value))


@dataclass(frozen=True, kw_only=True)
class Observed(_Normal):
    """What the trace itself preserved of what happened: the record an audit holds the mapping against.

    It should be another place than the mapping reads wherever the trace has one: the passages that generation was given
    beside those the retriever returned, the prompt that was sent. Where it has none, naming the same place still
    catches whatever goes wrong between the trace and the case.
    """

    answer: At | Paths
    """The output as it was observed."""
    question: At | Paths | None = None
    """The question of the turn that is evaluated."""
    retrieved: PassagesAt | Paths | None = None
    """What the retriever returned, with its identity (document, revision, passage)."""
    given: PassagesAt | Paths | None = None
    """What generation was given, where that was recorded; texts alone are joined to `retrieved` for their identity."""
    prompt: At | Paths | None = None
    """The text that was sent to the model: of `retrieved`, what occurs in it was given."""
    turns: At | Paths | None = None
    """All the user's questions of a conversation, in order."""
    reference: At | Paths | None = None
    reference_contexts: PassagesAt | Paths | None = None
    error: At | Paths | None = None

    def __post_init__(self) -> None:
        self._normalise()

    def facts(self) -> dict[str, Any]:
        """Return the declaration as plain JSON values."""
        return {f.name: value.facts() for f in fields(self) if (value := getattr(self, f.name)) is not None}


@dataclass(frozen=True, kw_only=True)
class Adapter(_Normal):
    """A declared, versioned mapping from traces to cases. Meanings first, parameter names after.

    Examples
    --------
    >>> mine = Adapter(name="mine", revision="1", reads="jsonl", trace_id="id", question="input", answer="out.text",
    ...                retrieved=PassagesAt(path="retriever.docs", text="content", document_id="source"),
    ...                observed=Observed(answer="out.text", given="llm.context"))
    >>> mine.answer.paths, mine.feeds_of(["response", "retrieved_contexts"])
    (('out.text',), {'response': 'answer', 'retrieved_contexts': 'retrieved'})
    """

    name: str
    revision: str
    """Changes with every change of the mapping; cases of two revisions may say two things of one trace."""
    answer: At | Paths
    """What the system said."""
    reads: str = "jsonl"
    """The format of the file, one of `evalkit.cases.traces.READERS`."""
    trace_id: At | Paths | None = "trace_id"
    """Becomes the case id."""
    names_by_line: bool = False
    """Whether a trace without id is named by its line, as datasets carry none; such a name does not survive a sort."""
    question: At | Paths | None = None
    retrieved: PassagesAt | Paths | None = None
    """``null`` (lost) and ``[]`` (nothing was found) stay two facts."""
    reference: At | Paths | None = None
    reference_contexts: PassagesAt | Paths | None = None
    error: At | Paths | None = None
    """Where a failed run of the application says so; such a trace has no answer, whatever text stands there."""
    session_id: At | Paths | None = None
    """What several turns of one conversation share."""
    optional: tuple[str, ...] = ("retrieved", "reference", "reference_contexts")
    """Meanings that may be absent from every trace."""
    constant: tuple[str, ...] = ()
    """Meanings that are meant to be the same in every trace, such as one handbook that is always shown."""
    fields: Mapping[str, At | Paths] = field(default_factory=dict)
    """Further keys of the case: ``slice``, ``family``, ``system_revision``, a parameter no meaning feeds."""
    evidence: Mapping[str, At | Paths] = field(default_factory=dict)
    """Further parts of the evidence: ``citations``, ``claims``."""
    feeds: Mapping[str, Feedable] = field(default_factory=dict)
    """Which meaning a metric's parameter receives, where its name does not say so."""
    observed: Observed | None = None

    def __post_init__(self) -> None:
        self._normalise()
        for name in ("fields", "evidence"):
            object.__setattr__(self, name, {key: as_at(place) for key, place in getattr(self, name).items()})
        for name in ("name", "revision"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name).strip():
                self._refuse(f"{name} must be a non-blank text; got {getattr(self, name)!r}", "name it")
        if self.reads not in READERS:
            self._refuse(f"reads {self.reads!r}, which is no format", f"one of {', '.join(READERS)}")
        if unknown := [meaning for meaning in self.feeds.values() if meaning not in FEEDABLE]:
            self._refuse(f"feeds a parameter with {unknown[0]!r}, which is no meaning", f"one of {', '.join(FEEDABLE)}")
        if strange := [
            name for name in (*self.optional, *self.constant) if name not in (*TEXT_MEANINGS, *_PASSAGE_MEANINGS)
        ]:
            self._refuse(f"calls {strange[0]!r} optional or constant, which is no meaning", "name a meaning")
        if taken := sorted({"case_id", "evidence", "unfit", "oracle"} & self.fields.keys()):
            self._refuse(f"fields may not set {taken[0]!r}", "it is made from the trace")

    def _refuse(self, message: str, do: str) -> None:
        raise EvalkitError(message, where=f"adapter {self.name!r}", do=do)

    def place_of(self, meaning: str) -> At | PassagesAt | None:
        """Return where a meaning is read."""
        place: At | PassagesAt | None = getattr(self, meaning)
        return place

    def feeds_of(self, parameters: list[str]) -> dict[str, str]:
        """Return what feeds each parameter: a meaning, or ``field:KEY``; parameters that nothing feeds are left out."""
        found: dict[str, str] = {}
        for name in parameters:
            meaning = self.feeds.get(name) or _USUAL.get(name)
            if meaning and getattr(self, FEEDABLE[meaning]) is not None:
                found[name] = meaning
            elif name in self.fields:
                found[name] = f"field:{name}"
        return found

    def heads(self) -> frozenset[str]:
        """Return every top-level key of a trace that somebody reads."""
        places = [getattr(self, item.name) for item in fields(self)]
        places += [getattr(self.observed, item.name) for item in fields(self.observed)] if self.observed else []
        places += [*self.fields.values(), *self.evidence.values()]
        return frozenset(head for place in places if isinstance(place, At | PassagesAt) for head in place.heads())

    def facts(self) -> dict[str, Any]:
        """Return the whole declaration as plain JSON values: the mapping that travels with every run."""
        meanings = (*TEXT_MEANINGS, *_PASSAGE_MEANINGS, "trace_id", "session_id")
        return {
            "name": self.name,
            "revision": self.revision,
            "reads": self.reads,
            "meanings": {name: place.facts() for name in meanings if (place := getattr(self, name)) is not None},
            "observed": self.observed.facts() if self.observed else None,
            "fields": {key: place.facts() for key, place in self.fields.items() if isinstance(place, At)},
            "evidence": {key: place.facts() for key, place in self.evidence.items() if isinstance(place, At)},
            "feeds": dict(self.feeds),
            "optional": list(self.optional),
            "constant": list(self.constant),
            "names_by_line": self.names_by_line,
        }

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the declaration, transformations included."""
        return sha256_of(self.facts())


_USUAL: Mapping[str, str] = {
    "user_input": "question", "question": "question", "query": "question",
    "response": "answer", "answer": "answer",
    "retrieved_contexts": "retrieved", "contexts": "retrieved", "retrieved": "retrieved",
    "retrieved_passages": "retrieved_passages", "retrieved_context_ids": "retrieved_ids",
    "reference": "reference", "ground_truth": "reference", "reference_answer": "reference",
    "reference_contexts": "reference_contexts",
}  # fmt: skip
"""What parameters of these names mean, in ragas and elsewhere; `Adapter.feeds` wins over it."""
