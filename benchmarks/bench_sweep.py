"""Sweep 1,000,000 labelled rows against scikit-learn's `roc_curve` on the same arrays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from measuring import Row, Size, pairs, run_alone
from sklearn.metrics import roc_curve

from evalkit.decisions.calibrating.sweep import sweep


def measure(size: Size) -> Iterator[Row]:
    """Measure a continuous score and a ratio over seven claims."""
    rows = size.of(1_000_000, 2_000)
    rng = np.random.default_rng(2026)
    is_fail = rng.random(rows) < 0.3
    for name, values in (("all values distinct", rng.random(rows)), ("eight values", rng.integers(0, 8, rows) / 7)):
        found = sweep(values, is_fail)
        false_rate, _, cuts = roc_curve(~is_fail, values, drop_intermediate=False)
        assert found.thresholds.tolist() == cuts[1:].tolist()
        assert np.allclose(found.false_passes / found.n_fail, false_rate[1:])
        taken = list(
            pairs(size, lambda values=values: sweep(values, is_fail), lambda values=values: roc_curve(~is_fail, values))
        )
        yield Row(
            what=f"threshold sweep, {rows:,} labelled rows, {name}: time",
            against="scikit-learn `roc_curve` on the same arrays",
            ratios=[ours / theirs for ours, theirs in taken],
            most=2,
            note=f"{min(pair.ours for pair in taken):.2f} s",
        )


if __name__ == "__main__":
    run_alone(measure, __doc__)
