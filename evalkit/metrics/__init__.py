"""The bundled metrics, one family a file; `BUILT_IN` maps each name to where it lives."""

from __future__ import annotations

__all__ = ["BUILT_IN"]

BUILT_IN = {
    "answer_correctness": "evalkit.metrics.ragas_answers:answer_correctness",
    "answer_relevancy": "evalkit.metrics.ragas_answers:answer_relevancy",
    "answer_similarity": "evalkit.metrics.ragas_answers:answer_similarity",
    "context_entity_recall": "evalkit.metrics.ragas_contexts:context_entity_recall",
    "context_precision": "evalkit.metrics.ragas_contexts:context_precision",
    "context_recall": "evalkit.metrics.ragas_contexts:context_recall",
    "evidence_coverage": "evalkit.metrics.evidence_coverage:evidence_coverage",
    "faithfulness": "evalkit.metrics.ragas_answers:faithfulness",
    "medical_accuracy": "evalkit.metrics.medical_judges:medical_accuracy",
    "medical_citation_accuracy": "evalkit.metrics.medical:medical_citation_accuracy",
    "medical_clarity": "evalkit.metrics.medical_judges:medical_clarity",
    "medical_completeness": "evalkit.metrics.medical_judges:medical_completeness",
    "medical_limitations": "evalkit.metrics.medical_judges:medical_limitations",
    "medical_professional_advice": "evalkit.metrics.medical_judges:medical_professional_advice",
    "medical_risk_warnings": "evalkit.metrics.medical_judges:medical_risk_warnings",
    "medical_safety": "evalkit.metrics.medical:medical_safety",
    "patient_safety": "evalkit.metrics.medical_judges:patient_safety",
    "refund_answer": "evalkit.metrics.refund_answer:refund_answer",
    "refund_answer_review": "evalkit.metrics.refund_answer:refund_answer_review",
}
