"""The outcome as Markdown: ``summary.md`` of a run, and what a job appends to ``$GITHUB_STEP_SUMMARY``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalkit.pages.certify_text import labelled_lines
from evalkit.pages.plain import plain, shown
from evalkit.pages.wording import (
    LedgerRow,
    baseline_lines,
    case_name,
    headline,
    knife_edges,
    ledger_rows,
    ordered_blockers,
    policy_notes,
    relation,
)

__all__ = ["EXAMPLES", "markdown_text", "render_summary"]

EXAMPLES = 5
"""Rows shown of each blocker; all of them are in the outcome file."""

_LONGEST = 300
# What starts markup anywhere in a line, the separator of a table's cells among it.
_ACTIVE = re.compile(r"[\\`*{}\[\]<>|~$#!&@]|(?<!\w)_|_(?!\w)|:(?=//)|(?<=www)\.", re.IGNORECASE)
# What starts a list or a heading at the beginning of a line.
_LEADING = re.compile(r"^(\d*)([-+]|(?<=\d)[.)](?=\s|$))")


def render_summary(facts: Mapping[str, Any]) -> str:
    """Return an outcome file as Markdown, the outcome in words first.

    Parameters
    ----------
    facts : mapping
        The outcome file of a gate (`evalkit.decisions.gate.facts_of`, or ``outcome.json`` read back).
    """
    return "\n".join(_lines(facts)) + "\n"


def markdown_text(text: str) -> str:
    r"""Return a text of any origin as Markdown that shows it and does nothing: no markup, no link, no second line.

    >>> print(markdown_text("a|b `c` <img> https://x.example"))
    a\|b \`c\` \<img\> https\://x.example
    """
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text) - _LONGEST} more characters)"
    return _LEADING.sub(r"\1\\\2", _ACTIVE.sub(r"\\\g<0>", plain(cut).strip()))


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    metric, policy = facts["metric"], facts["policy"]
    under = f"policy {policy['name']} {policy['version']}" if policy else "no usable policy"
    yield f"## {markdown_text(headline(facts))}"
    yield ""
    yield markdown_text(
        f"{metric['name']}, contract {metric['contract_version']}; {under}; judged as of {facts['as_of']}; "
        f"exit code {facts['exit_code']}"
    )
    yield from _section("", policy_notes(facts))
    yield from _blockers(ordered_blockers(facts))
    yield from _ledger(facts["ledger"])
    if facts["baseline"]:
        yield from _section("Against the baseline", baseline_lines(facts["baseline"]))
    yield from _section("Against the labels", labelled_lines(facts))
    yield from _section("Knife edges", knife_edges(facts["blockers"]))
    yield from _section("Warnings", facts["warnings"])
    yield from _excused(facts)
    yield ""
    yield f"Run {markdown_text(facts['run_id'])}, outcome hash `{facts['outcome_hash']}`"


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    if title:
        yield from ("", f"### {title}")
    yield ""
    yield from (f"- {markdown_text(line)}" for line in lines)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    yield from (f"| {' | '.join(cells)} |" for cells in rows)


def _blockers(blockers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not blockers:
        return
    yield from ("", "### What blocks")
    cells = [[markdown_text(b[key]) for key in ("outcome", "owner", "sentence", "do")] for b in blockers]
    yield from _table(["outcome", "owner", "what", "do"], cells)
    rows = [row for blocker in blockers for row in _examples(blocker)]
    if rows:
        yield from ("", "### Rows")
        yield from _table(["case", "line", "slice", "value and bound", "reason", "owner"], rows)
    for blocker in blockers:
        if (more := blocker["count"] - EXAMPLES) > 0:
            yield ""
            yield markdown_text(f"{more} more of {blocker['count']} rows ({blocker['kind']}) are in the outcome file.")


def _examples(blocker: Mapping[str, Any]) -> Iterator[list[str]]:
    for row in blocker["rows"][:EXAMPLES]:
        why = "; ".join(filter(None, (row["reason"], row.get("sentence"))))
        cells = [case_name(row), str(row["line"]), row["slice"], relation(row["value"], row["minimum"]), why]
        yield [markdown_text(cell) for cell in [*cells, row["owner"] or blocker["owner"]]]


def _ledger(ledger: Mapping[str, Any]) -> Iterator[str]:
    rows = ledger_rows(ledger)
    yield from ("", "### Counts", "", f"{ledger['lines']} lines, {ledger['blank']} blank, {rows[0].rows} rows.")
    header = ["", "rows", "scored", "pass", "fail", "review", "undecided", "invalid", "error", "unrun", "mean"]
    yield from _table(header, [_ledger_cells(row) for row in rows])


def _ledger_cells(row: LedgerRow) -> list[str]:
    decisions = (row.passed, row.failed, row.review, row.undecided)
    mean = f"{shown(row.mean)} over {row.mean_of}" if row.mean is not None else "—"
    return [
        markdown_text(row.name),
        str(row.rows),
        f"{row.scored} of {row.rows}",
        *(f"{n} of {row.scored}" for n in decisions),
        *(f"{n} of {row.rows}" for n in (row.invalid, row.error, row.unrun)),
        mean,
    ]


def _excused(facts: Mapping[str, Any]) -> Iterator[str]:
    lines = [
        f"{len(facts[key])} {what}: {', '.join(facts[key][:EXAMPLES])}{', …' if len(facts[key]) > EXAMPLES else ''}"
        for key, what in (("overridden", "rows let through by an override"), ("known", "known failures, not blocking"))
        if facts[key]
    ]
    yield from _section("Excused", lines)
