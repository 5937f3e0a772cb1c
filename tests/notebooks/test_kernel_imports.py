"""What the kernel of a page loads: a page whose metric is arithmetic does not wait ten seconds for ragas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalkit.pages.notebooks.command import NotebookOptions, run_notebooks

ROOT = Path(__file__).parents[2]
DETERMINISTIC = ("00", "01", "02", "03", "04", "06", "07")
NEVER = {"ragas", "langchain", "langchain_core", "openai", "instructor", "datasets", "torch"}
TELL = """
# %%
import json, pathlib, sys
_ = pathlib.Path("{file}").write_text(json.dumps(sorted(sys.modules)))

# %%"""


@pytest.mark.slow
def test_pages_whose_metric_is_deterministic_load_neither_ragas_nor_a_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    (tmp_path / "notebooks").mkdir()
    sources = [path for path in sorted((ROOT / "notebooks").glob("*.py")) if path.name[:2] in DETERMINISTIC]
    assert len(sources) == len(DETERMINISTIC)
    for source in sources:  # the last thing that a page does before it concludes is to tell what it has loaded
        before, cell, after = source.read_text(encoding="utf-8").rpartition("\n# %%\n")
        told = tmp_path / f"{source.stem}.modules"
        (tmp_path / "notebooks" / source.name).write_text(before + TELL.format(file=told) + "\n" + after)
        assert cell
    monkeypatch.chdir(tmp_path)
    done = run_notebooks([], NotebookOptions(out=tmp_path / "runs"))
    for source in sources:
        modules = {name.split(".")[0] for name in json.loads((tmp_path / f"{source.stem}.modules").read_text())}
        assert "evalkit" in modules
        assert modules.isdisjoint(NEVER), f"{source.name} loads {sorted(modules & NEVER)}"
    assert [v.name for v in done.verdicts if any(c.name == "cells" and c.outcome for c in v.checks)] == []
