"""The page of an analysis: one offline HTML file; the charts are geometry worked out here, drawn without a script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from evalkit.decisions.analysing.assessment import Assessment
from evalkit.decisions.analysing.side import MetricSide, is_favourable
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
from evalkit.pages.ballot import page_policy
from evalkit.pages.plain import shown
from evalkit.pages.review.templating import TEMPLATES, environment
from evalkit.scoring.records import Record

__all__ = ["MOST_ROWS", "WIDTH", "Bar", "Cell", "Line", "Segment", "bars_of", "lines_of", "render_analysis"]

WIDTH = 560
"""Of a bar that holds all rows, in the units of the picture."""
MOST_ROWS = 300
"""Rows in the table of the page; all of them are in analysis.json."""

_ORDER = ("pass", "favourable", "review", "fail", "unfavourable", "undecided", "invalid", "error", "unrun")
_CLASS = {"favourable": "pass", "unfavourable": "fail", "undecided": "none"}


class Segment(NamedTuple):
    """A stretch of a bar: rows of which the same is said."""

    x: float
    width: float
    word: str
    css: str
    """``pass``, ``fail``, ``review``, ``none``, ``invalid``, ``error`` or ``unrun``: how the stretch is filled."""
    rows: int


class Bar(NamedTuple):
    """All rows, by what one metric or judgement says of them."""

    name: str
    segments: tuple[Segment, ...]
    rows: int
    words: str


class Cell(NamedTuple):
    """What one metric says of one row."""

    metric: str
    word: str
    value: str
    reason: str


class Line(NamedTuple):
    """One row of the table."""

    case_id: str
    slice: str
    bad: int
    """Metrics that speak against the row, or have no value for it."""
    cells: tuple[Cell, ...]


def render_analysis(analysis: Analysis) -> str:
    """Return the analysis as one HTML page that asks nothing of the network."""
    css = "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in ("report.css", "analysis.css"))
    found = analysis.recommendation
    lines = lines_of(analysis.sides)
    bad = [line for line in lines if line.bad]
    return (
        environment()
        .get_template("analysis.html")
        .render(
            title=headline(analysis),
            opening=opening(analysis),
            outcome=found.outcome.name if found.outcome is not None else "scored",
            domain=analysis.domain,
            stops=found.stops,
            stop_words=stop_words,
            caveats=found.caveats,
            without_policy=found.without_policy,
            bars=[bars_of(side.name, _words(side), outcome) for side, outcome in _with_outcome(analysis)],
            summaries=analysis.summaries,
            assessments=[_assessment(one) for one in analysis.assessments],
            assessment_lines=assessment_lines,
            figures_words=figures_words,
            unscored_words=unscored_words,
            outcome_words=outcome_words,
            added=analysis.added,
            lines=lines[:MOST_ROWS],
            bad=len(bad),
            rows=analysis.rows,
            width=WIDTH,
            css=Markup(css),  # noqa: S704 - files of this package
            csp=page_policy(css),
        )
    )


def _with_outcome(analysis: Analysis) -> Iterable[tuple[MetricSide, str]]:
    return zip(analysis.sides, map(outcome_words, analysis.summaries), strict=True)


def bars_of(name: str, words: Sequence[str], note: str = "") -> Bar:
    """Lay the rows out along a bar, by word; nothing is judged here."""
    counts = Counter(words)
    segments, x = [], 0.0
    for word in _ORDER:
        if rows := counts[word]:
            width = rows / len(words) * WIDTH
            segments.append(Segment(round(x, 2), round(width, 2), word, _CLASS.get(word, word), rows))
            x += width
    said = ", ".join(f"{counts[word]} of {len(words)} {word}" for word in _ORDER if counts[word])
    return Bar(name, tuple(segments), len(words), f"{said or 'no rows'}{f' ({note})' if note else ''}")


def _words(side: MetricSide) -> list[str]:
    return [_word(record, side) for record in side.records]


def _word(record: Record, side: MetricSide) -> str:
    if record.state != "scored":
        return record.state
    if record.decision is not None:
        return record.decision
    favourable = is_favourable(record, side.metric)
    return "undecided" if favourable is None else "favourable" if favourable else "unfavourable"


class _Assessed(NamedTuple):
    found: Assessment
    bars: tuple[Bar, ...]


def _assessment(found: Assessment) -> _Assessed:
    bars = []
    for judgement in found.judgements:
        bad = judgement.judged - judgement.favourable
        words = ["favourable"] * judgement.favourable + ["unfavourable"] * bad
        words += [state for state, n in judgement.unknown.items() for _ in range(n)]
        bars.append(bars_of(judgement.name, words)._replace(words=judgement_words(judgement)))
    words = ["unfavourable"] * len(found.lacking) + ["favourable"] * (found.scored - len(found.lacking))
    words += [state for state, n in found.unscored.items() for _ in range(n)]
    return _Assessed(found, (*bars, bars_of("all of them together", words)))


def lines_of(sides: Sequence[MetricSide]) -> list[Line]:
    """Return the rows, those that most metrics speak against first; of equals, in input order."""
    lines = []
    for records in zip(*(side.records for side in sides), strict=True):
        cells = tuple(_cell(record, side) for record, side in zip(records, sides, strict=True))
        bad = sum(cell.word not in ("pass", "favourable", "undecided") for cell in cells)
        first = records[0]
        lines.append(Line(first.case_id or f"line {first.line}", first.slice, bad, cells))
    return sorted(lines, key=lambda line: -line.bad)


def _cell(record: Record, side: MetricSide) -> Cell:
    value = "—" if record.value is None else shown(record.value, record.minimum)
    return Cell(side.name, _word(record, side), value, record.reason)
