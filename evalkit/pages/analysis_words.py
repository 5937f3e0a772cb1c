"""An analysis in words, for screen, Markdown and page alike: each figure with its denominator."""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.contract import example_list
from evalkit.decisions.analysing.assessment import Assessment, Judgement
from evalkit.decisions.analysing.recommending import Stop
from evalkit.decisions.analysing.summary import MetricSummary, SliceFigures
from evalkit.decisions.analysis import Analysis
from evalkit.pages.plain import shown

__all__ = [
    "assessment_lines",
    "figures_words",
    "headline",
    "judgement_words",
    "opening",
    "outcome_words",
    "share",
    "stop_words",
    "unscored_words",
]


def headline(analysis: Analysis) -> str:
    """Return the recommendation as the title of a page."""
    return analysis.recommendation.sentence


def opening(analysis: Analysis) -> str:
    """Say what was analysed."""
    return (
        f"{len(analysis.sides)} metrics over {analysis.rows} rows of {analysis.cases}; policies judged as of "
        f"{analysis.as_of}"
    )


def share(n: int, of: int) -> str:
    """Return a count with its denominator."""
    return f"{n} of {of}"


def figures_words(figures: SliceFigures) -> str:
    """Say what the values of a metric are: a mean or labels, over the rows that have one."""
    if not figures.scored:
        return f"no value: 0 of {figures.rows} rows scored"
    if figures.labels:
        return ", ".join(f"{label} {share(n, figures.scored)}" for label, n in figures.labels.items())
    if figures.mean is None:
        return f"{share(figures.scored, figures.rows)} rows scored; no mean of such values"
    span = f", {shown(figures.lowest)} to {shown(figures.highest)}" if figures.lowest != figures.highest else ""
    return f"mean {shown(figures.mean)} over {figures.mean_of}{span}"


def outcome_words(summary: MetricSummary) -> str:
    """Say what the gate says, with how many scored rows pass."""
    decisions = summary.total.decisions
    if decisions is None or summary.outcome is None:
        return "no policy"
    undecided = f", {decisions['undecided']} undecided" if decisions["undecided"] else ""
    review = f", {decisions['review']} review" if decisions["review"] else ""
    passed = share(decisions["pass"], summary.total.scored)
    blocking = share(summary.blocking_passed or 0, summary.blocking)
    return f"{summary.outcome.replace('_', ' ')}: {passed} pass{review}{undecided}; of blocking rows {blocking}"


def stop_words(stop: Stop) -> str:
    """Say what blocks, with the first of its rows."""
    ids = [row.case_id or f"line {row.line}" for row in stop.blocker.rows]
    return f"{stop.blocker.sentence} ({example_list(ids)})" if ids else stop.blocker.sentence


def unscored_words(summary: MetricSummary) -> str:
    """Say which rows have no value, by state."""
    rows, states = summary.total.rows, summary.total.states
    found = [f"{share(states[state], rows)} {state}" for state in ("invalid", "error", "unrun") if states[state]]
    return ", ".join(found) or f"0 of {rows}"


def judgement_words(judgement: Judgement) -> str:
    """Say what one judgement came to; what is not known is no unfavourable verdict."""
    lost = "".join(f"; {share(n, judgement.rows)} {state}" for state, n in judgement.unknown.items())
    bad = judgement.judged - judgement.favourable
    named = f" ({example_list(list(judgement.unfavourable))})" if bad else ""
    return f"favourable on {share(judgement.favourable, judgement.judged)} rows, unfavourable on {bad}{named}{lost}"


def assessment_lines(found: Assessment) -> Iterator[str]:
    """Say what the combined figure is, and what it or an average would hide."""
    combined = ", ".join(f"{label} {share(n, found.scored)}" for label, n in found.combined.items())
    yield f"combined: {combined}; {share(found.scored, found.rows)} rows scored"
    yield (
        f"an average would say that {share(found.favourable_judgements, found.all_judgements)} judgements are "
        f"favourable; {share(len(found.lacking), found.scored)} rows lack at least one"
    )
    passed = found.scored - len(found.lacking)
    for name, ids in found.passed_yet.items():
        yield (
            f"of {passed} rows that are favourable in every judgement, {len(ids)} are unfavourable by {name} "
            f"({example_list(list(ids))})"
        )
