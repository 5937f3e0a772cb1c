from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from control_rows import BUNDLED, changed, rows_of, write_rows

from evalkit.cases.control_file import ROLES, read_controls
from evalkit.contract import EvalkitError
from evalkit.contract.judge import Judge
from evalkit.metrics.refund_answer import refund_answer


def test_the_bundled_controls_have_every_role_and_seven_pairs() -> None:
    suite = read_controls(BUNDLED / "controls.jsonl", refund_answer)
    assert len(suite.controls) == 26
    assert suite.absent == []
    # roles in the order of the table: 3 positive, 4 negative, 2 boundary, ...
    assert [len(suite.of(role)) for role in ROLES] == [3, 4, 2, 2, 3, 2, 4, 4, 2]
    assert {pair: len(members) for pair, members in suite.pairs.items()} == {
        "jacket": 4, "clearance": 2, "fee-limit": 2, "chair": 2, "vase-greeting": 2, "vase-question": 2, "tour": 2,
    }  # fmt: skip


@pytest.mark.parametrize("role", ROLES)
def test_a_suite_without_a_role_says_so(role: str) -> None:
    suite = read_controls(BUNDLED / "controls.jsonl", refund_answer).without(role)
    assert suite.absent == [role]


def refusal(tmp_path: Path, rows: list[dict[str, Any]], judge: Judge = refund_answer) -> str:
    with pytest.raises(EvalkitError) as caught:
        read_controls(write_rows(tmp_path / "controls.jsonl", rows), judge)
    return str(caught.value)


def pops(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda row: row.pop(key)


def sets(**values: Any) -> Callable[[dict[str, Any]], object]:
    return lambda row: row.update(values)


LINES = [
    ("jacket-right", pops("rationale"), "line 1 (jacket-right): rationale is missing: say why people expect that"),
    ("jacket-right", sets(rationale="  "), "rationale is missing"),
    ("jacket-right", pops("evidence"), "evidence is missing: name what the rationale rests on"),
    ("jacket-right", sets(evidence={"reference": ""}), "evidence is missing"),
    ("jacket-right", pops("source_version"), "source_version is missing: the version of the rubric it was written"),
    (
        "jacket-right",
        sets(source_version="refunds-0"),
        "it is stale: source_version is 'refunds-0', refund_answer is at 'refunds-1'; review it against the new",
    ),
    ("jacket-right", sets(rubric_version="refunds-0"), "it is stale: rubric_version is 'refunds-0'"),
    ("jacket-right", sets(contract_version="0"), "it is stale: contract_version is '0', refund_answer is at '1'"),
    ("jacket-right", sets(role="good"), "role must be one of positive, negative, boundary"),
    ("jacket-right", pops("role"), "role must be one of positive, negative, boundary"),
    ("jacket-right", sets(expected="passed"), "expected must be a label of refund_answer (pass, fail); got 'passed'"),
    ("jacket-right", pops("expected"), "expected must be a label of refund_answer (pass, fail); got None"),
    ("jacket-right", sets(expected="error"), "expected must be a label of refund_answer"),
    ("no-reference", sets(expected="fail"), "expected must be 'invalid' for the role missing_evidence; got 'fail'"),
    ("reply-in-prose", sets(expected="fail"), "expected must be 'error' for the role evaluator_error; got 'fail'"),
    ("reply-in-prose", pops("reply"), "reply is missing: record the reply that failed"),
    ("jacket-right", sets(reply={"content": "x"}), "reply is for the role evaluator_error"),
    ("fee-as-agreed", pops("pair_id"), "pair_id is missing: a control of the role boundary is compared"),
    ("jacket-right", sets(case_id="jacket-other-window"), "case_id 'jacket-other-window' occurs more than once"),
    ("jacket-right", sets(slice=3), "slice must be a non-blank text"),
]


@pytest.mark.parametrize(("case_id", "change", "expected"), LINES)
def test_s2_9_a_line_that_is_not_in_order_refuses_the_file(
    tmp_path: Path, case_id: str, change: Callable[[dict[str, Any]], object], expected: str
) -> None:
    assert expected in refusal(tmp_path, changed(case_id, change))


PAIRS = [
    ("clearance-granted", sets(pair_id="else"), "a negative is changed from one positive; here are 0"),
    ("other-words", sets(pair_id="clearance"), "a negative is changed from one positive; here are 2"),
    ("clearance-granted", sets(expected="pass"), "clearance-granted expects 'pass', like the positive"),
    ("clearance-granted", sets(user_input="Another question?"), "differs from clearance-refused in 2 inputs"),
    (
        "clearance-granted",
        sets(response="Sure, just send whatever you like whenever it suits you best."),
        "the response of clearance-granted is another text than that of clearance-refused (",
    ),
    ("fee-one-more", sets(expected="pass"), "two controls with different labels stand on two sides of a limit"),
    ("fee-one-more", sets(pair_id="chair"), "its members have the roles boundary, persuasion"),
    ("chair-grand", sets(response="Refunded within 3 days, to your card."), "is not 2 times as long as its twin"),
    ("chair-grand", sets(expected="pass"), "are a long wrong answer and its terse right twin"),
    ("vase-greeting", sets(pair_id="vase-question"), "an irrelevant change keeps the label"),
    ("tour-72", sets(expected="pass"), "differ in one required fact, which flips the label"),
    ("tour-72", sets(response="No."), "tour-72 differs from tour-48 in 2 inputs (reference, response)"),
]


@pytest.mark.parametrize(("case_id", "change", "expected"), PAIRS)
def test_s2_9_a_pair_whose_members_differ_in_more_than_they_should_is_refused(
    tmp_path: Path, case_id: str, change: Callable[[dict[str, Any]], object], expected: str
) -> None:
    assert expected in refusal(tmp_path, changed(case_id, change))


def test_a_persuasion_that_fails_the_terse_answer_is_the_wrong_way_round(tmp_path: Path) -> None:
    rows = rows_of()
    for row in rows:
        if row["role"] == "persuasion":
            row["expected"] = {"pass": "fail", "fail": "pass"}[row["expected"]]
    assert "chair-grand is the longer one and expects 'pass'" in refusal(tmp_path, rows)


def test_the_same_question_cannot_have_two_expected_labels(tmp_path: Path) -> None:
    rows = rows_of()
    twin = {**rows[0], "case_id": "twin", "role": "injection", "expected": "fail"}
    del twin["pair_id"]
    found = refusal(tmp_path, [*rows, twin])
    assert "line 27 (twin): it has the inputs of jacket-right, but expects 'fail' instead of 'pass'" in found


def test_five_problems_are_spelt_out_and_the_rest_counted(tmp_path: Path) -> None:
    rows = rows_of()
    for row in rows[:8]:
        del row["rationale"]
    found = refusal(tmp_path, rows)
    assert found.count("rationale is missing") == 5
    assert "8 problems in the controls" in found
    assert "and 3 more" in found


def test_an_empty_file_and_no_file_are_refused(tmp_path: Path) -> None:
    assert "it holds no control" in refusal(tmp_path, [])
    with pytest.raises(EvalkitError, match="there is no such file of controls"):
        read_controls(tmp_path / "none.jsonl", refund_answer)


def test_a_judge_of_numbers_has_no_labels_to_be_held_to(tmp_path: Path) -> None:
    scale = Judge(name="scale", prompt="How good is {response}?", allowed_values=(0.0, 1.0))
    assert "scale gives numeric values, and controls hold a judge to labels" in refusal(tmp_path, rows_of(), scale)
