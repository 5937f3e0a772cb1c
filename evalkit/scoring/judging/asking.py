"""Asks one question: budget first, then the note in the store, then the call; retries only what may pass by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from evalkit.contract.judge import Judge
from evalkit.scoring.judging.attempt import Attempt, ProviderFault
from evalkit.scoring.judging.budget import Budget, Price
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.judging.redacting import redacted_text
from evalkit.scoring.judging.reply import Reply
from evalkit.scoring.judging.request import JudgeSettings, Request
from evalkit.scoring.judging.sender import Sender
from evalkit.scoring.judging.verdicts import OpenCall, VerdictStore

__all__ = ["Asked", "Asker", "OverBudget"]

_POLL = 0.05
"""Seconds between looks at a question that another process is asking."""


class OverBudget(Exception):  # noqa: N818 - not an error: the declared end of a run
    """No further call fits the budget."""


class Asked(NamedTuple):
    """What a question came to: a completion, or the provider's last fault."""

    kept: Kept | None
    fault: ProviderFault | None
    attempts: tuple[Attempt, ...]


@dataclass
class Asker:
    """What asking needs, shared by all questions of a run."""

    judge: Judge
    settings: JudgeSettings
    sender: Sender
    store: VerdictStore
    budget: Budget
    run_id: str
    price: Price | None = None
    is_fresh: bool = False
    """Whether verdicts of earlier runs do not count."""
    sleep: Callable[[float], Any] = asyncio.sleep
    under_way: int = 0
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, request: Request, case_id: str | None, *, kind: str = "row") -> Asked:
        """Ask until there is a completion, a fault that stays, or no attempt left.

        Raises
        ------
        OverBudget
            Before a call that does not fit the budget; nothing is sent then.
        """
        retrying = AsyncRetrying(
            stop=_enough(self.settings.attempts, self.settings.max_wait),
            wait=_wait_for(request.key),
            retry=retry_if_exception(lambda error: isinstance(error, ProviderFault) and error.may_pass),
            sleep=self.sleep,
            reraise=True,
        )
        try:
            return await retrying(self._once, request, case_id, kind)
        except ProviderFault as fault:
            return Asked(None, fault, tuple(self.store.attempts(self.run_id, request.key, kind=kind)))

    async def _once(self, request: Request, case_id: str | None, kind: str) -> Asked:
        most = self.price.most(request) if self.price else Decimal(0)
        await self._reserve(most)
        charge = Decimal(0)
        try:
            call = await self._begin(request, case_id, kind, most)
            if isinstance(call, Kept):
                self.budget.made -= 1
                return Asked(call, None, call.attempts)  # another process paid for it in the meantime
            # Until it is known to have cost less. An interrupt leaves the call open in the store, and so in doubt.
            charge = most
            sent = await self._send(call, request)
            charge = sent.charge
            if sent.reply is None:
                self.store.end(call, request.key, sent.attempt, charge=charge)
                raise sent.fault or AssertionError
            kept = self.store.keep(
                call, self.run_id, request.key, sent.reply, sent.attempt,
                charge=charge, prompt_sha256=request.prompt_sha256, case_id=case_id,
            )  # fmt: skip
            return Asked(kept, None, kept.attempts)
        finally:
            self.budget.settle(most, charge)
            self.under_way -= 1
            self.settled.set()

    async def _reserve(self, most: Decimal) -> None:
        """Reserve a call; while others are under way, wait for them to cost less than they might have."""
        while problem := self.budget.reserve(most):
            if not self.under_way or not self.budget.may_free(most):
                raise OverBudget(problem)
            self.settled.clear()
            await self.settled.wait()
        self.under_way += 1

    async def _begin(self, request: Request, case_id: str | None, kind: str, most: Decimal) -> OpenCall | Kept:
        while True:
            again = self.is_fresh or kind == "preflight"
            call = self.store.begin(self.run_id, request.key, case_id=case_id, reserved=most, kind=kind, again=again)
            if call is not None:
                return call
            await self.sleep(_POLL)

    async def _send(self, call: OpenCall, request: Request) -> _Sent:
        started = time.perf_counter()

        def attempt(status: int | None, kind: str | None, message: str | None, **paid: Any) -> Attempt:
            latency = round((time.perf_counter() - started) * 1000, 1)
            return Attempt(
                call.number, call.sent_at, latency, status, kind, message, paid.get("usage"), paid.get("cost")
            )

        contract = self.judge.contract
        try:
            reply = await self.sender.send(request)
        except ProviderFault as fault:
            charge = call.reserved if fault.may_cost else Decimal(0)
            cost = None if fault.may_cost else "0"
            message = redacted_text(contract, fault.message)
            return _Sent(None, fault, attempt(fault.status, fault.kind, message, cost=cost), charge)
        content, refusal = redacted_text(contract, reply.content), redacted_text(contract, reply.refusal)
        price = self.price.of(reply.usage) if self.price else None
        done = attempt(200, None, None, usage=reply.usage, cost=None if price is None else str(price))
        charge = call.reserved if price is None else price
        return _Sent(reply._replace(content=content, refusal=refusal), None, done, charge)


class _Sent(NamedTuple):
    reply: Reply | None
    fault: ProviderFault | None
    attempt: Attempt
    charge: Decimal


def _fault_of(state: RetryCallState) -> ProviderFault | None:
    error = state.outcome.exception() if state.outcome else None
    return error if isinstance(error, ProviderFault) else None


def _enough(attempts: int, longest_wait: float) -> Callable[[RetryCallState], bool]:
    """Give up after so many attempts, or where the provider asks to wait longer than a run should stand still."""

    def stop(state: RetryCallState) -> bool:
        fault = _fault_of(state)
        return state.attempt_number >= attempts or (fault is not None and (fault.retry_after or 0.0) > longest_wait)

    return stop


def _wait_for(key: str) -> Callable[[RetryCallState], float]:
    """Wait as long as the provider asks, otherwise half a second, one, two...; rows are spread by their own key."""
    spread: float = int(key.removeprefix("sha256:")[:8], 16) / 0xFFFFFFFF

    def wait(state: RetryCallState) -> float:
        fault = _fault_of(state)
        asked = fault.retry_after if fault is not None else None
        own = min(20.0, 0.5 * 2.0 ** (state.attempt_number - 1))
        return (own if asked is None else asked) + own * spread * 0.5

    return wait
