"""Signs in the data that a threshold on this score is the wrong tool: each a warning with its reason and its counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from evalkit.decisions.agreement import FEWEST_RARE
from evalkit.decisions.calibrating.pairing import LabelledRow
from evalkit.decisions.calibrating.sweep import Sweep, auroc

__all__ = ["wrong_tool_warnings"]

_UNLIKELY = 0.01
_FEW_VALUES = 3
_FEWEST_OF_A_KIND = 5
_FEWEST_FOR_LENGTH = 20
_NOTABLE = 0.3


def wrong_tool_warnings(rows: Sequence[LabelledRow], found: Sweep, *, is_discrete: bool = False) -> list[str]:
    """Return what speaks against reading this slice through one threshold.

    Parameters
    ----------
    rows : sequence of LabelledRow
        The labelled rows of one slice.
    found : Sweep
        Of the same rows.
    is_discrete : bool
        A discrete metric has no threshold to misuse; only the checks of its labels apply.
    """
    checks: list[Iterable[str]] = [_sparse(found), _blind(found, len(rows))]
    if not is_discrete:
        checks += [_single_item(rows), _few_values(found, rows), _categorical(rows), _length(rows)]
    checks += [_populations(rows, "stratum"), _populations(rows, "source")]
    return [warning for check in checks for warning in check]


def _sparse(found: Sweep) -> Iterator[str]:
    rarer, word = min((found.n_fail, "fail"), (found.n_pass, "pass"))
    if found.n_fail + found.n_pass and rarer < FEWEST_RARE:
        yield (
            f"sparse: {rarer} of {found.n_fail + found.n_pass} rows are labelled {word}; with fewer than {FEWEST_RARE} "
            "every rate over them moves by a tenth or more with each row"
        )


def _blind(found: Sweep, n: int) -> Iterator[str]:
    area = auroc(found)
    if area is None or min(found.n_fail, found.n_pass) < FEWEST_RARE:
        return
    # Under no relation the area is about normal with this spread (ties only make it smaller).
    spread = ((found.n_fail + found.n_pass + 1) / (12 * found.n_fail * found.n_pass)) ** 0.5
    if area < 0.5 + 2 * spread:
        yield (
            f"the score does not tell good from bad: a good row scores higher than a bad one in {100 * area:.0f} % of "
            f"pairs ({n} rows; 50 % is chance), so no threshold will; is it meant to predict these labels?"
        )


def _single_item(rows: Sequence[LabelledRow]) -> Iterator[str]:
    if rows and {row.of for row in rows} == {1}:
        yield (
            f"all {len(rows)} rows have one required item, so the value is only ever 0 or 1: "
            "make this a discrete metric (pass or fail)"
        )


def _few_values(found: Sweep, rows: Sequence[LabelledRow]) -> Iterator[str]:
    distinct = len(found.thresholds)
    if 1 < distinct <= _FEW_VALUES and {row.of for row in rows} != {1}:
        values = ", ".join(f"{value:g}" for value in found.thresholds)
        yield (
            f"the {len(rows)} rows have only {distinct} distinct values ({values}): there is hardly a threshold to "
            "choose; a discrete metric with named values would say what each of them means"
        )
    elif distinct == 1:
        yield f"all {len(rows)} rows have the value {found.thresholds[0]:g}: no threshold tells them apart"


def _categorical(rows: Sequence[LabelledRow]) -> Iterator[str]:
    """Look for an item that makes people say fail when it alone is absent, where others alone do not."""
    from scipy.stats import fisher_exact

    single = [row for row in rows if len(row.missing) == 1]
    for item in sorted({row.missing[0] for row in single}):
        own = [row.is_bad is True for row in single if row.missing[0] == item]
        others = [row.is_bad is True for row in single if row.missing[0] != item]
        if len(own) < _FEWEST_OF_A_KIND or not all(own) or not others:
            continue
        table = [[sum(own), 0], [sum(others), len(others) - sum(others)]]
        if fisher_exact(table, alternative="greater").pvalue < _UNLIKELY:
            yield (
                f"all {len(own)} rows that miss only {item!r} are labelled fail, but {sum(others)} of {len(others)} "
                "rows that miss only one other item: this one is not one among many, make the policy Boolean for it "
                "(a slice of its own, minimum 1.0)"
            )


def _length(rows: Sequence[LabelledRow]) -> Iterator[str]:
    """Look whether longer answers score higher among those that people call equally good."""
    from scipy.stats import spearmanr

    for is_bad, word in ((False, "good"), (True, "bad")):
        group = [row for row in rows if row.is_bad is is_bad and row.text]
        values = [row.value for row in group]
        if len(group) < _FEWEST_FOR_LENGTH or len(set(values)) < 2 or len({len(row.text) for row in group}) < 2:
            continue
        test = spearmanr([len(row.text) for row in group], values)
        if test.statistic > _NOTABLE and test.pvalue < _UNLIKELY:
            yield (
                f"the score rewards length: among the {len(group)} {word} rows, longer texts score higher "
                f"(rank correlation {test.statistic:.2f}, p = {test.pvalue:.1g})"
            )


def _populations(rows: Sequence[LabelledRow], key: str) -> Iterator[str]:
    """Look for several populations in one slice: the share of bad rows differs by where rows come from."""
    from scipy.stats import chi2_contingency

    groups: dict[str, list[bool]] = {}
    for row in rows:
        if (name := getattr(row, key)) is not None:
            groups.setdefault(name, []).append(row.is_bad is True)
    groups = {name: bad for name, bad in sorted(groups.items()) if len(bad) >= _FEWEST_OF_A_KIND}
    table = [[sum(bad), len(bad) - sum(bad)] for bad in groups.values()]
    if len(groups) < 2 or not all(map(sum, zip(*table, strict=True))):
        return
    p_value = float(chi2_contingency(table).pvalue)
    if p_value < _UNLIKELY:
        shown = ", ".join(f"{name} {sum(bad)} of {len(bad)}" for name, bad in groups.items())
        yield (
            f"several populations in one slice: bad rows by {key}: {shown} (chi-squared p = {p_value:.1g}); "
            "one threshold hides the worse one, give each a slice"
        )
