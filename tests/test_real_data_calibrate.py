"""FRANK, WiCE and PandaLM calibrated end to end; skipped where they are not beside the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared/data"
SETS = ("frank", "wice", "pandalm")


@pytest.mark.slow
@pytest.mark.skipif(not all((DATA / name).exists() for name in SETS), reason="the labels are not beside this checkout")
def test_calibration_on_public_labels_gives_the_published_figures() -> None:
    command = [sys.executable, ROOT / "benchmarks/real_data_calibrate.py", DATA]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(line.startswith("ok") for line in done.stdout.splitlines()) == 33
    assert "DIFF" not in done.stdout
