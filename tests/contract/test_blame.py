from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any

import pytest

from evalkit.contract import InvalidRow, make_metric


class TooShort(InvalidRow):
    """A row of its own kind."""


class UnreadableError(ValueError):
    """A ValueError, but not exactly one."""


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def helper_refuses(x: str) -> float:
    msg = "the helper refuses it"
    raise ValueError(msg)


def helper_stumbles(x: str) -> float:
    return float(int(x))


@contextmanager
def tidied() -> Iterator[None]:
    try:
        yield
    finally:
        pass


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def raises_in_own_module(x: str) -> float:
    msg = "nothing to score"
    raise ValueError(msg)


def raises_in_own_helper(x: str) -> float:
    return helper_refuses(x)


def raises_from_an_accident(x: str) -> float:
    try:
        return float(int(x))
    except ValueError as error:
        msg = f"{x!r} is not a count"
        raise ValueError(msg) from error


def raises_an_invalid_row(x: str) -> float:
    msg = "nothing to score"
    raise InvalidRow(msg)


def raises_a_kind_of_invalid_row(x: str) -> float:
    msg = "too short"
    raise TooShort(msg)


def raises_behind_a_finally(x: str) -> float:
    with tidied():
        msg = "nothing to score"
        raise ValueError(msg)


@logged
def raises_behind_a_wrapper(x: str) -> float:
    msg = "nothing to score"
    raise ValueError(msg)


@lru_cache
def raises_behind_another_modules_wrapper(x: str) -> float:
    msg = "nothing to score"
    raise ValueError(msg)


async def raises_in_a_coroutine(x: str) -> float:
    await asyncio.sleep(0)
    msg = "nothing to score"
    raise ValueError(msg)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (raises_in_own_module, "nothing to score"),
        (raises_in_own_helper, "the helper refuses it"),
        (raises_from_an_accident, "'row' is not a count"),
        (raises_an_invalid_row, "nothing to score"),
        (raises_a_kind_of_invalid_row, "too short"),
        (raises_behind_a_finally, "nothing to score"),
        (raises_behind_a_wrapper, "nothing to score"),
        (raises_behind_another_modules_wrapper, "nothing to score"),
        (raises_in_a_coroutine, "nothing to score"),
    ],
    ids=lambda value: getattr(value, "__name__", " "),
)
def test_a_refusal_by_the_metrics_own_module_is_an_invalid_row(function: Callable[..., Any], reason: str):
    result = make_metric(function, (0.0, 1.0)).measure({"x": "row"})
    assert (result.state, result.value, result.reason, result.error_kind) == ("invalid", None, reason, "contract")


def stumbles(x: str) -> float:
    return float(int(x))


def stumbles_in_a_helper(x: str) -> float:
    return helper_stumbles(x)


def stumbles_and_raises_it_again(x: str) -> float:
    try:
        return float(int(x))
    except ValueError:
        raise


def stumbles_and_raises_it_again_by_name(x: str) -> float:
    try:
        return float(int(x))
    except ValueError as error:
        raise error


def stumbles_behind_a_finally(x: str) -> float:
    with tidied():
        return float(int(x))


def stumbles_in_another_module(x: str) -> float:
    return float(int(ipaddress.ip_address(x)))  # it has a raise statement, of exactly ValueError


def raises_a_kind_of_value_error(x: str) -> float:
    msg = "unreadable"
    raise UnreadableError(msg)


def raises_a_type_error(x: str) -> float:
    msg = "no number"
    raise TypeError(msg)


def leaves(x: str) -> float:
    raise SystemExit(3)


def recurses(x: str) -> float:
    return recurses(x)


def is_cancelled(x: str) -> float:
    raise asyncio.CancelledError


def raises_without_words(x: str) -> float:
    raise KeyError


def raises_what_cannot_be_shown(x: str) -> float:
    raise MuteError


async def leaves_in_a_coroutine(x: str) -> float:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("function", "text", "place"),
    [
        (stumbles, "ValueError: invalid literal for int() with base 10: 'row' (", "stumbles"),
        (stumbles_in_a_helper, "ValueError: invalid literal", "helper_stumbles"),
        (stumbles_and_raises_it_again, "ValueError: invalid literal", "stumbles_and_raises_it_again"),
        (stumbles_and_raises_it_again_by_name, "ValueError: invalid", "stumbles_and_raises_it_again_by_name"),
        (stumbles_behind_a_finally, "ValueError: invalid literal", "stumbles_behind_a_finally"),
        (stumbles_in_another_module, "ValueError: 'row' does not appear", "stumbles_in_another_module"),
        (raises_a_kind_of_value_error, "UnreadableError: unreadable (", "raises_a_kind_of_value_error"),
        (raises_a_type_error, "TypeError: no number (", "raises_a_type_error"),
        (leaves, "SystemExit: 3 (", "leaves"),
        (recurses, "RecursionError: maximum recursion depth exceeded", "recurses"),
        (is_cancelled, "CancelledError (", "is_cancelled"),
        (raises_without_words, "KeyError (", "raises_without_words"),
        (raises_what_cannot_be_shown, "MuteError: MuteError() (", "raises_what_cannot_be_shown"),
        (leaves_in_a_coroutine, "SystemExit: 3 (", "leaves_in_a_coroutine"),
    ],
    ids=lambda value: getattr(value, "__name__", " "),
)
def test_any_other_exception_is_the_metrics_error_with_type_and_place(
    function: Callable[..., Any], text: str, place: str
):
    result = make_metric(function, (0.0, 1.0)).measure({"x": "row"})
    assert (result.state, result.value, result.error_kind) == ("error", None, "exception")
    assert result.reason.startswith(text)
    assert re.search(rf" \(test_blame\.py, line \d+, in {place}\)$", result.reason)


def test_the_place_is_the_line_of_the_metric_and_no_path_of_this_machine():
    result = make_metric(stumbles, (0.0, 1.0)).measure({"x": "row"})
    line = stumbles.__code__.co_firstlineno + 1
    assert result.reason.endswith(f"(test_blame.py, line {line}, in stumbles)")
    assert "/" not in result.reason


def test_a_refusal_without_words_still_gives_a_reason():
    def metric(x: str) -> float:
        raise InvalidRow

    result = make_metric(metric, (0.0, 1.0)).measure({"x": "row"})
    assert result.state == "invalid"
    assert result.reason.startswith("the metric refused the row without a reason (test_blame.py, line ")


def test_a_long_message_is_cut():
    def metric(x: str) -> float:
        raise RuntimeError("x" * 10_000)

    assert len(make_metric(metric, (0.0, 1.0)).measure({"x": "row"}).reason) < 700


def test_a_keyboard_interrupt_stops_the_run():
    def metric(x: str) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_metric(metric, (0.0, 1.0)).measure({"x": "row"})
