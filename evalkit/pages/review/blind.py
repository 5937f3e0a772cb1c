"""What a reviewer sees who votes blind: question, answer, passages and claims, and nothing that tells the score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.pages.report_rows import Field, Passage, Piece, cut, field_of, report_row
from evalkit.scoring.records import Record
from evalkit.scoring.retention import is_kept_in_full

__all__ = ["BlindRow", "blind_row"]


class BlindRow(NamedTuple):
    """A row without score, decision, reason, missing ids, labels and votes: what is not here cannot be shown."""

    case_id: str
    seen_hash: str
    question: Field | None
    answer: list[Piece] | None
    """With the stretches that the answer's own citations quote marked; no claim ids, which would tell what is missing.
    """
    answer_note: str
    citations: list[Field]
    """Document and quoted stretch."""
    passages: list[Passage]
    passages_note: str
    claims: list[str]
    """What reviewers wrote that a complete answer says, every one of them, without ids."""
    reference: Field | None
    inputs: list[Field]
    """The metric's inputs, only where the case carries no evidence: then they are all there is to see."""


def blind_row(record: Record) -> BlindRow:
    """Return what may be shown of a row; chosen by name, so that an unknown key of the evidence stays hidden."""
    evidence = record.evidence or {}
    view = report_row(record)
    is_bare = not any(evidence.get(key) for key in ("question", "answer", "retrieved"))
    return BlindRow(
        case_id=str(record.case_id),
        seen_hash=str(record.seen_hash),
        question=view.question,
        answer=_nameless(view.answer),
        answer_note="the answer was not recorded" if "answer" in evidence and not evidence["answer"] else "",
        citations=_citations(evidence.get("citations")),
        passages=[passage._replace(pieces=_nameless(passage.pieces) or []) for passage in view.passages],
        passages_note=view.passages_note if record.evidence is not None else "",
        claims=_claims(evidence.get("claims")),
        reference=field_of("reference", evidence["reference"]) if evidence.get("reference") else None,
        inputs=view.inputs if is_bare else [],
    )


def _nameless(pieces: Sequence[Piece] | None) -> list[Piece] | None:
    """Keep the marks and drop the claim ids; a mark is any non-empty text."""
    return None if pieces is None else [Piece(piece.text, "cited" if piece.claims else "") for piece in pieces]


def _citations(value: Any) -> list[Field]:
    """Return documents with their quotes, each once: how often one is quoted would count the claims."""
    found: dict[tuple[str, str], Field] = {}
    for item in value if isinstance(value, list) else []:
        if isinstance(item, Mapping):
            document, span = str(item.get("document_id") or "(no document)"), str(item.get("span") or "")
            found.setdefault((document, span), field_of(document, span))
    return list(found.values())


def _claims(value: Any) -> list[str]:
    if not isinstance(value, Mapping) or not is_kept_in_full(value):
        return []
    return [cut(text) for text in value.values() if isinstance(text, str)]
