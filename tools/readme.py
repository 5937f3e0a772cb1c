"""Run every ``console`` block of the README and the guides, write its real output back; ``--check`` only compares."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from evalkit.pages.metric_table import metric_table

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(r"^```console\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)
# What differs from run to run by nature: run ids, and the seconds something took.
_UNSTABLE = [
    (re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}"), "20261201T090000Z-4f2a1c"),
    (re.compile(r"\b\d+\.\d+ s\b"), "0.5 s"),
]


_METRICS = re.compile(r"(<!-- metrics: [^\n]* -->\n).*?(<!-- end of metrics -->)", re.DOTALL)


def rebuilt(text: str) -> str:
    """Return a page with its table of metrics and the output of each command as they are now.

    The commands share one scratch folder.
    """
    text = _METRICS.sub(lambda found: found.group(1) + metric_table() + found.group(2), text)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in ("fixtures", "notebooks", "requirements.lock"):
            (folder / name).symlink_to(ROOT / name)
        return _BLOCK.sub(lambda block: f"```console\n{_run(block.group(1), folder)}```", text)


def commands_of(block: str) -> list[str]:
    """Return the commands of a block: lines that begin with ``$``, continued by a backslash."""
    joined = block.replace("\\\n", "\\\0")
    return [line.replace("\\\0", "\\\n") for line in joined.split("\n") if line.startswith("$ ")]


def _run(block: str, folder: Path) -> str:
    return "".join(_one(command, folder) for command in commands_of(block))


def _one(command: str, folder: Path) -> str:
    typed, _, tail = command.removeprefix("$ ").replace("\\\n", " ").partition("| tail -")
    program, *arguments = shlex.split(typed)
    if program != "evalkit":
        msg = f"a console block may only run evalkit; got {program!r}"
        raise ValueError(msg)
    environment = os.environ | {"COLUMNS": "80", "PYTHONWARNINGS": "error:::evalkit"}
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", *arguments],
        cwd=folder, env=environment, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    output = "\n".join(done.stdout.rstrip().split("\n")[-int(tail) if tail else 0 :])
    for pattern, stable in _UNSTABLE:
        output = pattern.sub(stable, output)
    code = f"[exit code {done.returncode}]\n" if done.returncode else ""
    return f"{command}\n{output}\n{code}"


def main() -> int:
    """Rewrite, or compare."""
    wanted = [ROOT / name for name in sys.argv[1:] if not name.startswith("-")] or PAGES
    is_same = True
    for page in wanted:
        before = page.read_text(encoding="utf-8")
        after = rebuilt(before)
        is_same = is_same and before == after
        if "--check" not in sys.argv:
            page.write_text(after, encoding="utf-8")
            continue
        changes = difflib.unified_diff(before.splitlines(), after.splitlines(), page.name, "as it is now", lineterm="")
        print("\n".join(changes))
    return int("--check" in sys.argv and not is_same)


if __name__ == "__main__":
    sys.exit(main())
