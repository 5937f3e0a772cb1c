"""A judge of several questions over rows: played from what is kept, then asked; and the record that a row ends in."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evalkit.cases.read import BadLine, Case
from evalkit.contract import sha256_of
from evalkit.contract.own_loop import run_coroutine
from evalkit.contract.stepped import SteppedJudge
from evalkit.scoring.judging.asking import Asked, Asker, OverBudget
from evalkit.scoring.judging.attempt import ProviderFault
from evalkit.scoring.judging.cassette import Cassette
from evalkit.scoring.judging.engine import Engine, Question, Stop, is_settled
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.judging.replay import ReplayScorer, not_recorded
from evalkit.scoring.judging.request import Request
from evalkit.scoring.judging.rows import Cache, JudgeRows, Prepared
from evalkit.scoring.judging.steps import Ask, Failed, NotRecorded, Played, Step, StepMaker
from evalkit.scoring.ragas_bridge.play import play
from evalkit.scoring.records import Record
from evalkit.scoring.retention import EXCERPT_LENGTH

__all__ = ["SteppedEngine", "SteppedReplay", "SteppedRows"]


class SteppedRows(JudgeRows):
    """Makes the records of a judge of several questions."""

    judge: SteppedJudge
    maker: StepMaker

    async def play(self, request: Request, ask: Ask) -> Played:
        """Play one row as far as its questions are answered."""
        return await play(self.judge, request.body, self.maker, ask)

    def first_sent(self, request: Request) -> Request:
        """Return the first question of a row: what the others say depends on its reply."""

        async def look(question: Request) -> Kept:
            raise NotRecorded(question)

        played = run_coroutine(self.play(request, look))
        return played.end.request if isinstance(played.end, NotRecorded) else request

    def concluded(self, record: Record, request: Request, played: Played, caches: list[Cache]) -> Record:
        """Complete a record with the reading that all replies came to; `caches` has one word a step."""
        reading = played.reading
        assert reading is not None  # noqa: S101 - what did not end early has a reading
        facts = self._facts_of(request, played.steps, caches)
        if reading.state == "error" and played.steps:
            facts["raw"] = self._raw(played.steps[-1].kept.reply)
        owners = {"scored": None, "invalid": self._owner("invalid", "test-data")}
        owner = self._owner("error", "metric" if reading.error_kind == "exception" else "judge")
        return record._replace(
            state=reading.state,
            value=reading.value,
            reason=self._redact(self._text(reading.reason)),
            detail=self._redact(self._kept(reading.detail)),
            error_kind=reading.error_kind,
            owner=owners.get(reading.state, owner),
            judge=facts,
        )

    def broken_off(self, record: Record, request: Request, played: Played, caches: list[Cache]) -> Record:
        """Complete a record whose questions the provider failed to answer to the end."""
        end = played.end
        attempts = end.attempts if isinstance(end, Failed) else ()
        fault = end.fault if isinstance(end, Failed) else None
        paid = tuple(a for step, c in zip(played.steps, caches, strict=True) if c == "miss" for a in step.kept.attempts)
        if fault is None:
            return self.unrun(record, request, str(end), "budget", paid)
        return self.failed(record, request, fault, attempts)._replace(
            judge=self._judge_facts(request, (*paid, *attempts), "miss")
        )

    def _facts_of(self, request: Request, steps: tuple[Step, ...], caches: list[Cache]) -> dict[str, Any]:
        row: Cache = "miss" if "miss" in caches else (caches[0] if caches else "hit")
        own = [step for step, cache in zip(steps, caches, strict=True) if cache == row]
        attempts = tuple(attempt for step in own for attempt in step.kept.attempts)
        latencies = [attempt.latency_ms for attempt in attempts if attempt.latency_ms is not None]
        last = next((step for step in reversed(steps) if step.asks != "embedding"), steps[-1] if steps else None)
        return self._judge_facts(request, attempts, row) | {
            "latency_ms": round(sum(latencies), 1) if latencies else None,
            "model_returned": last.kept.reply.model if last else None,
            "finish_reason": last.kept.reply.finish_reason if last else None,
            "usage": _added_up(step.kept.reply.usage for step in own),
            "steps": [
                {
                    "asks": step.asks,
                    "key": step.request.key,
                    "prompt_sha256": step.request.prompt_sha256,
                    "cache": cache,
                }
                for step, cache in zip(steps, caches, strict=True)
            ],
        }

    def _text(self, reason: str) -> str:
        """Return the counts of a reason alone where its quotations of inputs may not be kept."""
        return reason if self._retention == "full" else reason.partition(" | ")[0]

    def _kept(self, detail: Any) -> Any:
        """Return the detail with the texts that the contract lets a run keep: they quote inputs."""
        if self._retention == "full":
            return detail
        if isinstance(detail, Mapping):
            return {name: self._kept(value) for name, value in detail.items()}
        if isinstance(detail, list):
            return [self._kept(value) for value in detail]
        if isinstance(detail, str):
            excerpt = detail[:EXCERPT_LENGTH] if self._retention == "excerpt" else None
            return {"sha256": sha256_of(detail), "excerpt": excerpt}
        return detail


def _added_up(usages: Iterable[Mapping[str, Any] | None]) -> dict[str, int] | None:
    totals: Counter[str] = Counter()
    for usage in usages:
        totals.update({name: count for name, count in (usage or {}).items() if type(count) is int})
    return dict(totals) or None


@dataclass
class SteppedEngine(Engine):
    """The engine of a judge of several questions: a row is a question as a whole, and comes back when it is complete.

    Rows are played from what is kept first. Only those that miss a reply are played again, asking for what is missing.
    """

    rows: SteppedRows
    under_way: dict[str, asyncio.Task[Asked]] = field(default_factory=dict)
    """By key, the calls that rows are waiting for: two rows that ask the same ask once."""

    async def recalled(self, prepared: Iterable[Prepared], done: dict[int, Record]) -> list[Question]:
        """Finish every row that needs no call, in input order, and return those that are left."""
        questions: dict[str, Question] = {}
        for record, request in prepared:
            if request is None:
                if record.line not in done:
                    self.emit(record)
            elif request.key in questions:
                questions[request.key].records.append(record)
            elif (question := await self._recalled_row(record, request, done)) is not None:
                questions[request.key] = question
        return list(questions.values())

    async def _recalled_row(self, record: Record, request: Request, done: dict[int, Record]) -> Question | None:
        played = await self.rows.play(request, self._look)
        if is_settled(done.get(record.line), request.key):
            return None
        if played.end is not None:
            return Question(request, [record])
        self.emit(self.rows.concluded(record, request, played, self._caches(played)))
        return None

    async def _look(self, request: Request) -> Kept:
        if (kept := self._find(request.key)) is None:
            raise NotRecorded(request)
        return kept

    def _caches(self, played: Played) -> list[Cache]:
        return [self._cache(step.kept) for step in played.steps]

    async def _work(self, waiting: Iterator[Question], asker: Asker) -> None:
        while self.stopped is None and (question := next(waiting, None)) is not None:
            ask = partial(self._ask, asker, question.case_id)
            self._conclude(question, await self.rows.play(question.request, ask))

    async def _ask(self, asker: Asker, case_id: str | None, request: Request) -> Kept:
        kept = self._find(request.key)
        if kept is None:
            task = self.under_way.get(request.key)
            if task is None:
                task = self.under_way[request.key] = asyncio.ensure_future(asker.ask(request, case_id))
                task.add_done_callback(lambda _: self.under_way.pop(request.key, None))
            asked = await task
            kept = asked.kept
            if kept is None:
                raise Failed(asked.fault or ProviderFault("no reply", kind="bad_body"), asked.attempts)
        if self.keeps:
            self.kept[request.key] = kept
        return kept

    def _conclude(self, question: Question, played: Played) -> None:
        caches = self._caches(played)
        for position, record in enumerate(question.records):
            # Rows with the same inputs share the answers; only the first one paid for them.
            own: list[Cache] = caches if position == 0 else ["hit"] * len(caches)
            made = self.rows.concluded if played.end is None else self.rows.broken_off
            self.emit(made(record, question.request, played, own))
        end = played.end
        if isinstance(end, Failed) and end.fault.concerns_all:
            self.stopped = Stop("stopped", f"every further call would fail: {end.fault.message}")
        elif isinstance(end, OverBudget):
            self.stopped = Stop("budget", str(end))


class SteppedReplay(ReplayScorer):
    """Gives each line its record from recorded replies; nothing is ever sent."""

    _rows: SteppedRows

    def record(self, item: Case | BadLine) -> Record:
        """Return the record of one line."""
        record, request = self._rows.prepare(item)
        if request is None:
            return record
        played = run_coroutine(self._rows.play(request, self._look))
        if played.end is None:
            return self._rows.concluded(record, request, played, ["replay"] * len(played.steps))
        reason = "no reply is recorded for one of its questions"
        if isinstance(self._recorded, Cassette):
            reason = not_recorded(self._recorded, record.case_id, self._rows.maker.configuration)
        return self._rows.unrun(record, request, reason, "not_recorded")

    async def _look(self, request: Request) -> Kept:
        if (kept := self._recorded.find(request.key)) is None:
            raise NotRecorded(request)
        return kept
