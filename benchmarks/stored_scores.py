"""Metrics that read what somebody else computed: a stored score, a stored verdict. What is no verdict is an error."""

from __future__ import annotations

from evalkit import discrete_metric, numeric_metric

__all__ = ["preferred_response", "stored_score", "support_verdict"]

_SUPPORT = {1.0: "supported", 0.5: "partially_supported", 0.0: "not_supported"}


@numeric_metric(name="stored_score", allowed_values=(-1000.0, 1000.0))
def stored_score(score: float) -> float:
    """Return a score that was computed elsewhere."""
    return score


@discrete_metric(name="support_verdict", allowed_values=list(_SUPPORT.values()))
def support_verdict(entailment: float) -> str:
    """Return WiCE's three-way verdict for the number that its judges wrote down."""
    return _SUPPORT[entailment]


@discrete_metric(name="preferred_response", allowed_values=["0", "1", "2", "Tie"])
def preferred_response(verdict: str) -> str:
    """Return which response a PandaLM judge prefers, as it was written; what is no verdict is outside these values."""
    return verdict
