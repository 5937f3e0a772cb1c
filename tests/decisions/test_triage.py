"""One row walked back to its first faulty evidence: the four endings, and what is said where one cannot know."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit import Case, Contract, Record, evidence_coverage, score_cases
from evalkit.decisions.triage import missing_claims, needs_triage, triage

CLAIM = "The refund goes back to the original payment method."
HOLDS = {
    "document_id": "policy-v2",
    "revision": "2",
    "passage_id": "p1",
    "text": "Refunds go back to the original payment method. We cannot send them elsewhere.",
}
OTHER = {"document_id": "policy-v2", "revision": "2", "passage_id": "p2", "text": "Labels cost 4.90 euros."}
SAID = "The money goes back to the original payment method."
UNSAID = "Please ask a colleague."
SPAN = "back to the original payment method"
ABSENT = object()


def cite(document_id: str = "policy-v2", span: str = SPAN) -> dict[str, str]:
    return {"claim_id": "method", "document_id": document_id, "span": span}


def hashed(excerpt: str | None = None) -> dict[str, Any]:
    return {"sha256": "sha256:00", "excerpt": excerpt}


def record(**changes: Any) -> Record:
    """A row that misses one of two claims; `changes` are parts of its evidence."""
    evidence: dict[str, Any] = {
        "answer": SAID,
        "citations": [],
        "retrieved": [OTHER, HOLDS],
        "claims": {"method": CLAIM},
    }
    evidence |= changes
    fields = {
        "required_claim_ids": ["method", "window"],
        "supported_claim_ids": ["window"],
        "evidence": {key: value for key, value in evidence.items() if value is not ABSENT},
    }
    return next(iter(score_cases(evidence_coverage, [Case(1, "a", "default", True, fields)])))


ENDINGS = {
    "the answer never said it": (
        {"answer": UNSAID, "retrieved": None},
        "never_said", "answer", "answer", "the answer never said it",
    ),
    "said, the citation dropped": (
        {}, "citation_dropped", "attribution", "attribution", "but no citation is attached to it: it was dropped",
    ),
    "said, the citation points to another document": (
        {"citations": [cite("policy-v1")]},
        "cites_another_document", "attribution", "attribution",
        "cites policy-v1, but the passage that holds it was retrieved as policy-v2",
    ),
    "never retrieved": (
        {"answer": UNSAID, "retrieved": [OTHER]},
        "not_retrieved", "retrieval", "retrieval", "retrieved (as far as words tell; closest of 1: policy-v2, 0 of",
    ),
    "never retrieved, said all the same": (
        {"retrieved": [OTHER]}, "not_retrieved", "retrieval", "retrieval", "the answer says it, but its passage was",
    ),
    "never retrieved, cited all the same": (
        {"retrieved": [OTHER], "citations": [cite("policy-v9")]},
        "not_retrieved", "retrieval", "retrieval", "cites policy-v9, but its passage was never retrieved",
    ),
    "nothing retrieved": (
        {"answer": UNSAID, "retrieved": []}, "not_retrieved", "retrieval", "retrieval", "nothing was retrieved: []",
    ),
    "retrieved, not used": (
        {"answer": UNSAID}, "not_used", "answer", "answer", "retrieved (policy-v2, 5 of its 6 words) but not used",
    ),
    "said, cited and retrieved, not counted": (
        {"citations": [cite()]}, "not_counted", "supported_set", "attribution", "and yet not counted as supported",
    ),
    "no passage of the cited document, no reviewed text": (
        {"claims": {}, "citations": [cite("policy-v1", span="words that nobody retrieved")]},
        "cites_another_document", "attribution", "attribution", "no reviewed text for method",
    ),
    "cited, its words in another document, no reviewed text": (
        {"claims": {}, "citations": [cite("policy-v1")]},
        "cites_another_document", "attribution", "attribution", "was retrieved as policy-v2",
    ),
    "said, citations never recorded": (
        {"citations": ABSENT}, "citation_dropped", "attribution", "attribution", "citations was not recorded",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "ending", "word", "owner", "fragment"), ENDINGS.values(), ids=ENDINGS.keys())
def test_endings_are_told_apart(changes: dict[str, Any], ending: str, word: str, owner: str, fragment: str) -> None:
    found = triage(record(**changes), evidence_coverage.contract)
    assert [one.ending for one in found.findings] == [ending]
    assert (found.first_divergence, found.owner) == (word, owner)
    assert found.sentence.startswith("method: ")
    assert fragment in found.sentence


NOT_DECIDABLE = {
    "answer kept as a hash": ({"answer": hashed()}, "answer was not kept, only a hash of it"),
    "answer kept as an excerpt": ({"answer": hashed("The mon")}, "answer was not kept, only an excerpt of it"),
    "answer null": ({"answer": None}, "answer is null: it was lost"),
    "answer never recorded": ({"answer": ABSENT}, "answer was not recorded"),
    "answer of another type": ({"answer": ["a list"]}, "answer was recorded as list, not as str"),
    "no reviewed text": ({"claims": {"window": "…"}}, "evidence.claims has no reviewed text for method"),
    "claims kept as a hash": ({"claims": hashed()}, "claims was not kept, only a hash of it"),
    "words alone do not tell": (
        # 3 of 6 words: original, payment, method
        {"answer": "You choose; the original method of payment is one of them."},
        "the answer repeats 3 of its 6 words: words alone do not tell whether it says it",
    ),
    "cited, trace lost": ({"citations": [cite()], "retrieved": None}, "retrieved is null: it was lost"),
}


@pytest.mark.parametrize(("changes", "fragment"), NOT_DECIDABLE.values(), ids=NOT_DECIDABLE.keys())
def test_what_was_not_kept_is_said_rather_than_guessed(changes: dict[str, Any], fragment: str) -> None:
    found = triage(record(**changes), evidence_coverage.contract)
    assert (found.first_divergence, found.owner) == ("none", None)
    assert f"not decidable here: {fragment}" in found.sentence


def test_c09_lost_passages_and_no_passages_are_different_facts() -> None:
    lost = triage(record(answer=UNSAID, retrieved=None), evidence_coverage.contract)
    none = triage(record(answer=UNSAID, retrieved=[]), evidence_coverage.contract)
    assert (lost.first_divergence, none.first_divergence) == ("answer", "retrieval")
    assert "whether its passage was retrieved is not decidable here: retrieved is null" in lost.sentence


def test_a_dropped_citation_is_decided_even_where_the_trace_is_lost() -> None:
    found = triage(record(retrieved=None), evidence_coverage.contract)
    assert found.first_divergence == "attribution"
    assert "not decidable here: retrieved is null" in found.sentence


def test_another_number_is_not_the_passage() -> None:
    claims = {"method": "A return is possible within 30 days."}
    passage = {"document_id": "old", "text": "A return is possible within 14 days."}
    found = triage(record(answer=UNSAID, claims=claims, retrieved=[passage]), evidence_coverage.contract)
    assert found.first_divergence == "retrieval"
    assert "closest of 1: old, 4 of its 5 words, lacking 30" in found.sentence


def test_no_similarity_is_called_support() -> None:
    for changes, *_ in ENDINGS.values():
        sentence = triage(record(**changes), evidence_coverage.contract).sentence
        assert "supports" not in sentence
        assert "similar" not in sentence


def test_the_best_passage_and_its_score_are_kept() -> None:
    finding = triage(record(answer=UNSAID), evidence_coverage.contract).findings[0].facts()
    assert finding["passage"]["document_id"] == "policy-v2"
    assert finding["match"] == {"score": 5 / 6, "words_found": 5, "words": 6}


def test_of_several_missing_claims_the_earliest_fault_counts() -> None:
    evidence = {
        "answer": SAID,
        "citations": [],
        "retrieved": [HOLDS],
        "claims": {"method": CLAIM, "label": "Labels cost 4.90 euros.", "fee": "A late fee of 6 euros applies."},
    }
    fields = {"required_claim_ids": ["method", "label", "fee"], "supported_claim_ids": [], "evidence": evidence}
    row = next(iter(score_cases(evidence_coverage, [Case(1, "a", "default", True, fields)])))
    found = triage(row, evidence_coverage.contract)
    # fee and label were never retrieved; method only lost its citation. What was not retrieved comes first.
    assert [one.first_divergence for one in found.findings] == ["retrieval", "retrieval", "attribution"]
    assert (found.first_divergence, found.owner) == ("retrieval", "retrieval")
    assert found.sentence.startswith("fee: its passage was never retrieved")
    assert "of 3 missing claims also: label (retrieval), method (attribution)" in found.sentence


def test_a_row_without_evidence_says_so() -> None:
    fields = {"required_claim_ids": ["method", "window"], "supported_claim_ids": ["window"]}
    row = next(iter(score_cases(evidence_coverage, [Case(1, "a", "default", True, fields)])))
    found = triage(row, evidence_coverage.contract)
    assert (found.first_divergence, found.owner) == ("none", None)
    assert "the case carries no evidence" in found.sentence


def test_a_missing_id_that_nobody_requires_is_the_metrics_fault() -> None:
    row = record()._replace(detail={"missing": ["fee"]})
    found = triage(row, evidence_coverage.contract)
    assert (found.first_divergence, found.owner) == ("metric", "metric")
    assert "fee" in found.sentence


def scored(**fields: Any) -> Record:
    return next(iter(score_cases(evidence_coverage, [Case(1, "a", "default", True, fields)])))


INVALID = {
    "required list": ({"required_claim_ids": [], "supported_claim_ids": []}, "required_set", "test-data"),
    "required list absent": ({"supported_claim_ids": []}, "required_set", "test-data"),
    "produced list": ({"required_claim_ids": ["a"], "supported_claim_ids": ["b"]}, "state", "test-data"),
    "contract version": (
        {"required_claim_ids": ["a"], "supported_claim_ids": [], "contract_version": "9"}, "contract", "test-data",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "word", "owner"), INVALID.values(), ids=INVALID.keys())
def test_invalid_rows_belong_to_the_test_data(fields: dict[str, Any], word: str, owner: str) -> None:
    found = triage(scored(**fields), evidence_coverage.contract)
    assert (found.first_divergence, found.owner) == (word, owner)
    assert found.sentence.startswith("invalid: ")


def test_errors_belong_to_the_metric_and_unrun_rows_to_their_state() -> None:
    row = record()
    error = row._replace(state="error", value=None, reason="ZeroDivisionError", owner="metric")
    assert triage(error, None)[:2] == ("metric", "metric")
    judged = error._replace(judge={"model": "m"}, owner="provider")
    assert triage(judged, None)[:2] == ("state", "provider")
    unrun = row._replace(state="unrun", value=None, reason="budget", owner="judge")
    assert triage(unrun, None)[:2] == ("state", "judge")


def test_a_line_that_gave_no_case_is_the_datasets() -> None:
    row = record()._replace(state="invalid", value=None, inputs=None, evidence=None, reason="not valid JSON")
    assert triage(row, evidence_coverage.contract)[:2] == ("dataset", "test-data")


def contract(**changes: Any) -> Contract:
    facts: dict[str, Any] = {
        "version": "1",
        "measures": "m",
        "reviewed": ("reference",),
        "produced": ("response",),
        "invalid_when": ("x",),
        "consumed_by": "c",
        "cannot_establish": "e",
    }
    return Contract(**(facts | changes))


def test_a_metric_that_names_nothing_is_decided_only_where_one_thing_was_produced() -> None:
    row = record()._replace(detail={}, inputs={"response": "r", "reference": "f"}, reason="wrong amount", minimum=1.0)
    assert triage(row, contract())[:2] == ("answer", "answer")
    two = contract(produced=("response", "retrieved_contexts"))
    found = triage(row, two)
    assert (found.first_divergence, found.owner) == ("none", None)
    assert "wrong amount" in found.sentence
    assert "not decidable here" in found.sentence
    assert triage(row, contract(produced=("response", "retrieved_contexts"), owners={"fail": "judge"})).owner == "judge"


def test_a_contracts_own_owners_win_also_as_facts_of_a_manifest() -> None:
    own = contract(
        reviewed=("required_claim_ids",), produced=("supported_claim_ids",), owners={"attribution": "adapter"}
    )
    assert triage(record(), own).owner == "adapter"
    assert triage(record(), own.facts()).owner == "adapter"


def test_which_rows_need_a_triage() -> None:
    row = record()
    assert needs_triage(row)  # scored without a policy, and something is missing
    assert not needs_triage(row._replace(decision="pass"))
    assert needs_triage(row._replace(decision="review"))
    assert needs_triage(row._replace(state="unrun"))
    assert not needs_triage(row._replace(detail={"missing": []}))
    assert missing_claims(row._replace(detail={"missing": "method"})) == []
    assert missing_claims(row._replace(detail={"missing": ["a", 3]})) == ["a"]
