"""Warnings of a gate: what a reader should look at twice."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from evalkit import GateOptions, Metric, Policy, discrete_metric, evidence_coverage, gate, numeric_metric, read_policy
from evalkit.decisions.doubts import policy_doubts
from evalkit.pages.publish import score_to_run
from evalkit.scoring.ledger import Ledger
from evalkit.scoring.score import score_cases

FIXTURES = Path(__file__).parents[2] / "fixtures/evidence_coverage"
AS_OF = date(2026, 12, 1)
HEAD = """schema = 1
name = "p"
version = "1"
mode = "report"
metric = "m"
contract_version = "0"
"""


@numeric_metric(name="m")
def share(x: float) -> float:
    return x


@discrete_metric(name="m")
def label(x: str) -> str:
    return x


def policy_of(tmp_path: Path, text: str) -> Policy:
    path = tmp_path / "policy.toml"
    path.write_text(HEAD + text)
    policy = read_policy(path).policy
    assert policy
    return policy


def rows(*slices: str) -> Ledger:
    ledger = Ledger()
    for record in score_cases(evidence_coverage, FIXTURES / "release.jsonl"):
        if record.slice in slices:
            ledger.lines += 1
            ledger.add(record)
    return ledger


@pytest.mark.parametrize(
    ("metric", "limit", "is_doubtful"),
    [
        (share, "minimum = 0.0", True),
        (share, "minimum = 0.01", False),
        (share, "maximum = 1.0", True),
        (share, "maximum = 0.99", False),
        (label, 'require = ["pass", "fail"]', True),
        (label, 'require = ["pass"]', False),
        (share, 'decide = "review"\nminimum = 0.0', False),
    ],
)
def test_a_limit_that_nothing_can_miss_is_named(tmp_path: Path, metric: Metric, limit: str, is_doubtful: bool) -> None:
    policy = policy_of(tmp_path, f"[slices.default]\n{limit}\n")
    found = policy_doubts(policy, metric, rows("default"), AS_OF)
    assert any("a check that cannot fail" in sentence for sentence in found) is is_doubtful


def test_a_slice_without_rows_is_named_with_the_denominator(tmp_path: Path) -> None:
    policy = policy_of(tmp_path, "[slices.default]\nminimum = 0.5\n[slices.billing]\nminimum = 0.5\n")
    # 13 release rows are of the default slice, none is of billing.
    assert policy_doubts(policy, share, rows("default"), AS_OF) == [
        "no row is of 'billing', although the policy has limits for it: 0 of 13 rows"
    ]


@pytest.mark.parametrize(("day", "is_doubtful"), [("2026-12-01", False), ("2026-12-02", True)])
def test_a_policy_approved_after_the_day_of_the_run_is_named(tmp_path: Path, day: str, is_doubtful: bool) -> None:
    policy = policy_of(tmp_path, f"approved_on = {day}\n[slices.default]\nminimum = 0.5\n")
    assert bool(policy_doubts(policy, share, rows("default"), AS_OF)) is is_doubtful


def test_a_run_of_an_edited_metric_and_an_option_that_comes_too_late_are_named(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"case_id": "a", "x": 0.5}\n')
    policy_of(tmp_path, "[slices.default]\nminimum = 0.4\n")
    score_to_run(share, cases, tmp_path / "run")

    @numeric_metric(name="m")
    def edited(x: float) -> float:
        return x / 2

    options = GateOptions(as_of=AS_OF, feeds={"x": "y"})
    result = gate(edited, tmp_path / "run", tmp_path / "policy.toml", options=options)
    assert any("another source of m" in warning for warning in result.warnings)
    assert any("--input is ignored" in warning for warning in result.warnings)
    same = gate(share, tmp_path / "run", tmp_path / "policy.toml", options=GateOptions(as_of=AS_OF))
    assert not [warning for warning in same.warnings if "another source" in warning]
