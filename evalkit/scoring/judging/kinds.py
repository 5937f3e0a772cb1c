"""Which classes serve a judge: one that asks a question a row, or one whose row needs several."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.contract.judge import Judge
from evalkit.contract.stepped import SteppedJudge
from evalkit.scoring.judging.engine import Engine
from evalkit.scoring.judging.replay import ReplayScorer
from evalkit.scoring.judging.request import RequestMaker
from evalkit.scoring.judging.rows import JudgeRows

__all__ = ["engine_for", "replay_for", "rows_of"]


def rows_of(judge: Judge, maker: RequestMaker, feeds: Mapping[str, str] | None = None) -> JudgeRows:
    """Return what makes the records of a judge."""
    if isinstance(judge, SteppedJudge):
        from evalkit.scoring.judging.stepped import SteppedRows  # loaded for those judges alone

        return SteppedRows(judge, maker, feeds)
    return JudgeRows(judge, maker, feeds)


def engine_for(rows: JudgeRows) -> type[Engine]:
    """Return the engine that asks for these rows."""
    if isinstance(rows.judge, SteppedJudge):
        from evalkit.scoring.judging.stepped import SteppedEngine

        return SteppedEngine
    return Engine


def replay_for(rows: JudgeRows) -> type[ReplayScorer]:
    """Return the scorer that reads recorded replies for these rows."""
    if isinstance(rows.judge, SteppedJudge):
        from evalkit.scoring.judging.stepped import SteppedReplay

        return SteppedReplay
    return ReplayScorer
