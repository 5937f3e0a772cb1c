from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.cases.read import Case
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.pages.report_rows import LONGEST, MOST_ITEMS, Piece, cut, field_of, marked, report_row
from evalkit.scoring.score import score_cases


def record_of(evidence: dict[str, Any], *, supported: list[str]) -> Any:
    fields = {"required_claim_ids": ["a", "b"], "supported_claim_ids": supported, "evidence": evidence}
    return next(iter(score_cases(evidence_coverage, [Case(1, "case", "default", True, fields)])))


def test_spans_are_marked_with_their_claims_even_where_they_overlap() -> None:
    # "within 30" is of w, "30 days" of d; their common "30" is of both.
    assert marked("within 30 days", [("within 30", "w"), ("30 days", "d"), ("absent", "x")]) == [
        Piece("within ", "w"), Piece("30", "w, d"), Piece(" days", "d"),
    ]  # fmt: skip
    assert marked("plain", []) == [Piece("plain", "")]
    assert marked("", [("x", "c")]) == []


@given(st.text(), st.lists(st.tuples(st.text(max_size=4), st.just("c")), max_size=4))
def test_marking_never_changes_the_text(text: str, quotes: list[tuple[str, str]]) -> None:
    assert "".join(piece.text for piece in marked(text, quotes)) == text


def test_missing_claims_come_first_with_their_reviewed_text_and_citation() -> None:
    evidence = {
        "claims": {"a": "A is so.", "b": "B is so."},
        "citations": [{"claim_id": "b", "document_id": "d1", "span": "x"}, {"claim_id": "b", "document_id": "d2"}],
    }
    row = report_row(record_of(evidence, supported=["a"]))
    assert [(c.claim_id, c.text, c.is_missing, c.cited) for c in row.claims] == [
        ("b", "B is so.", True, "d1, d2"), ("a", "A is so.", False, ""),
    ]  # fmt: skip
    assert row.missing == {"b"}
    # A missing claim without reviewed text is still listed: absence of evidence is what the reader is looking for.
    assert [c.claim_id for c in report_row(record_of({}, supported=["a"])).claims] == ["b"]


@pytest.mark.parametrize(
    ("value", "text", "note"),
    [
        (None, "", "null: lost or never recorded"),
        ("", "", "an empty text"),
        ([], "", "[]: an empty list"),
        ({"sha256": "sha256:1", "excerpt": "begin"}, "begin", "an excerpt was kept: sha256:1"),
        ({"sha256": "sha256:1", "excerpt": None}, "", "only its hash was kept: sha256:1"),
        (0.5, "0.5", ""),
        (False, "false", ""),
        ({"supported": 2, "missing": ["a"], "by": "x"}, 'supported: 2\nmissing: ["a"]\nby: x', ""),
        ({}, "{}", ""),
    ],
)
def test_what_is_missing_or_not_kept_is_said_in_words(value: Any, text: str, note: str) -> None:
    field = field_of("name", value)
    assert (field.text, field.note) == (text, note)


def test_long_texts_and_lists_are_cut_and_say_so() -> None:
    assert cut("x" * (LONGEST + 1234)).endswith("… (1,234 more characters in records.jsonl)")
    field = field_of("ids", [str(n) for n in range(MOST_ITEMS + 7)])
    assert len(field.items) == MOST_ITEMS
    assert field.note == "7 more"
    row = report_row(record_of({"retrieved": [{"text": "t"}] * (MOST_ITEMS + 2)}, supported=[]))
    assert len(row.passages) == MOST_ITEMS
    assert row.passages_note == "2 more passages in records.jsonl"


def test_only_spans_of_the_same_document_are_marked_in_a_passage() -> None:
    evidence = {
        "answer": "30 days",
        "citations": [{"claim_id": "a", "document_id": "d1", "span": "30 days"}],
        "retrieved": [{"document_id": "d1", "text": "30 days"}, {"document_id": "d2", "text": "30 days"}],
    }
    row = report_row(record_of(evidence, supported=["a"]))
    assert [passage.pieces for passage in row.passages] == [[Piece("30 days", "a")], [Piece("30 days", "")]]


def test_evidence_kept_by_hash_is_not_taken_for_the_evidence() -> None:
    hashed = {"sha256": "sha256:9", "excerpt": None}
    row = report_row(
        record_of({}, supported=["a"])._replace(evidence=dict.fromkeys(("answer", "retrieved", "claims"), hashed))
    )
    assert row.answer == []
    assert "only its hash was kept" in row.answer_note
    assert "only its hash was kept" in row.passages_note
    assert any(field.name == "claims" and "sha256:9" in field.note for field in row.others)
