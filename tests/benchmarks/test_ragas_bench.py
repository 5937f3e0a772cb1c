"""Each benchmark still works, on as little as shows it; what it would say of speed is not looked at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"
NAMES = sorted(path.stem.removeprefix("bench_") for path in BENCHMARKS.glob("bench_*.py"))


def bench(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / "bench.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=240)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_still_measures_what_it_says(name: str, tmp_path: Path):
    out = tmp_path / "results.md"
    done = bench(name, "--quick", "--out", out)
    assert done.returncode == 0, done.stderr
    table = [line for line in out.read_text().splitlines() if line.startswith("| ")]
    assert len(table) >= 2, "a heading and at least one row"
    assert all(line.count(" | ") == 6 for line in table), "seven cells a row"


def test_every_row_of_the_design_has_a_benchmark():
    assert {"gate", "judge", "memory", "mutation", "notebooks", "sweep"} <= set(NAMES)


def test_a_benchmark_that_is_not_there_is_named():
    done = bench("gte", "--quick")
    assert done.returncode == 2
    assert "there is no benchmark 'gte'" in done.stderr
