"""The example workflows that users copy: fork-safe, from the lock, the outcome file read, pipes that fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def load(path: Path) -> dict[Any, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps_of(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_there_is_a_workflow_for_each_lane() -> None:
    assert [path.stem for path in WORKFLOWS] == ["pre-release", "pull-request", "scheduled"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_is_fork_safe(path: Path) -> None:
    workflow = load(path)
    # YAML 1.1 reads the key `on` as true.
    assert "pull_request_target" not in workflow[True]
    assert set(workflow["permissions"].values()) == {"read"}
    assert "secrets." not in path.read_text(encoding="utf-8")
    # What a pull request's author can choose reaches a script as a variable, never as text inside it.
    assert not [step for step in steps_of(workflow) if "${{" in step.get("run", "")]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_installs_from_the_lock_and_keeps_exit_codes(path: Path) -> None:
    workflow = load(path)
    assert "-euo pipefail" in workflow["defaults"]["run"]["shell"]
    installs = [step["run"] for step in steps_of(workflow) if step.get("name") == "Install from the lock"]
    assert set(installs) == {"make setup"}
    assert not [step for step in steps_of(workflow) if "pip install" in step.get("run", "")]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_keeps_the_run_and_makes_no_fixture(path: Path) -> None:
    workflow = load(path)
    kept = [step for step in steps_of(workflow) if step.get("uses", "").startswith("actions/upload-artifact")]
    assert kept
    assert all(step["if"] == "always()" for step in kept)
    assert "--accept" not in path.read_text(encoding="utf-8")


def test_pull_request_runs_contract_and_release_rows_apart_and_review_is_its_own_check() -> None:
    jobs = load(ROOT / ".github/workflows/pull-request.yml")["jobs"]
    assert list(jobs) == ["contract", "release", "review", "notebooks"]
    assert jobs["review"]["needs"] == "release"
    runs = [step.get("run", "") for step in jobs["contract"]["steps"]]
    assert [word for run in runs for word in ("mutate", "controls") if f"evalkit {word}" in run] == [
        "mutate",
        "controls",
    ]


@pytest.mark.parametrize(
    ("cases", "outcome", "code"),
    [
        ("release", "passed", 0),
        ("incident", "quality_failed", 1),
        ("invalid", "incomplete", 1),
        (None, "incomplete", 1),
    ],
)
def test_the_step_that_reads_the_outcome_does_so_on_real_runs(
    tmp_path: Path, cases: str | None, outcome: str, code: int
) -> None:
    steps = {
        step.get("name"): step for step in load(ROOT / ".github/workflows/pull-request.yml")["jobs"]["release"]["steps"]
    }
    fixtures = ROOT / "fixtures/evidence_coverage"
    if cases:
        gate = ["gate", "evidence_coverage", fixtures / f"{cases}.jsonl", "--policy", fixtures / "policy.toml"]
        command = [sys.executable, "-m", "evalkit", *gate, "--as-of", "2026-12-01", "--run", "runs/ci"]
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    environment = os.environ | {"GITHUB_OUTPUT": str(tmp_path / "output")}
    script = ["bash", "-euo", "pipefail", "-c", steps["Read the outcome"]["run"]]
    done = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert (tmp_path / "output").read_text() == f"outcome={outcome}\n"


def judge_steps(folder: Path) -> dict[str, str]:
    """Return the scripts of the nightly judge job, for a folder with the project's own parts linked into it."""
    job = load(ROOT / ".github/workflows/scheduled.yml")["jobs"]["judge"]
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/evalkit").write_text(f'#!/bin/sh\nexec {sys.executable} -m evalkit "$@"\n')
    (folder / ".venv/bin/evalkit").chmod(0o755)
    (folder / "fixtures").symlink_to(ROOT / "fixtures")
    return {step["name"]: step["run"] for step in job["steps"] if "name" in step and "run" in step}


@pytest.mark.slow
def test_s1_19_the_nightly_lane_rechecks_the_judge_and_the_first_night_only_makes_its_run(tmp_path: Path) -> None:
    scripts = judge_steps(tmp_path)
    variables = load(ROOT / ".github/workflows/scheduled.yml")["env"]
    models = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EVALKIT_JUDGE_MODEL")
    environment = {name: value for name, value in os.environ.items() if name not in models} | variables

    def night() -> tuple[int, str]:
        for name in ("Ask again", "Read the outcome"):
            script = ["bash", "-euo", "pipefail", "-c", scripts[name]]
            done = subprocess.run(script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert night() == (1, "judge: incomplete\n")
    (tmp_path / "runs").rename(tmp_path / "accepted")
    assert night() == (0, "judge: passed\n")
    # A verdict that was right in the accepted run and is wrong now fails the lane, and is put before people.
    records = tmp_path / "accepted/judged/records.jsonl"
    lines = records.read_text().splitlines(keepends=True)
    was_right = [
        line.replace('"value":"pass"', '"value":"fail"') if "ticket-storno-b" in line else line for line in lines
    ]
    records.write_text("".join(was_right))
    manifest = tmp_path / "accepted/judged/manifest.json"
    manifest.write_text(manifest.read_text().replace('"records_sha256"', '"records_sha256_then"'))
    (tmp_path / "runs").rename(tmp_path / "second")
    assert night() == (1, "judge: quality_failed\n")
    assert (tmp_path / "runs/proposed.jsonl").read_text().count("\n") == 1
