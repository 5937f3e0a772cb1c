"""A judge's rows: in order before the verdict, completed by it, or by the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Protocol

from evalkit.cases.read import BadLine, Case, CaseFile
from evalkit.contract import sha256_of
from evalkit.contract.judge import Judge
from evalkit.scoring.judging.attempt import Attempt, ProviderFault
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.judging.preconditions import check_feeds, unmet
from evalkit.scoring.judging.reply import Reply, read_reply
from evalkit.scoring.judging.request import Request, RequestMaker
from evalkit.scoring.records import Record
from evalkit.scoring.retention import EXCERPT_LENGTH, redactor
from evalkit.scoring.score import Scorer

__all__ = ["Cache", "JudgeRows", "Prepared", "Recorded"]

Cache = Literal["hit", "miss", "replay"]


class Recorded(Protocol):
    """Anything that keeps verdicts: a store or a cassette."""

    def find(self, key: str) -> Kept | None:
        """Return the verdict under a key."""
        ...


class Prepared(NamedTuple):
    """A row before its verdict."""

    record: Record
    request: Request | None
    """``None`` where the row is invalid and nothing is asked."""


class JudgeRows:
    """Makes the records of one judge under one configuration.

    Parameters
    ----------
    judge : Judge
    maker : RequestMaker
    feeds : mapping, optional
        ``{parameter: key}``, as for any metric.
    """

    def __init__(self, judge: Judge, maker: RequestMaker, feeds: Mapping[str, str] | None = None) -> None:
        check_feeds(judge, feeds or {})
        self.judge = judge
        self.maker = maker
        self._scorer = Scorer(judge, feeds)
        self.required = self._scorer.required
        self.optional = self._scorer.optional
        self.reviewed = self._scorer.reviewed
        self._redact: Callable[[Any], Any] = redactor(judge.contract)
        self._retention = _reply_retention(judge)
        self._facts = maker.recorded_facts()

    def prepare(self, item: Case | BadLine) -> Prepared:
        """Check one line; nothing is asked here."""
        record = self._scorer.record(item)
        if isinstance(item, BadLine) or record.state != "unrun":
            return Prepared(record, None)
        inputs = {name: item.fields[key] for name, key in self._scorer.feeds.items() if key in item.fields}
        if problem := unmet(self.judge, item, inputs):
            invalid = record._replace(
                state="invalid", reason=problem.reason, error_kind=problem.kind, owner=problem.owner
            )
            return Prepared(invalid, None)
        hooks = self.judge.preparation
        return Prepared(record, self.maker.of(hooks.of(inputs).inputs if hooks else inputs))

    def first_sent(self, request: Request) -> Request:
        """Return the request that is sent for a row, or the first one of several."""
        return request

    def prepare_all(self, cases: CaseFile) -> Iterator[Prepared]:
        """Check a whole file, in input order."""
        return map(self.prepare, cases)

    # --- how a row ends ---------------------------------------------------------------------------------------------

    def judged(self, record: Record, request: Request, kept: Kept, cache: Cache) -> Record:
        """Complete a record with a completion, readable or not."""
        reading = read_reply(self.judge, kept.reply)
        facts = self._judge_facts(request, kept.attempts, cache) | {
            "model_returned": kept.reply.model,
            "finish_reason": kept.reply.finish_reason,
            "usage": kept.reply.usage,
        }
        if reading.state != "scored":
            facts["raw"] = self._raw(kept.reply)
        return record._replace(
            state=reading.state,
            value=reading.value,
            reason=self._redact(reading.reason),
            detail=self._redact(reading.detail),
            error_kind=reading.error_kind,
            owner=None if reading.state == "scored" else self._owner("error", "judge"),
            judge=facts,
        )

    def failed(self, record: Record, request: Request, fault: ProviderFault, attempts: tuple[Attempt, ...]) -> Record:
        """Complete a record where the provider failed: an error, whatever the row is worth."""
        tries = f" (after {len(attempts)} attempts)" if len(attempts) > 1 else ""
        return record._replace(
            state="error",
            reason=self._redact(f"the provider failed: {fault.message}{tries}"),
            error_kind=fault.kind,
            owner=self._owner("error", "provider"),
            judge=self._judge_facts(request, attempts, "miss"),
        )

    def unrun(
        self, record: Record, request: Request, reason: str, kind: str, attempts: tuple[Attempt, ...] = ()
    ) -> Record:
        """Complete a record that was not judged: the budget ended, the run stopped, nothing was recorded."""
        return record._replace(
            state="unrun",
            reason=reason,
            error_kind=kind,
            owner=self._owner("unrun", "judge"),
            judge=self._judge_facts(request, attempts, "miss"),
        )

    def _judge_facts(self, request: Request, attempts: tuple[Attempt, ...], cache: Cache) -> dict[str, Any]:
        costs = [Decimal(attempt.cost) for attempt in attempts if attempt.cost is not None]
        last = attempts[-1] if attempts else None
        return {
            "key": request.key,
            "prompt_sha256": request.prompt_sha256,
            **self._facts,
            "cache": cache,
            "latency_ms": last.latency_ms if last else None,
            "usage": None,
            # A sum over what is known only; it stays unknown where no attempt has a price.
            "cost": str(sum(costs, Decimal(0))) if costs else None,
            "attempts": [attempt._asdict() for attempt in attempts],
        }

    def _owner(self, state: str, otherwise: str) -> str:
        owners = self.judge.contract.owners if self.judge.contract else {}
        return owners.get(state, otherwise)

    def _raw(self, reply: Reply) -> Any:
        text = self._redact(reply.refusal or reply.content)
        if text is None or self._retention == "full":
            return text
        return {"sha256": sha256_of(text), "excerpt": text[:EXCERPT_LENGTH] if self._retention == "excerpt" else None}


def _reply_retention(judge: Judge) -> str:
    """Choose what is kept of an unreadable reply: it may quote an input, so the most careful choice among them."""
    choices = dict(judge.contract.retention) if judge.contract else {}
    found = {choices.get(name, "full") for name in (parameter.name for parameter in judge.parameters)}
    careful = next((choice for choice in ("hash", "excerpt") if choice in found), "full")
    return str(choices.get("reply", careful))
