"""The bias-corrected pass rate of each slice's unlabelled rows, from the labels of its random draw."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from evalkit.contract import EvalkitError
from evalkit.decisions.calibrate import Calibration, SliceCalibration
from evalkit.decisions.calibrating.pairing import LabelledRow
from evalkit.decisions.calibrating.prevalence import CorrectedRate, Judged, corrected_pass_rate
from evalkit.decisions.calibrating.thresholds import is_pass

__all__ = ["SliceRate", "estimate_pass_rates"]


class SliceRate(NamedTuple):
    """One slice's corrected pass rate, or why there is none."""

    slice: str
    threshold: float | None
    found: CorrectedRate | None
    refused: str
    """Why no rate can be given; empty where one is."""
    not_scored: int
    """Rows of the population without a score: the rate says nothing of them."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        found = self.found
        return {
            "slice": self.slice,
            "threshold": self.threshold,
            "rate": found.rate if found else None,
            "interval": [found.interval.low, found.interval.high] if found else None,
            "observed_passes": found.observed_passes if found else None,
            "observed_n": found.observed_n if found else None,
            "labels": found.labels._asdict() if found else None,
            "refused": self.refused or None,
            "not_scored": self.not_scored,
        }


def estimate_pass_rates(
    found: Calibration,
    population: Iterable[LabelledRow] | None = None,
    *,
    threshold: float | None = None,
    not_scored: int | None = None,
) -> tuple[SliceRate, ...]:
    """Estimate, slice by slice, which share of the unlabelled rows people would pass.

    Parameters
    ----------
    found : Calibration
        Its random labels say how often the metric errs.
    population : iterable of LabelledRow, optional
        The rows to speak of; by default the calibrated rows that nobody labelled.
    threshold : float, optional
        For every slice; by default each slice's own: the chosen one, or else the strictest.
    not_scored : int, optional
        Rows of another population that have no score.
    """
    rows = [row for row in found.pairing.rows if row.how is None] if population is None else list(population)
    rates = []
    for part in found.slices.values():
        own = [row for row in rows if row.slice == part.name]
        lost = sum(n for state, n in part.states.items() if state != "scored") if not_scored is None else not_scored
        rates.append(_rate(found, part, own, threshold, lost))
    return tuple(rates)


def _rate(
    found: Calibration, part: SliceCalibration, rows: list[LabelledRow], threshold: float | None, not_scored: int
) -> SliceRate:
    line = part.shown()
    cut = threshold if threshold is not None else line.threshold if line else None
    if cut is None or not part.sample.rows:
        return SliceRate(part.name, cut, None, "no random label in this slice: nothing says how the metric errs", 0)
    better = found.pairing.better
    good = [is_pass(row.value, cut, better) for row in part.sample.rows if not row.is_bad]
    bad = [not is_pass(row.value, cut, better) for row in part.sample.rows if row.is_bad]
    judged = Judged(sum(good), len(good), sum(bad), len(bad))
    passes = sum(is_pass(row.value, cut, better) for row in rows)
    try:
        rate = corrected_pass_rate(passes, len(rows), judged, confidence=found.options.confidence)
    except EvalkitError as refusal:
        return SliceRate(part.name, cut, None, refusal.message, not_scored)
    return SliceRate(part.name, cut, rate, "", not_scored)
