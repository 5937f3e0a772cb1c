"""Coverage rows as a team really has them (question, answer, passages, citations), in any number, from a seed."""

from __future__ import annotations

import json
import random
from pathlib import Path

_CLAIMS = ["window", "method", "fee", "channel", "receipt", "exception"]


def write_rows(path: Path, n: int, *, rng: random.Random) -> None:
    """Write `n` cases; about one in a hundred misses a claim."""
    with path.open("w", encoding="utf-8") as out:
        for i in range(n):
            required = rng.sample(_CLAIMS, rng.randint(2, 5))
            supported = required[: -1 if rng.random() < 0.01 else None]
            out.write(json.dumps(_row(i, required, supported)) + "\n")


def _row(i: int, required: list[str], supported: list[str]) -> dict[str, object]:
    document = f"policy-{i % 40}"
    sentences = {claim: f"The {claim} rule of case {i} is the one that the help page states." for claim in required}
    return {
        "case_id": f"case-{i:07d}",
        "slice": ("default", "billing-critical", "multilingual")[i % 3],
        "family": f"family-{i % 5000}",
        "system_revision": "2026-11-30",
        "required_claim_ids": required,
        "supported_claim_ids": supported,
        "evidence": {
            "question": f"What are the rules for case {i}?",
            "answer": " ".join(sentences[claim] for claim in supported),
            "citations": [{"claim_id": c, "document_id": document, "span": sentences[c]} for c in supported],
            "retrieved": [
                {"document_id": document, "revision": "3", "passage_id": f"{document}-p1", "text": " ".join(sentences.values())}
            ],
            "claims": sentences,
        },
    }


POLICY = """schema = 1
name = "bench"
version = "1"
mode = "report"
metric = "evidence_coverage"
contract_version = "1"
[slices.default]
minimum = 0.8
[slices.billing-critical]
minimum = 1.0
[slices.multilingual]
minimum = 0.8
"""
