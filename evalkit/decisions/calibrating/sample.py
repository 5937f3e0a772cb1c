"""Which labelled rows may certify: a random, fresh, independent draw; everything else is counted and set apart."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from evalkit.cases.near_duplicates import near_duplicates
from evalkit.cases.shape import PARTITIONS
from evalkit.contract import example_list
from evalkit.decisions.calibrating.pairing import Fate, LabelledRow, Pairing

__all__ = ["MOST_LEFT_OUT", "Sample", "partition_in_use", "sample_of"]

MOST_LEFT_OUT = 0.1
"""If more than this share of a random draw is stale or was not scored, what is left is no random draw any more."""

_FEWEST_FOR_COMPARISON = 20
_UNLIKELY = 0.001


class Sample(NamedTuple):
    """The labelled rows of one slice, sorted by what they may be used for."""

    slice: str
    rows: tuple[LabelledRow, ...]
    """Random, of the partition in use, one a family: what the certificate rests on."""
    targeted: tuple[LabelledRow, ...]
    """Labelled rows of the partition that were picked, or nobody wrote down how: they describe themselves only."""
    left_out: Mapping[str, int]
    """Paired rows that do not certify, by reason."""
    refusals: tuple[str, ...]
    """Why this slice cannot be certified whatever the numbers are."""
    is_synthetic: bool
    """Whether the rows were authored: a certificate then speaks of the example only."""

    @property
    def n_fail(self) -> int:
        """Rows labelled fail."""
        return sum(row.is_bad is True for row in self.rows)

    @property
    def n_pass(self) -> int:
        """Rows labelled pass."""
        return len(self.rows) - self.n_fail


def partition_in_use(rows: Iterable[LabelledRow]) -> str | None:
    """Return the partition that thresholds are chosen on; ``None`` where nobody split the cases."""
    return "calibration" if any(row.partition in PARTITIONS for row in rows) else None


def sample_of(pairing: Pairing, name: str, partition: str | None) -> Sample:
    """Sort out one slice's labelled rows.

    Parameters
    ----------
    pairing : Pairing
    name : str
        The slice.
    partition : str or None
        The partition in use; ``None`` where the cases have none, and all rows count.
    """
    everything = [row for row in pairing.rows if row.slice == name]
    paired = [row for row in everything if row.is_bad is not None]
    here = [row for row in paired if partition is None or row.partition == partition]
    left_out = Counter(_elsewhere(row) for row in paired if partition is not None and row.partition != partition)
    human = [row for row in here if row.provenance != "model"]
    real = [row for row in human if row.provenance == "production"]
    # Authored labels next to real ones would borrow their standing.
    kept = real or human
    drawn = [row for row in kept if row.selection == "random"]
    rows = _one_a_family(drawn)
    left_out["label written by a model"] = len(here) - len(human)
    left_out["synthetic label beside production labels"] = len(human) - len(kept)
    left_out.update(f"selection {row.selection}" for row in kept if row.selection != "random")
    left_out["another row of a family that counts already"] = len(drawn) - len(rows)
    unlabelled = [row for row in everything if row.how is None and (partition is None or row.partition == partition)]
    return Sample(
        slice=name,
        rows=tuple(rows),
        targeted=tuple(row for row in kept if row.selection != "random"),
        left_out={reason: n for reason, n in left_out.items() if n},
        refusals=(*_lost(pairing.fates.get(name, Counter())), *_unfit(rows, unlabelled)),
        is_synthetic=bool(kept) and not real,
    )


def _elsewhere(row: LabelledRow) -> str:
    return f"partition {row.partition}" if row.partition else "no partition"


def _one_a_family(rows: Iterable[LabelledRow]) -> list[LabelledRow]:
    """Keep one row of each family, picked by a hash of its case id: blind to score and label, the same each time."""
    best: dict[str, LabelledRow] = {}
    kept = []
    for row in rows:
        if row.family is None:
            kept.append(row)
        elif row.family not in best or _lot(row) < _lot(best[row.family]):
            best[row.family] = row
    return kept + list(best.values())


def _lot(row: LabelledRow) -> str:
    return hashlib.sha256(row.case_id.encode()).hexdigest()


def _lost(fates: Counter[Fate]) -> Iterator[str]:
    if fates["conflict"]:
        yield f"{fates['conflict']} labelled cases have reviewers who disagree: adjudicate them first"
    total = sum(fates.values()) - fates["no_case"]
    for fate, words in (("stale", "show another answer than was labelled"), ("not_scored", "have no score")):
        n = fates[fate]  # type: ignore[index]
        if total and n > MOST_LEFT_OUT * total:
            yield (
                f"{n} of {total} labelled cases {words}: the rest is no random draw any more "
                f"(at most {MOST_LEFT_OUT:.0%} may be missing)"
            )


def _unfit(rows: Sequence[LabelledRow], unlabelled: Sequence[LabelledRow]) -> Iterator[str]:
    pairs = near_duplicates({row.case_id: row.text for row in rows})
    if pairs:
        shown = example_list([f"{pair.first} / {pair.second} ({pair.similarity:g} of 100)" for pair in pairs])
        yield f"{len(pairs)} pairs of rows have almost the same text and no common family: {shown}"
    weights = {row.weight for row in rows}
    if len(weights) > 1:
        strata = Counter(str(row.stratum) for row in rows)
        shown = ", ".join(f"{name} {n}" for name, n in sorted(strata.items()))
        yield f"the rows have different prevalence weights (strata: {shown}): make each stratum a slice of its own"
    yield from _unlike(rows, unlabelled)


def _unlike(rows: Sequence[LabelledRow], unlabelled: Sequence[LabelledRow]) -> Iterator[str]:
    """Doubt a draw that is called random and whose scores differ from those of the rows that were not drawn."""
    if min(len(rows), len(unlabelled)) < _FEWEST_FOR_COMPARISON:
        return
    from scipy.stats import ks_2samp

    test = ks_2samp([row.value for row in rows], [row.value for row in unlabelled], method="asymp")
    if test.pvalue < _UNLIKELY:
        yield (
            f"the labels are called random, but the scores of the {len(rows)} labelled rows differ from those of the "
            f"{len(unlabelled)} unlabelled ones (Kolmogorov-Smirnov distance {test.statistic:.2f}, "
            f"p = {test.pvalue:.1g})"
        )
