"""What scores the rows of a file: the metric itself, or, for a judge, its recorded verdicts. Nothing is ever sent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evalkit.contract import Metric
from evalkit.contract.judge import Judge
from evalkit.scoring.score import RowScorer, Scorer

__all__ = ["replay_notes", "replayed_configuration", "scorer_of"]


def scorer_of(metric: Metric, cases: Path, feeds: Mapping[str, str]) -> RowScorer:
    """Return the scorer of one file.

    A judge replays the cassette that lies beside the cases, ``NAME.cassette.jsonl``; a question that is not in it is
    *unrun*, and so is every question where there is no cassette: scoring and gating never pay.
    """
    if isinstance(metric, Judge):
        # Only judges need what replays them.
        from evalkit.scoring.judge import neighbour_cassette, replay_scorer
        from evalkit.scoring.judging.cassette import read_cassette

        if cassette := neighbour_cassette(metric, cases):
            return replay_scorer(metric, read_cassette(cassette), feeds=feeds)
    return Scorer(metric, feeds)


def replay_notes(metric: Metric, cases: Path) -> list[str]:
    """Say of a judge that recorded verdicts were read, and who or what had made them, or that nobody was asked."""
    if not isinstance(metric, Judge):
        return []
    from evalkit.scoring.judge import neighbour_cassette
    from evalkit.scoring.judging.cassette import read_cassette

    cassette = neighbour_cassette(metric, cases)
    if cassette:
        return [read_cassette(cassette).in_words()]
    do = f"evalkit judge {metric.name} CASES --run DIR asks, and DIR is then gated, calibrated or explained"
    return [f"{metric.name} is a judge, and nobody was asked: no verdicts lie beside the cases; {do}"]


def replayed_configuration(metric: Metric, cases: Path) -> str | None:
    """Return the hash of the configuration under which a judge's verdicts beside the cases were recorded, if any."""
    if not isinstance(metric, Judge):
        return None
    from evalkit.scoring.judge import neighbour_cassette, request_maker
    from evalkit.scoring.judging.cassette import read_cassette

    cassette = neighbour_cassette(metric, cases)
    return request_maker(metric, None, read_cassette(cassette)).configuration_hash if cassette else None
