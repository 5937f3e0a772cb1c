"""What ``evalkit gate`` prints: counts, blockers with five rows each, the outcome. 80 columns, plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.pages.certify_text import label_screen
from evalkit.pages.plain import plain
from evalkit.pages.wording import (
    baseline_lines,
    case_name,
    counts_sentence,
    headline,
    knife_edges,
    ledger_rows,
    ordered_blockers,
    policy_notes,
    relation,
)

if TYPE_CHECKING:
    from evalkit.scoring.run import Run

__all__ = ["COLUMNS", "EXAMPLES", "gate_screen", "score_screen"]

COLUMNS = 80
EXAMPLES = 5
"""Rows shown of each blocker; all of them are in the outcome file."""

_REASON_LINES = 3


def gate_screen(facts: Mapping[str, Any], *, report: Path | None = None) -> str:
    """Return the text for a terminal; `facts` is the outcome file, `report` where the page of the run is."""
    return "\n".join(_gate_lines(facts, report)) + "\n"


def score_screen(name: str, ledger: Mapping[str, Any], *, run: Run | None = None, findings: Sequence[str] = ()) -> str:
    """Return the text for a terminal after scoring without a policy; `ledger` is its facts, `run` what was written."""
    lines = [plain(name), *_counts(ledger, is_judged=False), *_nothing_scored(run, ledger)]
    lines += [*_notes("warning", findings), *_where(run.folder / "report.html" if run else None)]
    return "\n".join(lines) + "\n"


def _nothing_scored(run: Run | None, ledger: Mapping[str, Any]) -> Iterator[str]:
    """Say why, where no row was scored: the first record stands for the others."""
    first = None if run is None or ledger["scored"] else next(iter(run.records()), None)
    if first is not None:
        yield from _wrapped(f"no row was scored; line {first.line} is {first.state}: {first.reason}")


def _gate_lines(facts: Mapping[str, Any], report: Path | None) -> Iterator[str]:
    metric, policy = facts["metric"], facts["policy"]
    under = f"policy {policy['name']} {policy['version']}" if policy else "no usable policy"
    yield from _wrapped(f"{metric['name']}, contract {metric['contract_version']}; {under}; as of {facts['as_of']}")
    yield ""
    yield from _counts(facts["ledger"], is_judged=True)
    yield from _labels(facts)
    for number, blocker in enumerate(ordered_blockers(facts), start=1):
        yield ""
        yield from _blocker(number, blocker)
    if facts["baseline"]:
        yield ""
        for line in baseline_lines(facts["baseline"]):
            yield from _wrapped(line, hang="  ")
    yield from _notes("knife edge", knife_edges(facts["blockers"]), gap=True)
    yield from _notes("warning", facts["warnings"], gap=True)
    yield from _notes("note", policy_notes(facts), gap=True)
    yield ""
    outcome, _, why = headline(facts).partition(":")
    yield from _wrapped(f"{outcome.upper()} (exit code {facts['exit_code']}):{why}")
    yield f"outcome {facts['outcome_hash']}"
    yield from _where(report)


def _counts(ledger: Mapping[str, Any], *, is_judged: bool) -> Iterator[str]:
    rows = ledger_rows(ledger)
    yield f"{ledger['lines']} lines, {ledger['blank']} blank, {rows[0].rows} rows"
    width = min(max(len(plain(row.name)) for row in rows), 24)
    for row in rows:
        name = textwrap.shorten(plain(row.name, newline=" "), width, placeholder="...") or "..."
        yield from _wrapped(f"{name:<{width}}  {counts_sentence(row, is_judged=is_judged)}", hang=" " * (width + 2))


def _blocker(number: int, blocker: Mapping[str, Any]) -> Iterator[str]:
    head = f"[{number}] {blocker['outcome']}, owner {blocker['owner']}: {blocker['sentence']}"
    yield from _wrapped(head, hang="    ")
    yield from _wrapped(f"    do: {blocker['do']}", hang="        ")
    for row in blocker["rows"][:EXAMPLES]:
        yield from _wrapped(
            f"    {case_name(row)} (line {row['line']}): {relation(row['value'], row['minimum'])}", hang="      "
        )
        for text in filter(None, (row["reason"], row.get("sentence"))):
            yield from _wrapped(f"      {text}", hang="      ", most=_REASON_LINES)
    if (more := blocker["count"] - EXAMPLES) > 0:
        yield f"    and {more} more (--json FILE or --run DIR keeps all {blocker['count']})"


def _labels(facts: Mapping[str, Any]) -> Iterator[str]:
    lines = list(label_screen(facts))
    if lines:
        yield ""
    for line in lines:
        yield from _wrapped(line, hang=" " * 32 if line.startswith(" ") else "  ")


def _notes(word: str, notes: Sequence[str], *, gap: bool = False) -> Iterator[str]:
    if notes and gap:
        yield ""
    for note in notes:
        yield from _wrapped(f"{word}: {note}", hang="  ")


def _where(report: Path | None) -> Iterator[str]:
    if report is not None:
        yield f"report {plain(str(report))}"


def _wrapped(text: str, hang: str = "  ", most: int | None = None) -> list[str]:
    # The text is made plain before it is broken, so no control character decides where a line ends.
    return textwrap.wrap(
        plain(text),
        COLUMNS,
        subsequent_indent=hang,
        max_lines=most,
        placeholder=" ...",
        break_on_hyphens=False,
        drop_whitespace=True,
    )
