"""What each distinguishable threshold does on labelled rows: in claims, in errors, in both rates, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from evalkit.contract.words import Better
from evalkit.decisions.binomial import Interval
from evalkit.decisions.calibrating.certificate import Certificate, labels_needed, upper_bound
from evalkit.decisions.calibrating.pairing import LabelledRow
from evalkit.decisions.calibrating.sweep import Bounds, Sweep, clopper_pearson, sweep
from evalkit.decisions.resolution import allowed, needed

__all__ = ["MOST_THRESHOLDS", "Threshold", "denominators_of", "in_claims", "is_pass", "sweep_rows", "threshold_table"]

MOST_THRESHOLDS = 500
"""A score with more distinct values is shown at this many, evenly spread by rank, the certified one included."""

_NEIGHBOURS = 3


class Threshold(NamedTuple):
    """One threshold on the labelled rows of one slice."""

    threshold: float
    beyond: float | None
    """The next observed value on the lenient side: thresholds up to it decide alike. ``None`` for the last one."""
    meaning: str
    """In claims, for a ratio; else in words of the value."""
    n_fail: int
    n_pass: int
    false_pass: int
    """Rows labelled fail that pass."""
    false_fail: int
    """Rows labelled pass that do not."""
    false_pass_interval: Interval | None
    """Of the share of bad rows that pass; ``None`` for fewer than two bad rows."""
    false_fail_interval: Interval | None
    bad_among_passes: float | None
    """Share of the passes that are bad; ``None`` where nothing passes."""
    bad_among_passes_interval: Interval | None
    passes: int
    p_value: float | None
    """Of "more bad rows pass than is acceptable"; ``None`` for rows that were not drawn at random."""
    bound: float | None
    """One-sided: at most this share of bad rows passes, at the certificate's level; ``None`` like `p_value`."""
    labels_needed: int
    """Labelled fails still missing for this threshold, if none of them passes."""
    is_certified: bool
    just_inside: tuple[str, ...]
    """Labelled cases that pass by the smallest margin."""
    just_outside: tuple[str, ...]
    """Labelled cases that miss it by the smallest margin."""

    @property
    def false_pass_rate(self) -> float | None:
        """Share of bad rows that pass."""
        return self.false_pass / self.n_fail if self.n_fail else None

    @property
    def false_fail_rate(self) -> float | None:
        """Share of good rows that do not pass."""
        return self.false_fail / self.n_pass if self.n_pass else None

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values; intervals as ``[low, high]``."""
        plain = self._asdict()
        for name, value in plain.items():
            if isinstance(value, Interval):
                plain[name] = [value.low, value.high]
        return plain | {"false_pass_rate": self.false_pass_rate, "false_fail_rate": self.false_fail_rate}

    def words(self) -> str:
        """Say both rates in words: they answer different questions, and either alone flatters."""
        if self.false_pass_rate is None:
            first = "share of bad answers that pass: not defined, no row is labelled fail"
        else:
            first = f"{100 * self.false_pass_rate:.0f} % of bad answers pass ({self.false_pass} of {self.n_fail})"
        if self.bad_among_passes is None:
            return f"{first}; share of passes that are bad: not defined, nothing passes"
        return f"{first}; {100 * self.bad_among_passes:.0f} % of passes are bad ({self.false_pass} of {self.passes})"


def sweep_rows(rows: Sequence[LabelledRow], better: Better, *, is_discrete: bool = False) -> Sweep:
    """Sweep labelled rows; a discrete metric has one cut, between the values that pass and those that do not."""
    values = np.array([row.value for row in rows], dtype=np.float64)
    is_fail = np.array([row.is_bad is True for row in rows], dtype=bool)
    if not is_discrete:
        return sweep(values, is_fail, better=better)
    passing = values == 1.0
    return Sweep(
        thresholds=np.array([1.0] if len(rows) else []),
        false_passes=np.array([np.count_nonzero(passing & is_fail)] if len(rows) else [], dtype=np.int64),
        true_passes=np.array([np.count_nonzero(passing & ~is_fail)] if len(rows) else [], dtype=np.int64),
        n_fail=int(is_fail.sum()),
        n_pass=int((~is_fail).sum()),
        better="higher",
    )


def is_pass(value: float, threshold: float, better: Better) -> bool:
    """Compare as the gate does: exactly, the threshold itself included."""
    return value >= threshold if better == "higher" else value <= threshold


def denominators_of(rows: Iterable[LabelledRow]) -> dict[int, int]:
    """Count the rows by number of claims; empty where the values are no shares of them."""
    counts: Counter[int] = Counter()
    for row in rows:
        if row.of is None or abs(row.value * row.of - round(row.value * row.of)) > 1e-9:
            return {}
        counts[row.of] += 1
    return dict(sorted(counts.items()))


def in_claims(threshold: float, denominators: Iterable[int], better: Better = "higher") -> str:
    """Say what a threshold asks for in claims, over all numbers of claims that occur.

    >>> in_claims(0.75, [1, 2, 3, 4, 5, 8])
    'all of 1-3, all but 1 of 4-5, all but 2 of 8'
    >>> in_claims(0.1, [3, 10], "lower")
    'at most 0 of 3, at most 1 of 10'
    """
    ks = sorted(set(denominators))
    if better == "lower":
        return ", ".join(f"at most {allowed(threshold, k)} of {k}" for k in ks)
    spare = [(k - needed(threshold, k), k) for k in ks]
    parts = []
    for missing, group in groupby(spare, key=lambda pair: "any" if pair[0] == pair[1] else pair[0]):
        run = [k for _, k in group]
        span = str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}"
        how = {"any": "any", 0: "all", -1: "more than all"}.get(missing, f"all but {missing}")
        parts.append(f"{how} of {span}")
    return ", ".join(parts)


def threshold_table(
    rows: Sequence[LabelledRow],
    found: Sweep,
    certificate: Certificate,
    *,
    confidence: float,
    denominators: Mapping[int, int],
    is_discrete: bool = False,
    at: Sequence[int] | None = None,
    is_drawn: bool = True,
) -> tuple[Threshold, ...]:
    """Return a line for each distinguishable threshold, strictest first.

    Parameters
    ----------
    rows : sequence of LabelledRow
    found : Sweep
        Of these rows.
    certificate : Certificate
        Of this sweep.
    confidence : float
        Of the two-sided intervals.
    denominators : mapping
        From `denominators_of`; empty where the score is no share of claims.
    is_discrete : bool
    at : sequence of int, optional
        Places in the sweep; all of them by default (a spread of `MOST_THRESHOLDS`, where there are more).
    is_drawn : bool
        False for rows that were not drawn at random: they have rates, and prove nothing.
    """
    shown = list(at) if at is not None else _spread(len(found.thresholds), certificate.n_certified - 1)
    bad = clopper_pearson(found.false_passes[shown], found.n_fail, confidence)
    good = clopper_pearson(found.false_fails[shown], found.n_pass, confidence)
    among = clopper_pearson(found.false_passes[shown], found.passes[shown], confidence)
    ordered = sorted(rows, key=lambda row: row.value, reverse=found.better == "higher")
    table = []
    for place, i in enumerate(shown):
        threshold, passes, errors = float(found.thresholds[i]), int(found.passes[i]), int(found.false_passes[i])
        table.append(
            Threshold(
                threshold=threshold,
                beyond=float(found.thresholds[i + 1]) if i + 1 < len(found.thresholds) else None,
                meaning=_meaning(threshold, denominators, found.better, is_discrete=is_discrete),
                n_fail=found.n_fail,
                n_pass=found.n_pass,
                false_pass=errors,
                false_fail=int(found.false_fails[i]),
                false_pass_interval=_interval(bad, place, found.n_fail, confidence),
                false_fail_interval=_interval(good, place, found.n_pass, confidence),
                bad_among_passes=errors / passes if passes else None,
                bad_among_passes_interval=_interval(among, place, passes, confidence),
                passes=passes,
                p_value=certificate.p_values[i] if is_drawn else None,
                bound=upper_bound(errors, found.n_fail, certificate.level) if is_drawn else None,
                labels_needed=_lacking(errors, found.n_fail, certificate) if is_drawn else certificate.labels_needed,
                is_certified=int(i) < certificate.n_certified,
                just_inside=tuple(row.case_id for row in ordered[max(0, passes - _NEIGHBOURS) : passes]),
                just_outside=tuple(row.case_id for row in ordered[passes : passes + _NEIGHBOURS]),
            )
        )
    return tuple(table)


def _lacking(errors: int, n_fail: int, certificate: Certificate) -> int:
    return labels_needed(errors, n_fail, certificate.risk, certificate.level)


def _spread(n: int, kept: int) -> list[int]:
    if n <= MOST_THRESHOLDS:
        return list(range(n))
    chosen = {round(i * (n - 1) / (MOST_THRESHOLDS - 1)) for i in range(MOST_THRESHOLDS)}
    return sorted(chosen | {i for i in (kept, kept + 1) if 0 <= i < n})


def _interval(bounds: Bounds, place: int, n: int, confidence: float) -> Interval | None:
    """Return one interval; one row has none, since it says nothing about how much rows differ."""
    return Interval(float(bounds.low[place]), float(bounds.high[place]), confidence) if n > 1 else None


def _meaning(threshold: float, denominators: Iterable[int], better: Better, *, is_discrete: bool) -> str:
    if is_discrete:
        return "its values that pass"
    ks = list(denominators)
    return in_claims(threshold, ks, better) if ks else ""
