"""The calibration on a screen of 80 columns: what was counted first, then errors slice by slice, the aggregate last."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from evalkit.cases.shape import PARTITIONS
from evalkit.contract import example_list
from evalkit.contract.words import STATES
from evalkit.decisions.agreement import Kappa
from evalkit.decisions.calibrate import Calibration, SliceCalibration
from evalkit.decisions.calibrating.pairing import FATES
from evalkit.decisions.calibrating.thresholds import Threshold, is_pass
from evalkit.pages.calibrate_verdict import percent, verdict
from evalkit.pages.plain import plain, shown

__all__ = ["calibration_screen", "slice_lines"]

WIDTH = 80
_MOST_LINES = 12
_FATE_WORDS = {
    "paired": "paired", "not_scored": "not scored", "stale": "stale", "conflict": "in conflict",
    "other_label": "another label", "no_case": "without a case",
}  # fmt: skip


def calibration_screen(found: Calibration, notes: Sequence[str] = ()) -> str:
    """Return the whole screen.

    Parameters
    ----------
    found : Calibration
    notes : sequence of str
        Said at the end: files written, the card, what the ledger holds.
    """
    parts = [_head(found), *("\n".join(slice_lines(found, part)) for part in found.slices.values())]
    if len(found.slices) > 1:
        parts.append("\n".join(_overall(found)))
    parts.append("\n".join(_agreement(found)))
    remarks = [*found.pairing.findings, *notes]
    if remarks:
        parts.append("\n".join(line for remark in remarks for line in _wrapped(plain(remark), "- ", "  ")))
    parts.append("\n".join(_wrapped(_conclusion(found), "", "")))
    return "\n\n".join(parts)


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False) or [first]


def _head(found: Calibration) -> str:
    options = found.options
    lines = _wrapped(
        f"{found.metric.name}, contract {found.metric.version}: at most {percent(options.max_false_pass)} of bad "
        f"answers may pass, {percent(options.confidence)} confidence (one-sided, over all slices together)",
        "",
        "  ",
    )
    if found.is_synthetic:
        lines.append("SYNTHETIC LABELS: this certifies nothing outside the example.")
    family = found.held_out.family if found.held_out else found.family
    levels = ", ".join(f"{plain(name)} {level:.3g}" for name, level in family.levels.items()) or "none"
    lines += _wrapped(f"family-wise: {family.method}; error level by slice: {levels}", "", "  ")
    lines += _wrapped(f"ranges in brackets: exact two-sided {percent(options.confidence)} intervals", "", "  ")
    return "\n".join(lines)


def _listed(counts: Mapping[str, int], words: Mapping[str, str]) -> str:
    return ", ".join(f"{counts.get(key, 0)} {word}" for key, word in words.items())


def slice_lines(found: Calibration, part: SliceCalibration) -> Iterator[str]:
    """Yield the lines of one slice."""
    yield f"== {plain(part.name)}"
    yield from _counts(found, part)
    yield from _table(part, found.pairing.is_discrete)
    line = part.shown()
    if line is not None and not found.pairing.is_discrete:
        yield from _wrapped(f"at {shown(line.threshold)}: {line.words()}", "", "  ")
    elif line is not None:
        yield from _wrapped(line.words(), "", "  ")
    yield from _named_cases(part)
    if part.auroc is not None and not found.pairing.is_discrete:
        yield f"a good answer scores better than a bad one in {percent(part.auroc)} of pairs (AUROC)"
    for warning in part.warnings:
        yield from _wrapped(f"warning: {plain(warning)}", "", "  ")
    for sentence in verdict(found, part):
        yield from _wrapped(plain(sentence), "", "  ")


def _named_cases(part: SliceCalibration) -> Iterator[str]:
    """Name the rows to read: where score and label part, and those just inside and just outside."""
    line = part.shown()
    if line is None:
        return
    groups = {
        "bad that pass": part.mistakes(is_bad=True),
        "good that fail": part.mistakes(is_bad=False),
        "just inside": list(line.just_inside),
        "just outside": list(line.just_outside),
    }
    for words, case_ids in groups.items():
        if case_ids and not (part.is_discrete and words.startswith("just")):
            yield from _wrapped(plain(f"{words}: {example_list(case_ids)}"), "", "  ")


def _counts(found: Calibration, part: SliceCalibration) -> Iterator[str]:
    rows = sum(part.states.values())
    yield from _wrapped(f"{rows} rows: {_listed(part.states, {state: state for state in STATES})}", "cases   ", " " * 8)
    labelled = sum(part.fates.values())
    words: dict[str, str] = {fate: _FATE_WORDS[fate] for fate in FATES if part.fates.get(fate)}
    yield from _wrapped(f"{labelled} labelled cases: {_listed(part.fates, words) or 'none'}", "labels  ", " " * 8)
    if found.partition:
        split = ", ".join(
            f"{name or 'none'} {part.partitions[name]}" for name in (*PARTITIONS, "") if part.partitions[name]
        )
        yield from _wrapped(f"{split} (scored rows by partition)", "split   ", " " * 8)
    sample = part.sample
    where = f" on {found.partition}" if found.partition else ""
    yield from _wrapped(
        f"{len(sample.rows)} random labels{where}, one a family: {sample.n_fail} fail, {sample.n_pass} pass",
        "used    ",
        " " * 8,
    )
    if sample.left_out:
        reasons = ", ".join(f"{n} {reason}" for reason, n in sample.left_out.items())
        yield from _wrapped(plain(reasons), "not     ", " " * 8)
    if sample.targeted:
        yield from _wrapped(_apart(part), "apart   ", " " * 8)


def _apart(part: SliceCalibration) -> str:
    rows, line = part.sample.targeted, part.shown()
    bad = sum(row.is_bad is True for row in rows)
    text = (
        f"{len(rows)} labels that were not drawn at random, {bad} of them fail: they describe their own rows and "
        "certify nothing"
    )
    if line is None or part.is_described_only:
        return text
    passing = [row for row in rows if is_pass(row.value, line.threshold, part.sweep.better)]
    passing_bad = sum(row.is_bad is True for row in passing)
    at = f"at {shown(line.threshold)}, " if not part.is_discrete else ""
    return f"{text}; {at}{passing_bad} of {bad} bad and {len(passing) - passing_bad} of {len(rows) - bad} good pass"


def _table(part: SliceCalibration, is_discrete: bool) -> Iterator[str]:
    if not part.table:
        yield "no labelled row: every rate is not defined"
        return
    if part.is_described_only:
        yield "none of these rows was drawn at random: the table describes them and nothing else"
    head = "value" if is_discrete else "threshold"
    yield f"{head:<12}{'bad that pass':<22}{'good that fail':<22}passes that are bad"
    lines = _some(part)
    for line in lines:
        mark = "*" if line.is_certified and line.threshold == part.candidate else ""
        label = "passes" if is_discrete else f"{shown(line.threshold)}{mark}"
        cells = [
            _cell(line.false_pass, line.n_fail, line.false_pass_interval),
            _cell(line.false_fail, line.n_pass, line.false_fail_interval),
            _cell(line.false_pass, line.passes, line.bad_among_passes_interval),
        ]
        yield f"{label:<12}{cells[0]:<22}{cells[1]:<22}{cells[2]}".rstrip()
        if line.meaning and not is_discrete:
            yield from _wrapped(f"= {line.meaning}", " " * 12, " " * 14)
    hidden = len(part.sweep.thresholds) - len(lines)
    if hidden > 0:
        yield f"{hidden} more of {len(part.sweep.thresholds)} distinguishable thresholds are in --json"


def _cell(k: int, n: int, interval: Sequence[float] | None) -> str:
    if interval is None:
        return f"{k} of {n} (no interval)" if n else "not defined"
    low, high = math.floor(100 * interval[0]), math.ceil(100 * interval[1])  # outwards: a range never looks narrower
    return f"{k} of {n} ({low}-{high} %)"


def _some(part: SliceCalibration) -> list[Threshold]:
    """Choose lines for a screen: the strictest, those around the certified one, an even spread of the rest."""
    n = len(part.table)
    if n <= _MOST_LINES:
        return list(part.table)
    chosen = {round(i * (n - 1) / (_MOST_LINES - 4)) for i in range(_MOST_LINES - 3)}
    at = part.table.index(line) if (line := part.shown()) in part.table else 0
    chosen |= {i for i in (at - 1, at, at + 1) if 0 <= i < n}
    return [part.table[i] for i in sorted(chosen)]


def _overall(found: Calibration) -> Iterator[str]:
    part = found.overall
    yield "== all slices pooled"
    yield "described, not certified: a limit for the mixture hides its worst slice"
    yield f"used    {len(part.sample.rows)} random labels: {part.sample.n_fail} fail, {part.sample.n_pass} pass"
    yield from _table(part, found.pairing.is_discrete)


def _agreement(found: Calibration) -> Iterator[str]:
    people, alpha = found.people, found.people.nominal
    yield "== agreement"
    if people.pairs_compared:
        text = (
            f"people with people: {people.pairs_agreeing} of {people.pairs_compared} pairs of labels agree "
            f"({percent(people.share)}); Krippendorff's alpha {_number(alpha.value, alpha.note)} "
            f"({alpha.cases} cases with two labels or more)"
        )
        yield from _wrapped(text, "", "  ")
        if people.interval.value is not None:
            yield f"  alpha on an interval scale: {people.interval.value:.3f}"
        for pair in people.pairs:
            yield from _wrapped(f"{plain(pair.first)} / {plain(pair.second)}: {_kappa(pair.kappa)}", "  ", "    ")
        yield f"  {people.adjudicated} adjudicated, {people.conflicts} in conflict, {people.seen_labels} not blind"
    else:
        yield "people with people: not defined, no case has two independent labels"
    yield from _wrapped(f"metric with people: {_kappa(found.metric_people)}", "", "  ")


def _kappa(found: Kappa) -> str:
    if not found.n:
        return "not defined: no row has both"
    note = f" ({found.note})" if found.note and found.kappa is not None else ""
    constant = f"{found.base_count} ({percent(found.base_count / found.n)})"
    return (
        f"{found.agree} of {found.n} agree ({percent(found.share)}), kappa {_number(found.kappa, found.note)}{note}; "
        f"always saying {plain(str(found.base_label))} agrees on {constant}"
    )


def _number(value: float | None, note: str) -> str:
    return note if value is None else f"{value:.3f}"


def _conclusion(found: Calibration) -> str:
    if not found.pairing.rows:
        return "INCOMPLETE: no row was scored, so there is nothing to calibrate (exit code 2)"
    n, total = len(found.certified), len(found.slices)
    rest = [plain(name) for name in found.slices if name not in found.certified]
    if not rest:
        return f"{n} of {total} slices certified"
    return f"{n} of {total} slices certified; people decide {', '.join(rest)} (exit code 3)"
