"""The engine of a judge run: recorded verdicts first, then the questions that are left, critical slices first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from evalkit.contract import EvalkitError
from evalkit.scoring.judging.asking import Asked, Asker, OverBudget
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.judging.request import Request
from evalkit.scoring.judging.rows import Cache, JudgeRows, Prepared, Recorded
from evalkit.scoring.records import Record

__all__ = ["Engine", "Question", "Stop", "is_settled"]


class Stop(NamedTuple):
    """Why rows are left unrun."""

    kind: str
    """``budget``, ``stopped`` or ``not_recorded``."""
    reason: str


class Question(NamedTuple):
    """A request and the rows that wait for its answer (several, where their inputs are the same)."""

    request: Request
    records: list[Record]

    @property
    def case_id(self) -> str | None:
        """The row that asks."""
        return self.records[0].case_id


@dataclass
class Engine:
    """Turns prepared rows into finished records; each is handed to `emit` as soon as it is whole.

    Parameters
    ----------
    rows : JudgeRows
    recorded : Recorded
        Where verdicts may already be kept.
    emit : callable
        Receives each finished record, in any order.
    critical : set of str
        Slices whose rows are asked first, so that the budget reaches them.
    run_id : str
        A verdict that this run itself has paid for is no hit.
    is_replay : bool
    """

    rows: JudgeRows
    recorded: Recorded
    emit: Callable[[Record], object]
    run_id: str
    critical: frozenset[str] = frozenset()
    is_replay: bool = False
    stopped: Stop | None = None
    """Why no further call is made, where something ended the run early."""
    keeps: bool = False
    """Whether the verdicts are wanted at the end, for a cassette."""
    kept: dict[str, Kept] = field(default_factory=dict)
    """Every verdict of this run by key, where they are wanted."""

    def recall(self, prepared: Iterable[Prepared], done: dict[int, Record]) -> list[Question]:
        """Finish every row that needs no call, in input order, and return the questions that are left."""
        questions: dict[str, Question] = {}
        for record, request in prepared:
            if request is None:
                if record.line not in done:
                    self.emit(record)
                continue
            # A settled row is not asked again even where the store is gone: its record is enough.
            kept = self._find(request.key)
            if is_settled(done.get(record.line), request.key):
                continue
            if kept is not None:
                self.emit(self.rows.judged(record, request, kept, self._cache(kept)))
            else:
                questions.setdefault(request.key, Question(request, [])).records.append(record)
        return list(questions.values())

    async def recalled(self, prepared: Iterable[Prepared], done: dict[int, Record]) -> list[Question]:
        """Do the same where finding out what is kept may itself have to wait; here it need not."""
        return self.recall(prepared, done)

    def _cache(self, kept: Kept) -> Cache:
        if self.is_replay:
            return "replay"
        return "miss" if kept.run_id == self.run_id else "hit"

    def _find(self, key: str) -> Kept | None:
        kept = self.recorded.find(key)
        if self.keeps and kept is not None:
            self.kept[key] = kept
        return kept

    def leave(self, questions: Iterable[Question], why: Callable[[Question], Stop]) -> None:
        """Finish rows that are not asked."""
        for question in questions:
            stop = why(question)
            for record in question.records:
                self.emit(self.rows.unrun(record, question.request, stop.reason, stop.kind))

    async def ask_all(self, questions: list[Question], asker: Asker) -> None:
        """Ask what is left, so many at a time as the settings say; what ends the run early leaves the rest *unrun*."""
        waiting = iter(sorted(questions, key=lambda question: not self._is_critical(question)))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(asker.settings.concurrency, len(questions))):
                    group.create_task(self._work(waiting, asker))
        except* EvalkitError as faults:  # a store or folder that cannot be written; one is as good as all
            raise faults.exceptions[0] from None
        if self.stopped is not None:
            stop = self.stopped
            self.leave(waiting, lambda _: stop)

    def _is_critical(self, question: Question) -> bool:
        return any(record.slice in self.critical for record in question.records)

    async def _work(self, waiting: Iterator[Question], asker: Asker) -> None:
        while self.stopped is None and (question := next(waiting, None)) is not None:
            try:
                self._finish(question, await asker.ask(question.request, question.case_id))
            except OverBudget as end:
                stop = self.stopped = Stop("budget", str(end))
                self.leave([question], lambda _: stop)  # noqa: B023 - called at once

    def _finish(self, question: Question, asked: Asked) -> None:
        request, kept, fault = question.request, asked.kept, asked.fault
        if kept is not None and self.keeps:
            self.kept[request.key] = kept
        for position, record in enumerate(question.records):
            if kept is not None:
                # Rows with the same inputs share one answer; only the first one paid for it.
                cache = self._cache(kept) if position == 0 else "hit"
                self.emit(self.rows.judged(record, request, kept, cache))
            elif fault is not None:
                self.emit(self.rows.failed(record, request, fault, asked.attempts if position == 0 else ()))
        if fault is not None and fault.concerns_all:
            self.stopped = Stop("stopped", f"every further call would fail: {fault.message}")


def is_settled(record: Record | None, key: str) -> bool:
    """Whether an interrupted part of this run already has this row's verdict (a provider's failure is none)."""
    if record is None or record.judge is None or record.judge.get("key") != key:
        return False
    return record.state == "scored" or (record.state == "error" and "finish_reason" in record.judge)
