from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.contract import InvalidRow, MetricResult
from evalkit.metrics.evidence_coverage import evidence_coverage

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"


def measured(required: Any, supported: Any) -> Any:
    return evidence_coverage.measure({"required_claim_ids": required, "supported_claim_ids": supported})


# --- known answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("required", "supported", "value", "reason"),
    [
        # 2 of 3 supported: 2/3; the one left over is named.
        (
            ["window", "refund-method", "fee"],
            ["fee", "window"],
            2 / 3,
            "supported=2; required=3; missing=refund-method",
        ),
        # 0 of 3: a real answer that supports nothing is 0.0, and all three are named in sorted order.
        (["c", "a", "b"], [], 0.0, "supported=0; required=3; missing=a,b,c"),
        # 1 of 1: with k = 1 there are two values, 0.0 and 1.0.
        (["a"], ["a"], 1.0, "supported=1; required=1; missing=none"),
        # 1 of 8 = 0.125: no rounding, nothing cut off.
        (list("hgfedcba"), ["d"], 0.125, "supported=1; required=8; missing=a,b,c,e,f,g,h"),
        # Ids are trimmed at the ends: " a" is "a" on both sides, so 1 of 2; inner space stays.
        ([" a", "b  c"], ["a\t"], 0.5, "supported=1; required=2; missing=b  c"),
        # Case counts: "Fee" and "fee" are two claims; 1 of 2.
        (["Fee", "fee"], ["fee"], 0.5, "supported=1; required=2; missing=Fee"),
    ],
)
def test_it_is_the_share_of_required_claims_that_are_supported(
    required: list[str], supported: list[str], value: float, reason: str
):
    result = measured(required, supported)
    assert (result.state, result.value, result.reason) == ("scored", value, reason)


def test_the_detail_holds_the_same_facts_structured():
    assert measured(["c", "b", "a"], ["a"]).detail == {"supported": 1, "required": 3, "missing": ["b", "c"]}


@pytest.mark.parametrize(
    ("required", "supported", "reason"),
    [
        ([], [], "required_claim_ids must not be empty"),
        ([], ["a"], "required_claim_ids must not be empty"),
        (["a", ""], [], "required_claim_ids contains a blank claim ID"),
        (["a"], [" \t"], "supported_claim_ids contains a blank claim ID"),
        (["a", "a"], [], "required_claim_ids contains duplicate claim IDs"),
        (["a", " a"], [], "required_claim_ids contains duplicate claim IDs"),
        (["a", "b"], ["a", "a "], "supported_claim_ids contains duplicate claim IDs"),
        (["c1"], ["old-c1"], "supported_claim_ids contains unknown IDs: old-c1"),
        (["c1"], ["z", "C1", "c1"], "supported_claim_ids contains unknown IDs: C1,z"),
    ],
)
def test_a_row_that_breaks_the_contract_is_invalid_with_the_reason(
    required: list[str], supported: list[str], reason: str
):
    result = measured(required, supported)
    assert (result.state, result.value, result.reason, result.error_kind) == ("invalid", None, reason, "contract")


def test_called_as_the_function_it_is_it_raises():
    assert evidence_coverage(["a"], ["a"]) == MetricResult(
        1.0, "supported=1; required=1; missing=none", {"supported": 1, "required": 1, "missing": []}
    )
    with pytest.raises(InvalidRow, match="required_claim_ids must not be empty"):
        evidence_coverage([], [])


def test_c09_lost_and_none_are_different_facts():
    assert measured(["a"], None).reason.startswith("supported_claim_ids is null (lost or never recorded)")
    assert measured(["a"], []).value == 0.0
    assert measured(None, []).state == "invalid"


def test_a_missing_argument_is_a_type_error_at_the_call():
    with pytest.raises(TypeError, match="supported_claim_ids is absent"):
        evidence_coverage.score(required_claim_ids=["a"])


# --- its fixtures ---------------------------------------------------------------------------------------------------


def cases(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FIXTURES / file).read_text(encoding="utf-8").splitlines() if line.strip()]


@pytest.mark.parametrize("case", cases("contract.jsonl"), ids=lambda case: case["case_id"])
def test_every_contract_case_comes_to_what_its_oracle_says(case: dict[str, Any]):
    result, oracle = evidence_coverage.measure(case), case["oracle"]
    if "value" in oracle:
        assert (result.state, result.value, result.reason) == ("scored", oracle["value"], oracle["reason"])
    else:
        assert result.state == "invalid"
        assert oracle["invalid"] in result.reason


def test_every_release_row_is_scored():
    rows = cases("release.jsonl")
    assert {evidence_coverage.measure(row).state for row in rows} == {"scored"}
    assert len(rows) >= 30
