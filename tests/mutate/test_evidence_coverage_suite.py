"""The bundled contract suite: every fault that is not equivalent is caught, and each guard is needed."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest

from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.mutate import kill_matrix
from evalkit.mutate.killing import matrix_of

FOLDER = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"
CONTRACT = FOLDER / "contract.jsonl"
CASES = [json.loads(line) for line in CONTRACT.read_text(encoding="utf-8").splitlines()]

# Rule (the `family` of its guard cases) -> the fault that removes it: operator, function, what its diff contains.
REMOVES = {
    "empty": ("guard", "evidence_coverage", "if not required:"),
    "unknown": ("guard", "evidence_coverage", "if unknown :="),
    "blank": ("guard", "_claim_ids", "if not all(trimmed):"),
    "duplicate": ("guard", "_claim_ids", "if len(distinct) != len(trimmed):"),
    "trim": ("normalise_less", "_claim_ids", ".strip()"),
    "exact": ("normalise_more", "evidence_coverage", "required_claim_ids = [item.casefold()"),
    "sort": ("order", "evidence_coverage", "missing = sorted(required - supported, reverse=True)"),
    "detail": ("detail_dropped", "evidence_coverage", "detail={},"),
}


@pytest.fixture(scope="module")
def matrix():
    return kill_matrix("evidence_coverage", CONTRACT)


def test_every_mutant_that_is_not_equivalent_is_killed_by_a_named_case(matrix):
    assert [mutant.id for mutant in matrix.of("survived")] == []
    assert matrix.score == 1.0
    assert matrix.denominator >= 70
    assert all(set(mutant.killed_by) <= set(matrix.cases) for mutant in matrix.of("killed"))


def test_equivalents_are_few_and_reasoned(matrix):
    found = {mutant.operator: mutant.note for mutant in matrix.of("equivalent")}
    assert set(found) == {"set_operation", "clamp"}
    assert all(len(note) > 60 for note in found.values())


def test_the_slips_that_the_suite_must_catch_are_among_them(matrix):
    killed = {mutant.operator for mutant in matrix.of("killed")}
    assert killed >= {
        "numerator", "denominator", "set_operation", "guard", "deduplicate", "normalise_more", "normalise_less",
        "swallow", "round", "percentage", "returns_bool", "numpy_scalar", "empty_is_best", "reason_thinned",
        "detail_dropped", "exception_type", "exception_message", "boundary", "order",
    }  # fmt: skip


def test_two_runs_give_the_same_bytes(matrix):
    again = kill_matrix("evidence_coverage", CONTRACT)
    assert orjson.dumps(again.to_json()) == orjson.dumps(matrix.to_json())


def test_each_guard_rule_has_a_named_mutant():
    assert {case["family"] for case in CASES if case["role"] == "guard"} == set(REMOVES)


@pytest.mark.parametrize("rule", REMOVES)
def test_without_the_cases_of_a_guard_rule_its_mutant_survives(rule, tmp_path):
    # Boundary, incident and example cases may overlap with a rule, so guards are looked at alone.
    guards = [case for case in CASES if case["role"] == "guard"]
    assert _status(guards, rule, tmp_path) == "killed"
    assert _status([case for case in guards if case["family"] != rule], rule, tmp_path) == "survived"


def _status(cases: list[dict], rule: str, folder: Path) -> str:
    operator, where, fragment = REMOVES[rule]
    path = folder / "contract.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    mutants = matrix_of(evidence_coverage, path, suggestions=False).mutants
    found = [m for m in mutants if m.operator == operator and m.where == where and fragment in m.diff]
    assert len(found) == 1
    return found[0].status
