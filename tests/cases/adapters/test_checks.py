"""Lineage checks: each names its own fault in its own words, and only that one fires."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evalkit.cases.adapters.checks import CHECKS, Pair
from evalkit.cases.adapters.meanings import Adapted, Problem
from evalkit.cases.adapters.observed import Happened
from evalkit.cases.lookup import Passage

A, B, C = (
    Passage("alpha", "doc-a", "1", "p1"),
    Passage("beta", "doc-b", "1", "p2"),
    Passage("gamma", "doc-c", "1", "p3"),
)
GOLD = (C,)
ALL = frozenset({"question", "answer", "retrieved", "reference", "reference_contexts"})


def pair(happened: dict[str, Any] | None = None, **adapted: Any) -> Pair:
    facts: dict[str, Any] = {
        "trace_id": "t",
        "question": "asked?",
        "answer": "said",
        "passages": (A, B),
        "reference": "right",
        "reference_contexts": GOLD,
        **(happened or {}),
    }
    row = {("retrieved" if name == "passages" else name): value for name, value in facts.items() if name != "turns"}
    row |= {"number": 1, "where": "line 1", **adapted}
    return Pair(Adapted(**row), Happened(**facts), ALL, ALL)


def fired(row: Pair) -> dict[str, str]:
    return {name: found for name, check in CHECKS.items() if (found := check.find(row)) is not None}


def test_a_row_that_says_what_happened_passes_every_check() -> None:
    assert fired(pair()) == {}
    assert fired(pair({"passages": None})) == {}
    assert fired(pair({"passages": ()})) == {}
    assert fired(pair({"error": "down", "answer": "Sorry"}, answer=None)) == {}
    assert fired(pair({"answer": None})) == {}


@pytest.mark.parametrize(
    ("row", "check", "told"),
    [
        (pair(trace_id="other"), "trace_identity", "the case is named 'other', its trace 't'"),
        (pair(retrieved="['alpha', 'beta']"), "field_types", "retrieved is str, not a list of passages"),
        (pair(answer={"text": "said"}), "field_types", "answer is dict, not a text"),
        (pair(unusable="it has no id"), "field_types", "it gives no row: it has no id"),
        (pair(problems=(Problem("error", "error is odd"),)), "field_types", "error is odd"),
        (pair(question="else?"), "question_of_turn", "the question 'else?' is not the one that was asked: 'asked?'"),
        (
            pair({"turns": ("before?", "asked?", "later?")}, question="later?"),
            "question_of_turn",
            "the question is that of turn 3 of 3; turn 2 is evaluated",
        ),
        (pair(answer="made up"), "answer_is_observed", "the answer 'made up' is not the observed output 'said'"),
        (pair(answer=None), "answer_is_observed", "the answer is missing, although the trace holds one"),
        (pair({"answer": None}, answer="x"), "answer_is_observed", "stands where the trace holds none"),
        (pair(answer="right"), "answer_not_reference", "the answer is the reference, not what the system said"),
        (pair(answer="right", reference="said"), "answer_not_swapped", "answer and reference are exchanged"),
        (pair({"error": "down"}, answer="down"), "error_is_not_answer", "the application failed ('down')"),
        (pair({"error": "down"}, answer="Sorry"), "error_is_not_answer", "'Sorry' is called an answer"),
        (pair({"error": "down"}, answer="right"), "failure_not_filled", "the reference was put in as its answer"),
        (pair({"answer": " "}, answer="right"), "failure_not_filled", "gave no answer, and the reference was put in"),
        (pair(reference="said"), "reference_is_reviewed", "whatever is compared with it is compared with itself"),
        (pair(reference="other"), "reference_is_reviewed", "'other' is not the reviewed one 'right'"),
        (pair(reference_contexts=(A, B)), "gold_is_reviewed", "2 passages that the trace does not hold as reference"),
        (pair(retrieved=GOLD), "retrieved_not_gold", "1 reference passages stand in place of the 2"),
        (pair(retrieved=(Passage("right"),)), "retrieved_not_gold", "1 reference passages stand in place of the 2"),
        (pair(retrieved=(A, B, Passage("omega"))), "passages_of_trace", "generation was never given: 'omega'"),
        (pair(retrieved=(A,)), "passages_whole", "1 of 2 passages that generation was given are missing: 'beta'"),
        (pair(retrieved=None), "passages_whole", "all 2 passages that generation was given are missing (null)"),
        (pair(retrieved=()), "passages_whole", "2 of 2 passages"),
        (pair({"passages": (A, B, A)}, retrieved=(A, B)), "passages_counted", "'alpha' 2 times, retrieved holds it 1"),
        (pair(retrieved=(A, B, B)), "passages_counted", "'beta' 1 times, retrieved holds it 2 times"),
        (pair(retrieved=(B, A)), "passages_in_order", "passage 1 is 'beta'; generation was given 'alpha' there"),
        (pair(retrieved=(A, B._replace(revision="2"))), "passages_identity", "revision '2'; the trace has '1'"),
        (
            pair(retrieved=(A, B._replace(document_id=None))),
            "passages_identity",
            "document None; the trace has 'doc-b'",
        ),
        (pair({"passages": None}, retrieved=()), "lost_is_not_empty", "null is not an empty retrieval"),
        (pair({"passages": ()}, retrieved=None), "empty_is_not_lost", "the trace records an empty retrieval: []"),
        (pair({"passages": None}, retrieved=(A,)), "lost_not_filled", "retrieved holds 1 from elsewhere"),
    ],
    ids=lambda value: value if isinstance(value, str) and "_" in value else "",
)
def test_each_fault_has_a_check_and_a_diagnosis_of_its_own(row: Pair, check: str, told: str) -> None:
    found = fired(row)
    assert list(found) == [check]
    assert told in found[check]


def test_d01_gold_documents_in_place_of_retrieved_ones_are_named_even_beside_a_right_one() -> None:
    assert list(fired(pair(retrieved=(A, C)))) == ["retrieved_not_gold"]


def test_a_passage_without_a_known_identity_is_held_against_nothing() -> None:
    bare = (Passage("alpha"), Passage("beta"))
    assert fired(pair({"passages": bare}, retrieved=(A, B))) == {}


def test_what_no_record_was_kept_of_cannot_be_asked() -> None:
    row = pair(answer="made up", retrieved=(B,), question="else?", reference="other", reference_contexts=())
    assert fired(row._replace(witnessed=frozenset())) == {}
    assert fired(row._replace(mapped=frozenset())) == {}


def test_an_intended_transformation_is_compared_in_its_observed_form() -> None:
    forms = {"answer": {"observed": "said", "given": "SAID", "by": "upper"}}
    assert fired(pair(answer="SAID", transformed=forms)) == {}
    # ... but what was put in after it is not covered by it.
    assert list(fired(pair(answer="made up", transformed=forms))) == ["answer_is_observed"]
    # The trace's own record may have been read through the same transformation.
    assert fired(pair({"answer": "SAID"}, answer="SAID", transformed=forms)) == {}


def test_transformed_passages_are_compared_in_their_observed_form_one_by_one() -> None:
    forms = {"retrieved": {"observed": ["alpha", "beta"], "given": ["ALPHA", "BETA"], "by": "upper"}}
    upper = (A._replace(text="ALPHA"), B._replace(text="BETA"))
    row = pair(retrieved=upper, transformed=forms)
    assert fired(row) == {}
    changed = replace(row.adapted, retrieved=upper[:1])
    assert list(fired(row._replace(adapted=changed))) == ["passages_whole"]
    assert list(fired(row._replace(adapted=replace(row.adapted, retrieved=upper[::-1])))) == ["passages_in_order"]
