from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalkit import evidence_coverage
from evalkit.cases.read import BadLine, Case
from evalkit.contract import (
    Contract,
    EvalkitError,
    InvalidRow,
    Metric,
    MetricResult,
    discrete_metric,
    numeric_metric,
    ranking_metric,
    sha256_of,
)
from evalkit.scoring.records import Record
from evalkit.scoring.score import Scorer, score_cases


def contract(**changed: Any) -> Contract:
    answers: dict[str, Any] = {
        "version": "1", "measures": "m", "reviewed": (), "produced": ("text",), "invalid_when": ("never",),
        "consumed_by": "the gate", "cannot_establish": "truth",
    }  # fmt: skip
    return Contract(**(answers | changed))


@numeric_metric()
def length(text: str) -> float:
    if text == "unfit":
        msg = "text is unfit"
        raise InvalidRow(msg)
    if text == "boom":
        msg = "the metric broke"
        raise RuntimeError(msg)
    return len(text) / 10


def case(line: int = 1, **fields: Any) -> Case:
    fields = {"case_id": f"c{line}", "text": "12345"} | fields
    return Case(line, fields["case_id"], fields.get("slice", "default"), fields.get("blocking", True), fields)


def one(metric: Metric, found: Case | BadLine, **feeds: str) -> Record:
    (record,) = score_cases(metric, [found], feeds=feeds)
    return record


def test_a09_one_bad_row_leaves_the_others_alone():
    found = [case(1, text="a"), case(2, text=None), case(3, text="boom"), case(4, text="unfit"), case(5, text="c")]
    records = list(score_cases(length, found))
    assert [(r.case_id, r.state, r.value) for r in records] == [
        ("c1", "scored", 0.1), ("c2", "invalid", None), ("c3", "error", None), ("c4", "invalid", None),
        ("c5", "scored", 0.1),
    ]  # fmt: skip
    assert [r.owner for r in records] == [None, "test-data", "metric", "test-data", None]


def test_b01_one_record_a_line_in_the_order_of_the_file(tmp_path: Path):
    rows = [{"case_id": c, "text": c} for c in "dbca"]
    path = tmp_path / "cases.jsonl"
    path.write_text(
        "\n".join(json.dumps(row) for row in rows) + "\nnot json\n\n" + json.dumps(rows[0] | {"case_id": "e"})
    )
    records = list(score_cases(length, path))
    assert [(r.line, r.case_id, r.state) for r in records] == [
        (1, "d", "scored"), (2, "b", "scored"), (3, "c", "scored"), (4, "a", "scored"), (5, None, "invalid"),
        (7, "e", "scored"),
    ]  # fmt: skip


def test_a_record_carries_what_the_row_says_of_itself():
    lineage = {
        "system_revision": "r9", "rubric_version": "2", "evidence_version": "e", "response_sha256": "h",
        "source": {"from": "x"}, "stratum": "s", "prevalence_weight": 0.5, "provenance": "synthetic", "role": "guard",
        "pair_id": "p",
    }  # fmt: skip
    record = one(
        length,
        case(
            7, slice="refunds", blocking=False, family="f", partition="held_out", requirement_set_version="v", **lineage
        ),
    )
    assert (record.line, record.slice, record.blocking) == (7, "refunds", False)
    assert (record.family, record.partition, record.requirement_set_version) == ("f", "held_out", "v")
    assert record.lineage == lineage
    assert (record.inputs, record.input_hash) == ({"text": "12345"}, sha256_of({"text": "12345"}))
    assert (record.contract_version, record.judge, record.decision, record.minimum) == ("0", None, None, None)


def test_a_bad_line_is_an_invalid_record_of_the_test_data_owner():
    record = one(length, BadLine(3, None, "not valid JSON", "bad_json", "sha256:1"))
    assert (record.line, record.state, record.reason, record.error_kind) == (3, "invalid", "not valid JSON", "bad_json")
    assert (record.inputs, record.evidence, record.input_hash, record.seen_hash) == (None, None, "sha256:1", None)
    assert record.owner == "test-data"


def test_s1_6_a_row_of_another_contract_version_is_invalid_and_says_that_it_is_a_contract_change():
    record = one(evidence_coverage, case(contract_version="0", required_claim_ids=["a"], supported_claim_ids=["a"]))
    assert (record.state, record.value, record.error_kind) == ("invalid", None, "contract_version")
    assert record.reason.startswith(
        "contract change: the row is written for contract version '0', evidence_coverage has '1'"
    )
    same = one(evidence_coverage, case(contract_version="1", required_claim_ids=["a"], supported_claim_ids=["a"]))
    assert (same.state, same.contract_version) == ("scored", "1")


def test_a_metric_without_a_contract_has_version_0():
    assert one(length, case(contract_version="0")).state == "scored"
    assert one(length, case(contract_version="1")).error_kind == "contract_version"


def test_the_contract_may_name_other_owners():
    owned = numeric_metric(contract=contract(owners={"invalid": "adapter", "error": "provider"}), name="owned")(
        length.function
    )
    assert one(owned, case(text="unfit")).owner == "adapter"
    assert one(owned, case(text="boom")).owner == "provider"
    assert one(owned, BadLine(1, None, "r", "bad_json", "s")).owner == "adapter"


# --- which key feeds which parameter ----------------------------------------------------------------------------------


def test_a_parameter_may_be_fed_by_another_key():
    record = one(length, case(answer="123", text="not this"), text="answer")
    assert (record.value, record.inputs) == (0.3, {"text": "123"})
    assert Scorer(length, {"text": "answer"}).required == ("answer",)


def test_a_parameter_with_a_reserved_name_must_be_fed():
    @numeric_metric()
    def reserved(source: str) -> float:
        return 1.0

    with pytest.raises(EvalkitError, match="has the name of a reserved key") as caught:
        Scorer(reserved)
    assert caught.value.do == "say which key feeds it: --input source=KEY"
    assert one(reserved, case(origin="x"), source="origin").state == "scored"
    assert one(reserved, case(source="x"), source="source").state == "scored"


def test_a_feed_for_a_parameter_that_does_not_exist_is_refused():
    with pytest.raises(EvalkitError, match="--input names 'txt', which length does not take") as caught:
        Scorer(length, {"txt": "a"})
    assert caught.value.do == "its parameters are text"


# --- what leaves the row ----------------------------------------------------------------------------------------------


def masked(text: str) -> str:
    return text.replace("Ada", "[name]")


def test_s1_18_nothing_of_a_row_is_kept_before_it_was_redacted():
    @ranking_metric(allowed_values=2, contract=contract(redact=masked))
    def ranked(text: str) -> MetricResult:
        return MetricResult([text, {"by": text}], f"first {text}", {"seen": (text,), text: text})

    record = one(ranked, case(text="Ada", source="Ada", evidence={"answer": "Ada", "own": ["Ada"]}))
    assert record.state == "scored"
    assert b"Ada" not in record.to_json()
    assert record.value == ["[name]", {"by": "[name]"}]


def test_s1_18_a_bad_line_is_redacted_too():
    metric = numeric_metric(contract=contract(redact=masked), name="m")(length.function)
    record = one(metric, BadLine(1, "c", "family must be a text; got 'Ada'", "bad_case", "sha256:1"))
    assert record.reason == "family must be a text; got '[name]'"


@pytest.mark.parametrize("redact", [lambda _: 1 / 0, lambda _: None], ids=["raises", "gives no text"])
def test_s1_18_where_redaction_fails_nothing_of_the_row_is_kept(redact: Callable[[str], str]):
    metric = numeric_metric(contract=contract(redact=redact), name="m")(length.function)
    record = one(metric, case(text="Ada", source="Ada", evidence={"answer": "Ada"}))
    assert (record.state, record.value, record.error_kind, record.owner) == ("error", None, "redaction", "metric")
    assert (record.inputs, record.evidence, record.detail, record.lineage) == (None, None, {}, {})
    assert b"Ada" not in record.to_json()
    bad = one(metric, BadLine(2, None, "got 'Ada'", "bad_case", "sha256:1"))
    assert (bad.state, bad.error_kind, bad.input_hash) == ("error", "redaction", "sha256:1")
    assert b"Ada" not in bad.to_json()


@pytest.mark.parametrize(("reason", "detail"), [(5, {}), ("r", [1]), ("r", "text")], ids=repr)
def test_a_reason_that_is_no_text_or_a_detail_that_is_no_object_is_the_metrics_error(reason: Any, detail: Any):
    @numeric_metric()
    def careless(text: str) -> MetricResult:
        return MetricResult(1.0, reason, detail)

    record = one(careless, case())
    assert (record.state, record.value, record.error_kind, record.owner) == ("error", None, "wrong_shape", "metric")
    assert "a text and an object are expected" in record.reason


def test_a10_a_result_object_is_taken_apart_at_once():
    @discrete_metric()
    def verdict(text: str) -> MetricResult:
        return MetricResult("fail", "because", {"n": 1})

    record = one(verdict, case())
    assert (record.value, record.reason, record.detail) == ("fail", "because", {"n": 1})
