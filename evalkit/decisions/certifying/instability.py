"""How stable a judge is: the rows on which its repeats differ, their share, and what that leaves open."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from evalkit.contract import example_list
from evalkit.decisions.binomial import exact_interval
from evalkit.decisions.certifying.against import CONFIDENCE

__all__ = ["repeated_facts", "repeated_lines"]


def repeated_facts(repeated: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what a run counted of its repeats, with the share of unstable rows and its exact interval."""
    if repeated is None:
        return None
    n, unstable = repeated["rows"], len(repeated["unstable"])
    low, high, confidence = exact_interval(unstable, n, CONFIDENCE)
    return {**repeated, "share": unstable / n, "interval": [low, high], "confidence": confidence}


def repeated_lines(repeated: Mapping[str, Any]) -> Iterator[str]:
    """Say how stable a judge's verdicts are: the share of rows on which its repeats differ, with its interval."""
    n, unstable, ties = repeated["rows"], repeated["unstable"], repeated["ties"]
    low, high, confidence = exact_interval(len(unstable), n, CONFIDENCE)
    named = f": {example_list(list(map(str, unstable)))}" if unstable else ""
    yield (
        f"asked {repeated['asked']} times each; unstable: {len(unstable)} of {n} rows (exact {100 * confidence:g} % "
        f"interval {math.floor(100 * low)}-{math.ceil(100 * high)} %){named}"
    )
    if ties:
        yield f"ties, which a person decides: {len(ties)} of {n} rows: {example_list(list(map(str, ties)))}"
