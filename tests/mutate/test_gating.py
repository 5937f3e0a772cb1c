"""Faults of policies and of the gate: all are killed by the gate's own cases, whatever the rows are."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

import evalkit.decisions.gate as gate_module
import evalkit.decisions.gate_source as gate_source
from evalkit.contract import Contract, EvalkitError, discrete_metric, numeric_metric
from evalkit.decisions.policy import read_policy
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.mutate.gate_faults import GATE_FAULTS
from evalkit.mutate.gating import gate_matrix_of
from evalkit.mutate.policy_faults import policy_faults

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"
HEAD = """
schema = 1
name = "release"
version = "1"
metric = "{metric}"
contract_version = "{version}"
approved_by = "us"
approved_on = 2020-01-01
expires_on = 2020-02-01
rationale = "of an example"
"""


def contract(better: str = "higher") -> Contract:
    return Contract(
        version="3",
        measures="m",
        reviewed=(),
        produced=("n",),
        invalid_when=("never",),
        consumed_by="us",
        cannot_establish="much",
        better=better,
    )


@numeric_metric(contract=contract())
def share(n: int) -> float:
    return n / 4


@numeric_metric(allowed_values=(0.0, 10.0), contract=contract("lower"))
def errors(n: int) -> float:
    return float(n)


@numeric_metric(allowed_values=range(1, 6), contract=contract())
def stars(n: int) -> int:
    return n


@discrete_metric(allowed_values=["pass", "fail", "unclear"])
def verdict(n: int) -> str:
    return "pass" if n > 2 else "fail"


@pytest.fixture
def matrix(tmp_path):
    """Return the function that plants every fault in a policy of these limits; the rows are three perfect ones."""

    def of(metric, limits: str, rows: list[int] | None = None, **options):
        policy, path = tmp_path / "policy.toml", tmp_path / "rows.jsonl"
        policy.write_text(HEAD.format(metric=metric.name, version=metric.version) + limits)
        given = rows if rows is not None else [4, 4, 4]
        path.write_text("".join(json.dumps({"case_id": f"row-{i}", "n": n}) + "\n" for i, n in enumerate(given)))
        return gate_matrix_of(metric, policy, path, **options)

    return of


def survivors(found) -> list[str]:
    return [mutant.id for mutant in found.of("survived")]


def test_every_fault_of_the_bundled_policy_and_of_the_gate_is_killed():
    found = gate_matrix_of(evidence_coverage, FIXTURES / "policy.toml", FIXTURES / "release.jsonl", full=True)
    assert survivors(found) == []
    assert found.of("not_applicable") == []
    assert {fault.name for fault in GATE_FAULTS} <= {m.operator for m in found.of("killed", "gate")}
    for mutant in found.of("killed"):
        assert any(name.startswith("gate/") for name in mutant.killed_by), mutant.id


@pytest.mark.parametrize(
    ("metric", "limits", "rows", "not_applicable"),
    [
        (share, "[slices.default]\nminimum = 0.5\nreview_band = 0.1", None, set()),
        (share, "[slices.default]\nminimum = 0.5", None, {"band_inverted", "review_passes"}),
        (share, "[slices.default]\nminimum = 1.0", None, {"band_inverted", "review_passes", "rows_averaged"}),
        (share, "[slices.default]\nminimum = 0.5\nmax_failures = 2", None, {"band_inverted", "review_passes"}),
        (share, "[slices.default]\nminimum = 0.5\nmin_pass_rate = 0.3", None, {"band_inverted", "review_passes"}),
        (share, "[slices.default]\nminimum = 0.5\n[limits]\ninvalid = 2\nerror = 1\nmin_scored = 3", None,
         {"band_inverted", "review_passes"}),
        (share, 'mode = "report"\n[slices.default]\nminimum = 0.5', None, {"band_inverted", "review_passes"}),
        (share, '[slices.default]\nminimum = 0.5\n[slices.other]\ndecide = "review"', None,
         {"band_inverted", "review_passes"}),
        (errors, "[slices.default]\nmaximum = 2.0\nreview_band = 1.0", [0, 1, 2], set()),
        (stars, "[slices.default]\nminimum = 4.0\nreview_band = 1.0", [4, 5, 5], set()),
        (verdict, '[slices.default]\nrequire = ["pass"]\nreview = ["unclear"]', [3, 3, 3],
         {"band_inverted", "rows_averaged", "strict_comparison"}),
    ],
)  # fmt: skip
def test_the_gates_own_cases_kill_all_faults_of_any_policy(matrix, metric, limits, rows, not_applicable):
    found = matrix(metric, limits, rows)
    assert survivors(found) == []
    assert {mutant.operator for mutant in found.of("not_applicable")} == not_applicable
    assert len(found.of("killed", "gate")) == len(GATE_FAULTS) - len(not_applicable)


def test_a_row_at_the_limit_catches_the_strict_comparison_before_the_gates_own_case(matrix):
    found = matrix(share, "[slices.default]\nminimum = 0.5", [4, 2, 4], full=True)
    strict = next(m for m in found.mutants if m.operator == "strict_comparison")
    assert strict.killed_by[:2] == ["row-1", "the outcome of the rows"]
    assert strict.kills[0].seen == "fail instead of pass"
    assert "gate/at-the-limit-default" in strict.killed_by


def test_an_unnoticed_fault_survives(matrix, monkeypatch):
    # Without the gate's own cases, three perfect rows notice next to nothing.
    monkeypatch.setattr("evalkit.mutate.gating.probes_of", lambda *_: [])
    found = matrix(share, "[slices.default]\nminimum = 0.5\nreview_band = 0.1")
    assert {"gate:strict_comparison", "gate:none_as_pass", "gate:empty_passes"} <= set(survivors(found))


def test_rows_are_judged_as_of_the_day_of_approval(matrix):
    found = matrix(share, "[slices.default]\nminimum = 0.5")  # approved in 2020, and long expired
    assert found.facts["policy"] == "release"
    assert survivors(found) == []


def test_nothing_of_the_gate_is_changed_in_this_process(matrix):
    before = (gate_module.read_policy, gate_module.rule_of, gate_source.scorer_of)
    matrix(share, "[slices.default]\nminimum = 0.5")
    assert (gate_module.read_policy, gate_module.rule_of, gate_source.scorer_of) == before


def test_the_same_inputs_give_the_same_matrix(matrix):
    limits = "[slices.default]\nminimum = 0.5\nreview_band = 0.1"
    assert matrix(share, limits, full=True).to_json() == matrix(share, limits, full=True).to_json()


def test_policy_faults_speak_of_what_the_policy_says():
    policy = read_policy(FIXTURES / "policy.toml").policy
    found = [(fault.name, fault.where, fault.diff) for fault in policy_faults(policy, evidence_coverage)]
    assert ("limit_moved", "slices.default", "- minimum = 0.75\n+ minimum = 0.76") in found
    assert ("band_forgotten", "slices.multilingual", "- review_band = 0.1") in found
    assert not [f for f in found if f[1] == "slices.billing-critical" and "+ minimum = 1.01" in f[2]]  # out of range


def test_slices_with_the_same_limits_cannot_be_exchanged(matrix):
    found = matrix(share, "[slices.default]\nminimum = 0.5\n[slices.other]\nminimum = 0.5")
    assert not [m for m in found.mutants if m.operator == "slices_swapped"]


def test_a_policy_that_cannot_be_used_is_refused(matrix):
    with pytest.raises(
        EvalkitError, match=r"policy cannot be used: policy\.toml: slices\.default\.minimun is an unknown"
    ):
        matrix(share, "[slices.default]\nminimun = 0.5")


def test_a_gate_that_fails_its_own_cases_gives_no_score(matrix, monkeypatch):
    monkeypatch.setattr("evalkit.decisions.gate.Outcome.worst", classmethod(lambda cls, _: cls.passed))
    with pytest.raises(
        EvalkitError, match=r"unmutated gate fails \d+ of its own \d+ cases: gate/no-rows \(outcome: passed"
    ):
        matrix(share, "[slices.default]\nminimum = 0.5")


def test_people_deciding_every_row_leaves_nothing_to_probe(matrix):
    with pytest.raises(EvalkitError, match="people decide every row"):
        matrix(share, '[slices.default]\ndecide = "review"')


def test_the_clock_of_the_probes_is_fixed():
    from evalkit.mutate.probes import DAY

    assert date(2026, 11, 30) == DAY
