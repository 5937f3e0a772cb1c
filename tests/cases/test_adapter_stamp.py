"""The stamp beside cases: what it says while it holds, and every way in which it stops speaking for them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases.adapter_stamp import adapter_of, contract_terms, refuse_unaudited, stamp_in, stamp_path
from evalkit.contract import EvalkitError, Metric, Outcome, attach, sha256_file
from evalkit.metrics.evidence_coverage import CONTRACT, evidence_coverage
from evalkit.metrics.refund_answer import refund_answer


def stamped(tmp_path: Path, **changes: Any) -> Path:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"case_id": "a"}\n')
    facts = {
        "schema": 1,
        "name": "mine",
        "revision": "1",
        "fingerprint": "sha256:x",
        "mapping": {},
        "cases_sha256": sha256_file(cases),
        "audit": {
            "outcome": "passed",
            "failed": [],
            "metrics": {"evidence_coverage": contract_terms(evidence_coverage)},
        },
        **changes,
    }
    stamp_path(cases).write_text(json.dumps(facts))
    return cases


def problems(cases: Path, metric: Metric = evidence_coverage, **options: Any) -> list[tuple[str, str]]:
    stamp = adapter_of(cases)
    assert stamp is not None
    return [(p.outcome.name, p.sentence) for p in stamp.problems(metric, sha256_file(cases), **options)]


def test_cases_that_no_adapter_made_have_no_stamp(tmp_path: Path) -> None:
    assert adapter_of(tmp_path / "cases.jsonl") is None
    assert stamp_in({"metric": {}}) is None


def test_a_stamp_that_holds_stops_nothing(tmp_path: Path) -> None:
    cases = stamped(tmp_path)
    assert problems(cases) == []
    refuse_unaudited(evidence_coverage, cases)


def test_cases_that_were_changed_are_not_the_ones_that_were_audited(tmp_path: Path) -> None:
    cases = stamped(tmp_path)
    cases.write_text('{"case_id": "b"}\n')
    assert problems(cases) == [
        ("incomplete", "the cases were changed after the adapter wrote them: its audit is of another file")
    ]


@pytest.mark.parametrize(
    ("ended", "outcome"),
    [("incomplete", "incomplete"), ("quality_failed", "incomplete"), ("review_required", "review_required")],
)
def test_an_audit_that_did_not_pass_decides_the_gate(tmp_path: Path, ended: str, outcome: str) -> None:
    audit = {
        "outcome": ended,
        "failed": ["passages_whole"],
        "metrics": {"evidence_coverage": contract_terms(evidence_coverage)},
    }
    cases = stamped(tmp_path, audit=audit)
    assert problems(cases) == [(outcome, f"the audit of adapter 'mine' ended {ended}: passages_whole")]
    if outcome == "incomplete":
        with pytest.raises(EvalkitError, match="passages_whole"):
            refuse_unaudited(evidence_coverage, cases)
    else:
        refuse_unaudited(evidence_coverage, cases)


def test_s4_8_a_changed_contract_wants_the_controls_again_and_better_words_do_not(tmp_path: Path) -> None:
    cases = stamped(tmp_path)
    reworded = attach(evidence_coverage, replace(CONTRACT, measures="share of required claims that are supported"))
    assert problems(cases, reworded) == []
    stricter = attach(evidence_coverage, replace(CONTRACT, allows_missing={}))
    assert problems(cases, stricter) == [
        ("incomplete", "the contract of evidence_coverage changed after the adapter's controls ran")
    ]
    assert problems(cases, refund_answer) == [
        ("incomplete", "the adapter's controls never ran for refund_answer (they ran for evidence_coverage)")
    ]


def test_s4_8_a_changed_adapter_file_wants_the_controls_again(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("A = 1\n")
    source = {"path": "mine.py", "object": "A", "sha256": sha256_file(mine)}
    audit = {"outcome": "passed", "source": source, "metrics": {"evidence_coverage": contract_terms(evidence_coverage)}}
    cases = stamped(tmp_path, audit=audit)
    assert problems(cases, folder=tmp_path) == []
    mine.write_text("A = 2\n")
    assert problems(cases, folder=tmp_path) == [
        ("incomplete", "adapter 'mine' (mine.py) was changed after its controls ran")
    ]
    assert problems(cases, folder=tmp_path / "elsewhere") == []  # where it cannot be seen, nothing is claimed


def test_a_shipped_mapping_of_another_revision_made_other_cases(tmp_path: Path) -> None:
    cases = stamped(tmp_path, name="plain")
    assert problems(cases) == [("incomplete", "the mapping 'plain' is now revision 1; the cases were made by another")]


@pytest.mark.parametrize("content", ["{cut", '{"schema": 7}', '{"schema": 1, "name": "x"}', "[]"])
def test_a_damaged_stamp_is_not_no_stamp(tmp_path: Path, content: str) -> None:
    cases = stamped(tmp_path)
    stamp_path(cases).write_text(content)
    ((outcome, sentence),) = problems(cases)
    assert outcome == "incomplete"
    assert sentence.startswith("the adapter's stamp beside the cases ")
    stamp = adapter_of(cases)
    assert stamp is not None
    again = stamp_in({"adapter": stamp.manifest()})
    assert again is not None
    assert again.problems(evidence_coverage, None)[0].outcome is Outcome.incomplete
