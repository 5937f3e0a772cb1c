"""Maps for the label exports of other tools: where each field stands. What a value means, and selection, stay yours."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.cases.importers.maps import LabelMap, Source

__all__ = ["PRESETS"]


def _columns(*names: str) -> Source:
    return Source(columns=names)


_LANGSMITH = LabelMap(
    preset="langsmith",
    sources={
        "case_id": _columns("trace_id", "run_id"),
        "criterion": _columns("key"),
        "label": _columns("value", "score"),
        "reason": _columns("comment"),
        "reviewer": _columns("feedback_source.user_id", "feedback_source.metadata.user_id", "created_by"),
        "labelled_on": _columns("created_at"),
        "provenance": Source(
            columns=("feedback_source.type",), values={"app": "production", "api": "production", "model": "model"}
        ),
    },
    records=("[*]", "feedback[*]", ""),
)
"""Feedback records (``list_feedback``, or the API), one object a line or a list."""

_LANGFUSE = LabelMap(
    preset="langfuse",
    sources={
        "case_id": _columns("traceId", "trace_id"),
        "criterion": _columns("name"),
        "label": _columns("stringValue", "string_value", "value"),
        "reason": _columns("comment"),
        "reviewer": _columns("authorUserId", "author_user_id"),
        "labelled_on": _columns("timestamp", "createdAt", "created_at"),
        "provenance": Source(
            columns=("source",), values={"ANNOTATION": "production", "API": "production", "EVAL": "model"}
        ),
    },
    records=("data[*]", "[*]", ""),
)
"""Scores, from the API (``{"data": [...]}``) or a blob export."""

_PHOENIX = LabelMap(
    preset="phoenix",
    sources={
        "case_id": _columns("trace_id", "span_id"),
        "criterion": _columns("name", "annotation_name"),
        "label": _columns("result.label", "label", "result.score", "score"),
        "reason": _columns("result.explanation", "explanation"),
        "reviewer": _columns("user_id", "metadata.reviewer", "identifier"),
        "labelled_on": _columns("created_at"),
        "provenance": Source(
            columns=("annotator_kind",), values={"HUMAN": "production", "LLM": "model", "CODE": "model"}
        ),
    },
    records=("data[*]", "[*]", ""),
)
"""Span or trace annotations; those of spans need the exported spans (``--spans``) to find their trace."""

_MLFLOW = LabelMap(
    preset="mlflow",
    sources={
        "case_id": _columns("trace_id"),
        "criterion": _columns("assessment_name", "name"),
        "label": _columns("feedback.value"),
        "reason": _columns("rationale"),
        "reviewer": _columns("source.source_id"),
        "labelled_on": _columns("create_time"),
        "provenance": Source(
            columns=("source.source_type",),
            values={"HUMAN": "production", "LLM_JUDGE": "model", "AI_JUDGE": "model", "CODE": "model"},
        ),
    },
    records=(
        "[*].info.assessments[*]", "traces[*].info.assessments[*]", "info.assessments[*]", "assessments[*]", "[*]",
    ),
    doubles="supersede",
)  # fmt: skip
"""Traces with their assessments; an assessment without feedback (an expectation) carries no label."""

PRESETS: Mapping[str, LabelMap] = {
    "langfuse": _LANGFUSE,
    "langsmith": _LANGSMITH,
    "mlflow": _MLFLOW,
    "phoenix": _PHOENIX,
}
"""Every preset by name."""
