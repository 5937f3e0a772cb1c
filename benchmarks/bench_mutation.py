"""Mutants a second: evalkit against mutmut, on the same function with the same cases, as ratios within one run.

``python benchmarks/bench_mutation.py [--rounds 3]``. mutmut gets the coverage function without its decorator (under a
decorator it makes no mutant at all) and the contract cases as one parametrised pytest function that checks what their
oracles say. Both are timed twice: the whole process, and the work after start (mutmut by the rate it prints for it).
Then a table shows how evalkit's time grows with cases and with mutants.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from evalkit.contract import Metric
from evalkit.metrics import evidence_coverage as module
from evalkit.mutate.killing import matrix_of
from evalkit.scoring.load import load_metric

CONTRACT = Path(__file__).parents[1] / "fixtures" / "evidence_coverage" / "contract.jsonl"
TARGET = 50

HEAD = """
class InvalidRow(ValueError):
    pass


class MetricResult:
    def __init__(self, value, reason, detail):
        self.value, self.reason, self.detail = value, reason, detail


"""
TESTS = f"""
import json
from pathlib import Path

import pytest
from plain.coverage import InvalidRow, evidence_coverage

CASES = [json.loads(line) for line in Path({str(CONTRACT)!r}).read_text().splitlines()]


@pytest.mark.parametrize("case", CASES)
def test_case(case):
    oracle, inputs = case["oracle"], (case["required_claim_ids"], case["supported_claim_ids"])
    if "invalid" in oracle:
        with pytest.raises(InvalidRow) as found:
            evidence_coverage(*inputs)
        assert oracle["invalid"] in str(found.value)
    else:
        found = evidence_coverage(*inputs)
        assert abs(found.value - oracle["value"]) <= 1e-9
        assert found.reason == oracle["reason"]
        assert found.detail == oracle.get("detail", found.detail)
"""


class Rate(NamedTuple):
    """Mutants, and the seconds they took."""

    mutants: int
    process: float
    """Seconds of the whole process."""
    work: float
    """Mutants a second after start."""


def source_without_decorator() -> str:
    """Return the bundled function and its helper as plain functions."""
    text = inspect.getsource(module)
    return HEAD + text[text.index("def evidence_coverage") :]


def mutmut(folder: Path) -> Rate:
    """Run mutmut on the plain function."""
    project = folder / "mutmut"
    (project / "plain").mkdir(parents=True)
    (project / "tests").mkdir()
    (project / "plain" / "__init__.py").write_text("")
    (project / "plain" / "coverage.py").write_text(source_without_decorator())
    (project / "tests" / "test_coverage.py").write_text(TESTS)
    (project / "pyproject.toml").write_text('[tool.mutmut]\nsource_paths = ["plain"]\n')
    start = time.perf_counter()
    done = subprocess.run(
        [str(Path(sys.executable).with_name("mutmut")), "run"], cwd=project, capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - start
    return Rate(
        int(re.findall(r"(\d+)/\1", done.stdout)[-1]),
        seconds,
        float(re.findall(r"([\d.]+) mutations/second", done.stdout)[-1]),
    )


def evalkit(folder: Path) -> Rate:
    """Run ``evalkit mutate`` on the bundled metric, and its matrix once more in a warm process."""
    facts = folder / "matrix.json"
    command = [sys.executable, "-m", "evalkit", "mutate", "evidence_coverage", "--cases", str(CONTRACT)]
    start = time.perf_counter()
    subprocess.run([*command, "--json", str(facts)], stdout=subprocess.DEVNULL, check=True)
    seconds = time.perf_counter() - start
    matrix = json.loads(facts.read_text())
    tried, metric = len(matrix["mutants"]) - matrix["not_applicable"], load_metric("evidence_coverage")
    timed(metric, CONTRACT)  # warm, as mutmut is by the time it starts counting
    return Rate(tried, seconds, tried / min(timed(metric, CONTRACT) for _ in range(3)))


def timed(metric: Metric, cases: Path, *, full: bool = False) -> float:
    """Return the seconds of a matrix: planting, controls, every mutant; without suggestions for survivors."""
    start = time.perf_counter()
    matrix_of(metric, cases, full=full, suggestions=False)
    return time.perf_counter() - start


def compare(folder: Path, rounds: int) -> None:
    """Time both, in turns."""
    whole, work = [], []
    for at in range(rounds):
        theirs, ours = mutmut(folder / str(at)), evalkit(folder)
        whole.append((ours.mutants / ours.process) / (theirs.mutants / theirs.process))
        work.append(ours.work / theirs.work)
        print(
            f"  round {at + 1}: mutmut {theirs.mutants} mutants in {theirs.process:.1f} s, {theirs.work:.1f}/s at "
            f"work; evalkit {ours.mutants} in {ours.process:.2f} s, {ours.work:.0f}/s at work"
        )
    print(f"mutants a second, after start: {median(work):.0f}x mutmut, target {TARGET}x")
    print(f"mutants a second, whole processes: {median(whole):.0f}x mutmut")


def scaling(folder: Path) -> None:
    """Print how time grows with cases and with mutants."""
    metric = load_metric("evidence_coverage")
    lines = CONTRACT.read_text().splitlines()
    print(f"{'cases':>8}  {'first killer':>12}  {'full':>8}   (seconds, 80 mutants)")
    for times in (1, 10, 100):
        path = folder / f"cases{times}.jsonl"
        rows = [json.loads(line) | {"case_id": f"{n}-{i}"} for n in range(times) for i, line in enumerate(lines)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        print(f"{len(rows):>8}  {timed(metric, path):>12.2f}  {timed(metric, path, full=True):>8.2f}")
    print(f"{'mutants':>8}  {'first killer':>12}  {'full':>8}   (seconds, {len(lines)} cases)")
    for helpers in (1, 10, 100):
        bigger = load_metric(f"{_bigger(folder, helpers)}:evidence_coverage")
        start = time.perf_counter()
        count = matrix_of(bigger, CONTRACT, suggestions=False).denominator
        first = time.perf_counter() - start
        print(f"{count:>8}  {first:>12.2f}  {timed(bigger, CONTRACT, full=True):>8.2f}")


def _bigger(folder: Path, helpers: int) -> Path:
    """Write the bundled metric with its helper so many times, one calling the next."""
    text = inspect.getsource(module)
    head, helper = text[: text.index("def _claim_ids")], text[text.index("def _claim_ids") :]
    copies = [helper.replace("def _claim_ids", f"def _claim_ids_{n}") for n in range(helpers)]
    calls = "".join(f"    _claim_ids_{n}(name, claim_ids)\n" for n in range(1, helpers))
    first = copies[0].replace("-> set[str]:\n", f"-> set[str]:\n{calls}", 1)
    path = folder / f"bigger{helpers}.py"
    path.write_text("\n\n".join([head.replace("_claim_ids(", "_claim_ids_0("), first, *copies[1:]]))
    return path


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), given.rounds)
        scaling(Path(folder))


if __name__ == "__main__":
    main()
