from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.contract import EvalkitError
from evalkit.decisions.policy import read_policy
from evalkit.pages.notebooks import (
    Judged,
    contract_markdown,
    hidden_by_average,
    judge,
    lenient_frame,
    open_metric,
    resemblance,
    resolutions,
    worked_example,
)
from evalkit.pages.notebooks.tempting import ALIKE
from evalkit.scoring.load import load_metric

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures/evidence_coverage"
MINE = """
from evalkit import discrete_metric, numeric_metric, ranking_metric

@numeric_metric(allowed_values=(0.0, 10.0))
def length(answer: str) -> float:
    return min(len(answer) / 2, 10.0)

@discrete_metric(allowed_values=["pass", "fail"])
def polite(answer: str) -> str:
    return "pass" if "please" in answer else "fail"

@ranking_metric(allowed_values=2)
def ranked(answer: str) -> list:
    return [answer, "b"]
"""
POLICY = """
schema = 1
name = "p"
version = "1"
metric = "{metric}"
contract_version = "0"
approved_by = "x"
approved_on = 2026-11-01
expires_on = 2027-11-01
rationale = "x"
[slices.default]
{limit}
"""


def judged(cases: str = "release.jsonl") -> Judged:
    return judge(load_metric("evidence_coverage"), FIXTURES / cases, FIXTURES / "policy.toml", as_of="2026-12-01")


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    rows = [{"case_id": "a", "answer": "please wait"}, {"case_id": "b", "answer": "no"}, {"case_id": "c", "answer": 7}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")

    def run(name: str, limit: str) -> Judged:
        (tmp_path / "policy.toml").write_text(POLICY.format(metric=name, limit=limit))
        return judge(open_metric(f"mine.py:{name}"), "rows.jsonl", "policy.toml", as_of="2026-12-01")

    return run


def test_every_row_is_kept_with_its_decision_and_the_gate_counts_the_same() -> None:
    found = judged()
    assert len(found.records) == found.result.ledger.total() == 32
    assert sum(record.decision == "pass" for record in found.records) == found.result.ledger.total(decision="pass")
    assert [record.line for record in found.records] == sorted(record.line for record in found.records)


def test_rows_of_a_file_that_is_read_twice_are_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = '{"case_id": "twice", "required_claim_ids": ["a"], "supported_claim_ids": ["a"]}\n'
    (tmp_path / "rows.jsonl").write_text(row + row)
    found = judge(load_metric("evidence_coverage"), "rows.jsonl", FIXTURES / "policy.toml", as_of="2026-12-01")
    assert [(record.line, record.state) for record in found.records] == [(1, "invalid"), (2, "invalid")]


def test_relative_paths_start_where_those_of_a_notebook_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "tests")
    place = "fixtures/evidence_coverage"
    found = judge(
        open_metric("evidence_coverage"), f"{place}/release.jsonl", f"{place}/policy.toml", as_of="2026-12-01"
    )
    assert found.result.outcome.name == "passed"
    metric = open_metric(f"{place}/incidents/metric_edited/old_metric.py:evidence_coverage")
    assert metric.name == "evidence_coverage"


def test_a_metric_that_does_not_exist_is_refused_in_plain_words() -> None:
    with pytest.raises(EvalkitError, match="did you mean 'evidence_coverage'"):
        open_metric("evidence_covrage")


def test_the_bounds_are_the_policy_s() -> None:
    assert judged().bounds() == {"default": 0.75, "billing-critical": 1.0, "multilingual": 0.75}


def test_the_screen_is_that_of_the_gate() -> None:
    assert "QUALITY FAILED (exit code 1)" in judged("incident.jsonl").screen()


def test_one_row_is_told_in_words() -> None:
    text = judged("incident.jsonl").row_text(0)
    assert "refund-basics-card · line 1 · slice default · blocking" in text
    assert "refund-method: The refund goes back to the original payment method." in text
    assert judged().row_text(99) == "there are only 32 rows"


def test_the_worked_example_is_two_of_three_claims_for_a_metric_of_claims() -> None:
    example = worked_example(judged())
    result = load_metric("evidence_coverage").score(**example.inputs)
    assert example.title == "two of three claims"
    assert (result.value, result.reason) == (2 / 3, "supported=2; required=3; missing=refund-method")


def test_another_metric_s_example_is_a_row_of_its_own(mine: Any) -> None:
    # "please wait" has 11 characters: 5.5; "no" has 2: 1.0; row c is invalid.
    example = worked_example(mine("length", "minimum = 5.0"))
    assert (example.title, dict(example.inputs)) == ("row b", {"answer": "no"})
    assert worked_example(mine("ranked", 'require = ["x"]')).inputs


def test_where_nothing_was_scored_there_is_no_example(mine: Any, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("{}\n")
    example = worked_example(mine("length", "minimum = 5.0"))
    assert (example.title, dict(example.inputs)) == ("no row was scored, so there is none to work through", {})


def test_the_contract_is_shown_as_it_is_written() -> None:
    text = str(contract_markdown(load_metric("evidence_coverage")).data)
    assert "- **What one property is measured?** the share of a case's required claims" in text
    assert text.count("**When is a row invalid, not bad?**") == 4
    assert "- **Which did the system produce?** supported_claim_ids" in text


def test_a_metric_without_a_contract_says_which_questions_are_open(mine: Any) -> None:
    text = str(contract_markdown(mine("length", "minimum = 5.0").result.metric).data)
    assert text.count("not answered; evalkit.attach(metric, Contract(...)) answers it") == 4


def test_markup_in_a_contract_is_shown_not_obeyed() -> None:
    from dataclasses import replace

    metric = load_metric("evidence_coverage")
    assert metric.contract is not None
    hostile = replace(metric, contract=replace(metric.contract, measures="<img src=x> **bold** [a](b)\n# head"))
    assert r"\<img src=x\> \*\*bold\*\* \[a\](b) \# head" in str(contract_markdown(hostile).data)


def test_s1_13_resolution_speaks_of_each_slice_and_of_claims() -> None:
    found = {resolution.slice: resolution for resolution in resolutions(judged())}
    assert sorted(found) == ["billing-critical", "default", "multilingual"]
    assert "0.75 on 4 claims = 3 of 4" in [meaning.words for meaning in found["default"].meanings]
    assert found["default"].n == 13


def test_labels_have_no_resolution(mine: Any) -> None:
    assert resolutions(mine("polite", 'require = ["pass"]')) == []


# --- the tempting numbers --------------------------------------------------------------------------------------------


def test_the_average_hides_rows_below_the_minimum(mine: Any) -> None:
    # Values 5.5 and 1.0: mean 3.25, minimum 3.0; row b is below. One row at the mean may lose 3.25 / 2 = 1.625 of the
    # average, and only 0.25 lies between: none may fall to zero.
    found = mine("length", "minimum = 3.0")
    (hidden,) = hidden_by_average(found.records, found.result.policy)
    assert (hidden.mean, hidden.rows, hidden.could_fall_to_zero, hidden.below) == (3.25, 2, 0, ("b",))


def test_how_many_rows_may_lose_everything_before_the_average_notices() -> None:
    # Ten rows at 1.0 and a minimum of 0.75: two zeros leave 0.8, three leave 0.7.
    found = judged()
    (row,) = [record for record in found.records if record.case_id == "charged-twice-today"]
    rows = [row._replace(slice="default", value=1.0)] * 10
    (hidden,) = hidden_by_average(rows, read_policy(FIXTURES / "policy.toml").policy)
    assert hidden.could_fall_to_zero == 2
    # A hundred rows at 0.8 under 0.75: each zero takes 0.008 off, and 0.05 lies between: six.
    (hidden,) = hidden_by_average([row._replace(slice="default", value=0.8)] * 100, found.result.policy)
    assert hidden.could_fall_to_zero == 6
    # Three rows at 0.9 and a fourth at 0.3 make 0.75 exactly: nothing may fall.
    exact = [row._replace(slice="default", value=value) for value in (0.9, 0.9, 0.9, 0.3)]
    assert hidden_by_average(exact, found.result.policy)[0].could_fall_to_zero == 0
    assert hidden_by_average([row._replace(slice="default", value=0.0)], found.result.policy)[0].below == ()


def test_without_a_usable_policy_or_a_minimum_there_is_nothing_to_hold_the_average_against(mine: Any) -> None:
    found = mine("polite", 'require = ["pass"]')
    assert hidden_by_average(found.records, found.result.policy) == []
    assert hidden_by_average(found.records, None) == []


def test_sounding_alike_lets_through_what_no_citation_supports() -> None:
    lenient = lenient_frame(judged("incident.jsonl").in_order()).set_index("case_id")
    assert len(lenient) == 32
    row = lenient.loc["refund-basics-card"]
    assert (row["strict"], row["lenient"], row["let_through"]) == (2 / 3, 1.0, "refund-method")
    assert (lenient["lenient"] >= lenient["strict"]).all()
    assert lenient.loc["partner-shop-drop-off", "lenient"] == 0.0


def test_a_sentence_and_its_denial_sound_alike() -> None:
    claim, denial = "The fee is refunded within a week.", "The fee is never refunded within a week."
    assert resemblance(claim, denial) > ALIKE
    assert resemblance("Snow is white.", "Invoices are sent by post.") < ALIKE


def test_rows_without_answer_claims_or_missing_ids_are_left_out(mine: Any) -> None:
    found = mine("length", "minimum = 5.0")
    assert lenient_frame(found.records).empty
    (row, *_) = judged("incident.jsonl").in_order()
    bare = [row._replace(evidence=None), row._replace(evidence={"answer": "x", "claims": {}}), row._replace(detail={})]
    assert lenient_frame(bare).empty
    assert list(lenient_frame([]).columns) == ["case_id", "slice", "claims", "strict", "lenient", "let_through"]
