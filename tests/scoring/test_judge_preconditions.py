from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from judges import CONTRACT, JUDGE

from evalkit.cases.read import Case
from evalkit.contract import EvalkitError
from evalkit.contract.judge import Judge
from evalkit.scoring.judging.preconditions import check_feeds, output_of, unmet

ROW = {"case_id": "a", "reference": "Berlin", "response": "Berlin."}
SHA = hashlib.sha256(b"Berlin.").hexdigest()


def problem(judge: Judge = JUDGE, **fields: Any) -> str | None:
    found = unmet(judge, Case(1, "a", "default", True, ROW | fields), ROW)
    return found.kind if found else None


def test_a_case_that_states_nothing_is_in_order() -> None:
    assert problem() is None


@pytest.mark.parametrize(("version", "kind"), [("1", None), ("2", "rubric_version"), ("1.0", "rubric_version")])
def test_the_rubric_version_must_be_the_judges(version: str, kind: str | None) -> None:
    assert problem(rubric_version=version) == kind


def test_a_declared_rubric_version_is_asked_instead_of_the_contracts() -> None:
    judge = replace(JUDGE, rubric_version="refunds-1")
    assert problem(judge, rubric_version="refunds-1") is None
    assert problem(judge, rubric_version="1") == "rubric_version"


def test_the_evidence_version_must_be_one_that_the_judge_may_be_shown() -> None:
    judge = replace(JUDGE, evidence_versions=("2026-10", "2026-11"))
    assert problem(judge, evidence_version="2026-11") is None
    assert problem(judge, evidence_version="2026-12") == "evidence_version"
    assert problem(judge) == "evidence_version"  # tracked, and the case does not say
    assert problem(evidence_version="2026-12") is None  # not tracked


@pytest.mark.parametrize(
    ("stated", "kind"), [(f"sha256:{SHA}", None), (SHA.upper(), None), ("sha256:0", "response_sha256")]
)
def test_only_the_captured_output_is_judged(stated: str, kind: str | None) -> None:
    assert problem(response_sha256=stated) == kind


def test_the_captured_output_is_the_declared_input_or_the_only_one_produced() -> None:
    assert output_of(JUDGE) == "response"
    both = replace(CONTRACT, reviewed=(), produced=("reference", "response"))
    assert output_of(replace(JUDGE, contract=both)) == "response"
    assert output_of(replace(JUDGE, output="reference")) == "reference"
    other = replace(CONTRACT, reviewed=(), produced=("draft", "final"))
    unclear = Judge(name="j", prompt="{draft} {final}", contract=other)
    assert output_of(unclear) is None
    found = unmet(unclear, Case(1, "a", "default", True, {"response_sha256": "x"}), {"draft": "a", "final": "b"})
    assert found is not None
    assert "does not say which input is the captured output" in found.reason


@pytest.mark.parametrize("key", ["oracle", "label", "gold", "rationale"])
def test_the_judge_is_never_fed_from_the_answer_key(key: str) -> None:
    with pytest.raises(EvalkitError, match=f"--input reference={key} would show right how the case should be judged"):
        check_feeds(JUDGE, {"reference": key})
    check_feeds(JUDGE, {"reference": "gold_passage"})


def test_what_a_case_says_beyond_its_inputs_is_never_shown() -> None:
    case = ROW | {"oracle": {"value": "pass"}, "gold": "MARKER", "rationale": "MARKER"}
    assert "MARKER" not in JUDGE.render({name: case[name] for name in ("reference", "response")})
