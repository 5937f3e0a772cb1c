"""Notebook 03 headless: its figures, the policy it leaves, and the same certificates as on the command line."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalkit.contract import Outcome
from evalkit.decisions.calibrate import CalibrateOptions
from evalkit.decisions.gate import GateOptions, gate
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.pages.calibrate_run import CalibrateFiles, run_calibrate
from evalkit.pages.notebooks.command import NotebookOptions, NotebooksDone, run_notebooks
from evalkit.pages.notebooks.sources import code_cells

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "fixtures/evidence_coverage"


def run(out: Path, **parameters: str) -> NotebooksDone:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        pairs = [f"{name}={value}" for name, value in parameters.items()]
        return run_notebooks(["03"], NotebookOptions(out=out, parameters=pairs))


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def done(out: Path) -> NotebooksDone:
    return run(out)


def facts_of(done: NotebooksDone) -> dict[str, Any]:
    facts = done.verdicts[0].facts
    assert facts is not None
    return dict(facts)


def test_s5_4_it_passes_headless_with_the_figures_that_are_expected(done: NotebooksDone) -> None:
    (verdict,) = done.verdicts
    assert verdict.outcome is Outcome.passed, verdict.checks
    assert verdict.checks[-1].sentence.endswith("as expected")


def test_headless_and_the_command_line_certify_the_same(done: NotebooksDone, tmp_path: Path) -> None:
    files = CalibrateFiles(labels=FOLDER / "calibration/labels.jsonl", ledger=tmp_path / "holdout.jsonl")
    options = CalibrateOptions(max_false_pass=0.2, confidence=0.9)
    command = run_calibrate("evidence_coverage", FOLDER / "calibration/cases.jsonl", options, files)
    figures = facts_of(done)["figures"]
    for name, part in command.facts["slices"].items():
        assert figures[f"{name}.certified"] == part["certified_threshold"]
        assert figures[f"{name}.labels_needed"] == part["labels_needed"]


def test_the_best_cut_off_looks_better_on_its_own_rows_than_on_others(done: NotebooksDone) -> None:
    figures = facts_of(done)["figures"]
    for name in ("default", "billing-critical"):
        assert figures[f"{name}.best_cut.same_rows"] > figures[f"{name}.best_cut.new_rows"]
    shown = json.dumps([cell.outputs for cell in code_cells(done.verdicts[0].page)], ensure_ascii=False)
    for text in ("SYNTHETIC LABELS", "CANNOT CERTIFY: 11 more labelled fails needed", "P(that few or fewer) = 0.0331"):
        assert text in shown


def test_the_policy_it_leaves_gates_the_release_rows(done: NotebooksDone, out: Path) -> None:
    assert done.exit_code == 0
    (policy,) = out.rglob("policy.toml")
    result = gate(evidence_coverage, FOLDER / "release.jsonl", policy, options=GateOptions(as_of=date(2026, 12, 2)))
    assert result.outcome is Outcome.review_required
    assert [blocker.kind for blocker in result.blockers] == ["review"]


@pytest.mark.slow
def test_a_slice_that_must_be_certified_and_is_not_sends_the_page_to_review(tmp_path: Path) -> None:
    done = run(tmp_path, must_certify="")
    assert done.exit_code == 3
    assert "multilingual is not certified: CANNOT CERTIFY: 11 more" in facts_of(done)["blockers"][0]["sentence"]
