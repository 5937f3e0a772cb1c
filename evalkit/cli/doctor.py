"""What is wrong with this machine and how to mend it; every check reads, none changes anything but a trial file."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evalkit.contract import Outcome, example_list

__all__ = ["Finding", "doctor_facts", "doctor_screen", "examine", "outcome_of"]

_OLDEST = (3, 11)
_KEYS = (
    "OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY",
    "MISTRAL_API_KEY",
)  # fmt: skip
"""Environment variables that judges read. Only whether one is set is ever shown."""
_EXTRAS = {
    "ragas": ("ragas", "openai", "instructor"),
    "calibrate": ("numpy", "scipy", "sklearn", "krippendorff"),
    "lab": ("jupyterlab", "ipywidgets", "altair", "papermill", "jupytext", "nbclient", "ipykernel"),
}
_DEEP_SECONDS = 120


class Finding(NamedTuple):
    """One thing looked at."""

    name: str
    status: Literal["ok", "note", "wrong"]
    """A note costs a feature that not everybody needs; what is wrong gives wrong results or none."""
    found: str
    do: str = ""


def examine(folder: Path, *, deep: bool = False) -> Iterator[Finding]:
    """Look at Python, packages, lock, kernel, browser, permissions and judges' settings.

    Parameters
    ----------
    folder : Path
        Where the user stands.
    deep : bool
        Import ragas as well, in a process of its own: ten seconds or more.
    """
    yield python_finding(sys.version_info[:3])
    yield lock_finding(folder, installed())
    for extra, modules in _EXTRAS.items():
        yield extra_finding(extra, [module for module in modules if find_spec(module) is None])
    yield community_finding(_version("langchain-community"), has_ragas=find_spec("ragas") is not None)
    if deep:
        yield deep_finding()
    yield kernel_finding()
    yield pictures_finding(has_converter=find_spec("vl_convert") is not None)
    yield browser_finding(shutil.which("chromium") or shutil.which("chromium-browser"))
    yield write_finding(folder / "runs")
    yield keys_finding(os.environ)


def outcome_of(findings: Sequence[Finding]) -> Outcome:
    """Return *incomplete* where something is wrong, *passed* otherwise."""
    return Outcome.incomplete if any(finding.status == "wrong" for finding in findings) else Outcome.passed


def installed() -> dict[str, str]:
    """Return name and version of every installed distribution."""
    return {_canonical(found.name): found.version for found in metadata.distributions() if found.name}


def python_finding(version: Sequence[int]) -> Finding:
    """Hold the running Python against the oldest that evalkit runs on."""
    shown, oldest = ".".join(map(str, version)), ".".join(map(str, _OLDEST))
    if tuple(version[:2]) < _OLDEST:
        return Finding("python", "wrong", f"{shown}; evalkit needs {oldest} or newer", "make PYTHON=python3.11 setup")
    return Finding("python", "ok", shown)


def lock_finding(folder: Path, here: Mapping[str, str]) -> Finding:
    """Hold installed versions against the nearest ``requirements.lock``: other versions may give other numbers."""
    locks = (parent / "requirements.lock" for parent in (folder.resolve(), *folder.resolve().parents))
    lock = next((path for path in locks if path.is_file()), None)
    if lock is None:
        return Finding("lock", "note", "no requirements.lock here or above", "pin what your gate runs on")
    wanted = dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock.read_text(encoding="utf-8"), re.MULTILINE))
    other = [
        f"{name} {here[_canonical(name)]} (locked {version})"
        for name, version in wanted.items()
        if here.get(_canonical(name), version) != version
    ]
    if other:
        said = f"{len(other)} of {len(wanted)} locked packages have another version: {example_list(other)}"
        return Finding("lock", "wrong", said, "make setup installs the lock")
    present = sum(_canonical(name) in here for name in wanted)
    return Finding("lock", "ok", f"{present} of {len(wanted)} locked packages installed, each at its locked version")


def extra_finding(extra: str, missing: Sequence[str]) -> Finding:
    """Say whether the modules of an optional part are there (found, not imported)."""
    uses = {
        "ragas": "metrics written against ragas, and judges",
        "calibrate": "calibration and agreement",
        "lab": "notebooks and charts",
    }
    if missing:
        said = f"{', '.join(missing)} not installed: no {uses[extra]}"
        return Finding(extra, "note", said, f'pip install "evalkit-workbench[{extra}]", or make setup for everything')
    return Finding(extra, "ok", f"{uses[extra]}: installed")


def community_finding(version: str | None, *, has_ragas: bool) -> Finding:
    """Hold langchain-community against the pin without which ragas 0.4.3 cannot be imported (field case L01)."""
    name = "langchain-community"
    if not has_ragas:
        return Finding(name, "ok", "not needed without ragas")
    if version is None:
        return Finding(name, "wrong", "not installed, and ragas imports it", 'pip install "langchain-community<0.4.2"')
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    if numbers >= (0, 4, 2):
        said = f"{version} no longer holds a module that ragas 0.4.3 imports"
        return Finding(name, "wrong", said, 'pip install "langchain-community<0.4.2"')
    return Finding(name, "ok", version)


def deep_finding() -> Finding:
    """Import ragas in a process of its own."""
    code = "import time; t = time.monotonic(); import ragas.metrics; print(round(time.monotonic() - t, 1))"
    environment = os.environ | {"RAGAS_DO_NOT_TRACK": "true"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=_DEEP_SECONDS,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Finding(
            "import ragas", "wrong", f"still importing after {_DEEP_SECONDS} seconds", "look for a slow disk"
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return Finding("import ragas", "wrong", last, "make setup installs versions that fit")
    return Finding("import ragas", "ok", f"{done.stdout.split()[-1]} seconds")


def kernel_finding() -> Finding:
    """Say which Python the notebooks' kernel would run: another one would not find evalkit."""
    try:
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError:
        return Finding("kernel", "note", "jupyter_client is not installed: no notebooks", "make setup")
    command = KernelSpecManager().get_kernel_spec("python3").argv[0]
    # jupyter_client puts its own interpreter in the place of a bare name.
    if Path(command).name != command and Path(command).resolve() != Path(sys.executable).resolve():
        do = "jupyter kernelspec remove python3, or activate the environment of that kernel"
        return Finding("kernel", "wrong", "the kernel python3 runs another Python than evalkit", do)
    return Finding("kernel", "ok", "python3 runs this Python")


def pictures_finding(*, has_converter: bool) -> Finding:
    """Say whether charts can become pictures, which headless pages and reports need."""
    if has_converter:
        return Finding("charts as png", "ok", "vl-convert")
    return Finding("charts as png", "note", "vl-convert is not installed: headless pages fail", "make setup")


def browser_finding(path: str | None) -> Finding:
    """Say whether the browser tests can run."""
    if path:
        return Finding("chromium", "ok", "found; the browser tests can run")
    return Finding("chromium", "note", "not found: the browser tests skip themselves", "apt-get install chromium")


def write_finding(folder: Path) -> Finding:
    """Try to write where run folders go."""
    place = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        return Finding(
            "runs/", "wrong", f"cannot be written to ({error.strerror or error})", "give --run another folder"
        )
    return Finding("runs/", "ok", "writable" if place == folder else "can be made")


def keys_finding(environment: Mapping[str, str]) -> Finding:
    """Name the judges' environment variables that are set; never a value."""
    is_set = [name for name in _KEYS if environment.get(name)]
    if not is_set:
        return Finding("judges", "note", f"none of {', '.join(_KEYS)} is set: judges replay, none is called")
    return Finding("judges", "ok", f"set: {', '.join(is_set)} (values are not shown)")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# --- shown -----------------------------------------------------------------------------------------------------------


def doctor_screen(findings: Sequence[Finding]) -> str:
    """Return the text for a terminal."""
    import textwrap

    from evalkit.pages.plain import plain

    width = max(len(finding.name) for finding in findings)
    lines: list[str] = []
    for finding in findings:
        head = f"{finding.status:<5}  {finding.name:<{width}}  "
        text = plain(finding.found) + (f"; do: {plain(finding.do)}" if finding.do else "")
        lines += textwrap.wrap(text, 80, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False)
    wrong = sum(finding.status == "wrong" for finding in findings)
    code = int(outcome_of(findings))
    said = f"{wrong} of {len(findings)} checks are wrong" if wrong else f"nothing wrong in {len(findings)} checks"
    return "\n".join([*lines, "", f"{outcome_of(findings).name.upper()} (exit code {code}): {said}"])


def doctor_facts(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the findings as plain JSON values."""
    outcome = outcome_of(findings)
    return {
        "schema": 1,
        "command": "doctor",
        "outcome": outcome.name,
        "exit_code": int(outcome),
        "checks": [finding._asdict() for finding in findings],
    }
