"""The budget of a judge run: declared before it, reserved before each call, settled after it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from evalkit.contract import EvalkitError
from evalkit.scoring.judging.request import Request

__all__ = ["Budget", "Price", "Used", "price_of"]

_MILLION = Decimal(1_000_000)


class Price(NamedTuple):
    """What a model costs, per million tokens."""

    input: Decimal
    output: Decimal
    currency: str
    embedding: Decimal | None = None
    """What a million tokens of the embedding model cost, for a metric that uses one."""

    def most(self, request: Request) -> Decimal:
        """Return what a request can cost at most: bytes for input tokens, its own limit for output tokens."""
        if "input" in request.body:
            return request.most_input_tokens() * (self.embedding or Decimal(0)) / _MILLION
        return self._sum(request.most_input_tokens(), request.most_output_tokens())

    def of(self, usage: Mapping[str, Any] | None) -> Decimal | None:
        """Return what a call cost by the usage that the provider reports; ``None`` where it reports none."""
        is_embedding = (usage or {}).get("kind") == "embedding"
        names = ("prompt_tokens",) if is_embedding else ("prompt_tokens", "completion_tokens")
        counts = [(usage or {}).get(name) for name in names]
        if not all(isinstance(count, int) and not isinstance(count, bool) and count >= 0 for count in counts):
            return None
        if is_embedding:
            return None if self.embedding is None else int(counts[0] or 0) * self.embedding / _MILLION
        return self._sum(int(counts[0] or 0), int(counts[1] or 0))

    def facts(self) -> dict[str, str]:
        """Return the price as plain JSON values."""
        embedding = {} if self.embedding is None else {"embedding": str(self.embedding)}
        own = {"input": str(self.input), "output": str(self.output)}
        return own | embedding | {"per": "1000000", "currency": self.currency}

    def _sum(self, tokens_in: int, tokens_out: int) -> Decimal:
        return (tokens_in * self.input + tokens_out * self.output) / _MILLION


def price_of(
    prices: Mapping[str, Any], model: str, currency: str | None, *, embedding_model: str | None = None
) -> Price | None:
    """Read a model's price from the policy's ``[prices]``; ``None`` where it is not listed.

    Of an embedding model only ``input`` counts; one that is named and not listed has no price either.

    >>> price_of({"judge-a": {"input": "0.15", "output": "0.60"}}, "judge-a", "USD").of(
    ...     {"prompt_tokens": 1_000_000, "completion_tokens": 500_000})
    Decimal('0.45')
    """
    found = prices.get(model)
    if found is None:
        return None
    if not isinstance(found, Mapping) or not currency:
        msg = f"prices.{model!r} must be a table with input and output, and limits.currency must name the currency"
        raise EvalkitError(msg, do='write [prices."MODEL"] input = "0.15", output = "0.60" (per million tokens)')
    output = Decimal(0) if model == embedding_model else _amount(model, found, "output")
    price = Price(_amount(model, found, "input"), output, currency)
    if embedding_model is None:
        return price
    beside = prices.get(embedding_model)
    return price._replace(embedding=_amount(embedding_model, beside, "input")) if isinstance(beside, Mapping) else None


def _amount(model: str, table: Mapping[str, Any], name: str) -> Decimal:
    try:
        amount = Decimal(table[name]) if isinstance(table.get(name), str) else None
    except InvalidOperation:
        amount = None
    if amount is None or not amount.is_finite() or amount < 0:
        msg = f'prices.{model!r}.{name} must be a decimal amount in quotes such as "0.15"; got {table.get(name)!r}'
        raise EvalkitError(msg, do="state what a million tokens cost")
    return amount


class Used(NamedTuple):
    """What an earlier part of the same run has already used."""

    cost: Decimal = Decimal(0)
    calls: int = 0


@dataclass
class Budget:
    """How much a run may use. Every call is reserved at its highest price first, so the limit is never overrun.

    Examples
    --------
    >>> budget = Budget(cost=Decimal("1.00"))
    >>> budget.reserve(Decimal("0.60")) is None, budget.reserve(Decimal("0.60"))
    (True, 'the budget of 1.00 is used up: 0 charged, 0.60 reserved for calls under way, 0.60 needed for the next')
    """

    cost: Decimal | None = None
    calls: int | None = None
    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.charged = Decimal(0)
        self.reserved = Decimal(0)
        self.made = 0
        self._started = self.clock()

    @property
    def is_declared(self) -> bool:
        """Whether anything limits the run at all."""
        return any(limit is not None for limit in (self.cost, self.calls, self.seconds))

    def resume(self, earlier: Used) -> None:
        """Count what an interrupted part of this run has used."""
        self.charged += earlier.cost
        self.made += earlier.calls

    def reserve(self, most: Decimal) -> str | None:
        """Reserve one call at its highest price; return why not, where it does not fit."""
        if self.calls is not None and self.made >= self.calls:
            return f"the budget of {self.calls} calls is used up"
        if self.seconds is not None and self.clock() - self._started >= self.seconds:
            return f"the budget of {self.seconds:g} seconds is used up"
        if self.cost is not None and self.charged + self.reserved + most > self.cost:
            return (
                f"the budget of {self.cost} is used up: {self.charged} charged, {self.reserved} reserved for calls "
                f"under way, {most} needed for the next"
            )
        self.reserved += most
        self.made += 1
        return None

    def may_free(self, most: Decimal) -> bool:
        """Tell whether a refused call could fit once calls under way turn out cheaper than reserved."""
        if self.calls is not None and self.made >= self.calls:
            return False
        return self.reserved > 0 and self.cost is not None and self.charged + most <= self.cost

    def settle(self, most: Decimal, charge: Decimal) -> None:
        """Turn a reservation into what the call really cost."""
        self.reserved -= most
        self.charged += charge

    def facts(self) -> dict[str, Any]:
        """Return the limits as declared."""
        return {"cost": None if self.cost is None else str(self.cost), "calls": self.calls, "seconds": self.seconds}
