"""Two plausible numbers that hide a missing claim: the average, and wording that resembles a claim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from evalkit.decisions.policy import Policy
from evalkit.scoring.records import Record

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ALIKE", "Hidden", "hidden_by_average", "lenient_frame", "resemblance"]

ALIKE = 60.0
"""From this resemblance (0 to 100) on, the lenient version calls a claim supported."""


class Hidden(NamedTuple):
    """How much an average of one slice can swallow."""

    slice: str
    mean: float
    minimum: float
    rows: int
    """Scored rows that the mean is over."""
    could_fall_to_zero: int
    """How many of them could drop from the mean to 0.0 before the mean falls below the minimum."""
    below: tuple[str, ...]
    """Rows that are below the minimum now, although the mean is not."""


def hidden_by_average(records: Sequence[Record], policy: Policy | None) -> list[Hidden]:
    """Return, for each slice with a minimum, what its average would let through.

    A row that falls from the mean to 0 takes ``mean / rows`` off the average, so ``(mean - minimum) / (mean / rows)``
    of them fit between the average and the minimum.
    """
    found = []
    for name, limits in sorted((policy.slices if policy else {}).items()):
        rows = [r for r in records if r.slice == name and isinstance(r.value, int | float)]
        if limits.minimum is None or not rows:
            continue
        values = [float(r.value) for r in rows if isinstance(r.value, int | float)]
        mean = math.fsum(values) / len(values)
        # The smallest step a float can miss must not cost a row that fits exactly.
        room = math.floor((mean - limits.minimum) * len(rows) / mean + 1e-9) if mean > 0 else 0
        below = tuple(str(r.case_id) for r, value in zip(rows, values, strict=True) if value < limits.minimum <= mean)
        found.append(Hidden(name, mean, limits.minimum, len(rows), max(room, 0), below))
    return found


def resemblance(claim: str, answer: str) -> float:
    """Return how much some stretch of `answer` reads like `claim`, from 0 to 100.

    It compares letters. That is the trap: a sentence and its denial are nearly the same letters.

    >>> resemblance("The fee is refunded.", "The fee is not refunded.") > ALIKE
    True
    """
    from rapidfuzz import fuzz

    return fuzz.partial_ratio(claim.casefold(), answer.casefold())


def lenient_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Score rows leniently: a required claim counts as supported when the answer sounds like it.

    Only rows whose evidence holds the answer and the reviewed text of the claims can be scored so; columns ``case_id,
    slice, claims, strict, lenient, let_through`` (the claims that only the lenient version counts).
    """
    import pandas as pd

    rows = []
    for record in records:
        evidence = record.evidence or {}
        answer, claims = evidence.get("answer"), evidence.get("claims")
        missing = record.detail.get("missing")
        if record.state != "scored" or not (isinstance(answer, str) and isinstance(claims, dict) and claims):
            continue
        if not isinstance(missing, list) or not isinstance(record.value, int | float):
            continue
        said = [c for c in missing if isinstance(claims.get(c), str) and resemblance(claims[c], answer) >= ALIKE]
        k = int(record.detail.get("required", len(claims)))
        lenient = (k - len(missing) + len(said)) / k
        rows.append((record.case_id, record.slice, k, float(record.value), lenient, ", ".join(said)))
    return pd.DataFrame(rows, columns=["case_id", "slice", "claims", "strict", "lenient", "let_through"])
