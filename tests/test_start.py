"""What a fresh process loads: nothing heavy on the way to the front door, to ``--help`` or to a bundled gate."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import evalkit

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "fixtures" / "evidence_coverage"
HEAVY = ("ragas", "pandas", "altair", "scipy", "sklearn", "ipywidgets", "numpy", "papermill", "langchain", "openai")

SHOW = "; print('LOADED', *sorted({name.split('.')[0] for name in sys.modules}))"
RUN = f"""
import sys
from evalkit.cli import main
try:
    main()
finally:
    pass{SHOW}
"""
POLICY = ["--policy", str(FIXTURES / "policy.toml"), "--as-of", "2026-12-01"]


def loaded(code: str, *arguments: str) -> tuple[int, set[str]]:
    """Run code in a process of its own; return its exit code and the packages it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False
    )
    assert "LOADED" in done.stdout, done.stderr
    return done.returncode, set(done.stdout.split("LOADED", 1)[1].split())


@pytest.mark.parametrize(
    ("code", "arguments", "exit_code"),
    [
        ("import sys, evalkit" + SHOW, (), 0),
        # Calibration is arithmetic on arrays: whoever asks for it gets numpy, and nobody else does.
        ("import sys; from evalkit import " + ", ".join(n for n in evalkit.__all__ if n != "calibrate") + SHOW, (), 0),
        (RUN, ("--help",), 0),
        (RUN, ("gate", "--help"), 0),
        (RUN, ("gate", "evidence_coverage", str(FIXTURES / "release.jsonl"), *POLICY), 0),
        (RUN, ("gate", "evidence_coverage", str(FIXTURES / "incident.jsonl"), *POLICY), 1),
    ],
    ids=["import", "every name", "help", "help of gate", "gate", "red gate"],
)
def test_nothing_heavy_is_loaded(code: str, arguments: tuple[str, ...], exit_code: int):
    code_, packages = loaded(code, *arguments)
    assert code_ == exit_code
    assert "evalkit" in packages
    assert packages.isdisjoint(HEAVY)


def test_a_gate_with_everything_it_can_write_loads_nothing_heavy_either(tmp_path: Path):
    paths = (
        "--run",
        tmp_path / "run",
        "--junit",
        tmp_path / "j.xml",
        "--summary",
        tmp_path / "s.md",
        "--json",
        tmp_path / "o",
    )
    arguments = ("gate", "evidence_coverage", str(FIXTURES / "release.jsonl"), *POLICY, *map(str, paths))
    code, packages = loaded(RUN, *arguments)
    assert code == 0
    assert packages.isdisjoint(HEAVY)
    assert json.loads((tmp_path / "o").read_text())["outcome"] == "passed"


def test_importing_evalkit_loads_not_even_pydantic():
    _, packages = loaded("import sys, evalkit" + SHOW)
    assert packages.isdisjoint({"pydantic", "orjson", "typer", "rich", "jinja2", "rapidfuzz"})


# --- the front door ---------------------------------------------------------------------------------------------------


def test_the_front_door_is_sorted_and_about_25_names_wide():
    assert evalkit.__all__ == sorted(evalkit.__all__)
    assert len(set(evalkit.__all__)) == len(evalkit.__all__)
    assert 20 <= len(evalkit.__all__) <= 30
    assert dir(evalkit) == evalkit.__all__


@pytest.mark.parametrize("name", evalkit.__all__)
def test_every_name_is_there_and_told(name: str):
    found = getattr(evalkit, name)
    own = type(found) if isinstance(found, evalkit.Metric) else found
    assert (found.__doc__ or "").strip()
    assert not own.__doc__.startswith(f"{name}(")  # the docstring that dataclass and NamedTuple make up
    assert own.__module__.startswith("evalkit.")


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'evalkit' has no attribute 'evidence_coverag'"):
        _ = evalkit.evidence_coverag


def test_the_type_checker_sees_the_same_names_as_the_interpreter():
    import ast

    tree = ast.parse((ROOT / "evalkit" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    told = {
        alias.name: statement.module
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert told == {name: f"evalkit.{home}" for name, home in evalkit._HOMES.items()}
    assert sorted(told) == evalkit.__all__
