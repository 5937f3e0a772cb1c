"""How far people agree with each other, and a metric with people; beside it the base rate and what a constant gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from evalkit.cases.labels import ADJUDICATION
from evalkit.cases.settle import Settled

__all__ = [
    "FEWEST_RARE",
    "Agreement",
    "Alpha",
    "Kappa",
    "PairAgreement",
    "agreement_of",
    "cohen_kappa",
    "krippendorff_alpha",
]

FEWEST_RARE = 10
"""With fewer rows of the rarer label, kappa moves by a tenth or more with each of them."""


class Kappa(NamedTuple):
    """Agreement of two raters over the rows that both rated."""

    n: int
    agree: int
    kappa: float | None
    """Cohen's kappa; ``None`` where it is not defined."""
    note: str
    """Why kappa is not defined, or why it should not be leaned on; empty otherwise."""
    base_label: Hashable
    """The second rater's most frequent label."""
    base_count: int
    """How often the second rater gave it: what a first rater who always says it would agree on, with kappa 0."""
    table: Mapping[tuple[Hashable, Hashable], int]
    """Counts by (first, second) label."""

    @property
    def share(self) -> float | None:
        """Raw agreement; ``None`` over nothing."""
        return self.agree / self.n if self.n else None

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "n": self.n, "agree": self.agree, "share": self.share, "kappa": self.kappa, "note": self.note,
            "constant_baseline": {"label": self.base_label, "agree": self.base_count, "kappa": 0 if self.n else None},
            "table": [{"first": a, "second": b, "count": n} for (a, b), n in sorted(self.table.items(), key=repr)],
        }  # fmt: skip


class Alpha(NamedTuple):
    """Krippendorff's alpha over all reviewers."""

    value: float | None
    note: str
    cases: int
    """Cases with at least two labels."""
    labels: int
    """Labels of those cases."""


class PairAgreement(NamedTuple):
    """Two reviewers."""

    first: str
    second: str
    kappa: Kappa


class Agreement(NamedTuple):
    """Independent reviewers among themselves: the ceiling for any metric that is compared with them."""

    pairs: tuple[PairAgreement, ...]
    pairs_agreeing: int
    pairs_compared: int
    """Pairs of labels of one case, over all reviewers."""
    nominal: Alpha
    interval: Alpha
    seen_labels: int
    """Labels left out because their reviewer had seen the score or another label."""
    adjudicated: int
    conflicts: int

    @property
    def share(self) -> float | None:
        """Share of pairs that agree: what one careful person reaches against another."""
        return self.pairs_agreeing / self.pairs_compared if self.pairs_compared else None

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "human_human": {
                "pairs_agreeing": self.pairs_agreeing, "pairs_compared": self.pairs_compared, "share": self.share,
                "alpha_nominal": self.nominal._asdict(), "alpha_interval": self.interval._asdict(),
                "reviewers": [{"first": p.first, "second": p.second, **p.kappa.facts()} for p in self.pairs],
                "not_blind": self.seen_labels, "adjudicated": self.adjudicated, "conflicts": self.conflicts,
            }
        }  # fmt: skip


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> Kappa:
    """Compare two raters label by label.

    Kappa is ``(observed - expected) / (1 - expected)``, where *expected* is the agreement of two raters who give labels
    at these rates without looking at the rows.

    When it misleads: with a rare label, raw agreement flatters (a constant answer gets the base rate) and kappa swings
    with single rows; so both stand here, with the constant's agreement beside them.

    Examples
    --------
    100 rows, 95 of them good. The judge passes 4 of the 5 bad ones and fails 1 good one: observed 0.95, expected
    ``0.98 * 0.95 + 0.02 * 0.05 = 0.932``, so kappa is ``0.018 / 0.068``; always saying pass agrees as often.

    >>> people = ["pass"] * 95 + ["fail"] * 5
    >>> judge = ["fail"] * 1 + ["pass"] * 98 + ["fail"] * 1
    >>> found = cohen_kappa(judge, people)
    >>> found.agree, round(found.kappa, 2), found.base_count
    (95, 0.26, 95)

    Source: Cohen, Educational and Psychological Measurement 20 (1960), 37-46.
    """
    table = Counter(zip(first, second, strict=True))
    n = sum(table.values())
    agree = sum(count for (a, b), count in table.items() if a == b)
    given, wanted = Counter(first), Counter(second)
    base_label, base_count = wanted.most_common(1)[0] if wanted else (None, 0)
    value, note = _kappa(n, agree, given, wanted)
    return Kappa(n, agree, value, note, base_label, base_count, table)


def _kappa(n: int, agree: int, given: Counter[Hashable], wanted: Counter[Hashable]) -> tuple[float | None, str]:
    if n == 0:
        return None, "not defined: no row has both labels"
    chance = sum(count * wanted[label] for label, count in given.items())
    if chance == n * n:
        return None, "not defined: one class"
    value = (agree * n - chance) / (n * n - chance)
    rarest = min(wanted.values())
    if len(wanted) == 1:
        return value, "one class only on one side: kappa says nothing"
    few = f"only {rarest} of {n} rows have the rarer label: kappa is unstable" if rarest < FEWEST_RARE else ""
    return value, few


def krippendorff_alpha(units: Iterable[Sequence[str | int | float]], *, is_interval: bool = False) -> Alpha:
    """Return Krippendorff's alpha over cases with any number of reviewers each.

    Parameters
    ----------
    units : iterable of sequences
        The labels of each case; cases with fewer than two say nothing about agreement and are left out.
    is_interval : bool
        Treat the labels as numbers, so that a near miss weighs less; nominal otherwise.

    Examples
    --------
    >>> krippendorff_alpha([["pass", "pass"], ["fail", "fail"], ["pass", "fail"]]).cases
    3

    Source: Krippendorff, Content Analysis (2004), chapter 11.
    """
    kept = [list(unit) for unit in units if len(unit) > 1]
    values: Any = {value for unit in kept for value in unit}
    n_labels = sum(map(len, kept))
    if is_interval and not all(isinstance(value, int | float) for value in values):
        return Alpha(None, "not defined: the labels are no numbers", len(kept), n_labels)
    if len(values) < 2:
        why = "one class" if values else "no case has two labels"
        return Alpha(None, f"not defined: {why}", len(kept), n_labels)
    import krippendorff
    import numpy as np

    domain = sorted(values) if is_interval else sorted(values, key=repr)
    place = {value: i for i, value in enumerate(domain)}
    counts = np.zeros((len(kept), len(domain)))
    for row, unit in zip(counts, kept, strict=True):
        for value in unit:
            row[place[value]] += 1
    alpha = krippendorff.alpha(
        value_counts=counts,
        value_domain=np.array(domain if is_interval else range(len(domain)), dtype=float),
        level_of_measurement="interval" if is_interval else "nominal",
    )
    return Alpha(float(alpha), "", len(kept), n_labels)


def agreement_of(settled: Iterable[Settled]) -> Agreement:
    """Compare the independent reviewers of each case; adjudications and labels given with knowledge are left out.

    A label counts unless its line says ``blind: false``: where blindness was not recorded it is taken as given, and
    the dataset card has to say so.
    """
    settled = tuple(settled)
    units: list[dict[str, str | int | float]] = []
    seen = 0
    for case in settled:
        own = [label for label in case.labels if label.reviewer != ADJUDICATION]
        seen += sum(label.blind is False for label in own)
        units.append({label.reviewer: label.label for label in own if label.blind is not False})
    compared = [(a, b) for unit in units for a, b in combinations(unit.values(), 2)]
    return Agreement(
        pairs=tuple(_pairs(units)),
        pairs_agreeing=sum(a == b for a, b in compared),
        pairs_compared=len(compared),
        nominal=krippendorff_alpha(list(unit.values()) for unit in units),
        interval=krippendorff_alpha((list(unit.values()) for unit in units), is_interval=True),
        seen_labels=seen,
        adjudicated=sum(case.how == "adjudication" for case in settled),
        conflicts=sum(case.how == "conflict" for case in settled),
    )


def _pairs(units: Sequence[Mapping[str, str | int | float]]) -> Iterable[PairAgreement]:
    reviewers = sorted({reviewer for unit in units for reviewer in unit})
    for first, second in combinations(reviewers, 2):
        both = [(unit[first], unit[second]) for unit in units if first in unit and second in unit]
        if both:
            yield PairAgreement(first, second, cohen_kappa([a for a, _ in both], [b for _, b in both]))
