"""Decisions beside people's labels in words: counts first, false passes before false fails, the total last."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.decisions.certifying.against import CONFIDENCE

__all__ = ["LabelRow", "LabelTable", "label_screen", "label_table", "labelled_lines"]

_MOST = 5
_WIDTH = 30
_COUNTS = ("eligible", "completed", "errored", "reviewed")
_MISTAKES = (
    ("false_passes", "people_fail", "false_pass_interval", "bad rows that pass"),
    ("false_fails", "people_pass", "false_fail_interval", "good rows that fail"),
)
_OPEN = {
    "unlabelled": "without a label that fits", "conflicts": "reviewers disagree", "unknown": "an unknown label",
}  # fmt: skip

Found = Mapping[str, Any]


def labelled_lines(facts: Mapping[str, Any]) -> list[str]:
    """Return sentences for a list: origins, one for each slice and partition, the total; from an outcome file."""
    found = facts.get("labelled") or ()
    return [*_origins(found), *map(_sentence, found), *_total(facts)] if found else []


def label_screen(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the same as lines of a screen (not yet wrapped); nothing where no labels were asked for."""
    found = facts.get("labelled") or ()
    deciding = [one for one in found if one["counts"]]
    if not found:
        return
    yield "against people's labels"
    yield from _origins(found)
    if deciding:
        yield from _table(deciding)
        for mistake in _MISTAKES:
            yield from _mistakes(mistake, deciding)
        yield from (f"weighted to production, {one['slice']}: {_weighted(one)}" for one in deciding if _weighted(one))
        for key, words in _OPEN.items():
            yield from (f"{words}, {one['slice']}: {_named(one[key])}" for one in deciding if one[key])
    yield from _beside([one for one in found if not one["counts"]])
    yield from _total(facts)


def _origins(found: Sequence[Found]) -> Iterator[str]:
    deciding = [one for one in found if one["counts"]]
    n, random, synthetic = (sum(one[key] for one in deciding) for key in ("n", "random", "synthetic"))
    if synthetic:
        yield f"SYNTHETIC LABELS ({synthetic} of {n} rows): this certifies nothing outside the example."
    if random < n:
        apart = "the others describe themselves, and no rate here speaks for rows that nobody labelled"
        yield f"{random} of {n} labelled rows were drawn at random; {apart}."


# --- the screen -----------------------------------------------------------------------------------------------------


def _table(deciding: Sequence[Found]) -> Iterator[str]:
    is_split = any(one["partition"] for one in deciding)
    yield f"{'held-out rows, which decide' if is_split else 'rows':<{_WIDTH}}{_cells(_COUNTS)}"
    for one in deciding:
        counts = _counts(one)
        left = "".join(f", {one[key]} {key}" for key in ("invalid", "unrun") if one[key])
        yield f"  {one['slice']:<{_WIDTH - 2}}{_cells([str(counts[name]) for name in _COUNTS])}{left}"


def _cells(words: Sequence[str]) -> str:
    return "".join(f"{word:>11}" for word in words)


def _counts(one: Found) -> dict[str, int]:
    return {"eligible": one["eligible"], "completed": one["completed"], "errored": one["errored"], "reviewed": one["n"]}


def _mistakes(mistake: tuple[str, str, str, str], deciding: Sequence[Found]) -> Iterator[str]:
    yield f"{mistake[3]:<{_WIDTH}}exact {100 * CONFIDENCE:g} % intervals"
    for one in deciding:
        yield f"  {one['slice']:<{_WIDTH - 2}}{_rate(mistake, one)}"


def _rate(mistake: tuple[str, str, str, str], one: Found) -> str:
    key, of, interval, _ = mistake
    if not one["open"]:
        return "not opened: something else stands in the way"
    rate = f"{len(one[key])} of {one[of]}{_range(one[interval])}"
    return f"{rate}: {_causes(one, key)}" if one[key] else rate


def _range(interval: Sequence[float] | None) -> str:
    if interval is None:
        return ""
    low, high = math.floor(100 * interval[0]), math.ceil(100 * interval[1])  # outwards: never narrower than it is
    return f" ({low}-{high} %)"


def _causes(one: Found, key: str) -> str:
    shown = []
    for case_id in one[key][:_MOST]:
        words = [one["caused"].get(case_id), "under an override" if case_id in one["overridden"] else None]
        told = ", ".join(word for word in words if word)
        shown.append(f"{case_id} ({told})" if told else str(case_id))
    return _joined(shown, len(one[key]))


def _named(case_ids: Sequence[Any]) -> str:
    return f"{len(case_ids)} ({_joined([str(case_id) for case_id in case_ids[:_MOST]], len(case_ids))})"


def _joined(shown: Sequence[str], n: int) -> str:
    return ", ".join(shown) + (f" and {n - len(shown)} more" if n > len(shown) else "")


def _weighted(one: Found) -> str:
    weighted = one.get("weighted")
    if not weighted:
        return ""
    rates = [
        f"{100 * weighted[key]:.0f} % of {what}"
        for key, what in (("false_pass_rate", "bad rows pass"), ("false_fail_rate", "good rows fail"))
        if weighted[key] is not None
    ]
    over = [name for name, stratum in weighted["strata"].items() if stratum["is_oversampled"]]
    return f"{' and '.join(rates)} (oversampled: {', '.join(over) or 'none'}; no interval)"


def _total(facts: Mapping[str, Any]) -> Iterator[str]:
    total = facts.get("labels_total")
    if not total:
        return
    constant = total["constant_baseline"]
    kappa = "not defined" if total["kappa"] is None else f"{total['kappa']:.3f}"
    note = f" ({total['note']})" if total["note"] else ""
    share = f"{total['agree']} of {total['n']} decisions are people's ({100 * total['share']:.0f} %)"
    always = f"always saying {constant['label']} would agree on {constant['agree']}"
    yield f"all of them together: {share}, kappa {kappa}{note}; {always}"


def _beside(others: Sequence[Found]) -> Iterator[str]:
    """Say what the partitions that decide nothing show, in one sentence each."""
    for partition in dict.fromkeys(one["partition"] for one in others):
        own = [one for one in others if one["partition"] == partition]
        parts = []
        for key, of, _, words in _MISTAKES:
            wrong = [case_id for one in own for case_id in one[key]]
            named = f" ({_joined([str(i) for i in wrong[:_MOST]], len(wrong))})" if wrong else ""
            parts.append(f"{words} {len(wrong)} of {sum(one[of] for one in own)}{named}")
        yield f"{partition or 'without a partition'}, which decides nothing: {', '.join(parts)}"


# --- a page ---------------------------------------------------------------------------------------------------------


class LabelRow(NamedTuple):
    """One slice of one partition, as a row of a table."""

    slice: str
    partition: str
    decides: bool
    counts: list[int]
    """Eligible, completed, errored, reviewed."""
    mistakes: list[str]
    """Bad rows that pass, good rows that fail: rate, interval, cases."""
    notes: list[str]
    """What else must be known of these rows."""


class LabelTable(NamedTuple):
    """What a page shows of decisions beside people's labels."""

    origins: list[str]
    heads: list[str]
    rows: list[LabelRow]
    """Those that decide first."""
    total: list[str]


def label_table(facts: Mapping[str, Any]) -> LabelTable | None:
    """Return the same as a table; ``None`` where no labels were asked for."""
    found = facts.get("labelled") or ()
    if not found:
        return None
    ordered = sorted(found, key=lambda one: not one["counts"])  # stable: slices stay in the policy's order
    heads = [*_COUNTS, *(mistake[3] for mistake in _MISTAKES)]
    return LabelTable(list(_origins(found)), heads, [_label_row(one) for one in ordered], list(_total(facts)))


def _label_row(one: Found) -> LabelRow:
    left = [f"{one[key]} {key}" for key in ("invalid", "unrun") if one[key]]
    mistakes = [_rate(mistake, one) for mistake in _MISTAKES]
    return LabelRow(
        one["slice"],
        one["partition"] or "",
        one["counts"],
        list(_counts(one).values()),
        mistakes,
        [*left, *_notes(one)],
    )


def _notes(one: Found) -> list[str]:
    weighted = [f"weighted to production: {_weighted(one)}"] if _weighted(one) else []
    return [*weighted, *(f"{words}: {_named(one[key])}" for key, words in _OPEN.items() if one[key])]


# --- a list ---------------------------------------------------------------------------------------------------------


def _sentence(one: Found) -> str:
    where = f", {one['partition']}" if one["partition"] else ""
    aside = "" if one["counts"] else " (decides nothing)"
    counts = ", ".join(f"{count} {name}" for name, count in _counts(one).items())
    mistakes = [f"{mistake[3]}: {_rate(mistake, one)}" for mistake in _MISTAKES]
    return f"{one['slice']}{where}{aside}: {'; '.join([counts, *mistakes, *_notes(one)])}"
