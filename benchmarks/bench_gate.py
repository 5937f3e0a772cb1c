"""How fast and how small `evalkit gate` is, as ratios within one run: rows a second, start, peak memory.

``python benchmarks/bench_gate.py [--rows 100000] [--rounds 5] [--million]``. Pairs are interleaved and the median of
the pairwise ratios is quoted, because a machine's speed drifts.
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
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median

from coverage_rows import POLICY, write_rows

from evalkit import evidence_coverage

RAGAS_ROWS = 2_000
"""The ragas loop takes the same time for every row, so a part of the file gives its rate."""


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def evalkit_gate(folder: Path, cases: Path, *, cores: int, before: str = "") -> None:
    """Run the whole command in a process of its own, on so many cores; it writes a whole run folder."""
    run = tempfile.mkdtemp(dir=folder) + "/run"
    program = f"{before}\nfrom evalkit.cli import main\nmain()"
    allowed = sorted(os.sched_getaffinity(0))[:cores]
    arguments = ["gate", "evidence_coverage", str(cases), "--policy", str(folder / "policy.toml"), "--run", run]
    command = [sys.executable, "-c", program, *arguments]
    subprocess.run(  # one core or two, as a container would give
        command, check=True, stdout=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, allowed)
    )


def plain_loop(folder: Path, cases: Path) -> None:
    """Do the least that any scorer must: read each line, call the plain function, write the whole record."""
    with cases.open() as rows, (folder / "plain.jsonl").open("w") as out:
        for row in rows:
            case = json.loads(row)
            result = evidence_coverage(case["required_claim_ids"], case["supported_claim_ids"])
            record = {**case, "value": result.value, "reason": result.reason, "detail": result.detail}
            out.write(json.dumps(record) + "\n")


def ragas_loop(cases: Path) -> Callable[[], None]:
    """Return a loop of ragas' own `.score` over the first rows of the file."""
    from evalkit.scoring.ragas_bridge import to_ragas

    metric = to_ragas(evidence_coverage)
    with cases.open() as lines:
        rows = [json.loads(line) for line in islice(lines, RAGAS_ROWS)]
    keys = ("required_claim_ids", "supported_claim_ids")
    inputs = [{key: row[key] for key in keys} for row in rows]

    def loop() -> None:
        for row in inputs:
            metric.score(**row)

    return loop


def report(what: str, ratios: list[float], target: str) -> None:
    """Print the median of the pairwise ratios and their spread."""
    print(f"{what:66} {median(ratios):7.2f}x  ({min(ratios):.2f} to {max(ratios):.2f})  target {target}")


def compare(folder: Path, name: str, cases: Path, rows: int, rounds: int) -> None:
    """Measure one file of rows against ragas and against the plain loop."""
    loop = ragas_loop(cases)
    against_ragas: dict[int, list[float]] = {1: [], 2: []}
    against_plain = []
    for _ in range(rounds):
        ragas = RAGAS_ROWS / seconds(loop)
        for cores, ratios in against_ragas.items():
            took = seconds(lambda cores=cores: evalkit_gate(folder, cases, cores=cores))
            ratios.append(rows / took / ragas)
            if cores == 1:
                against_plain.append(took / seconds(lambda: plain_loop(folder, cases)))
    print(f"{rows:,} rows, {name}: ragas .score {ragas:,.0f} rows/s in the last round")
    report("  evalkit gate, whole process, one core: rows/s against ragas", against_ragas[1], "20x, goal 50x")
    if len(os.sched_getaffinity(0)) > 1:
        report("  the same on two cores", against_ragas[2], "35x")
    report("  time on one core against json + plain function + json", against_plain, "at most 2.5x")


def start(folder: Path, rounds: int) -> None:
    """Measure a gate of ten rows with and without ragas imported."""
    cases = folder / "ten.jsonl"
    write_rows(cases, 10, rng=random.Random(10))
    ratios = []
    for _ in range(rounds):
        ours = seconds(lambda: evalkit_gate(folder, cases, cores=2))
        ratios.append(seconds(lambda: evalkit_gate(folder, cases, cores=2, before="import ragas")) / ours)
    print(f"10 rows, whole process: {ours:.2f} s in the last round")
    report("  the same with ragas imported, against it", ratios, "15x")


def memory(folder: Path) -> None:
    """Measure the peak memory of a gate over a million rows."""
    cases = folder / "million.jsonl"
    write_rows(cases, 1_000_000, rng=random.Random(6), with_evidence=False)
    took = seconds(lambda: evalkit_gate(folder, cases, cores=2))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"1,000,000 rows, whole process: largest process {peak:.0f} MiB (target under 300), {took:.0f} s")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--million", action="store_true", help="measure peak memory only")
    options = parser.parse_args()
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "policy.toml").write_text(POLICY)
        if options.million:
            memory(folder)
            return
        for name, with_evidence in (("ids only", False), ("with evidence", True)):
            cases = folder / "cases.jsonl"
            write_rows(cases, options.rows, rng=random.Random(1), with_evidence=with_evidence)
            compare(folder, name, cases, options.rows, options.rounds)
        start(folder, options.rounds)
    with tempfile.TemporaryDirectory() as scratch:  # after the others: the peak is that of the largest child so far
        folder = Path(scratch)
        (folder / "policy.toml").write_text(POLICY)
        memory(folder)


if __name__ == "__main__":
    main()
