"""What ``evalkit labels import`` shows before it writes: the map, the values, unmatched and double ids."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence

from evalkit.cases.importers.convert import Imported
from evalkit.cases.importers.maps import LabelMap
from evalkit.contract import example_list
from evalkit.pages.plain import plain
from evalkit.pages.screen import COLUMNS

__all__ = ["import_screen", "stoppers"]


def stoppers(found: Imported, label_map: LabelMap, *, keep_unmatched: bool) -> list[str]:
    """Return every reason why nothing is written yet."""
    reasons = [f"the map does not say: {line}" for line in label_map.lacking()]
    if found.unmapped:
        reasons.append(
            f"{len(found.unmapped)} values are no label yet: {_values(found.unmapped)}; add them to the map:"
        )
        reasons += ["  [values]", *(f'  "{_escaped(value)}" = "..."' for value in sorted(found.unmapped)[:12])]
    if found.problems:
        reasons.append(f"{len(found.problems)} records cannot be read: {example_list(found.problems)}")
    if found.doubles:
        reasons.append(
            f"{len(found.doubles)} double labels: {example_list(found.doubles)}; which one counts? "
            'doubles = "supersede" lets the later correct the earlier'
        )
    if found.unmatched and not keep_unmatched:
        ids = example_list([repr(case_id) for case_id in found.unmatched])
        reasons.append(f"{len(found.unmatched)} ids are no case: {ids}; --keep-unmatched imports them all the same")
    if not found.labels:
        reasons.append("there is no label to write")
    return reasons


def import_screen(name: str, found: Imported, label_map: LabelMap, reasons: Sequence[str], out: str) -> str:
    """Return the text for a terminal."""
    return "\n".join(_lines(name, found, label_map, reasons, out)) + "\n"


def _lines(name: str, found: Imported, label_map: LabelMap, reasons: Sequence[str], out: str) -> Iterator[str]:
    preset = f", preset {label_map.preset}" if label_map.preset else ""
    yield from _wrapped(f"{name}{preset}: {found.records} records")
    yield ""
    yield "-- the map"
    for field, source in label_map.sources.items():
        yield from _wrapped(f"{field}: {source.in_words()}", hang="    ")
    yield from _wrapped(f"selection: {label_map.selection or 'not said'}")
    yield ""
    yield "-- the values"
    for written, count in sorted(found.written.items()):
        yield from _wrapped(f"{written!r} ({count}): {_meaning(written, label_map)}", hang="    ")
    yield ""
    yield from _counts(found)
    for reason in reasons:
        yield from _wrapped(reason if reason.startswith("  ") else f"stops here: {reason}", hang="    ")
    if reasons:
        yield "INCOMPLETE (exit code 2): nothing was written"
    else:
        yield from _wrapped(f"PASSED (exit code 0): {len(found.labels)} labels written to {out}")


def _meaning(written: str, label_map: LabelMap) -> str:
    if written in label_map.no_label:
        return "no label"
    if written in label_map.values:
        return f"label {label_map.values[written]!r}"
    return f"label {written!r}" if label_map.keep_values else "?"


def _counts(found: Imported) -> Iterator[str]:
    yield from _wrapped(f"{len(found.labels)} of {found.records} records are labels")
    for n, what in (
        (len(found.blank), f"without a value: {example_list(found.blank)}"),
        (sum(found.no_label.values()), f"say that there is no label: {_values(found.no_label)}"),
        (sum(found.other_criteria.values()), f"are of other criteria: {_values(found.other_criteria)}"),
        (found.models, "were written by a model or a program: they speak for no person"),
        (found.superseding, "correct an earlier label of the same reviewer"),
    ):
        if n:
            yield from _wrapped(f"  {n} {what}", hang="    ")
    if found.bound or found.labels:
        stale = f"; {found.stale} of them of another answer than the case shows now: stale" if found.stale else ""
        yield from _wrapped(f"  {found.bound} of {len(found.labels)} say what their reviewer saw{stale}", hang="    ")
    if found.unlabelled_cases:
        yield from _wrapped(f"  {found.unlabelled_cases} cases have no label in this export", hang="    ")


def _values(counts: dict[str, int]) -> str:
    return example_list([f"{value!r} ({n})" for value, n in sorted(counts.items())])


def _escaped(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _wrapped(text: str, hang: str = "  ") -> list[str]:
    return textwrap.wrap(plain(text), COLUMNS, subsequent_indent=hang, break_on_hyphens=False)
