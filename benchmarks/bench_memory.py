"""How much memory a gate over a million rows takes: where nearly all pass, and where none does."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
from coverage_rows import POLICY, write_rows
from measuring import Row, Size, run_alone

TARGET_MIB = 300
CORES = 2
ROUNDS = 3
"""A peak is not a time: it hardly differs from run to run."""


class Peak(NamedTuple):
    """Most memory at a time, in MiB."""

    largest: float
    """Of one process."""
    together: float
    """Of all processes, shared pages counted once (sampled)."""


def peak_of(command: list[str]) -> Peak:
    """Run a command and watch its processes."""
    largest = together = 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        root = psutil.Process(process.pid)
        while process.poll() is None:
            sizes = []
            for one in [root, *_children(root)]:
                try:
                    sizes.append(one.memory_full_info().pss)
                    largest = max(largest, _high_water(one.pid))
                except (psutil.Error, OSError):  # it has just ended
                    continue
            together = max(together, sum(sizes))
            time.sleep(0.1)
    assert process.returncode == 0, command
    return Peak(largest / 2**10, together / 2**20)


def _high_water(pid: int) -> int:
    """Return the most memory that a process has had so far, in KiB, as the kernel kept it."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def _children(root: psutil.Process) -> list[psutil.Process]:
    try:
        return list(root.children(recursive=True))
    except psutil.Error:
        return []


def write_failing(path: Path, n: int) -> None:
    """Write rows of which none passes: half of them fail, half are invalid."""
    with path.open("w") as out:
        for i in range(n):
            row = {"case_id": f"case-{i:07d}", "slice": "default", "required_claim_ids": ["window", "fee"]}
            row["supported_claim_ids"] = ["window"] if i % 2 else ["window", "window"]
            out.write(json.dumps(row) + "\n")


def measure(size: Size) -> Iterator[Row]:
    """Measure the peak over rows that pass and over rows that do not."""
    rows = size.of(1_000_000, 1_000)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        cases, policy = folder / "cases.jsonl", folder / "policy.toml"
        policy.write_text(POLICY)
        for what in ("of which 99 in 100 pass", "of which none passes"):
            if what == "of which none passes":
                write_failing(cases, rows)
            else:
                write_rows(cases, rows, rng=random.Random(6), with_evidence=False)
            peaks = [_peak(folder, at, what, cases, policy) for at in range(1 if size.is_quick else ROUNDS)]
            yield Row(
                what=f"peak memory of a gate over {rows:,} rows {what}, largest process",
                against=f"{TARGET_MIB} MiB",
                ratios=[peak.largest / TARGET_MIB for peak in peaks],
                most=1,
                note=f"{max(p.largest for p in peaks):.0f} MiB; all processes {max(p.together for p in peaks):.0f} MiB",
            )


def _peak(folder: Path, at: int, what: str, cases: Path, policy: Path) -> Peak:
    run = folder / f"run{at}{what.replace(' ', '-')}"
    program = [sys.executable, "-m", "evalkit", "gate", "evidence_coverage", str(cases)]
    return peak_of([*program, "--policy", str(policy), "--run", str(run)])


if __name__ == "__main__":
    run_alone(measure, __doc__)
