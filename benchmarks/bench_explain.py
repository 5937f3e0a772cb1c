"""How long explaining two runs takes against scoring them: whole processes on one core.

The new run is of another system revision, so every line differs; in a hundredth of the rows one claim lost its
citation, and its place in the supported list with it.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from coverage_rows import POLICY, write_rows
from measuring import Row, Size, evalkit_process, run_alone, seconds

LOST = 100
"""One row in so many loses a citation."""


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


def measure(size: Size) -> Iterator[Row]:
    """Time scoring both runs, then explaining them."""
    rows = size.of(100_000, 200)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        policy, old, new = folder / "policy.toml", folder / "old.jsonl", folder / "new.jsonl"
        policy.write_text(POLICY)
        write_rows(old, rows, rng=random.Random(3))
        lost = write_newer(old, new)
        ratios, took = [], 0.0
        for at in range(size.rounds):
            runs = [folder / f"{name}{at}" for name in ("old", "new")]
            scoring = sum(
                seconds(
                    lambda cases=cases, run=run: evalkit_process(
                        "gate", "evidence_coverage", cases, "--policy", policy, "--run", run, cores=1, codes=(0, 1)
                    )
                )
                for cases, run in zip((old, new), runs, strict=True)
            )
            facts = folder / f"explain{at}.json"
            took = seconds(
                lambda runs=runs, facts=facts: evalkit_process(
                    "explain", runs[1], runs[0], "--json", facts, cores=1, codes=(0, 1)
                )
            )
            ratios.append(took / scoring)
            found = json.loads(facts.read_text())
            assert found["total"] == rows, found["total"]
            assert len(found["rows"]) == lost, (len(found["rows"]), lost)
    yield Row(
        what=f"explain two runs of {rows:,} rows, {lost:,} of them changed: time",
        against="gating both",
        ratios=ratios,
        most=1,
        note=f"{took:.1f} s in the last round",
    )


if __name__ == "__main__":
    run_alone(measure, __doc__)
