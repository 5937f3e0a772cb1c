"""ExpertQA and WiCE through adapters of their own: which place of their files carries which meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalkit.cases.adapters import Adapter, At, Observed, PassagesAt
from evalkit.cases.adapters.conversation import only_text

__all__ = ["EXPERTQA", "EXPERTQA_FILE", "WICE", "WICE_FILE"]

EXPERTQA_FILE = Path("expertqa/rand_val.jsonl")
WICE_FILE = Path("wice/oracle_claim_test.jsonl")


def _claims(answers: dict[str, Any]) -> dict[str, Any]:
    (answer,) = answers.values()
    return {f"c{number:02d}": claim for number, claim in enumerate(answer["claims"], start=1)}


def claim_texts(answers: dict[str, Any]) -> dict[str, str]:
    """Return the text of each claim."""
    return {claim_id: claim["claim_string"] for claim_id, claim in _claims(answers).items()}


def required_claims(answers: dict[str, Any]) -> list[str]:
    """Return the claims whose support an expert could judge at all."""
    return [claim_id for claim_id, claim in _claims(answers).items() if claim["support"] not in (None, "N/A")]


def supported_claims(answers: dict[str, Any]) -> list[str]:
    """Return the claims whose support an expert called complete."""
    return [claim_id for claim_id, claim in _claims(answers).items() if claim["support"] == "Complete"]


def joined(texts: list[str | None]) -> str:
    """Return the experts' revised claims as one reference text."""
    return " ".join(text for text in texts if text)


def address_and_text(item: str) -> dict[str, str]:
    """Take ``[3] https://...`` and the passage below it apart; 238 claims have an address only."""
    address, _, text = item.partition("\n")
    return {"document_id": address.partition("] ")[2] or address, "text": text.strip()}


_ANSWER = At(path="answers[*].answer_string", transform=only_text)
_EVIDENCE = PassagesAt(path="answers[*].claims[*].evidence[*]", item=address_and_text)
_REVISED = At(path="answers[*].claims[*].revised_claim", transform=joined)

EXPERTQA = Adapter(
    name="expertqa",
    revision="1",
    trace_id=None,
    names_by_line=True,
    question="question",
    answer=_ANSWER,
    retrieved=_EVIDENCE,
    reference=_REVISED,
    fields={
        "slice": "metadata.field",
        "required_claim_ids": At(path="answers", transform=required_claims),
        "supported_claim_ids": At(path="answers", transform=supported_claims),
    },
    evidence={"claims": At(path="answers", transform=claim_texts)},
    observed=Observed(question="question", answer=_ANSWER, retrieved=_EVIDENCE, reference=_REVISED),
)
"""The file keeps one record of each meaning only, so the audit holds the case against the place it was read from."""

_SENTENCES = PassagesAt(path="evidence", ids="meta.chunk_idx")

WICE = Adapter(
    name="wice",
    revision="1",
    trace_id=None,
    names_by_line=True,
    question="meta.claim_title",
    answer="claim",
    retrieved=_SENTENCES,
    fields={"family": "meta.id", "human_label": "label"},
    observed=Observed(question="meta.claim_title", answer="claim", retrieved=_SENTENCES),
)
"""Claims with the sentences they were checked against; the file holds no reference text."""
