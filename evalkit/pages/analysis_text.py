"""An analysis for a terminal and as Markdown: recommendation first, then what it rests on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from evalkit.decisions.analysis import Analysis
from evalkit.pages.analysis_words import (
    assessment_lines,
    figures_words,
    headline,
    judgement_words,
    opening,
    outcome_words,
    stop_words,
    unscored_words,
)
from evalkit.pages.plain import plain
from evalkit.pages.screen import COLUMNS
from evalkit.pages.summary import markdown_text

__all__ = ["added_screen", "analysis_markdown", "analysis_screen"]

_EXAMPLES = 5


def analysis_screen(analysis: Analysis, pages: Sequence[str]) -> str:
    """Return the text for a terminal; `pages` are the files that hold the rest."""
    return "\n".join(_screen(analysis, pages)) + "\n"


def _screen(analysis: Analysis, pages: Sequence[str]) -> Iterator[str]:
    yield from _wrapped(f"{analysis.domain} analysis: {opening(analysis)}", hang="  ")
    for found in analysis.summaries:
        yield from _wrapped(f"{found.metric}: {figures_words(found.total)}; {outcome_words(found)}", hang="    ")
        if found.unscored:
            yield from _wrapped(f"    without a value: {unscored_words(found)}", hang="      ")
    for assessment in analysis.assessments:
        yield ""
        yield f"safety: {plain(assessment.metric)}"
        for judgement in assessment.judgements:
            yield from _wrapped(f"  {judgement.name}: {judgement_words(judgement)}", hang="    ")
        for line in assessment_lines(assessment):
            yield from _wrapped(f"  {line}", hang="    ")
    yield from _recommendation(analysis)
    yield from (f"analysis {plain(page)}" for page in pages)


def _recommendation(analysis: Analysis) -> Iterator[str]:
    found = analysis.recommendation
    yield ""
    yield from _wrapped(f"recommendation: {headline(analysis)}", hang="  ")
    for stop in found.stops[:_EXAMPLES]:
        blocker = stop.blocker
        yield from _wrapped(f"  {stop.metric}, owner {blocker.owner}: {stop_words(stop)}", hang="    ")
        yield from _wrapped(f"    do: {blocker.do}", hang="        ")
    if (more := len(found.stops) - _EXAMPLES) > 0:
        yield f"  and {more} more of {len(found.stops)} reasons in the analysis"
    if found.without_policy:
        yield from _wrapped(f"  without a policy, and so without a say: {', '.join(found.without_policy)}", hang="    ")
    for caveat in found.caveats:
        yield from _wrapped(f"  note: {caveat}", hang="    ")


def added_screen(name: str, sentences: Sequence[str]) -> str:
    """Return what a new metric adds, for a terminal."""
    lines = [f"what {plain(name)} adds"]
    for sentence in sentences:
        lines += _wrapped(f"  {sentence}", hang="    ")
    return "\n".join(lines) + "\n"


def _wrapped(text: str, hang: str) -> list[str]:
    return textwrap.wrap(plain(text), COLUMNS, subsequent_indent=hang, break_on_hyphens=False)


# --- Markdown -------------------------------------------------------------------------------------------------------


def analysis_markdown(analysis: Analysis) -> str:
    """Return the analysis as Markdown."""
    return "\n".join(_markdown(analysis)) + "\n"


def _markdown(analysis: Analysis) -> Iterator[str]:
    found = analysis.recommendation
    yield f"## {markdown_text(headline(analysis))}"
    yield from ("", markdown_text(opening(analysis)) + ".")
    yield from _bullets("Because", [f"{s.metric}, owner {s.blocker.owner}: {stop_words(s)}" for s in found.stops])
    silent = [f"without a policy, and so without a say: {', '.join(found.without_policy)}"]
    yield from _bullets("To know", [*found.caveats, *(silent if found.without_policy else [])])
    yield from ("", "### Metrics", "", "| metric | values | no value | under its policy |", "| --- | --- | --- | --- |")
    for summary in analysis.summaries:
        cells = (summary.metric, figures_words(summary.total), unscored_words(summary), outcome_words(summary))
        yield f"| {' | '.join(map(markdown_text, cells))} |"
    yield from _slices(analysis)
    for assessment in analysis.assessments:
        lines = [f"{found.name}: {judgement_words(found)}" for found in assessment.judgements]
        yield from _bullets(f"Safety: {assessment.metric}", [*lines, *assessment_lines(assessment)])
    if analysis.added:
        yield from _bullets(f"What {analysis.added.metric} adds", analysis.added.in_words())


def _slices(analysis: Analysis) -> Iterator[str]:
    names = list(dict.fromkeys(str(f.slice) for found in analysis.summaries for f in found.slices))
    if len(names) < 2:
        return
    yield from ("", "### By slice", "", f"| metric | {' | '.join(map(markdown_text, names))} |")
    yield f"|{' --- |' * (len(names) + 1)}"
    for summary in analysis.summaries:
        by_name = {str(figures.slice): figures_words(figures) for figures in summary.slices}
        yield f"| {' | '.join(markdown_text(cell) for cell in (summary.metric, *(by_name[n] for n in names)))} |"


def _bullets(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", f"### {markdown_text(title)}", "")
        yield from (f"- {markdown_text(line)}" for line in lines)
