from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from evalkit.contract import EvalkitError
from evalkit.scoring.judging.budget import Budget, Price, Used, price_of

D = Decimal


def test_what_is_reserved_counts_until_it_is_settled() -> None:
    budget = Budget(cost=D("1.00"))
    assert budget.reserve(D("0.40")) is None
    assert budget.reserve(D("0.40")) is None
    # 0.80 reserved, and another 0.40 would make 1.20
    assert "0.80 reserved for calls under way, 0.40 needed" in str(budget.reserve(D("0.40")))
    budget.settle(D("0.40"), D("0.10"))
    assert budget.reserve(D("0.40")) is None  # 0.10 charged + 0.40 + 0.40 = 0.90
    assert (budget.charged, budget.reserved, budget.made) == (D("0.10"), D("0.80"), 3)


def test_the_limit_is_reached_and_never_passed() -> None:
    budget = Budget(cost=D("0.3"))
    made = 0
    while budget.reserve(D("0.1")) is None:
        budget.settle(D("0.1"), D("0.1"))
        made += 1
    assert (made, budget.charged) == (3, D("0.3"))  # decimals: three times 0.1 is 0.3


def test_a_refused_call_waits_only_for_what_can_free_room() -> None:
    budget = Budget(cost=D("1.00"), calls=9)
    budget.reserve(D("0.9"))
    assert budget.may_free(D("0.9")) is True  # the call under way may turn out cheaper
    assert budget.may_free(D("1.1")) is False  # never fits
    budget.settle(D("0.9"), D("0.9"))
    assert budget.may_free(D("0.9")) is False


def test_calls_and_seconds_are_limits_of_their_own() -> None:
    budget = Budget(calls=1)
    assert budget.reserve(D(0)) is None
    assert budget.reserve(D(0)) == "the budget of 1 calls is used up"
    now = [0.0]
    timed = Budget(seconds=5, clock=lambda: now[0])
    assert timed.reserve(D(0)) is None
    now[0] = 5.0
    assert timed.reserve(D(0)) == "the budget of 5 seconds is used up"


def test_what_an_interrupted_part_has_used_counts() -> None:
    budget = Budget(cost=D("1.00"), calls=3)
    budget.resume(Used(D("0.95"), 2))
    assert "0.95 charged" in str(budget.reserve(D("0.10")))
    assert budget.reserve(D("0.05")) is None
    assert budget.reserve(D("0")) == "the budget of 3 calls is used up"


def test_a_budget_of_nothing_makes_no_call() -> None:
    assert Budget(calls=0).reserve(D(0)) is not None
    assert Budget(cost=D(0)).reserve(D("0.01")) is not None
    assert Budget().is_declared is False


PRICE = Price(D("0.15"), D("0.60"), "USD")


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        # 1,000 * 0.15 / 1,000,000 + 200 * 0.60 / 1,000,000 = 0.00015 + 0.00012
        ({"prompt_tokens": 1000, "completion_tokens": 200}, D("0.00027")),
        ({"prompt_tokens": 0, "completion_tokens": 0}, D(0)),
        (None, None),
        ({}, None),
        ({"prompt_tokens": 5}, None),
        ({"prompt_tokens": -5, "completion_tokens": 1}, None),
        ({"prompt_tokens": True, "completion_tokens": 1}, None),
        ({"prompt_tokens": "5", "completion_tokens": 1}, None),
    ],
)
def test_a_cost_is_known_only_where_usage_is_reported(usage: Any, cost: Decimal | None) -> None:
    assert PRICE.of(usage) == cost


@pytest.mark.parametrize(
    ("prices", "currency", "fragment"),
    [
        ({"m": {"input": "0.15"}}, "USD", 'must be a decimal amount in quotes such as "0.15"; got None'),
        ({"m": {"input": 0.15, "output": "1"}}, "USD", "got 0.15"),
        ({"m": {"input": "-1", "output": "1"}}, "USD", "got '-1'"),
        ({"m": {"input": "NaN", "output": "1"}}, "USD", "got 'NaN'"),
        ({"m": "0.15"}, "USD", "must be a table with input and output"),
        ({"m": {"input": "1", "output": "1"}}, None, "limits.currency must name the currency"),
    ],
)
def test_a_price_that_cannot_be_read_is_refused(prices: Any, currency: str | None, fragment: str) -> None:
    with pytest.raises(EvalkitError) as caught:
        price_of(prices, "m", currency)
    assert fragment in str(caught.value)


def test_an_unlisted_model_has_no_price() -> None:
    assert price_of({"other": {"input": "1", "output": "1"}}, "m", "USD") is None
