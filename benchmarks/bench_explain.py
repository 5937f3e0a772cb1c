"""How long explaining two runs takes against scoring them: whole processes, as a ratio within one run.

``python benchmarks/bench_explain.py [--rows 100000] [--rounds 3]``. The new run is of another system revision, so every
line differs; in a hundredth of the rows one claim lost its citation, and its place in the supported list with it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from coverage_rows import POLICY, write_rows

LOST = 100
"""One row in so many loses a citation."""


def command(*arguments: str) -> float:
    """Run one evalkit command on one core and return its seconds."""
    core = sorted(os.sched_getaffinity(0))[:1]
    program = [sys.executable, "-m", "evalkit", *arguments]
    start = time.perf_counter()
    done = subprocess.run(  # one core, so that both sides have the same
        program, stdout=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, core), check=False
    )
    assert done.returncode in (0, 1), program
    return time.perf_counter() - start


def write_newer(old: Path, new: Path) -> int:
    """Write the same rows as another revision of the system produced them; return how many lost a citation."""
    lost = 0
    with old.open() as rows, new.open("w") as out:
        for number, row in enumerate(rows):
            case = json.loads(row)
            case["system_revision"] = "next"
            if number % LOST == 0 and case["supported_claim_ids"]:
                gone = case["supported_claim_ids"].pop()
                evidence = case.get("evidence", {})
                evidence["citations"] = [c for c in evidence.get("citations", []) if c.get("claim_id") != gone]
                lost += 1
            out.write(json.dumps(case) + "\n")
    return lost


def measure(folder: Path, rows: int, rounds: int) -> None:
    """Time both, in turns, and print the median ratio."""
    policy, old, new = folder / "policy.toml", folder / "old.jsonl", folder / "new.jsonl"
    policy.write_text(POLICY)
    write_rows(old, rows, rng=random.Random(3))
    lost = write_newer(old, new)
    ratios = []
    for at in range(rounds):
        runs = [folder / f"{name}{at}" for name in ("old", "new")]
        scoring = sum(
            command("gate", "evidence_coverage", str(cases), "--policy", str(policy), "--run", str(run))
            for cases, run in zip((old, new), runs, strict=True)
        )
        facts = folder / f"explain{at}.json"
        took = command("explain", str(runs[1]), str(runs[0]), "--json", str(facts))
        ratios.append(took / scoring)
        found = json.loads(facts.read_text())
        assert found["total"] == rows, found["total"]
        assert len(found["rows"]) == lost, (len(found["rows"]), lost)
        print(f"  round {at + 1}: scoring both {scoring:.1f} s, explaining them {took:.1f} s; {found['by_kind']}")
    spread = f"({min(ratios):.2f} to {max(ratios):.2f})"
    print(f"{rows:,} rows, {lost} changed: explain / scoring both runs {median(ratios):.2f} {spread}, target under 1.0")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"  largest process {peak:.0f} MiB")


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), given.rows, given.rounds)


if __name__ == "__main__":
    main()
