"""Signs in the scored rows alone, without labels, that this metric or a threshold on it is the wrong tool.

`evalkit.decisions.calibrating.wrong_tool` looks at labelled rows; this module serves ``score``, ``gate`` and notebook
01, where nobody has labelled anything yet, and needs nothing but the standard library.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from evalkit.contract import Metric, example_list
from evalkit.scoring.ledger import denominator_of
from evalkit.scoring.records import Record

__all__ = ["SAMPLE", "Advice", "advise", "advise_in_words", "rank_correlation"]

SAMPLE = 1_000
"""So many rows from the start of a file are looked at: enough for every check, and no cost worth naming."""

_FEWEST_IN_A_SLICE = 5
_FEWEST_OF_A_KIND = 5
_FEWEST_ROWS = 20
_FEW_VALUES = 3
_NOTABLE = 0.3
_NORMAL_995, _NORMAL_99 = 2.576, 2.326
"""Two-sided and one-sided 1 %."""


class Advice(NamedTuple):
    """One sign, by name, with its reason and its counts."""

    name: str
    """``single_item``, ``few_values``, ``sparse``, ``populations``, ``best_of_several``, ``composite``, ``length`` or
    ``unresolved_support``."""
    sentence: str


def advise(metric: Metric, records: Iterable[Record]) -> list[Advice]:
    """Return what speaks against this metric, or against a threshold on it, in the rows at hand.

    When it misleads: each is a sign, not a proof, and its absence shows nothing. Only labels of people can show that a
    score rewards length, or that one missing item is unacceptable by itself (``evalkit calibrate`` looks for both).

    Parameters
    ----------
    metric : Metric
    records : iterable of Record
        Of one run; the first 1,000 are looked at.
    """
    rows = [record for record in islice(records, SAMPLE) if record.state == "scored"]
    checks: list[Callable[[Metric, Sequence[Record]], Iterator[Advice]]] = [_sparse, _populations, _length, _unresolved]
    if metric.kind == "numeric":
        checks += [_single_item, _few_values, _best_of_several, _composite]
    return [found for check in checks for found in check(metric, rows)]


def advise_in_words(metric: Metric, records: Iterable[Record]) -> list[str]:
    """Return the same as sentences that begin with the sign's name."""
    return [f"wrong tool? {name}: {sentence}" for name, sentence in advise(metric, records)]


def _sparse(_: Metric, rows: Sequence[Record]) -> Iterator[Advice]:
    counts = Counter(row.slice for row in rows if row.blocking)
    few = {name: n for name, n in sorted(counts.items()) if n < _FEWEST_IN_A_SLICE}
    if few:
        shown = example_list([f"{name!r} {n}" for name, n in few.items()])
        yield Advice(
            "sparse",
            f"{len(few)} of {len(counts)} slices have fewer than {_FEWEST_IN_A_SLICE} scored blocking rows ({shown}): "
            "each row is a quarter or more of what its slice says",
        )


def _single_item(metric: Metric, rows: Sequence[Record]) -> Iterator[Advice]:
    if len(rows) >= _FEWEST_OF_A_KIND and {_denominator(metric, row) for row in rows} == {1}:
        yield Advice(
            "single_item",
            f"all {len(rows)} scored rows have one required item, so the value is only ever 0 or 1: make this a "
            "discrete metric (pass or fail)",
        )


def _denominator(metric: Metric, row: Record) -> int | None:
    return denominator_of(row.detail, row.inputs, metric.contract.reviewed if metric.contract else ())


def _few_values(metric: Metric, rows: Sequence[Record]) -> Iterator[Advice]:
    values = sorted({float(row.value) for row in rows if isinstance(row.value, int | float)})
    is_one_item = any(_single_item(metric, rows))
    if len(rows) >= _FEWEST_ROWS and 1 < len(values) <= _FEW_VALUES and not is_one_item:
        shown = ", ".join(f"{value:g}" for value in values)
        yield Advice(
            "few_values",
            f"the {len(rows)} scored rows have only {len(values)} distinct values ({shown}): there is hardly a "
            "threshold to choose; a discrete metric with named values would say what each of them means",
        )


def _populations(metric: Metric, rows: Sequence[Record]) -> Iterator[Advice]:
    """Look for several populations in one slice: values differ by where rows come from."""
    for slice_name in sorted({row.slice for row in rows}):
        own = [row for row in rows if row.slice == slice_name]
        for key in ("stratum", "source"):
            groups: dict[str, list[float]] = {}
            for row in own:
                number = _number(metric, row)
                if number is not None and isinstance(name := row.lineage.get(key), str):
                    groups.setdefault(name, []).append(number)
            groups = {name: values for name, values in sorted(groups.items()) if len(values) >= _FEWEST_OF_A_KIND}
            if len(groups) > 1 and _differ(list(groups.values())):
                shown = ", ".join(f"{name} {math.fsum(v) / len(v):.2f} over {len(v)}" for name, v in groups.items())
                what = "mean" if metric.kind == "numeric" else f"share of {_first_label(metric)!r}"
                yield Advice(
                    "populations",
                    f"several populations in slice {slice_name!r}: {what} by {key}: {shown} (Kruskal-Wallis, p < 0.01);"
                    " one limit hides the worse one, give each a slice",
                )


def _length(metric: Metric, rows: Sequence[Record]) -> Iterator[Advice]:
    pairs = [(len(text), n) for row in rows if (text := _text(metric, row)) and (n := _number(metric, row)) is not None]
    if len(pairs) < _FEWEST_ROWS:
        return
    correlation = rank_correlation([float(length) for length, _ in pairs], [number for _, number in pairs])
    if correlation is not None and correlation > max(_NOTABLE, _NORMAL_995 / math.sqrt(len(pairs) - 1)):
        yield Advice(
            "length",
            f"longer answers score higher (rank correlation {correlation:.2f} over {len(pairs)} rows, p < 0.01): they "
            "may be better, or the score may reward length; labels of people tell the two apart",
        )


def _unresolved(metric: Metric, rows: Sequence[Record]) -> Iterator[Advice]:
    """Look for items that count as supported although the row's evidence cites nothing for them."""
    produced = metric.contract.produced if metric.contract else ()
    looked_at = wrong = 0
    example = ""
    for row in rows:
        citations, claims = (row.evidence or {}).get("citations"), (row.evidence or {}).get("claims")
        if not isinstance(citations, list) or not isinstance(claims, dict):
            continue
        counted = [i for name in produced if isinstance(ids := (row.inputs or {}).get(name), list) for i in ids]
        cited = {citation.get("claim_id") for citation in citations if isinstance(citation, dict)}
        bare = [item for item in counted if isinstance(item, str) and item in claims and item not in cited]
        looked_at += 1
        if bare:
            wrong += 1
            example = example or f"{bare[0]!r} of {row.case_id}"
    if wrong:
        yield Advice(
            "unresolved_support",
            f"support is not resolved upstream: in {wrong} of {looked_at} scored rows an item counts as supported "
            f"that no citation of the row's evidence names (first {example}); a ratio does not prove meaning",
        )


def _best_of_several(_: Metric, rows: Sequence[Record]) -> Iterator[Advice]:
    for key, lists in _by_detail(rows, list):
        numbers = [(row.value, found) for row, found in lists if len(found) > 1 and all(map(_is_number, found))]
        is_best = all(_is_close(value, max(found)) for value, found in numbers)
        if len(numbers) >= _FEWEST_OF_A_KIND and is_best and any(len(set(found)) > 1 for _, found in numbers):
            yield Advice(
                "best_of_several",
                f"in all {len(numbers)} scored rows with detail.{key} the value is the largest number of that list: "
                "the best of several is a ranking, and says nothing of the one that ships",
            )


def _composite(_: Metric, rows: Sequence[Record]) -> Iterator[Advice]:
    parts = [(row.value, {k: v for k, v in row.detail.items() if type(v) is float}) for row in rows]
    keys = {tuple(sorted(found)) for _, found in parts}
    if len(parts) < _FEWEST_OF_A_KIND or len(keys) != 1 or len(names := keys.pop()) < 2:
        return
    is_mean = all(_is_close(value, math.fsum(found.values()) / len(found)) for value, found in parts)
    if is_mean and any(len(set(found.values())) > 1 for _, found in parts):
        yield Advice(
            "composite",
            f"in all {len(parts)} scored rows the value is the mean of {', '.join(names)}: a good one hides a bad one; "
            "score and limit each by itself",
        )


# --- reckoning ------------------------------------------------------------------------------------------------------


def _by_detail(rows: Sequence[Record], kind: type) -> Iterator[tuple[str, list[tuple[Record, Any]]]]:
    for key in sorted({key for row in rows for key in row.detail}):
        yield key, [(row, row.detail[key]) for row in rows if isinstance(row.detail.get(key), kind)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_close(value: Any, other: float) -> bool:
    return _is_number(value) and math.isclose(value, other, abs_tol=1e-9)


def _first_label(metric: Metric) -> str:
    return str(metric.allowed_values[0]) if isinstance(metric.allowed_values, list) else ""


def _number(metric: Metric, row: Record) -> float | None:
    """Return a row's value as a number: of labels, 1.0 for the first of them and 0.0 for the others."""
    if metric.kind == "discrete":
        return float(row.value == _first_label(metric))
    return float(row.value) if isinstance(row.value, int | float) else None


def _text(metric: Metric, row: Record) -> str:
    answer = (row.evidence or {}).get("answer")
    if isinstance(answer, str):
        return answer
    produced = metric.contract.produced if metric.contract else ()
    texts = [text for name in produced if isinstance(text := (row.inputs or {}).get(name), str)]
    return texts[0] if len(texts) == 1 else ""


def _ranks(values: Sequence[float]) -> list[float]:
    """Return ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or values[order[end]] != values[order[start]]:
            for place in order[start:end]:
                ranks[place] = (start + 1 + end) / 2
            start = end
    return ranks


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Spearman's correlation; ``None`` where one side does not vary."""
    a, b = _ranks(one), _ranks(other)
    middle = (len(a) + 1) / 2
    spread = math.fsum((x - middle) ** 2 for x in a) * math.fsum((y - middle) ** 2 for y in b)
    return (
        math.fsum((x - middle) * (y - middle) for x, y in zip(a, b, strict=True)) / math.sqrt(spread)
        if spread
        else None
    )


def _differ(groups: Sequence[Sequence[float]]) -> bool:
    """Tell whether groups differ in rank (Kruskal-Wallis with ties, p < 0.01; Wilson-Hilferty for the quantile)."""
    values = [value for group in groups for value in group]
    ranks, n = _ranks(values), len(values)
    ties = math.fsum(t**3 - t for t in Counter(values).values())
    if ties == n**3 - n:
        return False
    start, total = 0, 0.0
    for group in groups:
        total += math.fsum(ranks[start : start + len(group)]) ** 2 / len(group)
        start += len(group)
    statistic = (12 / (n * (n + 1)) * total - 3 * (n + 1)) / (1 - ties / (n**3 - n))
    df = len(groups) - 1
    limit = df * (1 - 2 / (9 * df) + _NORMAL_99 * math.sqrt(2 / (9 * df))) ** 3
    return statistic > limit
