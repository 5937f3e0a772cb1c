"""pyproject.toml, requirements.lock, environment.yml and the Makefile describe one environment."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
CONDA = (ROOT / "environment.yml").read_text()

PACKAGE_COMMAND = "pip install --no-deps --no-build-isolation --editable ."
NOT_IN_CORE = {"altair", "dask", "ipywidgets", "jupyterlab", "numpy", "openai", "pandas", "ragas", "scipy"}


def named_requirements() -> list[tuple[str, Requirement]]:
    """Every requirement pyproject.toml names, with the table it stands in."""
    project = PYPROJECT["project"]
    tables = {"build-system": PYPROJECT["build-system"]["requires"], "core": project["dependencies"]}
    tables |= project["optional-dependencies"]
    return [(table, Requirement(line)) for table, lines in tables.items() for line in lines]


def lock_entries() -> dict[str, tuple[Requirement, str]]:
    """Name -> (pin, whole text of its entry with hashes and origin)."""
    entries = re.findall(r"^[a-z0-9].*(?:\n[ ]+.*)*", LOCK, re.MULTILINE)
    pins = [(Requirement(entry.split("\\")[0].strip()), entry) for entry in entries]
    return {canonicalize_name(pin.name): (pin, entry) for pin, entry in pins}


ENTRIES = lock_entries()


def locked_version(name: str) -> Version:
    (pin,) = ENTRIES[canonicalize_name(name)][0].specifier
    return Version(pin.version)


@pytest.mark.parametrize(("table", "requirement"), named_requirements(), ids=str)
def test_what_pyproject_names_is_locked_at_a_version_it_allows(table: str, requirement: Requirement) -> None:
    assert canonicalize_name(requirement.name) in ENTRIES, f"[{table}] {requirement} is not in the lock: make lock"
    assert requirement.specifier.contains(locked_version(requirement.name)), f"[{table}] {requirement}: make lock"


def test_the_lock_came_from_this_pyproject() -> None:
    direct = {name for name, (_, entry) in ENTRIES.items() if "evalkit-workbench (pyproject.toml)" in entry}
    named = {
        canonicalize_name(requirement.name) for table, requirement in named_requirements() if table != "build-system"
    }
    assert direct == named, "a requirement was added or dropped: make lock"


def test_each_lock_entry_is_one_exact_version_with_hashes() -> None:
    loose = [name for name, (pin, _) in ENTRIES.items() if [one.operator for one in pin.specifier] != ["=="]]
    bare = [name for name, (_, entry) in ENTRIES.items() if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry)]
    assert not loose, "not pinned"
    assert not bare, "without a hash"


def test_each_package_has_one_entry() -> None:
    starts = [line.split("==")[0] for line in LOCK.splitlines() if not line.startswith((" ", "#"))]
    assert sorted(starts) == sorted(ENTRIES), "two entries of one package, or a line that is no pin"


@pytest.mark.parametrize("name", ["requirements.lock", "environment.yml", "Makefile", "pyproject.toml", ".ci/run"])
def test_no_file_names_an_index_or_a_place_on_somebody_s_disk(name: str) -> None:
    address = r"\w+://\S+|--(?:extra-)?index-url\b|--find-links\b"
    place = r"(?<![\w.*])/(?:home|root|tmp|opt|Users)/\S*"
    assert not re.findall(f"{address}|{place}", (ROOT / name).read_text())


def test_ragas_can_be_imported_from_the_lock() -> None:
    assert locked_version("ragas") == Version("0.4.3")
    assert locked_version("langchain-community") < Version("0.4.2"), "0.4.2 dropped a module that ragas imports"


def test_one_python_is_named_everywhere() -> None:
    (minimum,) = Requirement("python" + PYPROJECT["project"]["requires-python"]).specifier
    assert f"python={minimum.version}" in yaml.safe_load(CONDA)["dependencies"]
    assert f"--python-version {minimum.version} " in MAKEFILE
    assert f"sys.version_info < ({minimum.version.replace('.', ', ')})" in MAKEFILE
    assert PYPROJECT["tool"]["mypy"]["python_version"] == minimum.version
    assert PYPROJECT["tool"]["ruff"]["target-version"] == "py" + minimum.version.replace(".", "")


def test_conda_installs_the_lock_and_then_the_package() -> None:
    *conda, from_pip = yaml.safe_load(CONDA)["dependencies"]
    assert [Requirement(name.split("=")[0]).name for name in conda] == ["python", "pip"], "the rest comes from the lock"
    assert from_pip == {"pip": ["--require-hashes", "--requirement requirements.lock"]}
    assert PACKAGE_COMMAND in CONDA


def test_make_installs_the_lock_and_then_the_package() -> None:
    assert "uv pip sync --quiet --require-hashes $(LOCK)" in MAKEFILE
    assert "pip install --quiet --require-hashes -r $(LOCK)" in MAKEFILE
    assert MAKEFILE.count(PACKAGE_COMMAND.replace("pip install", "pip install --quiet")) == 2, "by uv, or else by pip"


def test_make_takes_uv_s_pin_from_the_lock() -> None:
    (script,) = re.findall(r"define UV_PIN\n(.*?)endef", MAKEFILE, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.chdir(ROOT):
        exec(script.replace("$(LOCK)", "requirements.lock"), {})
    first, *hashes = printed.getvalue().replace("\\", "").split()
    assert first == f"uv=={locked_version('uv')}"
    assert all(word.startswith("--hash=sha256:") for word in hashes)
    assert len(hashes) == ENTRIES["uv"][1].count("--hash=")


def test_what_is_installed_is_what_is_locked() -> None:
    wanted = {name: pin for name, (pin, _) in ENTRIES.items() if pin.marker is None or pin.marker.evaluate()}
    here = {canonicalize_name(found.name): found.version for found in metadata.distributions()}
    differing = {
        name: here.get(name) for name, pin in wanted.items() if not pin.specifier.contains(here.get(name, "0"))
    }
    assert not differing, "the environment is not the lock: make setup"


def test_the_core_brings_none_of_the_heavy_libraries() -> None:
    reached: set[str] = set()
    waiting = [requirement for table, requirement in named_requirements() if table == "core"]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in reached or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        reached.add(name)
        waiting += [Requirement(line) for line in metadata.requires(name) or []]
    assert not reached & NOT_IN_CORE


@pytest.mark.skipif(not shutil.which("git") or not (ROOT / ".git").exists(), reason="needs a git checkout")
@pytest.mark.parametrize("path", ["fixtures/any/bom_and_crlf.jsonl", "fixtures/any/policy.toml", "any/cases.jsonl"])
def test_git_never_alters_the_bytes_of_a_fixture(path: str) -> None:
    said = subprocess.run(["git", "check-attr", "text", path], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == f"{path}: text: unset"
