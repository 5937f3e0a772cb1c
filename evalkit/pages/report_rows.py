"""One record made ready to be shown: cited spans marked, missing claims named, what was not kept said in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from evalkit.pages.wording import relation
from evalkit.scoring.preparation import KEY, forms_of
from evalkit.scoring.records import Record, is_knife_edge
from evalkit.scoring.retention import is_kept_in_full

__all__ = ["LONGEST", "MOST_ITEMS", "Claim", "Field", "Passage", "Piece", "ReportRow", "cut", "marked", "report_row"]

LONGEST = 4_000
"""Characters shown of one text; the whole of it is in ``records.jsonl``."""
MOST_ITEMS = 50

_SHOWN_APART = {"question", "answer", "citations", "retrieved", "claims"}


class Piece(NamedTuple):
    """A stretch of a text, with the claims whose citations quote it (empty for the rest)."""

    text: str
    claims: str


class Field(NamedTuple):
    """A named value: a list of short texts, or one text."""

    name: str
    items: list[str]
    text: str
    note: str
    """What must be said of it: cut, not kept, missing."""


class Passage(NamedTuple):
    """One retrieved passage."""

    name: str
    pieces: list[Piece]
    note: str


class Claim(NamedTuple):
    """One claim of the case: what reviewers wrote, and what became of it."""

    claim_id: str
    text: str
    is_missing: bool
    cited: str
    """Which documents the answer cites for it."""


class ReportRow(NamedTuple):
    """A record for the page."""

    record: Record
    word: str
    """The decision, or else the state."""
    relation: str
    is_knife_edge: bool
    missing: frozenset[str]
    inputs: list[Field]
    question: Field | None
    answer: list[Piece] | None
    answer_note: str
    citations: list[Field]
    passages: list[Passage]
    passages_note: str
    claims: list[Claim]
    others: list[Field]
    hashes: list[Field]


def report_row(record: Record) -> ReportRow:
    """Prepare one record; nothing is judged anew, and nothing that is absent is made up."""
    evidence = record.evidence or {}
    citations = _objects(evidence.get("citations"))
    missing = frozenset(item for item in _list(record.detail.get("missing")) if isinstance(item, str))
    answer, answer_note = _answer(evidence, citations)
    passages, passages_note = _passages(evidence, citations)
    return ReportRow(
        record=record,
        word=record.decision or record.state,
        relation=relation(record.value, record.minimum),
        is_knife_edge=is_knife_edge(record),
        missing=missing,
        inputs=[
            *(field_of(name, value) for name, value in (record.inputs or {}).items()),
            *(field_of(*form) for form in forms_of(record)),
        ],
        question=field_of("question", evidence["question"]) if evidence.get("question") else None,
        answer=answer,
        answer_note=answer_note,
        citations=[field_of(_citation_name(c), c.get("span")) for c in citations[:MOST_ITEMS]],
        passages=passages,
        passages_note=passages_note,
        claims=_claims(evidence.get("claims"), citations, missing),
        others=_others(record, evidence),
        hashes=_hashes(record),
    )


def cut(text: str) -> str:
    """Cut a long text and say how much is left out."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}… ({len(text) - LONGEST:,} more characters in records.jsonl)"


def field_of(name: str, value: Any) -> Field:
    """Return a value of any kind under its name."""
    if value is None:
        return Field(name, [], "", "null: lost or never recorded")
    if not is_kept_in_full(value):
        excerpt = value["excerpt"] or ""
        return Field(name, [], excerpt, f"{'an excerpt' if excerpt else 'only its hash'} was kept: {value['sha256']}")
    if isinstance(value, str):
        return Field(name, [], cut(value), "" if value else "an empty text")
    if isinstance(value, list) and not value:
        return Field(name, [], "", "[]: an empty list")
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        more = len(value) - MOST_ITEMS
        return Field(name, [cut(item) for item in value[:MOST_ITEMS]], "", f"{more} more" if more > 0 else "")
    if isinstance(value, Mapping) and value:
        return Field(name, [], cut("\n".join(f"{key}: {_json(item)}" for key, item in value.items())), "")
    return Field(name, [], cut(_json(value)), "")


def marked(text: str, quotes: Sequence[tuple[str, str]]) -> list[Piece]:
    """Split a text at the spans that are quoted from it; where spans overlap, a piece names all of their claims.

    Parameters
    ----------
    text : str
    quotes : sequence of (span, claim id)
        Spans that do not occur in the text mark nothing.

    Examples
    --------
    >>> marked("within 30 days", [("30 days", "window")])
    [Piece(text='within ', claims=''), Piece(text='30 days', claims='window')]
    """
    places = [(text.find(span), len(span), claim) for span, claim in quotes if span and span in text]
    edges = sorted({0, len(text), *(at for at, _, _ in places), *(at + size for at, size, _ in places)})
    pieces = []
    for start, end in pairwise(edges):
        claims = dict.fromkeys(claim for at, size, claim in places if at <= start and end <= at + size)
        pieces.append(Piece(text[start:end], ", ".join(claims)))
    return pieces


def _json(value: Any) -> str:
    """Return compact JSON; a text stands for itself."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in _list(value) if isinstance(item, Mapping)]


def _answer(evidence: Mapping[str, Any], citations: Sequence[Mapping[str, Any]]) -> tuple[list[Piece] | None, str]:
    if "answer" not in evidence:
        return None, ""
    field = field_of("answer", evidence["answer"])
    quotes = _quotes(citations)
    unfound = [claim for span, claim in quotes if span not in field.text]
    note = f"cited but not found word for word in the answer: {', '.join(unfound)}" if unfound and field.text else ""
    return marked(field.text, quotes), "; ".join(filter(None, [field.note, note]))


def _quotes(citations: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [(c["span"], str(c.get("claim_id", "?"))) for c in citations if isinstance(c.get("span"), str) and c["span"]]


def _citation_name(citation: Mapping[str, Any]) -> str:
    return f"{citation.get('claim_id', '?')} → {citation.get('document_id', '?')}"


def _passages(evidence: Mapping[str, Any], citations: Sequence[Mapping[str, Any]]) -> tuple[list[Passage], str]:
    if "retrieved" not in evidence:
        return [], "not recorded in this case"
    retrieved = evidence["retrieved"]
    if retrieved is None:
        return [], "null: the trace was lost, so what was retrieved is not known"
    if not isinstance(retrieved, list):
        return [], field_of("retrieved", retrieved).note or cut(_json(retrieved))
    if not retrieved:
        return [], "[]: nothing was retrieved"
    more = len(retrieved) - MOST_ITEMS
    passages = [_passage(item, citations) for item in _objects(retrieved)[:MOST_ITEMS]]
    return passages, f"{more} more passages in records.jsonl" if more > 0 else ""


def _passage(passage: Mapping[str, Any], citations: Sequence[Mapping[str, Any]]) -> Passage:
    document = passage.get("document_id")
    revision = passage.get("revision")
    name = str(passage.get("passage_id") or document or "(no id)")
    parts = [str(document)] if document and document not in name else []
    parts += [f"revision {revision}"] if revision is not None else []
    field = field_of("text", passage.get("text"))
    quotes = _quotes(c for c in citations if c.get("document_id") == document)
    return Passage(" · ".join([name, *parts]), marked(field.text, quotes), field.note)


def _claims(claims: Any, citations: Sequence[Mapping[str, Any]], missing: frozenset[str]) -> list[Claim]:
    texts = claims if isinstance(claims, Mapping) and is_kept_in_full(claims) else {}
    by_claim: dict[str, dict[str, None]] = {}
    for citation in citations:
        by_claim.setdefault(str(citation.get("claim_id")), {})[str(citation.get("document_id", "?"))] = None
    ordered = [*sorted(missing), *(claim for claim in texts if claim not in missing)]
    return [
        Claim(
            claim_id, cut(str(texts[claim_id])) if claim_id in texts else "", claim_id in missing,
            ", ".join(by_claim.get(claim_id, ())),
        )
        for claim_id in ordered[: 4 * MOST_ITEMS]
    ]  # fmt: skip


def _others(record: Record, evidence: Mapping[str, Any]) -> list[Field]:
    fields = [field_of(name, value) for name, value in evidence.items() if name not in _SHOWN_APART]
    if not is_kept_in_full(evidence.get("claims")):
        fields.append(field_of("claims", evidence["claims"]))
    lineage = {key: value for key, value in record.lineage.items() if key != KEY}  # shown beside the inputs
    named = {"detail": record.detail, "lineage": lineage, "judge": record.judge}
    return fields + [field_of(name, value) for name, value in named.items() if value]


def _hashes(record: Record) -> list[Field]:
    named = {
        "input_hash": record.input_hash, "evidence_hash": record.evidence_hash, "seen_hash": record.seen_hash,
        "contract_version": record.contract_version, "requirement_set_version": record.requirement_set_version,
        "policy_version": record.policy_version, "family": record.family, "partition": record.partition,
    }  # fmt: skip
    return [field_of(name, value) for name, value in named.items() if value is not None]
