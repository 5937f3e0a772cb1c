"""ExpertQA's labelled answers as evidence-coverage cases: required are the claims an expert could judge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["FILE", "expertqa_cases", "expertqa_policy"]

FILE = Path("expertqa/rand_val.jsonl")

_UNSCORABLE = (None, "N/A")


def expertqa_cases(source: Path) -> Iterator[dict[str, Any]]:
    """Yield one case for each of the 217 answers.

    A claim is required where the expert judged its support at all (neither "N/A" nor null), and supported where the
    verdict is "Complete". Slices are the experts' fields.
    """
    for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
        row = json.loads(line)
        for system, answer in row["answers"].items():
            yield _case(f"expertqa-{number:03d}", system, row, answer)


def _case(case_id: str, system: str, row: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    claims = {f"c{i:02d}": claim for i, claim in enumerate(answer["claims"], 1)}
    required = [claim_id for claim_id, claim in claims.items() if claim["support"] not in _UNSCORABLE]
    supported = [claim_id for claim_id in required if claims[claim_id]["support"] == "Complete"]
    return {
        "case_id": case_id,
        "slice": row["metadata"]["field"],
        "system_revision": system,
        "source": "ExpertQA",
        "provenance": "production",
        "required_claim_ids": required,
        "supported_claim_ids": supported,
        "evidence": {
            "question": row["question"],
            "answer": answer["answer_string"],
            "citations": [citation for claim_id, claim in claims.items() for citation in _citations(claim_id, claim)],
            "retrieved": _passages(claims),
            "claims": {claim_id: claim["claim_string"] for claim_id, claim in claims.items()},
            "usefulness": answer["usefulness"],
        },
    }


def _citations(claim_id: str, claim: dict[str, Any]) -> Iterator[dict[str, str]]:
    for evidence in claim["evidence"]:
        yield {"claim_id": claim_id, "document_id": evidence.split("\n", 1)[0], "span": claim["claim_string"]}


def _passages(claims: dict[str, dict[str, Any]]) -> list[dict[str, str | None]]:
    """Return each distinct passage once, in order of first use; one that is only an address has no text."""
    distinct = dict.fromkeys(evidence for claim in claims.values() for evidence in claim["evidence"])
    passages: list[dict[str, str | None]] = []
    for number, evidence in enumerate(distinct, 1):
        document, _, text = evidence.partition("\n")
        passages.append(
            {"document_id": document, "revision": None, "passage_id": f"p{number}", "text": text.strip() or None}
        )
    return passages


def expertqa_policy(cases: list[dict[str, Any]]) -> str:
    """Return a report-only policy that covers every field: nobody has approved a limit for this population."""
    head = (
        'schema = 1\nname = "expertqa"\nversion = "1"\nmode = "report"\nmetric = "evidence_coverage"\n'
        'contract_version = "1"\nbasis = "provisional"\n'
    )
    slices = (f"\n[slices.{json.dumps(name)}]\nminimum = 0.5\n" for name in sorted({case["slice"] for case in cases}))
    return head + "".join(slices)
