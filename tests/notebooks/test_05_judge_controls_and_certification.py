"""Notebook 05 on the bundled judge: the pleasing figure, the false pass behind it, the control, what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evalkit.pages.notebooks.command import NotebookOptions, NotebooksDone, run_notebooks
from evalkit.pages.notebooks.sources import code_cells

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "fixtures/refund_answer"


def run(out: Path, **parameters: str) -> NotebooksDone:
    pairs = [f"{name}={value}" for name, value in parameters.items()]
    return run_notebooks(["05"], NotebookOptions(parameters=pairs, out=out, workers=1))


def facts_of(done: NotebooksDone) -> Mapping[str, Any]:
    facts = done.verdicts[0].facts
    assert facts is not None, done.verdicts[0].checks
    return facts


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> NotebooksDone:
    return run(tmp_path_factory.mktemp("out"))


def test_the_page_runs_headless_without_a_key_and_its_figures_are_as_expected(done: NotebooksDone) -> None:
    assert done.exit_code == 0
    assert {check.name: check.outcome.name for check in done.verdicts[0].checks}["figures"] == "passed"


def test_its_certification_is_that_of_the_gate(done: NotebooksDone, tmp_path: Path) -> None:
    command = ["gate", "refund_answer", FOLDER / "labelled.jsonl", "--policy", FOLDER / "certify_policy.toml"]
    command += ["--labels", FOLDER / "labels.jsonl", "--causes", FOLDER / "causes.jsonl", "--as-of", "2026-12-01"]
    gated = subprocess.run(
        [sys.executable, "-m", "evalkit", *map(str, command), "--json", "out.json"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    facts, gate = facts_of(done), json.loads((tmp_path / "out.json").read_text())
    assert (gated.returncode, gate["outcome"]) == (1, facts["figures"]["certification"])
    assert gate["outcome_hash"] == facts["outcome_hash"]
    held_out = [one for one in gate["labelled"] if one["counts"]]
    for one in held_out:
        assert facts["figures"][f"{one['slice']}.bad_that_pass"] == len(one["false_passes"])


def test_the_page_shows_the_figure_the_false_pass_the_control_and_what_is_missing(done: NotebooksDone) -> None:
    shown = json.dumps([cell.outputs for cell in code_cells(done.verdicts[0].page)], ensure_ascii=False)
    for text in (
        "37 of 38 verdicts are people's (97%)",
        "A fee of 25 percent is kept",
        "the judge: pass; the decision and every number are those of the reference",
        "killed 11 of 11",
        "unit-percent",
        "evaluator_reasoning",
        "QUALITY FAILED (exit code 1)",
        "labelled fails still missing",
    ):
        assert text in shown, text


def test_a_look_at_held_out_rows_is_not_spent_by_the_page(done: NotebooksDone) -> None:
    assert done.exit_code == 0
    # The ledger in the fixtures holds the one look; a page that added to it would change a reviewed file.
    assert len((FOLDER / "holdout.jsonl").read_text().splitlines()) == 1


@pytest.mark.slow
def test_must_certify_ends_the_page_as_the_certification_ends(tmp_path: Path) -> None:
    done = run(tmp_path, must_certify="true")
    assert done.exit_code == 1
    assert "1 of 6 labelled blocking rows in billing-critical pass" in facts_of(done)["blockers"][0]["sentence"]


@pytest.mark.slow
def test_without_causes_the_page_asks_for_a_reviewer(tmp_path: Path) -> None:
    done = run(tmp_path, causes="")
    assert done.exit_code == 3
    assert "disagreements in default have no cause" in facts_of(done)["blockers"][0]["sentence"]
