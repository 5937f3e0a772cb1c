"""From an adapted trace to a case: meanings into the metric's own parameters, and everything that explains them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evalkit.cases.adapters.declare import Adapter
from evalkit.cases.adapters.meanings import FEEDABLE, Adapted, texts_of
from evalkit.cases.adapters.observed import Happened
from evalkit.cases.lookup import Passage

__all__ = ["CaseMaker", "fed_meanings"]

_TEXTS = ("question", "answer", "reference")
_USUAL_PARAMETERS = ("user_input", "response", "retrieved_contexts", "reference", "reference_contexts")
"""What a case offers where no metric says what it takes: ragas' names."""


class CaseMaker:
    """Makes the cases of one adapter for the metrics that will read them.

    Parameters
    ----------
    adapter : Adapter
    parameters : iterable of str, optional
        Of all metrics together; ragas' usual names where no metric was named.
    """

    def __init__(self, adapter: Adapter, parameters: Iterable[str] = ()) -> None:
        self.adapter = adapter
        self.feeds = adapter.feeds_of(list(dict.fromkeys(parameters)) or list(_USUAL_PARAMETERS))
        self._source = f"{adapter.name} {adapter.revision}"

    def case(self, adapted: Adapted, happened: Happened | None = None) -> dict[str, Any]:
        """Return the case of one trace.

        What cannot be used is never filled in: its parameter is left out, and ``unfit`` says why the row must not be
        scored.
        """
        unfit = self._unfit(adapted)
        left_out = set(unfit["inputs"]) if unfit and "inputs" in unfit else set()
        fields = {key: value for key, value in adapted.fields.items() if value is not None}
        if "slice" in fields and not isinstance(fields["slice"], str):
            fields["slice"] = str(fields["slice"])
        case: dict[str, Any] = {"case_id": adapted.trace_id, "source": self._source} | fields
        case |= {name: self._value(meaning, adapted) for name, meaning in self._own_feeds() if name not in left_out}
        case["evidence"] = self._evidence(adapted, happened)
        return case | ({"unfit": unfit} if unfit else {})

    def _own_feeds(self) -> Iterable[tuple[str, str]]:
        return [(name, meaning) for name, meaning in self.feeds.items() if not meaning.startswith("field:")]

    def _value(self, meaning: str, adapted: Adapted) -> Any:
        value = getattr(adapted, FEEDABLE[meaning])
        if meaning == "retrieved_passages":
            return _objects(value)
        if meaning == "retrieved_ids":
            return None if value is None else [passage.passage_id or passage.document_id for passage in value]
        return value if FEEDABLE[meaning] in _TEXTS else texts_of(value)

    def _evidence(self, adapted: Adapted, happened: Happened | None) -> dict[str, Any]:
        evidence: dict[str, Any] = {}
        # What stands nowhere was never recorded, which is not the same as null: lost.
        absent = {problem.meaning for problem in adapted.absent}
        for meaning in (*_TEXTS, "retrieved", "reference_contexts"):
            if self.adapter.place_of(meaning) is not None and meaning not in absent:
                value = getattr(adapted, meaning)
                evidence[meaning] = value if isinstance(value, str) and meaning in _TEXTS else _objects(value)
        if adapted.error is not None:
            evidence["error"] = adapted.error
        if happened is not None and happened.turn is not None:
            evidence["turn"] = {"evaluated": happened.turn, "of": len(happened.turns)}
        if adapted.transformed:
            evidence["transformed"] = {
                meaning: {**forms, "received": "given", "by_parameters": self._fed_with(meaning)}
                for meaning, forms in adapted.transformed.items()
            }
        return evidence | dict(adapted.evidence)

    def _fed_with(self, meaning: str) -> list[str]:
        return [name for name, fed in self._own_feeds() if FEEDABLE[fed] == meaning]

    def _unfit(self, adapted: Adapted) -> dict[str, Any] | None:
        """Say why a row must not be scored, whose business that is, and which inputs it is about (none: all)."""
        if adapted.unusable:
            return {"reason": f"{adapted.where}: {adapted.unusable}", "owner": "adapter"}
        if adapted.error is not None:
            inputs = self._fed_with("answer")
            reason = f"the application failed: {adapted.error}"
            return {"reason": reason, "owner": "answer", **({"inputs": inputs} if inputs else {})}
        for problem in (*adapted.problems, *adapted.slips):
            if inputs := self._fed_with(problem.meaning):
                return {"reason": f"{adapted.where}: {problem.sentence}", "owner": "adapter", "inputs": inputs}
        return None


def _objects(passages: Any) -> list[dict[str, Any]] | None:
    if not isinstance(passages, tuple):
        return None
    return [
        {"document_id": p.document_id, "revision": p.revision, "passage_id": p.passage_id, "text": p.text}
        for p in passages
        if isinstance(p, Passage)
    ]


def fed_meanings(feeds: Mapping[str, str]) -> frozenset[str]:
    """Return the meanings that some parameter receives."""
    return frozenset(FEEDABLE[fed] for fed in feeds.values() if fed in FEEDABLE)
