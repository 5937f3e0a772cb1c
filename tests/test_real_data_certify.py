"""Recorded judges of public data through the whole certification; skipped where the data are not beside the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared/data"


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "pandalm").exists(), reason="WiCE and PandaLM are not beside this checkout")
def test_each_recorded_judge_gets_the_verdict_that_its_figures_ask_for() -> None:
    # GPT-4 on WiCE passes within limits, GPT-3.5 and both PandaLM judges are refused, each of the three people is not.
    command = [sys.executable, ROOT / "benchmarks/real_data_certify.py", DATA]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(line.startswith("ok") for line in done.stdout.splitlines()) == 17
    assert "DIFF" not in done.stdout
