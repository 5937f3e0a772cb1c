"""Two metrics that read traces: one that uses no reference, and one that does."""

from __future__ import annotations

from evalkit import Contract, numeric_metric

GROUNDED = Contract(
    version="1",
    measures="share of the answer's words that stand in the retrieved passages",
    reviewed=(),
    produced=("response", "retrieved_contexts"),
    invalid_when=("the answer or the passages are lost",),
    consumed_by="tests",
    cannot_establish="whether the passages are right",
    allows_missing={"retrieved_contexts": {"[]": "nothing was retrieved: 0.0"}},
)


@numeric_metric(allowed_values=(0.0, 1.0), contract=GROUNDED)
def grounded(response: str, retrieved_contexts: list[str]) -> float:
    """Share of the answer's words that the passages hold."""
    words = response.lower().split()
    held = " ".join(retrieved_contexts).lower().split()
    return sum(word in held for word in words) / len(words)


EXACT = Contract(
    version="1",
    measures="whether the answer is the reference, word for word",
    reviewed=("reference",),
    produced=("response",),
    invalid_when=("the answer or the reference is lost",),
    consumed_by="tests",
    cannot_establish="whether another wording is right",
    reference_dependent=True,
)


@numeric_metric(allowed_values=(0.0, 1.0), contract=EXACT)
def exact(response: str, reference: str) -> float:
    """1.0 where both are the same text."""
    return float(response == reference)
