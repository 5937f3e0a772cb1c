"""README and guides cannot rot: their outputs are real, every command is shown, the Python runs, the rooms exist."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer.main
from typer.testing import CliRunner

import evalkit
from evalkit.cli import application

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"tools/{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands() -> list[str]:
    import evalkit.cli  # noqa: F401 - registers the commands

    found = []
    for name, command in typer.main.get_command(application()).commands.items():  # type: ignore[attr-defined]
        found += [f"{name} {sub}" for sub in command.commands] if hasattr(command, "commands") else [name]
    return found


@pytest.mark.parametrize("page", load("readme").PAGES, ids=lambda page: page.name)
def test_every_output_on_a_page_is_what_the_command_prints_now(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "```console" in text
    assert load("readme").rebuilt(text) == text, "run: .venv/bin/python tools/readme.py"


def test_every_guide_is_linked_from_the_readme() -> None:
    guides = [path.name for path in (ROOT / "docs").glob("*.md")]
    assert [name for name in guides if f"(docs/{name})" not in README] == []


def test_a_changed_output_would_be_noticed() -> None:
    readme = load("readme")
    altered = "```console\n$ evalkit gate --nope\nall is well\n```"
    assert "No such option" in readme.rebuilt(altered)


@pytest.mark.parametrize("command", commands())
def test_every_command_is_in_the_readme_and_has_help(command: str) -> None:
    assert f"`{command}`" in README
    done = CliRunner().invoke(application(), [*command.split(), "--help"], terminal_width=80)
    assert done.exit_code == 0
    assert f" {command} [OPTIONS]" in done.output
    # a sentence that says what it does, before the tables of arguments and options
    about = done.output.split("╭")[0].split("[OPTIONS]")[1].splitlines()[1:]
    assert len(" ".join(about).split()) >= 5


def test_every_screen_of_help_fits_80_columns() -> None:
    done = subprocess.run([sys.executable, "-m", "evalkit", "--help"], capture_output=True, text=True, check=False)
    assert max(map(len, done.stdout.splitlines())) <= 80


def run_python(name: str) -> object:
    """Run the one Python block of the README that defines `name`, and return what it defines."""
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (source,) = [block for block in blocks if re.search(rf"^(def {name}\(|{name} = )", block, re.MULTILINE)]
    namespace: dict[str, object] = {}
    exec(compile(source, "README.md", "exec"), namespace)
    return namespace[name]


def test_the_adapter_in_the_readme_is_one() -> None:
    from evalkit.cases.adapters import Adapter

    assert isinstance(run_python("MINE"), Adapter)


def test_the_metric_in_the_readme_runs_and_passes_its_lint() -> None:
    metric = run_python("field_coverage")
    assert isinstance(metric, evalkit.Metric)
    # 1 of 2 required fields is filled: 1 - 1/2
    result = metric.score(required_fields=["a", "b"], filled_fields=["a"])
    assert (result.value, result.reason) == (0.5, "missing=b")
    assert metric.score(required_fields=[], filled_fields=[]).value is None


def test_every_make_target_in_the_readme_exists() -> None:
    targets = set(re.findall(r"`make ([a-z]+)`", README))
    assert {"run", "test", "notebooks", "lab"} <= targets
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert not [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)]


def test_every_path_in_the_readme_exists() -> None:
    paths = set(re.findall(r"`((?:evalkit|fixtures|notebooks|benchmarks|tests|\.github)/[\w/.-]*)`", README))
    assert paths
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_every_notebook_is_in_the_readme() -> None:
    names = [path.stem for path in (ROOT / "notebooks").glob("*.py")]
    assert names
    assert not [name for name in names if f"`{name}`" not in README]


def test_every_public_name_is_documented() -> None:
    assert sorted(evalkit.__all__) == evalkit.__all__
    assert not [name for name in evalkit.__all__ if not (getattr(evalkit, name).__doc__ or "").strip()]
