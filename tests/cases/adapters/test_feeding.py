"""What a metric receives: gold only where it is used, each role its own facts, every input fed; what it can show."""

from __future__ import annotations

from evalkit.cases.adapters.feeding import FEED_CHECKS, applicability, meanings_needed
from evalkit.contract import Contract, Metric, make_metric
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.metrics.refund_answer import refund_answer


def overlap(response: str, retrieved_contexts: list[str] | None, reference: str = "") -> float:
    return 0.0


def metric(*, reference_dependent: bool, **allows: str) -> Metric:
    contract = Contract(
        version="1",
        measures="overlap",
        reviewed=("reference",),
        produced=("response", "retrieved_contexts"),
        invalid_when=("blank",),
        consumed_by="nobody",
        cannot_establish="truth",
        reference_dependent=reference_dependent,
        allows_missing={"retrieved_contexts": {"null": "lost"}} if allows else {},
    )
    return make_metric(overlap, (0.0, 1.0), contract=contract)


def found(feeds: dict[str, str], subject: Metric) -> dict[str, list[str]]:
    sentences = {name: list(check.find(feeds, subject)) for name, check in FEED_CHECKS.items()}
    return {name: said for name, said in sentences.items() if said}


def test_a_reference_goes_only_to_metrics_that_use_one() -> None:
    feeds = {"response": "answer", "retrieved_contexts": "reference_contexts"}
    assert found(feeds, metric(reference_dependent=False)) == {
        "gold_stays_out": ["overlap does not use a reference, but its retrieved_contexts receives reference_contexts"]
    }


def test_roles_receive_their_own_facts() -> None:
    feeds = {"response": "reference", "retrieved_contexts": "retrieved", "reference": "answer"}
    assert found(feeds, metric(reference_dependent=True)) == {
        "roles_agree": [
            "response of overlap is what the system produced, but receives reference, which people wrote",
            "reference of overlap is a reviewed input, but receives the system's answer",
        ]
    }


def test_a_required_input_that_nothing_feeds_is_named_and_an_optional_one_is_not() -> None:
    assert found({"response": "answer"}, metric(reference_dependent=True)) == {
        "inputs_are_fed": ["nothing feeds retrieved_contexts of overlap"]
    }


def test_meanings_that_may_be_null_are_not_needed() -> None:
    feeds = {"response": "answer", "retrieved_contexts": "retrieved", "reference": "reference"}
    assert meanings_needed(feeds, metric(reference_dependent=True)) == {"answer", "retrieved"}
    assert meanings_needed(feeds, metric(reference_dependent=True, retrieved_contexts="null")) == {"answer"}
    assert meanings_needed({"required_claim_ids": "field:required_claim_ids"}, evidence_coverage) == frozenset()


def test_applicability_says_what_a_metric_needs_answers_and_cannot_establish() -> None:
    facts = applicability({"user_input": "question", "response": "answer"}, refund_answer)
    assert facts["reference_dependent"] is True
    assert facts["cannot_establish"].startswith("whether the reference itself is right")
    assert [(i["name"], i["role"], i["fed_by"]) for i in facts["inputs"]] == [
        ("user_input", "reviewed", "question"),
        ("reference", "reviewed", None),
        ("response", "produced", "answer"),
    ]
    bare = applicability({}, make_metric(overlap, (0.0, 1.0)))
    assert bare["measures"] is None
    assert len(bare["unanswered"]) == 4
