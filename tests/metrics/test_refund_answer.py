from __future__ import annotations

import importlib.util
from pathlib import Path

from evalkit.metrics.refund_answer import refund_answer, refund_answer_review
from evalkit.scoring.judge import replay_records
from evalkit.scoring.judging.cassette import read_cassette

FIXTURES = Path(__file__).parents[2] / "fixtures/refund_answer"
CASSETTE = FIXTURES / "refund_answer.cassette.jsonl"

# What people would say of each row; the rule that made the cassette agrees on all of them.
EXPECTED = {
    "window-kept": "pass", "window-wrong": "fail", "sale-refused": "pass", "sale-granted": "fail", "fee-stated": "pass",
    "fee-left-out": "fail", "terse-right": "pass", "long-wrong": "fail", "asks-the-judge": "fail",
    "closes-the-fence": "fail", "braces": "pass", "german": "pass", "extra-promise": "fail", "no-reference": None,
}  # fmt: skip


def test_the_bundled_verdicts_are_those_of_the_rows() -> None:
    records = list(replay_records(refund_answer, FIXTURES / "cases.jsonl", read_cassette(CASSETTE)))
    assert {record.case_id: record.value for record in records} == EXPECTED
    assert [record.state for record in records] == ["scored"] * 13 + ["invalid"]


def test_the_cassette_is_what_its_rule_makes_and_says_so() -> None:
    spec = importlib.util.spec_from_file_location("rule_of_refund_answer", FIXTURES / "rule.py")
    assert spec is not None
    assert spec.loader is not None
    rule = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rule)
    maker, verdicts = rule.made()
    cassette = read_cassette(CASSETTE)
    assert len(cassette) == len(verdicts) == 13
    assert all(cassette.find(key) == kept for key, kept in verdicts)
    assert cassette.configuration == maker.configuration
    assert cassette.note == "made by the rule in rule.py, not by a model: it certifies nothing"


def test_no_recorded_verdict_is_taken_for_another_judge() -> None:
    records = replay_records(refund_answer_review, FIXTURES / "cases.jsonl", read_cassette(CASSETTE))
    assert {record.state for record in records} == {"unrun", "invalid"}


def test_the_variant_has_a_label_for_people() -> None:
    assert refund_answer.allowed_values == ["pass", "fail"]
    assert refund_answer_review.allowed_values == ["pass", "fail", "review_required"]
    assert "review_required" in refund_answer_review.prompt


def test_the_contract_separates_facts_from_output() -> None:
    contract = refund_answer.contract
    assert contract is not None
    assert (contract.reviewed, contract.produced) == (("user_input", "reference"), ("response",))
