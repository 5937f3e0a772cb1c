"""Screens of 80 columns around labels: the next ones to ask for, splits, flips, corrected pass rates."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from evalkit.cases.partitions import Member, Split
from evalkit.cases.shape import PARTITIONS
from evalkit.contract import example_list
from evalkit.decisions.calibrating.estimate import SliceRate
from evalkit.decisions.calibrating.flips import FlipLedger
from evalkit.decisions.calibrating.next_labels import NextLabel
from evalkit.pages.plain import plain, shown

__all__ = ["flips_screen", "next_labels_screen", "rates_screen", "split_screen"]

_WIDTH = 80
_MOST_FLIPS = 20


def _wrapped(text: str, first: str = "", rest: str = "  ") -> list[str]:
    return textwrap.wrap(plain(text), _WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def next_labels_screen(chosen: Sequence[NextLabel]) -> str:
    """Return the ranked list, each reason once, above the cases that it stands for."""
    if not chosen:
        return "no case is left to label: every slice is certified, or has no unlabelled case"
    lines: list[str] = []
    said = None
    for item in chosen:
        if (item.why, item.reason) != said:
            said = (item.why, item.reason)
            lines += _wrapped(f"{item.why} (selection {item.selection}): {item.reason}")
        where = f", {item.partition}" if item.partition else ""
        lines.append(plain(f"  {item.rank:>3}  {item.case_id}  ({item.slice}{where})"))
    return "\n".join(lines)


def split_screen(split: Split, members: Sequence[Member]) -> str:
    """Return the counts of a split by partition, slice and label, and what was kept together."""
    counts = split.counts(members)
    lines = [f"{len(members)} cases in {split.groups} families (single cases counted as one each)"]
    labels = sorted({member.label for member in members}, key=repr)
    for name in sorted({member.slice for member in members}):
        for partition in PARTITIONS:
            parts = [
                f"{counts[partition, name, label]} {'unlabelled' if label is None else label}"
                for label in labels
                if counts[partition, name, label]
            ]
            lines.append(plain(f"  {name}, {partition}: {', '.join(parts) or 'none'}"))
    if split.joined:
        pairs = example_list([f"{pair.first} / {pair.second}" for pair in split.joined])
        lines += _wrapped(
            f"{len(split.joined)} pairs of near-duplicates had no common family and were kept together: {pairs}"
        )
    return "\n".join(lines)


def flips_screen(found: FlipLedger) -> str:
    """Return the transitions with their counts, then the rows."""
    lines = [f"{len(found.flips)} of {found.compared} rows that both sides decide change their decision"]
    if found.undecided:
        lines.append(f"{found.undecided} scored rows are of a slice that one side has no limits for")
    lines += [plain(f"  {n}  {transition}") for transition, n in found.transitions.items()]
    for flip in found.flips[:_MOST_FLIPS]:
        label = "unlabelled" if flip.label is None else f"labelled {flip.label}"
        value = shown(flip.value)
        lines += _wrapped(f"{flip.case_id} ({flip.slice}): {value}, {flip.old} -> {flip.new}, {label}", "  ", "    ")
    if len(found.flips) > _MOST_FLIPS:
        lines.append(f"  and {len(found.flips) - _MOST_FLIPS} more (--json FILE has all of them)")
    return "\n".join(lines)


def rates_screen(rates: Iterable[SliceRate], *, is_synthetic: bool) -> str:
    """Return each slice's corrected pass rate, or why there is none."""
    lines = ["SYNTHETIC LABELS: these rates say nothing outside the example."] if is_synthetic else []
    for rate in rates:
        at = "" if rate.threshold is None else f" at {shown(rate.threshold)}"
        text = rate.found.sentence() if rate.found else f"no rate: {rate.refused}"
        lost = f"; {rate.not_scored} rows without a score are not among them" if rate.not_scored else ""
        lines += _wrapped(f"{rate.slice}{at}: {text}{lost}")
    return "\n".join(lines)
