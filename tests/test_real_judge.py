"""Recorded verdicts of a real judge through the whole path; skipped where the public data are not here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared/data"


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / "wice").exists(), reason="the WiCE labels and verdicts are not beside this checkout")
def test_wices_recorded_gpt4_verdicts_keep_their_figures() -> None:
    # 100 claims, 101 calls with the preflight; accuracy 0.77, kappa 0.462: the script compares each figure.
    command = [sys.executable, ROOT / "benchmarks/real_judge.py", DATA]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith("ok") for line in lines) == 9
    assert "DIFF" not in done.stdout
