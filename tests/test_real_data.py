"""Human-labelled public data through the functions a user would use; skipped where they are not beside the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared/data"


@pytest.mark.skipif(not (DATA / "expertqa").exists(), reason="the ExpertQA labels are not beside this checkout")
def test_expertqa_gives_the_published_figures() -> None:
    # 217 answers; 1 has no scorable claim; the script compares mean, extremes and the split by usefulness.
    command = [sys.executable, ROOT / "benchmarks/real_data.py", DATA]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith("ok") for line in lines) == 10
    assert "DIFF" not in done.stdout
