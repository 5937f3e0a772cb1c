"""The two sides of a row that changed, and what to look at: the claims that were lost or gained, if it has claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from evalkit.cases.lookup import Passage, best_passage, same_text
from evalkit.decisions.explaining.divergence import Divergence, word_of_input
from evalkit.decisions.explaining.evidence import EvidenceView
from evalkit.decisions.explaining.kept import Difference
from evalkit.decisions.explaining.run_facts import RunFacts
from evalkit.decisions.triage import missing_claims
from evalkit.scoring.records import Record

__all__ = ["Compare", "Held", "InputPair", "Sides", "Value"]


class Value(NamedTuple):
    """What a metric says of inputs that it had not scored under its present source."""

    value: Any


class Held(NamedTuple):
    """The passages that hold one claim on either side; ``None`` where none does."""

    claim_id: str
    old: Passage | None
    new: Passage | None


class InputPair(NamedTuple):
    """One input of the metric on both sides (``None`` where it is absent)."""

    name: str
    old: Any
    new: Any


class Sides:
    """One row in two runs; everything that several comparisons ask is worked out once.

    Parameters
    ----------
    old, new : Record
    old_run, new_run : RunFacts
    rescore : callable, optional
        Scores old inputs under the new metric; ``None`` where they were not kept in full.
    """

    def __init__(
        self,
        old: Record,
        new: Record,
        old_run: RunFacts,
        new_run: RunFacts,
        rescore: Callable[[Mapping[str, Any]], Value | None] | None = None,
    ) -> None:
        self.old, self.new = old, new
        self.old_run, self.new_run = old_run, new_run
        self._rescore = rescore

    @cached_property
    def inputs(self) -> Mapping[Divergence, list[InputPair]]:
        """The metric's inputs by the evidence that each is; none where a line gave no case on one side."""
        before, after = self.old.inputs, self.new.inputs
        if before is None or after is None:
            return {}
        grouped: dict[Divergence, list[InputPair]] = {}
        for name in dict.fromkeys([*before, *after]):
            pair = InputPair(name, before.get(name), after.get(name))
            sample = pair.old if pair.new is None else pair.new
            promises = self.new_run.promises
            grouped.setdefault(word_of_input(name, sample, promises), []).append(pair)
        return grouped

    @cached_property
    def claims(self) -> list[str]:
        """Claims that are missing on one side only; empty where the metric does not name claims."""
        if self.old.state != "scored" or self.new.state != "scored":
            return []  # a row without a score misses no claim: it says nothing about claims
        before, after = missing_claims(self.old), missing_claims(self.new)
        return sorted(set(before) ^ set(after))

    @cached_property
    def old_view(self) -> EvidenceView:
        """The old evidence."""
        return EvidenceView(self.old)

    @cached_property
    def new_view(self) -> EvidenceView:
        """The new evidence."""
        return EvidenceView(self.new)

    def spans(self, claim_id: str) -> list[str]:
        """Return what either side cites for a claim, word for word."""
        cites = [*self.old_view.citations(claim_id), *self.new_view.citations(claim_id)]
        return [same_text(cite.span) for cite in cites if cite.span and cite.span.strip()]

    @cached_property
    def held(self) -> list[Held] | None:
        """The passages that hold the claims in question; ``None`` where they cannot be looked up on both sides."""
        views = (self.old_view, self.new_view)
        if not self.claims or any(view.retrieved.lost for view in views):
            return None
        found = []
        for claim in self.claims:
            if not (spans := self.spans(claim)) and any(view.claim(claim).lost for view in views):
                return None
            found.append(Held(claim, *(_holder(view, claim, spans) for view in views)))
        # A claim that no passage holds on either side is not explained by the passages as they were looked up.
        return found if any(held.old or held.new for held in found) else None

    @cached_property
    def is_judged(self) -> bool:
        """Whether a judge had a part in either side."""
        return bool(self.old.judge or self.new.judge or self.old_run.judge or self.new_run.judge)

    def evidence(self, key: str) -> InputPair:
        """Return one part of the evidence on both sides."""
        return InputPair(f"evidence.{key}", (self.old.evidence or {}).get(key), (self.new.evidence or {}).get(key))

    def is_recorded_on_both(self, key: str) -> bool:
        """Tell whether both sides recorded a part at all (``null`` is recorded: it says that the part was lost)."""
        return key in (self.old.evidence or {}) and key in (self.new.evidence or {})

    @cached_property
    def rescored(self) -> Value | None:
        """The old inputs under the new metric; ``None`` where that cannot be known."""
        return self._rescore(self.old.inputs) if self._rescore and self.old.inputs is not None else None


def _holder(view: EvidenceView, claim_id: str, spans: list[str]) -> Passage | None:
    quoted = [passage for passage in view.passages if any(span in same_text(passage.text) for span in spans)]
    if quoted:
        cited = {cite.document_id for cite in view.citations(claim_id)}
        return next((passage for passage in quoted if passage.document_id in cited), quoted[0])
    claim = view.claim(claim_id)
    best = best_passage(claim.value, view.passages) if claim.value else None
    return best.passage if best and best.match.sighting == "found" else None


Compare = Callable[[Sides], Difference | None]
