"""How fast `evalkit gate` is: rows a second against ragas and against a plain loop, and its start."""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import median

from coverage_rows import POLICY, write_rows
from measuring import Row, Size, cores_here, evalkit_process, run_alone, seconds

from evalkit import evidence_coverage

RAGAS_ROWS = 2_000
"""The ragas loop takes the same time for every row, so a part of the file gives its rate."""


def gate(folder: Path, cases: Path, *, cores: int, before: str = "", keeps: bool = True) -> None:
    """Run the whole command; where it keeps a run folder, that is written with its report."""
    run = ["--run", tempfile.mkdtemp(dir=folder) + "/run"] if keeps else []
    policy = folder / "policy.toml"
    evalkit_process("gate", "evidence_coverage", cases, "--policy", policy, *run, cores=cores, before=before)


def plain_loop(folder: Path, cases: Path) -> None:
    """Do the least that any scorer must: read each line, call the plain function, write the whole record."""
    with cases.open() as rows, (folder / "plain.jsonl").open("w") as out:
        for row in rows:
            case = json.loads(row)
            result = evidence_coverage(case["required_claim_ids"], case["supported_claim_ids"])
            record = {**case, "value": result.value, "reason": result.reason, "detail": result.detail}
            out.write(json.dumps(record) + "\n")


def ragas_loop(cases: Path, rows: int) -> Callable[[], None]:
    """Return a loop of ragas' own `.score` over the first rows of the file."""
    from evalkit.scoring.ragas_bridge import to_ragas

    metric = to_ragas(evidence_coverage)
    with cases.open() as lines:
        cases_read = [json.loads(line) for line in islice(lines, rows)]
    keys = ("required_claim_ids", "supported_claim_ids")
    inputs = [{key: row[key] for key in keys} for row in cases_read]

    def loop() -> None:
        for row in inputs:
            metric.score(**row)

    return loop


def compare(folder: Path, name: str, cases: Path, rows: int, size: Size) -> Iterator[Row]:
    """Measure one file of rows against ragas and against the plain loop, all of them in turns."""
    some = min(rows, RAGAS_ROWS)
    loop = ragas_loop(cases, some)
    rates: dict[str, list[float]] = {"ragas": [], "one": [], "two": []}
    plain = []
    for _ in range(size.rounds):
        rates["ragas"].append(some / seconds(loop))
        one = seconds(lambda: gate(folder, cases, cores=1))
        plain.append(one / seconds(lambda: plain_loop(folder, cases)))
        rates["one"].append(rows / one)
        if len(cores_here()) > 1:
            rates["two"].append(rows / seconds(lambda: gate(folder, cases, cores=2)))

    def against_ragas(key: str) -> list[float]:
        return [ours / theirs for ours, theirs in zip(rates[key], rates["ragas"], strict=True)]

    what, loops = f"gate of {rows:,} rows, {name}", "a loop of ragas `.score` over them"
    told = f"{median(rates['one']):,.0f} rows/s and {median(rates['ragas']):,.0f} rows/s"
    yield Row(
        what=f"{what}, whole process, one core: rows/s", against=loops, ratios=against_ragas("one"), least=20, note=told
    )
    if rates["two"]:
        told = f"{median(rates['two']):,.0f} rows/s"
        yield Row(what="the same, two cores", against=loops, ratios=against_ragas("two"), least=35, note=told)
    yield Row(
        what=f"{what}, whole process, one core: time",
        against="`json.loads`, the plain function, `json.dumps` of the record",
        ratios=plain,
        most=2.5,
    )


def start(folder: Path, size: Size) -> Iterator[Row]:
    """Measure a gate of ten rows with and without ragas imported."""
    cases = folder / "ten.jsonl"
    write_rows(cases, 10, rng=random.Random(10))
    for words, keeps in (("screen only", False), ("with its run folder and report", True)):
        ratios, ours = [], []
        for _ in range(size.rounds):
            ours.append(seconds(lambda keeps=keeps: gate(folder, cases, cores=2, keeps=keeps)))
            with_ragas = seconds(lambda keeps=keeps: gate(folder, cases, cores=2, before="import ragas", keeps=keeps))
            ratios.append(with_ragas / ours[-1])
        yield Row(
            what=f"gate of 10 rows, {words}, with ragas imported: time to finish",
            against="the same without ragas",
            ratios=ratios,
            least=15,
            note=f"{median(ours):.2f} s without ragas",
        )


def measure(size: Size) -> Iterator[Row]:
    """Measure rows a second and the start."""
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    rows = size.of(100_000, 300)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "policy.toml").write_text(POLICY)
        for name, with_evidence in (("ids only", False), ("with evidence", True)):
            cases = folder / "cases.jsonl"
            write_rows(cases, rows, rng=random.Random(1), with_evidence=with_evidence)
            yield from compare(folder, name, cases, rows, size)
        yield from start(folder, size)


if __name__ == "__main__":
    run_alone(measure, __doc__)
