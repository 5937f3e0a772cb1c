"""ragas' standard metrics of a retrieval: the useful passages first, and what the reference says among them."""

from __future__ import annotations

from evalkit.contract import Contract
from evalkit.contract.stepped import SteppedJudge, WhenEmpty

__all__ = ["context_entity_recall", "context_precision", "context_recall"]

_CONSUMED = "the release policy, row by row, once the judge has been calibrated against people"

context_precision = SteppedJudge(
    name="context_precision",
    target="ragas.metrics.collections:ContextPrecision",
    lists=("retrieved_contexts",),
    contract=Contract(
        version="1",
        measures="whether the retrieved passages that are useful for the reference stand first (average precision)",
        reviewed=("user_input", "reference"),
        produced=("retrieved_contexts",),
        invalid_when=(
            "the question or the reference is absent or blank, or a passage is blank",
            "the retrieved passages are lost (null), or nothing was retrieved ([]): there is no order to judge",
        ),
        consumed_by=_CONSUMED,
        cannot_establish="whether anything that was needed is missing; full marks are 0.9999999999, not 1.0",
        reference_dependent=True,
        owners={"fail": "retrieval"},
    ),
)
"""One question for each passage."""

context_recall = SteppedJudge(
    name="context_recall",
    target="ragas.metrics.collections:ContextRecall",
    lists=("retrieved_contexts",),
    when_empty={"retrieved_contexts": WhenEmpty(0.0, "attributed=0; nothing was retrieved, so nobody was asked")},
    contract=Contract(
        version="1",
        measures="share of the reference's statements that can be attributed to the retrieved passages",
        reviewed=("user_input", "reference"),
        produced=("retrieved_contexts",),
        invalid_when=(
            "the question or the reference is absent or blank, or a passage is blank",
            "the retrieved passages are lost (null)",
        ),
        consumed_by=_CONSUMED,
        cannot_establish="whether the passages hold anything beside, or whether the answer made use of them",
        reference_dependent=True,
        owners={"fail": "retrieval"},
        allows_missing={"retrieved_contexts": {"[]": "nothing was retrieved: nothing can be attributed, so 0.0"}},
    ),
)
"""One question, which takes the reference apart and judges each of its statements."""

context_entity_recall = SteppedJudge(
    name="context_entity_recall",
    target="ragas.metrics.collections:ContextEntityRecall",
    lists=("retrieved_contexts",),
    contract=Contract(
        version="1",
        measures="share of the names, dates and figures of the reference that the judge also reads in the passages",
        reviewed=("reference",),
        produced=("retrieved_contexts",),
        invalid_when=(
            "the reference is absent or blank, or a passage is blank",
            "the retrieved passages are lost (null), or nothing was retrieved ([])",
            "the judge finds nothing of the kind in the reference",
        ),
        consumed_by=_CONSUMED,
        cannot_establish="whether the passages say the same of them; spelt otherwise, a name counts as missing; "
        "full marks are just below 1.0",
        reference_dependent=True,
        owners={"fail": "retrieval"},
    ),
)
"""Two questions: what the reference names, and what the passages name; compared letter by letter."""
