"""The parts of a record's evidence, each with what is known of it: present, lost, never recorded, or only a hash."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from evalkit.cases.lookup import Passage, passages_of
from evalkit.scoring.records import Record
from evalkit.scoring.retention import is_kept_in_full

__all__ = ["Citation", "EvidenceView", "Part", "part_of"]


class Part(NamedTuple):
    """One part of the evidence; exactly one of the two fields says something."""

    value: Any
    """The part as it was kept; ``None`` where it cannot be read."""
    lost: str | None
    """Why it cannot be read, in words that finish the sentence "not decidable here: ..."."""


class Citation(NamedTuple):
    """One citation of an answer."""

    claim_id: str
    document_id: str | None
    span: str | None


def part_of(evidence: Mapping[str, Any] | None, key: str) -> Part:
    """Return one part; ``null`` (lost), absent (never recorded) and cut (hash or excerpt) are told apart."""
    if evidence is None:
        return Part(None, f"the case carries no evidence, so {key} is not known")
    if key not in evidence:
        return Part(None, f"{key} was not recorded")
    value = evidence[key]
    if value is None:
        return Part(None, f"{key} is null: it was lost, which is not the same as empty")
    if not is_kept_in_full(value):
        kept = "an excerpt" if value["excerpt"] is not None else "a hash"
        return Part(None, f"{key} was not kept, only {kept} of it")
    return Part(value, None)


class EvidenceView:
    """A record's evidence, read once."""

    def __init__(self, record: Record) -> None:
        evidence = record.evidence
        self.answer = _typed(part_of(evidence, "answer"), str, "answer")
        self.retrieved = _typed(part_of(evidence, "retrieved"), list, "retrieved")
        self._citations = _typed(part_of(evidence, "citations"), list, "citations")
        self._claims = _typed(part_of(evidence, "claims"), dict, "claims")
        self.passages: list[Passage] = passages_of(self.retrieved.value)

    @property
    def citations_lost(self) -> str | None:
        """Why the citations cannot be read, if they cannot."""
        return self._citations.lost

    def citations(self, claim_id: str) -> list[Citation]:
        """Return the citations made for one claim."""
        return self._by_claim.get(claim_id, [])

    @cached_property
    def _by_claim(self) -> Mapping[str, list[Citation]]:
        found: dict[str, list[Citation]] = {}
        for item in self._citations.value or ():
            if isinstance(item, Mapping) and isinstance(claim_id := item.get("claim_id"), str):
                cite = Citation(claim_id, _text(item.get("document_id")), _text(item.get("span")))
                found.setdefault(claim_id, []).append(cite)
        return found

    def claim(self, claim_id: str) -> Part:
        """Return the reviewed text of one claim."""
        if self._claims.lost:
            return Part(None, self._claims.lost)
        text = self._claims.value.get(claim_id)
        if not isinstance(text, str) or not text.strip():
            return Part(None, f"evidence.claims has no reviewed text for {claim_id}")
        return Part(text, None)


def _typed(part: Part, kind: type, name: str) -> Part:
    if part.lost or isinstance(part.value, kind):
        return part
    return Part(None, f"{name} was recorded as {type(part.value).__name__}, not as {kind.__name__}")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
