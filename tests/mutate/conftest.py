"""Shared by the tests of mutate: the mutants of a few lines, and metrics written to a file."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from evalkit.mutate.operators import GENERAL
from evalkit.mutate.plant import seeds
from evalkit.mutate.site import Facts, Operator, Site
from evalkit.mutate.slips import SLIPS
from evalkit.mutate.source import Unit


def operator(name: str) -> Operator:
    return next(found for found in (*SLIPS, *GENERAL) if found.name == name)


@pytest.fixture
def mutants_of():
    """Return the function that gives all mutants which one operator makes of the body of ``def metric(x, y)``."""

    def of(name: str, body: str, *, facts: Facts | None = None, is_own: bool = True, head: str = "def metric(x, y):"):
        text = f"{head}\n{textwrap.indent(body, '    ')}"
        site = Site(Unit("metric", "function", text, 1), facts or Facts(), is_own=is_own)
        changed = [site.unit.apply(seed.edit) for seed in seeds(site, (operator(name),))]
        return [textwrap.dedent(result.split("\n", 1)[1]) for result in changed]

    return of


@pytest.fixture
def write(tmp_path: Path):
    """Return the function that writes a metric's file and its cases, and gives the two names `kill_matrix` takes."""

    def files(source: str, cases: list[dict], name: str = "share") -> tuple[str, Path]:
        module, path = tmp_path / "their_metric.py", tmp_path / "contract.jsonl"
        module.write_text(textwrap.dedent(source).lstrip())
        path.write_text("".join(json.dumps(case) + "\n" for case in cases))
        return f"{module}:{name}", path

    return files
