"""Coverage rows in any number, from a seed: bare (ids and what names them), or with the evidence a team keeps."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

__all__ = ["POLICY", "write_rows"]

_CLAIMS = ["window", "method", "fee", "channel", "receipt", "exception"]

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


def write_rows(path: Path, n: int, *, rng: random.Random, with_evidence: bool = True) -> None:
    """Write `n` cases; about one in a hundred misses a claim. A row has about 1.6 kB with evidence, 0.3 kB bare."""
    with path.open("w", encoding="utf-8") as out:
        for i in range(n):
            required = rng.sample(_CLAIMS, rng.randint(2, 5))
            supported = required[: -1 if rng.random() < 0.01 else None]
            row = _row(i, required, supported)
            if with_evidence:
                row["evidence"] = _evidence(i, required, supported)
            out.write(json.dumps(row) + "\n")


def _row(i: int, required: list[str], supported: list[str]) -> dict[str, Any]:
    return {
        "case_id": f"case-{i:07d}",
        "slice": ("default", "billing-critical", "multilingual")[i % 3],
        "family": f"family-{i % 5000}",
        "system_revision": "2026-11-30",
        "required_claim_ids": required,
        "supported_claim_ids": supported,
    }


def _evidence(i: int, required: list[str], supported: list[str]) -> dict[str, Any]:
    document = f"policy-{i % 40}"
    sentences = {claim: f"The {claim} rule of case {i} is the one that the help page states." for claim in required}
    text = " ".join(sentences.values())
    return {
        "question": f"What are the rules for case {i}?",
        "answer": " ".join(sentences[claim] for claim in supported),
        "citations": [{"claim_id": c, "document_id": document, "span": sentences[c]} for c in supported],
        "retrieved": [{"document_id": document, "revision": "3", "passage_id": f"{document}-p1", "text": text}],
        "claims": sentences,
    }
