"""The mappings that come with evalkit, by name in `SHIPPED`; ``dataclasses.replace`` makes your own out of one."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.cases.adapters.conversation import (
    last_assistant_message,
    last_user_message,
    only_text,
    user_messages,
)
from evalkit.cases.adapters.declare import Adapter, Observed
from evalkit.cases.adapters.places import At, PassagesAt

__all__ = ["SHIPPED"]

_PASSED = (
    "slice", "blocking", "family", "partition", "system_revision", "requirement_set_version", "rubric_version",
    "evidence_version", "response_sha256", "stratum", "prevalence_weight", "provenance", "contract_version",
)  # fmt: skip
"""Reserved keys of a case that a row may carry itself."""
_CLAIMS = ("required_claim_ids", "supported_claim_ids")

PLAIN = Adapter(
    name="plain",
    revision="1",
    question="question",
    answer="answer",
    error="error",
    retrieved=PassagesAt(path=("retrieved", "generation.contexts"), given="generation.contexts"),
    reference="reference",
    reference_contexts="reference_contexts",
    session_id="session_id",
    fields={key: key for key in (*_PASSED, *_CLAIMS, "generation")},
    evidence={"citations": "citations", "claims": "claims"},
    observed=Observed(
        question="question",
        turns="turns",
        answer="answer",
        error="error",
        retrieved="retrieved",
        given="generation.contexts",
        reference="reference",
        reference_contexts="reference_contexts",
    ),
)
"""The trace format of evalkit itself; ``turns`` may hold all questions of the conversation."""

_RAGAS_QUESTION = At(path=("user_input", "question"), transform=last_user_message)
_RAGAS_ANSWER = At(path=("response", "answer"), otherwise=At(path="user_input", transform=last_assistant_message))
_RAGAS_RETRIEVED = PassagesAt(path=("retrieved_contexts", "contexts"), ids="retrieved_context_ids")
_RAGAS_GOLD = PassagesAt(path="reference_contexts", ids="reference_context_ids")
_RAGAS_REFERENCE = At(path=("reference", "ground_truth"), otherwise=At(path="ground_truths", transform=only_text))

RAGAS = Adapter(
    name="ragas",
    revision="1",
    trace_id=("case_id", "trace_id", "id"),
    names_by_line=True,
    question=_RAGAS_QUESTION,
    answer=_RAGAS_ANSWER,
    error="error",
    retrieved=_RAGAS_RETRIEVED,
    reference=_RAGAS_REFERENCE,
    reference_contexts=_RAGAS_GOLD,
    session_id="session_id",
    fields={key: key for key in (*_PASSED, *_CLAIMS)},
    observed=Observed(
        question=_RAGAS_QUESTION,
        turns=At(path="user_input", transform=user_messages),
        answer=_RAGAS_ANSWER,
        error="error",
        retrieved=_RAGAS_RETRIEVED,
        reference=_RAGAS_REFERENCE,
        reference_contexts=_RAGAS_GOLD,
    ),
)
"""Dataset rows with ragas' columns, the old names or the new ones; of a conversation, its last turn is evaluated."""

_CSV_QUESTION = At(path=("question", "user_input"))
_CSV_ANSWER = At(path=("answer", "response"))
_CSV_RETRIEVED = PassagesAt(path=("retrieved", "retrieved_contexts", "contexts"), decode="json")
_CSV_REFERENCE = At(path=("reference", "ground_truth"))
_CSV_REFERENCE_CONTEXTS = PassagesAt(path="reference_contexts", decode="json")
_CSV_GIVEN = PassagesAt(path="generation_contexts", decode="json")

CSV = Adapter(
    name="csv",
    revision="1",
    reads="csv",
    trace_id=("trace_id", "case_id", "id"),
    names_by_line=True,
    question=_CSV_QUESTION,
    answer=_CSV_ANSWER,
    error="error",
    retrieved=_CSV_RETRIEVED,
    reference=_CSV_REFERENCE,
    reference_contexts=_CSV_REFERENCE_CONTEXTS,
    session_id="session_id",
    fields={key: key for key in _PASSED if key not in ("blocking", "prevalence_weight")}
    | {key: At(path=key, decode="json") for key in ("blocking", "prevalence_weight", *_CLAIMS)},
    observed=Observed(
        question=_CSV_QUESTION,
        turns=At(path="turns", decode="json"),
        answer=_CSV_ANSWER,
        error="error",
        retrieved=_CSV_RETRIEVED,
        given=_CSV_GIVEN,
        reference=_CSV_REFERENCE,
        reference_contexts=_CSV_REFERENCE_CONTEXTS,
    ),
)
"""A spreadsheet with the columns of the plain format or of ragas; list columns hold JSON."""

_OI_RETRIEVED = PassagesAt(
    path="retrieved",
    text="content",
    document_id=("metadata.document_id", "metadata.source"),
    revision=("metadata.revision", "metadata.version"),
    passage_id="id",
)

OPENINFERENCE = Adapter(
    name="openinference",
    revision="1",
    reads="openinference",
    question="root.input",
    answer="root.output",
    error="error",
    retrieved=_OI_RETRIEVED,
    reference="root.metadata.reference",
    reference_contexts=PassagesAt(path="root.metadata.reference_contexts", text=("content", "text")),
    session_id="session_id",
    fields={key: f"root.metadata.{key}" for key in _PASSED},
    observed=Observed(
        question="root.input",
        answer="root.output",
        error="error",
        retrieved=_OI_RETRIEVED,
        prompt="llm.prompt",
        reference="root.metadata.reference",
        reference_contexts=PassagesAt(path="root.metadata.reference_contexts", text=("content", "text")),
    ),
)
"""OpenInference spans; a reference, where an experiment has one, stands in the root span's metadata."""

_GENAI_RETRIEVED = PassagesAt(
    path="retrieved",
    text=("content", "text"),
    document_id=("document_id", "metadata.document_id", "source"),
    revision=("revision", "metadata.revision", "version"),
    passage_id="id",
)
_GENAI_REFERENCE_CONTEXTS = PassagesAt(path='root.attributes["evalkit.reference_contexts"]', text=("content", "text"))

OTEL_GENAI = Adapter(
    name="otel-genai",
    revision="1",
    reads="otel-genai",
    question="question",
    answer="answer",
    error="error",
    retrieved=_GENAI_RETRIEVED,
    reference='root.attributes["evalkit.reference"]',
    reference_contexts=_GENAI_REFERENCE_CONTEXTS,
    session_id="session_id",
    fields={key: f'root.attributes["evalkit.{key}"]' for key in _PASSED},
    observed=Observed(
        question="question",
        turns="questions",
        answer="answer",
        error="error",
        retrieved=_GENAI_RETRIEVED,
        prompt="prompt",
        reference='root.attributes["evalkit.reference"]',
        reference_contexts=_GENAI_REFERENCE_CONTEXTS,
    ),
)
"""OpenTelemetry GenAI spans; what people reviewed stands in attributes ``evalkit.*`` of the root span."""

SHIPPED: Mapping[str, Adapter] = {adapter.name: adapter for adapter in (CSV, OPENINFERENCE, OTEL_GENAI, PLAIN, RAGAS)}
"""Every mapping that comes with evalkit, by name."""
