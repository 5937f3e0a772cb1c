"""The engine of a run that asks each question several times: every attempt is kept, and counted against the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from evalkit.contract import sha256_text
from evalkit.scoring.judging.asking import Asked, Asker, OverBudget
from evalkit.scoring.judging.engine import Engine, Question, Stop, is_settled
from evalkit.scoring.judging.request import Request
from evalkit.scoring.judging.rows import Cache, JudgeRows, Prepared
from evalkit.scoring.records import Record
from evalkit.scoring.repeats import Vote, vote

__all__ = ["RepeatedEngine", "repeats_of"]

_OF_ONE = (
    "key", "cache", "latency_ms", "usage", "cost", "attempts", "model_returned", "finish_reason", "raw",
)  # fmt: skip
"""What each repeat has of its own; model and settings are the same for all."""


def repeats_of(request: Request, n: int) -> list[Request]:
    """Return one question `n` times, each under a key of its own; the first has the key of a run without repeats.

    So a verdict that was paid for once is the first of three, and a run that was killed asks for what is missing.
    """
    return [request, *(request._replace(key=sha256_text(f"{request.key} repeat {i}")) for i in range(2, n + 1))]


class _Answer(NamedTuple):
    request: Request
    asked: Asked
    cache: Cache


@dataclass
class RepeatedEngine(Engine):
    """Asks each question `repeat` times; a row is finished when all of its repeats are in."""

    repeat: int = 2

    def recall(self, prepared: Iterable[Prepared], done: dict[int, Record]) -> list[Question]:
        """Finish every row whose repeats are all kept, in input order, and return the questions that are left."""
        questions: dict[str, Question] = {}
        for record, request in prepared:
            if request is None:
                if record.line not in done:
                    self.emit(record)
            elif not is_settled(done.get(record.line), request.key):
                found = [self._kept_answer(one) for one in repeats_of(request, self.repeat)]
                whole = [answer for answer in found if answer is not None]
                if len(whole) == self.repeat:
                    self.emit(self._combined(record, whole, is_first=True))
                else:
                    questions.setdefault(request.key, Question(request, [])).records.append(record)
        return list(questions.values())

    def _kept_answer(self, request: Request) -> _Answer | None:
        kept = self._find(request.key)
        return None if kept is None else _Answer(request, Asked(kept, None, kept.attempts), self._cache(kept))

    def leave(self, questions: Iterable[Question], why: Callable[[Question], Stop]) -> None:
        """Finish rows that are not asked; where some repeats are kept, say how many."""

        def counted(question: Question) -> Stop:
            stop = why(question)
            known = sum(self._find(one.key) is not None for one in repeats_of(question.request, self.repeat))
            if not known:
                return stop
            has = f"{known} of {self.repeat} repeats are there"
            ask = "a model is needed for the others (--model NAME), or ask without --repeat"
            return Stop(stop.kind, f"{has}; {ask if stop.kind == 'not_recorded' else stop.reason}")

        super().leave(questions, counted)

    async def _work(self, waiting: Iterator[Question], asker: Asker) -> None:
        while self.stopped is None and (question := next(waiting, None)) is not None:
            try:
                answers = [answer async for answer in self._asked(question, asker)]
            except OverBudget as end:
                stop = self.stopped = Stop("budget", str(end))
                self.leave([question], lambda _: stop)  # noqa: B023 - called at once
                continue
            for position, record in enumerate(question.records):
                self.emit(self._combined(record, answers, is_first=position == 0))

    async def _asked(self, question: Question, asker: Asker) -> Any:
        """Yield the answer to each repeat in turn; where every further call would fail, no more is asked."""
        for request in repeats_of(question.request, self.repeat):
            answer = self._kept_answer(request)
            if answer is None:
                asked = await asker.ask(request, question.case_id)
                answer = _Answer(request, asked, self._cache(asked.kept) if asked.kept else "miss")
                if asked.kept is not None and self.keeps:
                    self.kept[request.key] = asked.kept
            yield answer
            if answer.asked.fault is not None and answer.asked.fault.concerns_all:
                self.stopped = Stop("stopped", f"every further call would fail: {answer.asked.fault.message}")
                return

    def _combined(self, record: Record, answers: list[_Answer], *, is_first: bool) -> Record:
        """Complete a record with all of its repeats: the majority's verdict, or the error that there is none."""
        ends = [_end(self.rows, record, answer, is_first=is_first) for answer in answers]
        # Where the run was stopped, what was not asked is no verdict either.
        not_asked = [None] * (self.repeat - len(ends))
        found = vote(self.rows.judge.kind, [*(end.value for end in ends), *not_asked])
        chosen = _chosen(found, ends)
        return chosen._replace(detail={**chosen.detail, "repeats": found.facts()}, judge=_facts(chosen, ends))


def _chosen(found: Vote, ends: list[Record]) -> Record:
    """Return the repeat that speaks for the row, with the spread of all of them before its reason."""
    spread = found.words()
    if found.chosen is None:
        failed = next(end for end in ends if end.value is None)
        return failed._replace(reason=f"{spread}: no verdict has a majority; {failed.reason}")
    chosen = ends[found.chosen]
    if found.is_tie:
        return chosen._replace(reason=f"a tie, {spread}; {chosen.reason}")
    return chosen._replace(reason=f"{spread}; {chosen.reason}") if None in found.values or found.is_unstable else chosen


def _end(rows: JudgeRows, record: Record, answer: _Answer, *, is_first: bool) -> Record:
    request, (kept, fault, attempts), cache = answer
    if kept is not None:
        return rows.judged(record, request, kept, cache if is_first else "hit")
    assert fault is not None  # noqa: S101 - a question ends in a completion or in the provider's fault
    return rows.failed(record, request, fault, attempts if is_first else ())


def _facts(chosen: Record, ends: list[Record]) -> dict[str, Any]:
    """Return what the record says of the judge: the chosen repeat's facts, sums over all, and each repeat by itself."""
    judges = [dict(end.judge or {}) for end in ends]
    own = [judge for judge in judges if judge["cache"] == "miss"] or judges
    costs = [Decimal(judge["cost"]) for judge in own if judge["cost"] is not None]
    facts = dict(chosen.judge or {}) | {
        "key": judges[0]["key"],
        "cache": own[0]["cache"],
        "cost": str(sum(costs, Decimal(0))) if costs else None,
        "attempts": [attempt for judge in judges for attempt in judge["attempts"]],
        "repeats": [
            {"state": end.state, "value": end.value, "reason": end.reason, "error_kind": end.error_kind}
            | {name: judge[name] for name in _OF_ONE if name in judge}
            for end, judge in zip(ends, judges, strict=True)
        ],
    }
    if any("finish_reason" not in judge for judge in judges):
        facts.pop("finish_reason", None)  # the provider failed once: an interrupted run asks for it again
    return facts
