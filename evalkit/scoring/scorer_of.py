"""What scores the rows of a file: the metric itself, or, for a judge, its recorded verdicts. Nothing is ever sent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evalkit.contract import Metric
from evalkit.contract.judge import Judge
from evalkit.scoring.score import RowScorer, Scorer

__all__ = ["scorer_of"]


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
