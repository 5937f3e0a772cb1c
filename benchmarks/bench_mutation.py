"""Mutants a second: evalkit against mutmut, on the same function with the same cases.

mutmut gets the coverage function without its decorator (under a decorator it makes no mutant at all) and the contract
cases as one parametrised pytest function that checks what their oracles say. Both are timed twice: the whole process,
and the work after start (mutmut by the rate it prints for it). Then how evalkit's time grows with cases and mutants.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from measuring import Row, Size, run_alone

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


def compare(folder: Path, size: Size) -> Iterator[Row]:
    """Time both, in turns."""
    taken = [(evalkit(folder), mutmut(folder / str(at))) for at in range(size.rounds)]
    ours, theirs = (median(rate.work for rate in side) for side in zip(*taken, strict=True))
    yield Row(
        what="mutants a second of evidence_coverage with its contract cases, after start",
        against="mutmut on the same function undecorated",
        ratios=[ours.work / theirs.work for ours, theirs in taken],
        least=TARGET,
        note=f"{ours:.0f} and {theirs:.1f} mutants/s; {taken[0][0].mutants} and {taken[0][1].mutants} mutants",
    )
    yield Row(
        what="the same, whole processes",
        against="mutmut",
        ratios=[(o.mutants / o.process) / (t.mutants / t.process) for o, t in taken],
    )


def scaling(folder: Path, size: Size) -> Iterator[Row]:
    """Measure how time grows with cases and with mutants."""
    metric = load_metric("evidence_coverage")
    lines = CONTRACT.read_text().splitlines()
    times = size.of(100, 3)
    path = folder / "more_cases.jsonl"
    rows = [json.loads(line) | {"case_id": f"{n}-{i}"} for n in range(times) for i, line in enumerate(lines)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    yield Row(
        what=f"its kill matrix over {len(rows):,} cases: time",
        against=f"over {len(lines)} cases",
        ratios=[timed(metric, path) / timed(metric, CONTRACT) for _ in range(size.rounds)],
        most=times,
    )
    helpers = size.of(10, 2)
    bigger = load_metric(f"{_bigger(folder, helpers)}:evidence_coverage")
    many, few = (matrix_of(one, CONTRACT, suggestions=False).denominator for one in (bigger, metric))
    yield Row(
        what=f"a metric with {many} mutants: time",
        against=f"one with {few}",
        ratios=[timed(bigger, CONTRACT) / timed(metric, CONTRACT) for _ in range(size.rounds)],
    )


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


def measure(size: Size) -> Iterator[Row]:
    """Measure against mutmut, and the growth."""
    with tempfile.TemporaryDirectory() as folder:
        yield from compare(Path(folder), size)
        yield from scaling(Path(folder), size)


if __name__ == "__main__":
    run_alone(measure, __doc__)
