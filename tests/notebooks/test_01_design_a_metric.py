"""Notebook 01 by hand and headless, under the runner and plain papermill, with its own data and with other's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalkit.contract import Outcome
from evalkit.decisions.gate import GateOptions, gate
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.pages.notebooks.command import NotebookOptions, NotebooksDone, run_notebooks
from evalkit.pages.notebooks.nbfile import parse_notebook
from evalkit.pages.notebooks.page import OUT_VARIABLE
from evalkit.pages.notebooks.sources import code_cells, read_source

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "notebooks/01_design_a_metric.py"
FIXTURES = ROOT / "fixtures/evidence_coverage"


def gate_hash(cases: str) -> str:
    options = GateOptions(as_of=date(2026, 12, 1))
    return gate(evidence_coverage, FIXTURES / cases, FIXTURES / "policy.toml", options=options).outcome_hash


def outputs_of(page: Any) -> str:
    return json.dumps([cell.outputs for cell in code_cells(page)], ensure_ascii=False)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> NotebooksDone:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return run_notebooks(["01"], NotebookOptions(out=tmp_path_factory.mktemp("out")))


def test_s5_4_it_passes_headless_with_the_figures_that_are_expected(done: NotebooksDone) -> None:
    (verdict,) = done.verdicts
    assert verdict.outcome is Outcome.passed, verdict.checks
    assert verdict.checks[-1].sentence.endswith("as expected")
    assert done.exit_code == 0
    assert verdict.seconds < 60


def test_headless_and_the_command_line_decide_the_same(done: NotebooksDone) -> None:
    facts = done.verdicts[0].facts
    assert facts is not None
    assert facts["outcome_hash"] == gate_hash("release.jsonl")
    assert facts["parameters"]["cases"] == "fixtures/evidence_coverage/release.jsonl"
    assert facts["warnings"] == []


def test_it_shows_the_two_of_three_claims_and_what_lenience_lets_through(done: NotebooksDone) -> None:
    shown = outputs_of(done.verdicts[0].page)
    for text in (
        "supported=2; required=3; missing=refund-method",
        "2 of 32 rows score higher when sounding alike is enough",
        "leaving-monthly-plan",
        "partner-shop-drop-off",
        "0.75 on 4 claims = 3 of 4",
        "PASSED (exit code 0)",
    ):
        assert text in shown


def test_a_bundled_metric_is_judged_in_a_page_without_ragas(tmp_path: Path) -> None:
    cells = [cell.source for cell in code_cells(read_source(SOURCE))]
    code = "\n".join([*cells[:4], "import sys; print('ragas' in sys.modules)"])
    environment = os.environ | {OUT_VARIABLE: str(tmp_path / "outcome.json")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_s5_1_with_hands_the_same_outcome_and_an_explorer(
    done: NotebooksDone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbclient import NotebookClient

    (tmp_path / "notebooks").mkdir()
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.setenv("JPY_SESSION_NAME", "notebooks/01_design_a_metric.ipynb")  # as a Jupyter server does
    page = read_source(SOURCE)
    client = NotebookClient(page, kernel_name="python3", resources={"metadata": {"path": str(tmp_path / "notebooks")}})
    client.execute()
    facts = json.loads((tmp_path / "runs/notebooks/01_design_a_metric/outcome.json").read_text())
    headless = done.verdicts[0].facts
    assert headless is not None
    assert (facts["outcome"], facts["outcome_hash"]) == (headless["outcome"], headless["outcome_hash"])
    assert facts["figures"] == headless["figures"]
    (explorer,) = [cell for cell in code_cells(page) if "RowExplorer(" in cell.source]
    assert "application/vnd.jupyter.widget-view+json" in explorer.outputs[0].data


def test_plain_papermill_from_another_folder_writes_the_outcome_and_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import papermill
    from papermill.exceptions import PapermillExecutionError

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    parameters = {
        "cases": str(FIXTURES / "incident.jsonl"),
        "policy": os.path.relpath(FIXTURES / "policy.toml"),
        "out_dir": "mine",
    }
    with pytest.raises(PapermillExecutionError, match=r"quality_failed \(exit code 1\)\nquality_failed: 1 of 11"):
        papermill.execute_notebook(str(SOURCE.with_suffix(".ipynb")), "out.ipynb", parameters, progress_bar=False)
    facts = json.loads((tmp_path / "mine/01_design_a_metric/outcome.json").read_text())
    assert (facts["outcome"], facts["exit_code"]) == ("quality_failed", 1)
    assert facts["outcome_hash"] == gate_hash("incident.jsonl")
    assert facts["parameters"]["cases"] == "incident.jsonl", "a place on this machine is not written down"
    shown = outputs_of(parse_notebook(tmp_path / "out.ipynb"))
    assert "5 of 32 rows score higher when sounding alike is enough" in shown, "lenience hides the incident"
    assert "image/png" in shown
    assert "widget-view" not in shown


MINE = """
from evalkit import discrete_metric

@discrete_metric(allowed_values=["pass", "fail"])
def polite(answer: str) -> str:
    return "pass" if "please" in answer else "fail"
"""
POLICY = """
schema = 1
name = "p"
version = "1"
metric = "polite"
contract_version = "0"
approved_by = "x"
approved_on = 2026-11-01
expires_on = 2027-11-01
rationale = "x"
[slices.default]
require = ["pass"]
"""


def test_s5_1_a_metric_of_one_s_own_by_parameters_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    Path("policy.toml").write_text(POLICY)
    Path("rows.jsonl").write_text('{"case_id": "a", "answer": "please"}\n{"case_id": "b", "answer": 7}\n\n')
    given = ["metric=mine.py:polite", "cases=rows.jsonl", "policy=policy.toml"]
    done = run_notebooks([str(SOURCE)], NotebookOptions(out=tmp_path / "out", parameters=given))
    (verdict,) = done.verdicts
    assert verdict.outcome is Outcome.incomplete
    assert verdict.checks[-1].name == "outcome", "figures are only held against the default run's"
    assert verdict.checks[-1].sentence == "1 of 2 blocking rows are invalid, the policy allows 0"
    assert (verdict.cells_run, verdict.cells_total) == (22, 22)
    shown = outputs_of(verdict.page)
    assert "labels have no threshold to move" in shown
    assert "not answered; evalkit.attach" in shown
    assert "0 of 2 rows can be scored so" in shown
