"""The bundled metrics, one family a file; `BUILT_IN` maps each name to where it lives."""

from __future__ import annotations

__all__ = ["BUILT_IN"]

BUILT_IN = {
    "evidence_coverage": "evalkit.metrics.evidence_coverage:evidence_coverage",
    "medical_citation_accuracy": "evalkit.metrics.medical:medical_citation_accuracy",
    "refund_answer": "evalkit.metrics.refund_answer:refund_answer",
    "refund_answer_review": "evalkit.metrics.refund_answer:refund_answer_review",
}
