"""What ``evalkit compare`` shows: the transition matrix, every disagreement, and how much agreement that proves."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalkit.pages.explain_text import moved
from evalkit.pages.plain import plain, shown
from evalkit.pages.screen import COLUMNS
from evalkit.pages.summary import markdown_text
from evalkit.pages.wording import case_name

__all__ = ["EXAMPLES", "compare_markdown", "compare_screen"]

EXAMPLES = 10
"""Disagreements shown of each kind; all of them are in ``--json``."""

_KINDS = {
    "state": "scored by only one of them, or not in the same state",
    "decision": "decided otherwise",
    "value": "another value, the same decision",
}


def compare_screen(facts: Mapping[str, Any]) -> str:
    """Return the text for a terminal; `facts` is what ``--json`` writes."""
    return "\n".join(_screen(facts)) + "\n"


def _screen(facts: Mapping[str, Any]) -> Iterator[str]:
    for side in ("old", "new"):
        yield from _wrapped(f"{side}: {_side(facts[side])}")
    yield ""
    yield from _table(facts["transitions"])
    for kind, rows in _by_kind(facts["rows"]).items():
        yield ""
        yield from _wrapped(f"{kind}: {len(rows)} of {facts['rows_compared']} rows, {_KINDS[kind]}")
        for row in rows[:EXAMPLES]:
            yield from _wrapped(f"  {case_name(row)}: {_moved(row)}; attributed to {row['attributed_to']}", hang="    ")
            for reason in _reasons(row):
                yield from _wrapped(f"    {reason}", hang="      ", most=2)
        if (more := len(rows) - EXAMPLES) > 0:
            yield f"  and {more} more ({len(rows)} in all; --json FILE keeps them)"
    yield ""
    for line in _closing(facts):
        yield from _wrapped(line)


def compare_markdown(facts: Mapping[str, Any]) -> str:
    """Return the same as Markdown."""
    return "\n".join(_markdown(facts)) + "\n"


def _markdown(facts: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {len(facts['rows'])} of {facts['rows_compared']} rows disagree"
    yield from ("", *(f"- {side}: {markdown_text(_side(facts[side]))}" for side in ("old", "new")))
    words = _words(facts["transitions"])
    yield from ("", f"| old \\ new | {' | '.join(words)} |", f"|{' --- |' * (len(words) + 1)}")
    for before in words:
        if before in facts["transitions"]:
            cells = [str(facts["transitions"][before].get(after, 0)) for after in words]
            yield f"| {before} | {' | '.join(cells)} |"
    if facts["rows"]:
        yield from ("", "| case | kind | result | attributed to |", f"|{' --- |' * 4}")
    for row in facts["rows"][: 2 * EXAMPLES]:
        cells = [case_name(row), row["kind"], _moved(row), row["attributed_to"]]
        yield f"| {' | '.join(markdown_text(cell) for cell in cells)} |"
    if (more := len(facts["rows"]) - 2 * EXAMPLES) > 0:
        yield from ("", f"{more} more of {len(facts['rows'])} rows are in the JSON file.")
    yield ""
    yield from (f"- {markdown_text(line)}" for line in _closing(facts))


def _side(side: Mapping[str, Any]) -> str:
    run = f", as run {side['run_id']}" if side["run_id"] else ""
    return f"{side['name']}, contract {side['contract_version']}, source {str(side['fingerprint'])[:19]}…{run}"


def _table(transitions: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    words = _words(transitions)
    width = max([9, *(len(word) for word in words)])
    yield f"{'old / new':<{width}}" + "".join(f"  {word:>8}" for word in words)
    for before in words:
        if before in transitions:
            yield f"{before:<{width}}" + "".join(f"  {transitions[before].get(after, 0):>8}" for after in words)


def _words(transitions: Mapping[str, Mapping[str, int]]) -> list[str]:
    order = ("pass", "review", "fail", "scored", "invalid", "error", "unrun", "absent")
    seen = {*transitions, *(after for row in transitions.values() for after in row)}
    return [word for word in order if word in seen]


def _by_kind(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    return {kind: found for kind in _KINDS if (found := [row for row in rows if row["kind"] == kind])}


def _moved(row: Mapping[str, Any]) -> str:
    change = "vanished" if row["new"] is None else "appeared" if row["old"] is None else row["kind"]
    return moved({**row, "change": change})


def _reasons(row: Mapping[str, Any]) -> Iterator[str]:
    if row["kind"] != "state":
        return
    for side in ("old", "new"):
        if row[side] is not None and row[side]["state"] != "scored":
            yield f"{side}: {row[side]['reason']}"


def _closing(facts: Mapping[str, Any]) -> Iterator[str]:
    n, both = facts["rows_compared"], facts["scored_by_both"]
    yield f"{len(facts['rows'])} of {n} rows disagree; {both} of {n} were scored by both"
    if facts["largest_difference"] is not None:
        yield f"largest difference of two values: {shown(facts['largest_difference'])} over {both} rows scored by both"
    if facts["equivalent_within"] is not None:
        yield f"equivalent on these rows within {shown(facts['equivalent_within'])}: no row changed state or decision"
    else:
        yield "not equivalent on these rows" if facts["rows"] else "no numbers in common: no equivalence is stated"
    if facts["disagree_at_most"] is not None:
        yield (
            f"were these {n} rows drawn at random, at most {100 * facts['disagree_at_most']:.1f} % of such rows would "
            f"disagree ({100 * facts['confidence']:g} % confidence, exact); chosen rows prove nothing about others"
        )
    yield from (f"note: {note}" for note in facts["notes"])


def _wrapped(text: str, hang: str = "  ", most: int | None = None) -> list[str]:
    return textwrap.wrap(
        plain(text), COLUMNS, subsequent_indent=hang, max_lines=most, placeholder=" ...", break_on_hyphens=False
    )
