"""Every measurement in one run, as one table of ratios: ``python benchmarks/bench.py [NAME…] [--quick] [--out FILE]``.

NAME is a ``bench_NAME.py`` beside this file; without one, all of them run. Ratios of one run on one machine compare;
seconds do not, and stand in the table for orientation only.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from measuring import ROUNDS, Row, Size, cores_here, figure, line_of

HERE = Path(__file__).parent
NAMES = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))

QUICK = "A quick run shows that every benchmark works; its figures mean nothing."


def rows_of(names: Sequence[str], size: Size) -> Iterator[Row]:
    """Run the benchmarks, telling each row as it is there."""
    for name in names:
        print(f"== {name}", flush=True)
        for row in importlib.import_module(f"bench_{name}").measure(size):
            print(line_of(row), flush=True)
            yield row


def machine() -> str:
    """Describe the machine in words, without its name."""
    cores, memory = len(cores_here()), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{cores} core{'s' if cores != 1 else ''} of {_processor()}, {memory:.0f} GiB of memory, {platform.system()}, "
        f"{platform.python_implementation()} {platform.python_version()}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def page(rows: Iterable[Row], *, busy: float, took: float, is_quick: bool = False) -> str:
    """Return the table as Markdown."""
    rows = list(rows)
    judged = [row for row in rows if row.is_met is not None]
    met = sum(bool(row.is_met) for row in judged)
    made = (
        f"By `make bench` on {datetime.now(UTC):%Y-%m-%d} in {took / 60:.0f} minutes, on {machine()}; {busy:.1f} "
        f"processes were waiting for the {len(cores_here())} cores when it began."
    )
    meant = (
        f"Each figure is a ratio of two measurements of this one run, taken in turns: the median of {ROUNDS} pairs and "
        f"their spread, unless it says otherwise. {met} of {len(judged)} targets are met."
    )
    if is_quick:
        meant = f"**{QUICK}** {meant}"
    head = "| what | against | target | median | spread | met | for orientation |"
    lines = ["# What was measured", "", made, "", meant, "", head, "|---|---|---|---|---|---|---|"]
    words = {True: "yes", False: "**no**", None: ""}
    for row in rows:
        cells = (row.what, row.against, row.target, figure(row.middle), row.spread, words[row.is_met], row.note)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure and write the page; 1 where a target is missed (never in a quick run, whose figures mean nothing)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="as little as shows that every benchmark works")
    parser.add_argument("--out", type=Path, help="write the table to this file")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(NAMES)):
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    size, busy, start = Size(given.quick), os.getloadavg()[0], time.perf_counter()
    if given.quick:
        print(QUICK)
    rows = list(rows_of(given.names or NAMES, size))
    if given.out:
        text = page(rows, busy=busy, took=time.perf_counter() - start, is_quick=given.quick)
        given.out.write_text(text, encoding="utf-8")
    missed = [row for row in rows if row.is_met is False]
    return int(bool(missed) and not given.quick)


if __name__ == "__main__":
    sys.exit(main())
