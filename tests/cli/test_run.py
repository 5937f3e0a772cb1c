"""`evalkit notebooks` as a user runs it: exit code, screen, JSON and JUnit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

PAGE = """
# %% tags=["parameters"]
share: float = 0.9  # of rows that pass

# %%
from evalkit.contract import Outcome
from evalkit.pages.notebooks import Conclusion, open_page

page = open_page("01_share", globals())

# %%
outcome = Outcome.passed if share >= 0.5 else Outcome.quality_failed
sentences = () if share >= 0.5 else (f"a share of {share} is below 0.5",)
page.finish(Conclusion(outcome=outcome, sentences=sentences, figures={"share": share}))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "fixtures/expected").mkdir(parents=True)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks/01_share.py").write_text(PAGE)
    return tmp_path


def evalkit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evalkit", "notebooks", *arguments]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("EVALKIT_")}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)


def test_a_first_run_says_that_nothing_is_expected_yet_and_accept_and_build_keep_it(project: Path) -> None:
    first = evalkit(project, "--accept", "--build")
    assert first.returncode == 0, first.stderr
    assert "figures: accepted: 1 new" in first.stdout
    assert "page: 01_share.ipynb rebuilt" in first.stdout
    assert json.loads((project / "fixtures/expected/01_share.json").read_text())["figures"] == {"share": 0.9}

    source = project / "notebooks/01_share.py"
    source.write_text(PAGE.replace("0.9  #", "0.8  #"))
    other = evalkit(project, "--build", "--junit", "junit.xml")
    assert other.returncode == 1
    assert "figures: share: expected 0.9 within 1e-09, got 0.8" in other.stdout
    assert "page: not built: the checks above come first" in other.stdout
    failures = ElementTree.parse(project / "junit.xml").getroot().iter("failure")
    assert [failure.get("type") for failure in failures] == ["quality_failed"]

    accepted = evalkit(project, "--accept")
    assert accepted.returncode == 0
    assert "accepted: share: expected 0.9 within 1e-09, got 0.8" in accepted.stdout


def test_a_parameter_reaches_the_page_and_its_outcome_becomes_the_exit_code(project: Path) -> None:
    done = evalkit(project, "01", "-p", "share=0.25", "--json", "-", "--out", "mine")
    assert done.returncode == 1
    facts = json.loads(done.stdout)
    assert facts["notebooks"][0]["result"]["parameters"] == {"share": 0.25}
    assert [check["name"] for check in facts["notebooks"][0]["checks"]] == [
        "parameters",
        "cells",
        "outcome file",
        "outcome",
    ]
    assert (project / "mine/01_share/01_share.ipynb").exists()
    assert not (project / "notebooks/01_share.ipynb").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-p", "shar=1"], "the notebook has no parameter 'shar', did you mean 'share'?"),
        (["-p", "share=much"], "share must be a finite number; got 'much'"),
    ],
)
def test_i03_what_does_not_fit_ends_with_2_before_any_kernel_starts(
    project: Path, arguments: list[str], said: str
) -> None:
    done = evalkit(project, *arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stdout.split())
    assert "0 of 0 cells" in done.stdout


def test_a_name_that_is_not_there_is_one_plain_line(project: Path) -> None:
    done = evalkit(project, "09_absent")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "evalkit: 0 notebooks are called '09_absent'; known here: 01_share; or give a path\n"


def test_help_waits_for_nothing_heavy() -> None:
    code = "import contextlib, sys; sys.argv = ['evalkit', 'notebooks', '--help']; from evalkit.cli import main"
    run = "\nwith contextlib.suppress(SystemExit):\n    main()\n"
    heavy = "print([m for m in ('papermill', 'jupytext', 'nbformat', 'pandas', 'ragas') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + run + heavy], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
