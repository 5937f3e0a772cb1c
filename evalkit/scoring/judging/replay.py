"""Recorded verdicts in the place of a metric's computation: what gates, calibrations and explanations read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.cases.read import BadLine, Case
from evalkit.contract import EvalkitError
from evalkit.contract.judge import Judge
from evalkit.contract.stepped import SteppedJudge
from evalkit.scoring.judging.cassette import Cassette
from evalkit.scoring.judging.request import JudgeSettings, RequestMaker
from evalkit.scoring.judging.rows import JudgeRows, Recorded
from evalkit.scoring.judging.steps import StepMaker
from evalkit.scoring.records import Record

__all__ = ["ReplayScorer", "not_recorded", "request_maker"]


def request_maker(judge: Judge, settings: JudgeSettings | None, cassette: Cassette | None) -> RequestMaker:
    """Return the maker of a run's requests: under the settings given, else under those of the cassette."""
    if settings is not None:
        return _maker(judge, settings)
    if cassette is None:
        msg = f"no model is named for {judge.name}, and there is nothing to replay"
        mend = "set EVALKIT_JUDGE_MODEL (or --model) and OPENAI_API_KEY, or give a cassette with --replay FILE"
        raise EvalkitError(msg, do=mend)
    recorded = cassette.configuration
    settings = JudgeSettings(model=str(recorded.get("model")))
    if missing := [name for name in settings.facts() if name not in recorded]:
        msg = f"the cassette's configuration lacks {missing[0]!r}"
        raise EvalkitError(msg, where=str(cassette.path), do="record it again with evalkit judge --export FILE")
    return _maker(judge, settings, recorded)


def _maker(judge: Judge, settings: JudgeSettings, recorded: Mapping[str, Any] | None = None) -> RequestMaker:
    if isinstance(judge, SteppedJudge):
        return StepMaker(judge, settings, recorded=recorded)
    return RequestMaker(judge, settings, recorded=recorded)


def not_recorded(cassette: Cassette, case_id: str | None, configuration: Mapping[str, Any]) -> str:
    """Say why a row is left unrun in a replay."""
    why = cassette.why_not(case_id or "", configuration)
    return f"no verdict is recorded in {cassette.path.name}: {why}"


class ReplayScorer:
    """Gives each line its record from recorded verdicts; offers what `evalkit.scoring.score.Scorer` offers."""

    def __init__(self, rows: JudgeRows, recorded: Recorded) -> None:
        self.metric = rows.judge
        self.required = rows.required
        self.optional = rows.optional
        self.reviewed = rows.reviewed
        self._rows = rows
        self._recorded = recorded

    def record(self, item: Case | BadLine) -> Record:
        """Return the record of one line."""
        record, request = self._rows.prepare(item)
        if request is None:
            return record
        kept = self._recorded.find(request.key)
        if kept is not None:
            return self._rows.judged(record, request, kept, "replay")
        reason = "no verdict is recorded for this question"
        if isinstance(self._recorded, Cassette):
            reason = not_recorded(self._recorded, record.case_id, self._rows.maker.configuration)
        return self._rows.unrun(record, request, reason, "not_recorded")
