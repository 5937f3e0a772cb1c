"""What every benchmark shares: a row of the table, pairs timed in turns, whole processes on so many cores."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

__all__ = ["Pair", "Row", "Size", "cores_here", "evalkit_process", "line_of", "pairs", "run_alone", "seconds"]

ROUNDS = 5
"""Of every comparison: the median of so many pairs is quoted, with the smallest and the largest."""


class Size(NamedTuple):
    """How much is measured: all of it, or as little as shows that the benchmark still works."""

    is_quick: bool

    @property
    def rounds(self) -> int:
        """Pairs of each comparison."""
        return 1 if self.is_quick else ROUNDS

    def of(self, full: int, quick: int) -> int:
        """Choose a number of rows."""
        return quick if self.is_quick else full


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table: a ratio within one run on one machine, measured several times."""

    what: str
    against: str
    ratios: Sequence[float]
    least: float | None = None
    """The target, where more is better."""
    most: float | None = None
    """The target, where less is better."""
    note: str = ""
    """Absolute figures, for orientation: they belong to the machine."""

    @property
    def middle(self) -> float:
        """The median ratio."""
        return median(self.ratios)

    @property
    def target(self) -> str:
        """The target in words; empty where there is none."""
        if self.least is not None:
            return f"at least {self.least:g}"
        return f"at most {self.most:g}" if self.most is not None else ""

    @property
    def is_met(self) -> bool | None:
        """Whether the median meets the target; ``None`` without one."""
        if self.least is not None:
            return self.middle >= self.least
        return self.middle <= self.most if self.most is not None else None

    @property
    def spread(self) -> str:
        """Smallest and largest ratio, and of how many."""
        if len(self.ratios) == 1:
            return "measured once"
        return f"{figure(min(self.ratios))} to {figure(max(self.ratios))}, n={len(self.ratios)}"


def figure(value: float) -> str:
    """Three digits that mean something."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


class Pair(NamedTuple):
    """The seconds of both sides, taken one right after the other."""

    ours: float
    theirs: float


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def pairs(size: Size, ours: Callable[[], object], theirs: Callable[[], object]) -> Iterator[Pair]:
    """Time both sides in turns, now the one first and now the other: a machine's speed drifts."""
    for at in range(size.rounds):
        if at % 2:
            second = seconds(theirs)
            yield Pair(seconds(ours), second)
        else:
            first = seconds(ours)
            yield Pair(first, seconds(theirs))


def cores_here() -> list[int]:
    """Return the cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


def evalkit_process(
    *arguments: object, cores: int | None = None, before: str = "", codes: Iterable[int] = (0,)
) -> None:
    """Run one evalkit command as a process of its own, on so many cores, as a container would give."""
    program = [sys.executable, "-c", f"{before}\nfrom evalkit.cli import main\nmain()", *map(str, arguments)]
    allowed = cores_here()[:cores]
    done = subprocess.run(
        program, stdout=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, allowed), check=False
    )
    assert done.returncode in set(codes), (done.returncode, arguments)


def line_of(row: Row) -> str:
    """Return a row for the terminal."""
    mark = {True: "met ", False: "MISS", None: "    "}[row.is_met]
    target = f", target {row.target}" if row.target else ""
    note = f"\n       {row.note}" if row.note else ""
    return f"{mark} {figure(row.middle)} ({row.spread}){target}\n       {row.what} / {row.against}{note}"


def run_alone(measure: Callable[[Size], Iterator[Row]], told: str | None) -> None:
    """Run one benchmark by itself: ``python benchmarks/bench_NAME.py [--quick]``."""
    parser = argparse.ArgumentParser(description=told)
    parser.add_argument("--quick", action="store_true", help="as little as shows that it works")
    for row in measure(Size(parser.parse_args().quick)):
        print(line_of(row), flush=True)
