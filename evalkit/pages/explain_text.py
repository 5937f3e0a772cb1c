"""What ``evalkit explain`` shows: an explanation as one screen of text, and as Markdown for a pull request."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalkit.pages.plain import plain
from evalkit.pages.screen import COLUMNS
from evalkit.pages.summary import markdown_text
from evalkit.pages.wording import case_name, relation

__all__ = ["EXAMPLES", "explain_markdown", "explain_screen", "moved"]

EXAMPLES = 5
"""Rows shown of each owner and kind on the screen; all of them are in ``--json``."""

_MARKDOWN_ROWS = 20


def explain_screen(facts: Mapping[str, Any]) -> str:
    """Return the text for a terminal; `facts` is what ``--json`` writes."""
    return "\n".join(_screen(facts)) + "\n"


def _screen(facts: Mapping[str, Any]) -> Iterator[str]:
    yield from _wrapped(_title(facts))
    yield from _wrapped(_counts(facts))
    for (owner, kind), rows in _groups(facts["rows"]):
        yield ""
        yield from _wrapped(f"{owner or 'no owner'}: {kind}, {_rows(len(rows))}")
        for row in rows[:EXAMPLES]:
            yield from _row(row)
        if (more := len(rows) - EXAMPLES) > 0:
            yield f"  and {more} more ({len(rows)} in all; --json FILE keeps them)"
    yield ""
    if facts["by_owner"]:
        yield from _wrapped(f"by owner: {_counted(facts['by_owner'])} (of {_rows(len(facts['rows']))})")
    for line in _closing(facts):
        yield from _wrapped(line)


def _row(row: Mapping[str, Any]) -> Iterator[str]:
    yield from _wrapped(f"  {case_name(row)}{_line(row)}: {moved(row)}", hang="    ")
    yield from _wrapped(f"    {row['sentence']}", hang="    ")
    if (evidence := row["evidence"]) is not None:
        yield from _wrapped(f"    old {evidence['what']}: {evidence['old']}", hang="      ", most=4)
        yield from _wrapped(f"    new {evidence['what']}: {evidence['new']}", hang="      ", most=4)
    for finding in row["findings"]:
        if passage := finding["passage"]:
            yield from _wrapped(
                f"    {_passage(finding['claim_id'], passage, finding['match'])}", hang="      ", most=4
            )
    if row["also"]:
        yield from _wrapped(f"    differs as well, further down: {', '.join(row['also'])}", hang="      ")
    if row["would_flip"]:
        yield from _wrapped(f"    {row['would_flip']['sentence']}", hang="      ")


def _passage(claim_id: str, passage: Mapping[str, Any], match: Mapping[str, Any] | None) -> str:
    share = f", {match['words_found']} of {match['words']} words" if match else ""
    return f"closest passage for {claim_id} ({passage['document_id'] or 'no document id'}{share}): {passage['text']}"


def explain_markdown(facts: Mapping[str, Any]) -> str:
    """Return the same as Markdown; row texts show and do nothing."""
    return "\n".join(_markdown(facts)) + "\n"


def _markdown(facts: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {markdown_text(_headline(facts))}"
    yield from ("", markdown_text(_title(facts)), "", markdown_text(_counts(facts)))
    rows = [row for _, group in _groups(facts["rows"]) for row in group]
    if rows:
        yield from ("", "| owner | first divergence | case | result | what happened |", f"|{' --- |' * 5}")
    for row in rows[:_MARKDOWN_ROWS]:
        cells = [row["owner"] or "no owner", row["first_divergence"], case_name(row), moved(row), row["sentence"]]
        yield f"| {' | '.join(markdown_text(cell) for cell in cells)} |"
    if (more := len(rows) - _MARKDOWN_ROWS) > 0:
        yield from ("", f"{more} more of {len(rows)} rows are in the JSON file.")
    shown = [row for row in rows[:EXAMPLES] if row["evidence"]]
    if shown:
        yield from ("", "### Evidence")
    for row in shown:
        yield from _markdown_evidence(row)
    yield ""
    yield from (f"- {markdown_text(line)}" for line in _closing(facts))


def _markdown_evidence(row: Mapping[str, Any]) -> Iterator[str]:
    evidence = row["evidence"]
    yield from ("", f"{markdown_text(case_name(row))}, {markdown_text(evidence['what'])}:", "")
    yield f"- old: {markdown_text(evidence['old'])}"
    yield f"- new: {markdown_text(evidence['new'])}"
    if row["would_flip"]:
        yield f"- {markdown_text(row['would_flip']['sentence'])}"


# --- words that both share ------------------------------------------------------------------------------------------


def _headline(facts: Mapping[str, Any]) -> str:
    groups = _groups(facts["rows"])
    if not groups:
        return "Nothing to explain"
    (owner, kind), rows = groups[0]
    who = f"{owner or 'no owner'} ({kind})"
    if len(groups) == 1:
        return f"{_rows(len(rows))} to explain: {who}"
    return f"{_rows(len(facts['rows']))} to explain: {who} {len(rows)}, others {len(facts['rows']) - len(rows)}"


def _title(facts: Mapping[str, Any]) -> str:
    metric = facts["metric"]
    older = f" against {facts['older_run_id']}" if facts["older_run_id"] else ""
    return f"{metric['name']}, contract {metric['contract_version']}: run {facts['run_id']}{older}"


def _counts(facts: Mapping[str, Any]) -> str:
    n, total = len(facts["rows"]), facts["total"]
    if facts["older_run_id"] is None:
        return f"{n} of {total} rows need an explanation, {facts['unchanged']} do not"
    other = facts["unchanged_with_other_evidence"]
    return (
        f"{n} of {total} rows changed state, value or decision, appeared or vanished; {facts['unchanged']} did not"
        f" ({other} of these have other inputs or evidence now)"
    )


def _closing(facts: Mapping[str, Any]) -> Iterator[str]:
    if facts["older_run_id"] is not None:
        differ = ", ".join(f"{fact['what']}{_short_fact(fact)}" for fact in facts["runs_differ_in"])
        yield f"the runs differ in: {differ or 'nothing that a manifest records'}"
        yield f"unchanged between the runs: {', '.join(facts['runs_agree_in']) or 'nothing that a manifest records'}"
    yield from (f"note: {note}" for note in facts["notes"])


def _short_fact(fact: Mapping[str, Any]) -> str:
    old, new = fact["old"], fact["new"]
    simple = all(side is None or (isinstance(side, str) and len(side) <= 24) for side in (old, new))
    return f" ({old or 'none'} -> {new or 'none'})" if simple else ""


def moved(row: Mapping[str, Any]) -> str:
    """Say in figures how a row stood and stands: ``pass 1.0 >= 0.75 -> fail 0.6667 < 0.75``."""
    sides = [_standing(row[side]) for side in ("old", "new") if row[side] is not None]
    if len(sides) == 2:
        return " -> ".join(sides)
    return {"appeared": f"new, {sides[0]}", "vanished": f"gone, was {sides[0]}"}.get(row["change"], sides[0])


def _standing(side: Mapping[str, Any]) -> str:
    word = side["decision"] or side["state"]
    return word if side["value"] is None else f"{word} {relation(side['value'], side['minimum'])}"


def _line(row: Mapping[str, Any]) -> str:
    side = row["new"] or row["old"]
    return f" (line {side['line']}{'' if row['new'] else ' of the old run'})"


def _groups(rows: Sequence[Mapping[str, Any]]) -> list[tuple[tuple[str | None, str], list[Mapping[str, Any]]]]:
    """Group by owner and kind, largest first; rows stay in the order of the run."""
    grouped: dict[tuple[str | None, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        grouped.setdefault((row["owner"], row["first_divergence"]), []).append(row)
    return sorted(grouped.items(), key=lambda item: -len(item[1]))


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.items())


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"


def _wrapped(text: str, hang: str = "  ", most: int | None = None) -> list[str]:
    # Made plain before it is broken, so that no control character decides where a line ends.
    return textwrap.wrap(
        plain(text), COLUMNS, subsequent_indent=hang, max_lines=most, placeholder=" ...", break_on_hyphens=False
    )
