"""Rates weighted to production, where strata were sampled more or less often than they occur there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from evalkit.contract.words import Better
from evalkit.decisions.calibrating.pairing import LabelledRow
from evalkit.decisions.calibrating.thresholds import is_pass

__all__ = ["Stratum", "WeightedRates", "weighted_rates"]


class Stratum(NamedTuple):
    """One stratum of the sample."""

    n: int
    weights: tuple[float, ...]
    is_oversampled: bool
    """Whether its rows stand for fewer production rows than those of another stratum do."""


class WeightedRates(NamedTuple):
    """Point estimates for production; no interval stands beside them, and they certify nothing."""

    threshold: float
    false_pass_rate: float | None
    false_fail_rate: float | None
    bad_among_passes: float | None
    strata: dict[str, Stratum]

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return self._asdict() | {"strata": {name: stratum._asdict() for name, stratum in self.strata.items()}}


def weighted_rates(rows: Sequence[LabelledRow], threshold: float, better: Better) -> WeightedRates | None:
    """Weight each row by its ``prevalence_weight``; ``None`` where the weights do not differ or one is absent.

    When it misleads: the weights are taken as known, and a stratum with few rows carries all the weight it stands for.

    Examples
    --------
    Of two bad rows one passes: 1 of 2 as sampled. If it stands for 9 production rows and the other for 1, it is 0.9.

    >>> from evalkit.decisions.calibrating.pairing import LabelledRow
    >>> row = LabelledRow("a", "s", 1.0, True, "single", "random", "production", None, None, None, "", None, (), "web",
    ...                   None, 9.0)
    >>> weighted_rates([row, row._replace(case_id="b", value=0.0, weight=1.0)], 0.5, "higher").false_pass_rate
    0.9
    """
    weights = {row.weight for row in rows}
    if len(weights) < 2 or None in weights:
        return None
    bad_passing = _weight(row for row in rows if row.is_bad and is_pass(row.value, threshold, better))
    good_passing = _weight(row for row in rows if not row.is_bad and is_pass(row.value, threshold, better))
    bad = _weight(row for row in rows if row.is_bad)
    good = _weight(row for row in rows if not row.is_bad)
    return WeightedRates(
        threshold=threshold,
        false_pass_rate=bad_passing / bad if bad else None,
        false_fail_rate=(good - good_passing) / good if good else None,
        bad_among_passes=bad_passing / (bad_passing + good_passing) if bad_passing + good_passing else None,
        strata=_strata(rows),
    )


def _weight(rows: Iterable[LabelledRow]) -> float:
    return sum(row.weight for row in rows if row.weight is not None)


def _strata(rows: Sequence[LabelledRow]) -> dict[str, Stratum]:
    largest = max(row.weight for row in rows if row.weight is not None)
    found = {}
    for name in sorted({row.stratum or "" for row in rows}):
        group = [row for row in rows if (row.stratum or "") == name]
        weights = tuple(sorted({row.weight for row in group if row.weight is not None}))
        found[name] = Stratum(len(group), weights, weights[-1] < largest)
    return found
