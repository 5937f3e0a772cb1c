"""What the doctor says of a machine, each check with the machine made up; and the command on this one."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from evalkit.cli import doctor
from evalkit.cli.doctor import (
    Finding,
    browser_finding,
    community_finding,
    doctor_facts,
    doctor_screen,
    examine,
    extra_finding,
    kernel_finding,
    keys_finding,
    lock_finding,
    outcome_of,
    pictures_finding,
    python_finding,
    write_finding,
)
from evalkit.contract import Outcome

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("version", "status"), [((3, 10, 9), "wrong"), ((3, 11, 0), "ok"), ((3, 12, 4), "ok"), ((2, 7, 18), "wrong")]
)
def test_python(version: tuple[int, ...], status: str) -> None:
    assert python_finding(version).status == status


def test_installed_versions_are_held_against_the_lock(tmp_path: Path) -> None:
    (tmp_path / "requirements.lock").write_text(
        "one==1.0 \\\n    --hash=sha256:0\n# via x\nTwo_Words==2.0 ; sys_platform == 'x'\n"
    )
    inner = tmp_path / "inner"
    inner.mkdir()
    assert lock_finding(inner, {"one": "1.0", "two-words": "2.0"}).found.startswith("2 of 2 locked packages installed")
    assert lock_finding(inner, {"one": "1.0"}).found.startswith("1 of 2 locked packages installed")
    other = lock_finding(inner, {"one": "1.1", "two-words": "2.0"})
    assert other.status == "wrong"
    assert other.found == "1 of 2 locked packages have another version: one 1.1 (locked 1.0)"


def test_without_a_lock_there_is_a_note(tmp_path: Path) -> None:
    assert lock_finding(tmp_path, {}).status == "note"


@pytest.mark.parametrize(
    ("version", "has_ragas", "status"),
    [
        ("0.4.1", True, "ok"),
        ("0.4.2", True, "wrong"),
        ("1.0", True, "wrong"),
        (None, True, "wrong"),
        (None, False, "ok"),
    ],
)
def test_l01_the_pin_without_which_ragas_cannot_be_imported(version: str | None, has_ragas: bool, status: str) -> None:
    found = community_finding(version, has_ragas=has_ragas)
    assert found.status == status
    if status == "wrong":
        assert found.do == 'pip install "langchain-community<0.4.2"'


def test_missing_parts_cost_a_feature_and_say_which() -> None:
    found = extra_finding("lab", ["papermill", "altair"])
    assert (found.status, found.found) == ("note", "papermill, altair not installed: no notebooks and charts")
    assert 'pip install "evalkit-workbench[lab]"' in found.do
    assert extra_finding("ragas", []).status == "ok"
    assert pictures_finding(has_converter=False).status == "note"
    assert browser_finding(None).status == "note"


def test_the_values_of_keys_are_never_shown() -> None:
    found = keys_finding({"OPENAI_API_KEY": "sk-secret", "OTHER": "x", "ANTHROPIC_API_KEY": ""})
    assert found.found == "set: OPENAI_API_KEY (values are not shown)"
    assert "sk-secret" not in doctor_screen([found]) + json.dumps(doctor_facts([found]))
    assert keys_finding({}).status == "note"


def test_where_runs_go_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert write_finding(tmp_path / "runs").found == "can be made"
    (tmp_path / "runs").mkdir()
    assert write_finding(tmp_path / "runs").found == "writable"
    assert list((tmp_path / "runs").iterdir()) == []

    def refuse(**_: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refuse)
    assert write_finding(tmp_path / "runs").status == "wrong"


@pytest.mark.skipif(find_spec("jupyter_client") is None, reason="needs the [lab] extra")
@pytest.mark.parametrize(
    ("command", "status"), [("python", "ok"), (sys.executable, "ok"), ("/elsewhere/bin/python", "wrong")]
)
def test_a_kernel_of_another_python_is_found(monkeypatch: pytest.MonkeyPatch, command: str, status: str) -> None:
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

    spec = KernelSpec(argv=[command, "-m", "ipykernel_launcher"])
    monkeypatch.setattr(KernelSpecManager, "get_kernel_spec", lambda *_: spec)
    assert kernel_finding().status == status


def test_one_wrong_finding_makes_the_outcome_incomplete_and_notes_do_not() -> None:
    fine, note, wrong = Finding("a", "ok", "x"), Finding("b", "note", "y"), Finding("c", "wrong", "z", "mend it")
    assert outcome_of([fine, note]) is Outcome.passed
    assert outcome_of([fine, wrong]) is Outcome.incomplete
    screen = doctor_screen([fine, note, wrong])
    assert "wrong  c  z; do: mend it" in screen
    assert "INCOMPLETE (exit code 2): 1 of 3 checks are wrong" in screen


def test_a_shallow_look_imports_neither_ragas_nor_pandas() -> None:
    code = "import sys; from pathlib import Path; from evalkit.cli.doctor import examine; list(examine(Path.cwd()))"
    heavy = "print([m for m in ('ragas', 'pandas', 'scipy', 'altair', 'papermill') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {heavy}"], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_command_looks_at_this_machine(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "evalkit", "doctor", "--json", str(tmp_path / "d.json")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    facts = json.loads((tmp_path / "d.json").read_text())
    assert (done.returncode, facts["exit_code"]) == (facts["exit_code"], done.returncode)
    assert {check["name"] for check in facts["checks"]} >= {"python", "lock", "langchain-community", "kernel", "runs/"}
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_a_deep_look_imports_ragas_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Done:
        returncode, stdout, stderr = 1, "", "Traceback\nModuleNotFoundError: No module named 'langchain_community.x'"

    monkeypatch.setattr(doctor.subprocess, "run", lambda *_, **__: Done())
    (found,) = [finding for finding in examine(tmp_path, deep=True) if finding.name == "import ragas"]
    assert (found.status, found.found) == ("wrong", "ModuleNotFoundError: No module named 'langchain_community.x'")
