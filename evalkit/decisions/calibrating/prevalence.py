"""The pass rate of rows that nobody labelled, from an imperfect metric or judge: corrected, with both uncertainties."""

from __future__ import annotations

from typing import NamedTuple

from evalkit.contract import EvalkitError
from evalkit.decisions.binomial import Interval

__all__ = ["CorrectedRate", "Judged", "corrected_pass_rate"]

_MOST_CHANCE = 0.05


class Judged(NamedTuple):
    """How the metric's decisions stand against the labels (random labels of scored rows only)."""

    good_passing: int
    good: int
    """Rows labelled pass."""
    bad_failing: int
    bad: int
    """Rows labelled fail."""


class CorrectedRate(NamedTuple):
    """A pass rate as people would find it, estimated from the metric's own."""

    rate: float
    interval: Interval
    observed_passes: int
    observed_n: int
    """Unlabelled rows: what the metric was run on."""
    labels: Judged
    chance_p: float
    """One-sided Fisher p-value that the metric passes good and bad rows alike."""

    @property
    def observed_rate(self) -> float:
        """The metric's own pass rate, uncorrected."""
        return self.observed_passes / self.observed_n

    def sentence(self) -> str:
        """Say it in words, with every denominator.

        >>> found = corrected_pass_rate(600, 1000, Judged(90, 100, 80, 100))
        >>> print(found.sentence())
        57 % of the 1000 rows would pass by the labels (95 % interval 49 % to 66 %); the metric itself passes 60 %
        (600 of 1000), and it passes 90 of 100 good and 20 of 100 bad rows
        """
        low, high, confidence = self.interval
        a = self.labels
        return (
            f"{100 * self.rate:.0f} % of the {self.observed_n} rows would pass by the labels ({100 * confidence:g} % "
            f"interval {100 * low:.0f} % to {100 * high:.0f} %); the metric itself passes "
            f"{100 * self.observed_rate:.0f} % ({self.observed_passes} of {self.observed_n}), and it passes "
            f"{a.good_passing} of {a.good} good and {a.bad - a.bad_failing} of {a.bad} bad rows"
        )


def corrected_pass_rate(passes: int, n: int, labels: Judged, *, confidence: float = 0.95) -> CorrectedRate:
    """Estimate which share of a population people would pass, from a metric that errs at a known rate.

    The metric's own pass rate p mixes good rows that it passes with bad rows that it lets through. With the share s of
    good rows that pass and t of bad rows that fail, ``p = rate * s + (1 - rate) * (1 - t)``; solved for the rate this
    is ``(p + t - 1) / (s + t - 1)`` (Rogan and Gladen), clipped to 0..1. The interval carries the uncertainty of all
    three counts (Lang and Reiczigel); one that takes s and t as known is far too narrow.

    When it misleads: s and t must hold for the population. They move when its mix of easy and hard rows does; estimate
    slice by slice, with labels drawn from the same slice.

    Parameters
    ----------
    passes, n : int
        What the metric says of the unlabelled rows that it scored.
    labels : Judged
    confidence : float
        Two-sided.

    Raises
    ------
    EvalkitError
        Where there is nothing to estimate from, or the metric is no better than chance on the labels: then no
        correction exists, and any number would be made up.

    Source: Rogan and Gladen, American Journal of Epidemiology 107 (1978), 71-76; Lang and Reiczigel, Preventive
    Veterinary Medicine 113 (2014), 13-22.
    """
    _check(passes, n, labels)
    s, t = labels.good_passing / labels.good, labels.bad_failing / labels.bad
    chance = _chance_p(labels)
    if s + t <= 1 or chance > _MOST_CHANCE:
        msg = (
            f"the metric is no better than chance on the labels: it passes {labels.good_passing} of {labels.good} good "
            f"rows ({s:.3f}) and {labels.bad - labels.bad_failing} of {labels.bad} bad rows ({1 - t:.3f}); "
            f"{s:.3f} - {1 - t:.3f} = {s + t - 1:.3f}, Fisher p = {chance:.3g}"
        )
        raise EvalkitError(msg, do="no pass rate can be corrected from it: use a better metric, or label more rows")
    rate = min(1.0, max(0.0, (passes / n + t - 1) / (s + t - 1)))
    interval = _interval(passes, n, labels, confidence)
    # Its middle is moved towards 1/2: a rate at an end of 0..1 could else lie outside of its own interval.
    interval = interval._replace(low=min(interval.low, rate), high=max(interval.high, rate))
    return CorrectedRate(rate, interval, passes, n, labels, chance)


def _check(passes: int, n: int, labels: Judged) -> None:
    if n == 0 or not 0 <= passes <= n:
        msg = f"a pass rate needs scored rows; got {passes} passes of {n}"
        raise EvalkitError(msg, do="score the unlabelled rows first")
    if labels.good == 0 or labels.bad == 0:
        msg = f"a correction needs labelled rows of both kinds; got {labels.good} good and {labels.bad} bad"
        raise EvalkitError(msg, do="label a random sample that holds both")


def _chance_p(labels: Judged) -> float:
    from scipy.stats import fisher_exact

    table = [
        [labels.good_passing, labels.good - labels.good_passing],
        [labels.bad - labels.bad_failing, labels.bad_failing],
    ]
    return float(fisher_exact(table, alternative="greater").pvalue)


def _interval(passes: int, n: int, labels: Judged, confidence: float) -> Interval:
    """Lang and Reiczigel's interval: each share is first moved towards 1/2, which keeps it honest near 0 and 1."""
    z = _normal_quantile(confidence)
    n_p, n_s, n_t = n + z * z, labels.good + 2, labels.bad + 2
    p = (passes + z * z / 2) / n_p
    s, t = (labels.good_passing + 1) / n_s, (labels.bad_failing + 1) / n_t
    spread = s + t - 1
    if spread <= 0:
        return Interval(0.0, 1.0, confidence)
    rate = (p + t - 1) / spread
    of_s, of_t = s * (1 - s) / n_s, t * (1 - t) / n_t
    middle = rate + 2 * z * z * (rate * of_s - (1 - rate) * of_t)
    half = z * (p * (1 - p) / n_p + rate**2 * of_s + (1 - rate) ** 2 * of_t) ** 0.5 / spread
    return Interval(min(1.0, max(0.0, middle - half)), min(1.0, max(0.0, middle + half)), confidence)


def _normal_quantile(confidence: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf((1.0 + confidence) / 2.0)
