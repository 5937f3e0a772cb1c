"""Known answers of medical_citation_accuracy (S3.2), and what its fixtures promise."""

from __future__ import annotations

import json
import time
from datetime import date
from pathlib import Path
from time import perf_counter

import pytest

from evalkit.cases.read import Case
from evalkit.contract import Outcome
from evalkit.decisions.gate import GateOptions, gate
from evalkit.decisions.triage import triage
from evalkit.metrics.medical import medical_citation_accuracy
from evalkit.mutate import kill_matrix
from evalkit.scoring.score import score_cases

FOLDER = Path(__file__).parents[2] / "fixtures" / "medical_citation_accuracy"
CITED = "Take it with food (Source: guide.pdf, Page: 10)."


def value(response: str, *passages: str) -> float:
    result = medical_citation_accuracy.score(response=response, retrieved_contexts=list(passages))
    assert isinstance(result.value, float)
    return result.value


def test_the_page_of_the_source_is_traced():
    result = medical_citation_accuracy.score(response=CITED, retrieved_contexts=["Content from guide.pdf page 10..."])
    assert (result.value, result.reason) == (1.0, "citations=1; verified=1")
    assert result.detail == {"citations": 1, "verified": 1, "untraced": [], "unread": []}


@pytest.mark.parametrize(
    "passage",
    [
        "Content from guide.pdf page 100...",
        "guide.pdf page 110",
        "guide.pdf, pages 100-110",
        "other.pdf page 10",
        "guide.pdf page 3, and other.pdf page 10",
        "guide.pdf quotes other.pdf page 10",
        "guide.pdf page 3: see page 10",
    ],
)
def test_page_10_is_not_found_in_page_100_nor_in_another_document(passage: str):
    assert value(CITED, passage) == 0.0


@pytest.mark.parametrize(
    ("bracket", "expected"),
    [
        # guide.pdf page 10 was retrieved, label.pdf page 2 was not: one of two is 1 / 2
        ("(Source: guide.pdf, Page: 10; Source: label.pdf, Page: 2)", 0.5),
        ("(Source: guide.pdf, Page: 10; label.pdf, Page: 2)", 0.5),
        ("(Sources: guide.pdf, Page: 10; label.pdf, Page: 2)", 0.5),
        ("(Source: guide.pdf, Page: 10, Source: label.pdf, Page: 2)", 0.5),
        ("(Source: guide.pdf, Page: 10 and Source: label.pdf, Page: 2)", 0.5),
    ],
)
def test_several_citations_in_one_bracket_are_counted_one_by_one(bracket: str, expected: float):
    result = medical_citation_accuracy.score(response=bracket, retrieved_contexts=["guide.pdf page 10"])
    assert (result.value, result.detail["citations"]) == (expected, 2)
    assert result.detail["untraced"] == ["label.pdf, page 2"]


@pytest.mark.parametrize("dash", ["-", "\u2010", "\u2013", "\u2014", "\u2212"])
def test_a_range_of_pages_with_any_dash(dash: str):
    cited = f"Rest (Source: guide.pdf, Pages: 9{dash}11)."
    assert value(cited, "guide.pdf pages 9-10", f"guide.pdf pages 10{dash}11") == 1.0
    assert value(cited, "guide.pdf page 9", "guide.pdf page 11") == 0.0


@pytest.mark.parametrize(
    "passage", ["guide.pdf pages 1-999999999", "guide.pdf page " + "9" * 5_000, "guide.pdf pages 1-" + "9" * 40]
)
def test_no_number_of_a_passage_costs_memory_or_raises(passage: str):
    began = time.perf_counter()
    result = medical_citation_accuracy.measure({"response": CITED, "retrieved_contexts": [passage]})
    assert result.state == "scored"
    assert time.perf_counter() - began < 1


def test_no_citation_is_scored_zero_and_the_answer_owns_it():
    row = {"case_id": "a", "response": "Take it with food.", "retrieved_contexts": ["guide.pdf page 10"]}
    (record,) = score_cases(medical_citation_accuracy, [Case(1, "a", "default", True, row)])
    assert (record.state, record.value, record.reason) == ("scored", 0.0, "citations=0; verified=0")
    assert triage(record, medical_citation_accuracy.contract).owner == "answer"


def test_a_failing_row_of_a_gate_names_the_answer_as_owner(tmp_path: Path):
    rows = tmp_path / "rows.jsonl"
    row = {"case_id": "a", "response": "Take it with food.", "retrieved_contexts": []}
    rows.write_text("".join(json.dumps(row | {"case_id": name}) + "\n" for name in "abc"), encoding="utf-8")
    options = GateOptions(as_of=date(2026, 12, 1))
    result = gate(medical_citation_accuracy, rows, FOLDER / "policy.toml", options=options)
    assert result.outcome is Outcome.quality_failed
    (blocker,) = result.blockers
    assert (blocker.owner, blocker.rows[0].owner) == ("answer", "answer")


def test_a_part_of_the_citations():
    # verified 2 of citations 3: 2 / 3
    response = f"{CITED} Not at night (Source: label.pdf, Page: 2). Nor twice (Source: label.pdf, Page: 3)."
    result = medical_citation_accuracy.score(
        response=response, retrieved_contexts=["guide.pdf page 10", "label.pdf page 2"]
    )
    assert result.value == 2 / 3
    assert result.reason == "citations=3; verified=2; untraced=label.pdf, page 3"


@pytest.mark.parametrize(
    ("title", "passage"),
    [
        ("Heart, Lung, and Blood.pdf", "From Heart, Lung, and Blood.pdf, page 10: ..."),
        ("Guide (2nd (rev.) ed.).pdf", "[Guide (2nd (rev.) ed.).pdf p. 10]"),
        ("Prävention.pdf", "Pra\u0308vention.pdf, page 10"),
        ("医疗指南.pdf", "医疗指南.pdf page 10"),
        ("دليل.pdf", "دليل.pdf page 10"),
        ("GUIDE.PDF", "guide.pdf page 10"),
        ("WHO Guideline 2023", "Page 10 of the WHO guideline 2023"),
    ],
)
def test_titles_with_commas_brackets_other_scripts_and_letter_case(title: str, passage: str):
    assert value(f"Rest (Source: {title}, Page: 10).", passage) == 1.0


@pytest.mark.parametrize(
    ("unread", "shown"),
    [
        ("(Source: guide.pdf)", "(Source: guide.pdf)"),
        ("(Source: guide.pdf, Page: ten)", "(Source: guide.pdf, Page: ten)"),
        ("(Source: guide.pdf, Pages: 12-10)", "(Source: guide.pdf, Pages: 12-10)"),
        ("[Source: guide.pdf, Page: 10]", "[Source: guide.pdf, Page: 10"),
        ("(Source: guide.pdf, Page: 10", "(Source: guide.pdf, Page: 10"),
    ],
)
def test_it_says_what_it_could_not_read(unread: str, shown: str):
    # one of two citations is verified: 1 / 2
    result = medical_citation_accuracy.score(
        response=f"Rest (Source: guide.pdf, Page: 10). Sleep {unread}", retrieved_contexts=["guide.pdf page 10"]
    )
    assert result.value == 0.5
    assert result.detail["unread"] == [shown]
    assert result.reason == f"citations=2; verified=1; unread={shown}"


@pytest.mark.parametrize("hostile", ["(Source: " * 20_000, "(" * 200_000, "(Source: a" + ", page" * 40_000 + ")"])
def test_a_hostile_answer_takes_no_longer_than_its_length(hostile: str):
    began = perf_counter()
    medical_citation_accuracy.score(response=hostile, retrieved_contexts=[hostile])
    assert perf_counter() - began < 5


def test_every_planted_fault_is_caught_by_a_named_case():
    matrix = kill_matrix("medical_citation_accuracy", FOLDER / "contract.jsonl")
    assert matrix.outcome is Outcome.passed
    assert len(matrix.of("killed")) > 190
    assert [m.operator for m in matrix.of("equivalent")] == ["deduplicate", "clamp"]


def test_the_release_rows_pass_and_say_why_the_policy_is_provisional():
    options = GateOptions(as_of=date(2026, 12, 1))
    result = gate(medical_citation_accuracy, FOLDER / "release.jsonl", FOLDER / "policy.toml", options=options)
    assert result.outcome is Outcome.passed
    assert result.ledger.total(blocking=True, decision="pass") == 11
    assert result.policy is not None
    assert result.policy.basis == "provisional"
