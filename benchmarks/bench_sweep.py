"""Sweep 1,000,000 labelled rows against scikit-learn's `roc_curve` on the same arrays; the target is at most 2x."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

from evalkit.decisions.calibrating.sweep import sweep

ROWS = 1_000_000
ROUNDS = 5
TARGET = 2.0


def best_of(run: Callable[[], Any]) -> float:
    """Return the shortest of a few runs, in seconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> int:
    """Print both times and their ratio for a continuous score and for a ratio over seven claims."""
    rng = np.random.default_rng(2026)
    is_fail = rng.random(ROWS) < 0.3
    scores = {"all values distinct": rng.random(ROWS), "eight values": rng.integers(0, 8, ROWS) / 7}
    worst = 0.0
    for name, values in scores.items():
        found = sweep(values, is_fail)
        false_rate, _, cuts = roc_curve(~is_fail, values, drop_intermediate=False)
        assert found.thresholds.tolist() == cuts[1:].tolist()
        assert np.allclose(found.false_passes / found.n_fail, false_rate[1:])
        theirs = best_of(lambda values=values: roc_curve(~is_fail, values))
        ours = best_of(lambda values=values: sweep(values, is_fail))
        worst = max(worst, ours / theirs)
        print(f"{name}: roc_curve {theirs:.3f} s, sweep {ours:.3f} s, ratio {ours / theirs:.2f} (target {TARGET:g})")
    return int(worst > TARGET)


if __name__ == "__main__":
    sys.exit(main())
