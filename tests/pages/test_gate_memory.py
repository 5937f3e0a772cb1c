"""A gate's memory hardly grows with the rows, neither where all pass nor where none does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FEW, MANY = 20_000, 60_000
# 1,000,000 rows are to stay under 300 MiB, of which about 55 MiB are Python and what is imported: 250 bytes a row.
MOST_A_ROW = 250

POLICY = """schema = 1
name = "memory"
version = "1"
mode = "report"
metric = "evidence_coverage"
contract_version = "1"
[slices.default]
minimum = 1.0
[limits]
invalid = 0
"""
PROGRAM = """
import sys
from evalkit.cli import main
try:
    main()
finally:
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print("PEAK", line.split()[1])
"""


def peak(folder: Path, name: str, rows: int, supported: list[list[str]]) -> int:
    """Gate so many rows in a process of its own, and return its largest size in bytes."""
    path = folder / f"{name}{rows}.jsonl"
    with path.open("w") as out:
        for at in range(rows):
            case = {"case_id": f"r{at}", "required_claim_ids": ["a", "b"]}
            out.write(json.dumps(case | {"supported_claim_ids": supported[at % len(supported)]}) + "\n")
    (folder / "policy.toml").write_text(POLICY)
    arguments = [
        "gate",
        "evidence_coverage",
        str(path),
        "--policy",
        str(folder / "policy.toml"),
        "--as-of",
        "2026-12-01",
    ]
    run = ["--run", str(folder / f"run{name}{rows}"), "--json", str(folder / f"{name}{rows}.json")]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments, *run, "--junit", str(folder / "junit.xml")],
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout.rpartition("PEAK")[2]) * 1024


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell a process its peak")
@pytest.mark.parametrize(
    ("name", "supported"),
    [("pass", [["a", "b"]]), ("fail", [["a"]]), ("invalid", [["a", "a"]]), ("mixed", [["a"], ["a", "a"]])],
)
def test_a_row_more_costs_a_few_bytes_even_where_every_row_stops_the_release(
    tmp_path: Path, name: str, supported: list[list[str]]
):
    grown = peak(tmp_path, name, MANY, supported) - peak(tmp_path, name, FEW, supported)
    assert grown / (MANY - FEW) < MOST_A_ROW
    if name != "pass":  # and none of them is left out
        facts = json.loads((tmp_path / f"{name}{MANY}.json").read_bytes())
        lines = [row["line"] for blocker in facts["blockers"] for row in blocker["rows"]]
        assert sorted(lines) == list(range(1, MANY + 1))
