"""A gate with labels: counts against limits, and rows that nobody has labelled or settled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evalkit import GateOptions, GateResult, Outcome, evidence_coverage, gate

POLICY = """schema = 1
name = "certified"
version = "1"
metric = "evidence_coverage"
contract_version = "1"
approved_by = "the council"
approved_on = 2026-11-30
expires_on = 2027-02-28
rationale = "labels say what is good"
[slices.default]
minimum = 0.8
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., GateResult]:
    # r0 to r2 have the value 1.0 and pass, r3 and r4 have 0.5 and fail.
    rows = [
        {"case_id": f"r{i}", "required_claim_ids": ["a", "b"], "supported_claim_ids": ["a", "b"] if i < 3 else ["a"]}
        for i in range(5)
    ]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(labels: dict[str, list[str]] | None, limits: str, seen_hash: str | None = None) -> GateResult:
        (tmp_path / "policy.toml").write_text(POLICY + limits)
        path = None
        if labels is not None:
            path = tmp_path / "labels.jsonl"
            path.write_text(
                "".join(
                    json.dumps(
                        {"case_id": case_id, "criterion": "ships", "reviewer": f"reviewer-{n}", "label": label}
                        | ({"seen_hash": seen_hash} if seen_hash else {})
                    )
                    + "\n"
                    for case_id, given in labels.items()
                    for n, label in enumerate(given)
                )
            )
        options = GateOptions(labels=path)
        return gate(evidence_coverage, tmp_path / "cases.jsonl", tmp_path / "policy.toml", options=options)

    return run


AGREEING = {"r0": ["pass"], "r1": ["pass"], "r2": ["pass"], "r3": ["fail"], "r4": ["fail"]}


def kinds(result: GateResult) -> dict[str, list[str | None]]:
    return {blocker.kind: [row.case_id for row in blocker.rows] for blocker in result.blockers}


def test_rows_that_fail_as_people_say_they_should_do_not_block(run: Callable[..., GateResult]) -> None:
    result = run(AGREEING, "max_false_passes = 0\nmax_false_fails = 0\n")
    assert result.outcome is Outcome.passed
    assert result.labelled[0].n == 5


def test_without_label_limits_the_same_rows_do_block(run: Callable[..., GateResult]) -> None:
    assert kinds(run(AGREEING, "")) == {"failed": ["r3", "r4"]}


def test_max_failures_beside_label_limits_counts_failures_too(run: Callable[..., GateResult]) -> None:
    result = run(AGREEING, "max_false_passes = 0\nmax_failures = 1\n")
    assert kinds(result) == {"failed": ["r3", "r4"]}


@pytest.mark.parametrize(("limit", "outcome"), [(0, Outcome.quality_failed), (1, Outcome.passed)])
def test_false_passes_above_the_limit_fail(run: Callable[..., GateResult], limit: int, outcome: Outcome) -> None:
    result = run(AGREEING | {"r1": ["fail"]}, f"max_false_passes = {limit}\n")
    assert result.outcome is outcome
    assert [record.case_id for record in result.labelled[0].false_passes] == ["r1"]


@pytest.mark.parametrize(("limit", "outcome"), [(0, Outcome.quality_failed), (1, Outcome.passed)])
def test_false_fails_above_the_limit_fail(run: Callable[..., GateResult], limit: int, outcome: Outcome) -> None:
    assert run(AGREEING | {"r4": ["pass"]}, f"max_false_fails = {limit}\n").outcome is outcome


def test_an_unlabelled_blocking_row_is_incomplete(run: Callable[..., GateResult]) -> None:
    labels = {case_id: given for case_id, given in AGREEING.items() if case_id != "r2"}
    result = run(labels, "max_false_passes = 0\n")
    assert result.outcome is Outcome.incomplete
    assert kinds(result) == {"unlabelled": ["r2"]}


def test_an_unadjudicated_conflict_is_review(run: Callable[..., GateResult]) -> None:
    result = run(AGREEING | {"r2": ["pass", "fail"]}, "max_false_passes = 0\n")
    assert result.outcome is Outcome.review_required
    assert kinds(result) == {"label_conflict": ["r2"]}


def test_labels_of_another_answer_do_not_count(run: Callable[..., GateResult]) -> None:
    result = run(AGREEING, "max_false_passes = 0\n", seen_hash="sha256:" + "0" * 64)
    assert kinds(result) == {"unlabelled": ["r0", "r1", "r2", "r3", "r4"]}


def test_label_limits_without_labels_are_incomplete(run: Callable[..., GateResult]) -> None:
    result = run(None, "max_false_passes = 0\n")
    assert result.outcome is Outcome.incomplete
    assert kinds(result) == {"labels": []}
