"""What a metric's exception means: the row breaks its contract, or the metric is broken, and where."""

from __future__ import annotations

import inspect
import opcode
import sys
from collections.abc import Callable, Iterator
from pathlib import PurePath
from types import TracebackType
from typing import Any, NamedTuple

from evalkit.contract.model import InvalidRow
from evalkit.contract.values import shorten
from evalkit.contract.words import State

__all__ = ["Blame", "blame_of", "faults_of_code"]

_RAISE = opcode.opmap["RAISE_VARARGS"]
_MOST = 500


class Blame(NamedTuple):
    """The state an exception ends a row in, and the sentence that goes with it."""

    state: State
    reason: str
    error_kind: str


def faults_of_code() -> tuple[type[BaseException], ...]:
    """Return what a metric's or a hook's code may raise that is its row's affair; Ctrl-C is not among it.

    Asked only once something was raised, so that nobody loads asyncio for the name of one exception.
    """
    asyncio = sys.modules.get("asyncio")
    return (Exception, SystemExit, GeneratorExit, *((asyncio.CancelledError,) if asyncio else ()))


def blame_of(error: BaseException, function: Callable[..., Any]) -> Blame:
    """Tell a row that breaks its contract from a metric that is broken.

    `InvalidRow` means the row, and so does exactly ``ValueError`` from a ``raise`` statement in the metric's own
    module; a `ValueError` that something else raised (``int("x")``, a library) is an accident of the metric.
    """
    frames = list(_frames(error.__traceback__))
    own = getattr(inspect.unwrap(function), "__globals__", None)
    place = _place(frames, own)
    text = _text_of(error)
    if isinstance(error, InvalidRow) or (type(error) is ValueError and _is_raised_in(frames, own)):
        return Blame("invalid", text or f"the metric refused the row without a reason ({place})", "contract")
    return Blame("error", f"{type(error).__name__}{': ' if text else ''}{text} ({place})", "exception")


def _frames(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _is_raised_in(frames: list[TracebackType], own: dict[str, Any] | None) -> bool:
    if not frames or frames[-1].tb_frame.f_globals is not own:
        return False
    innermost = frames[-1]
    return innermost.tb_frame.f_code.co_code[innermost.tb_lasti] == _RAISE


def _place(frames: list[TracebackType], own: dict[str, Any] | None) -> str:
    """Name the innermost line of the metric's own module (file name only: no path of this machine is written)."""
    inside = [trace for trace in frames if trace.tb_frame.f_globals is own]
    found = next(reversed(inside or frames), None)
    if found is None:
        return "place unknown"
    code = found.tb_frame.f_code
    return f"{PurePath(code.co_filename).name}, line {found.tb_lineno}, in {code.co_name}"


def _text_of(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception whose own __str__ is broken is still recorded
        return shorten(error)
    return text if len(text) <= _MOST else text[: _MOST - 3] + "..."
