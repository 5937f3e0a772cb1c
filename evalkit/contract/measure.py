"""One row through one metric: strict inputs, the call, and the state it ends in. No event loop per row, no ragas."""

from __future__ import annotations

import asyncio
import contextlib
import math
import opcode
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import PurePath
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.contract.lint import AllowedValues, Parameter
from evalkit.contract.model import Contract, InvalidRow, MetricResult
from evalkit.contract.words import State

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["Measured", "build_measure", "run_coroutine"]

_RAISE = opcode.opmap["RAISE_VARARGS"]


class Measured(NamedTuple):
    """What one row came to."""

    state: State
    value: float | int | str | list[Any] | None
    reason: str
    detail: Mapping[str, Any]
    error_kind: str | None
    """Which rule was broken, for ``invalid`` and ``error``: ``missing_input``, ``wrong_type``, ``contract``,
    ``exception``, ``out_of_range``, ``not_a_number``, ``not_finite``, ``unlisted_label``, ``wrong_shape``."""


def build_measure(
    name: str,
    function: Callable[..., Any],
    parameters: Sequence[Parameter],
    allowed_values: AllowedValues,
    contract: Contract | None,
    *,
    is_async: bool,
) -> Callable[[Mapping[str, Any]], Measured]:
    """Compile a metric once into a function of one row's inputs.

    The signature becomes one strict pydantic validator: no bool as a number, no text read as a number, no coercion.
    """
    validate = _validator(name, parameters)
    check_value = _value_check(name, allowed_values)
    undeclared_empty = _undeclared_empty(parameters, contract)
    check_null = _null_check(parameters, contract)
    call = (lambda **inputs: run_coroutine(function(**inputs))) if is_async else function

    def measure(inputs: Mapping[str, Any]) -> Measured:
        if (problem := check_null(inputs)) is not None:
            return Measured("invalid", None, problem, {}, "missing_input")
        try:
            arguments = validate(inputs)
        except Exception as error:
            return Measured("invalid", None, _input_problem(error), {}, "wrong_type")
        try:
            result = call(**arguments)
        except (Exception, SystemExit) as error:
            return _fault(error, function)
        reason, detail = "", {}
        if hasattr(result, "value") and hasattr(result, "reason"):
            # evalkit's MetricResult, or ragas': unwrapped at once, because the latter is neither comparable nor plain.
            reason, detail, result = result.reason or "", getattr(result, "detail", None) or {}, result.value
        measured = check_value(result, reason, detail)
        for parameter in undeclared_empty:
            if measured.state == "scored" and inputs.get(parameter) == []:
                text = f"{parameter} is []: the contract does not say what an empty list means for it"
                return Measured("invalid", None, text, {}, "missing_input")
        return measured

    return measure


# --- inputs ---------------------------------------------------------------------------------------------------------


def _validator(name: str, parameters: Sequence[Parameter]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    from pydantic import ConfigDict, TypeAdapter, with_config
    from typing_extensions import NotRequired, TypedDict

    fields = {p.name: p.annotation if p.required else NotRequired[p.annotation] for p in parameters}
    schema = TypedDict(f"inputs_of_{name}", fields)  # type: ignore[misc]
    with_config(ConfigDict(strict=True, extra="ignore"))(schema)
    adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(schema)
    return adapter.validator.validate_python


def _null_check(
    parameters: Sequence[Parameter], contract: Contract | None
) -> Callable[[Mapping[str, Any]], str | None]:
    """Absent and null are checked before types, so that the message speaks of what is missing."""
    required = [p.name for p in parameters if p.required]
    allowed = contract.allows_missing if contract else {}
    refuses_null = [p.name for p in parameters if not (p.is_optional and (not contract or "null" in allowed.get(p.name, ())))]

    def check(inputs: Mapping[str, Any]) -> str | None:
        for name in required:
            if name not in inputs:
                return f"{name} is absent: the metric cannot be computed without it"
        for name in refuses_null:
            if inputs.get(name, 0) is None:
                return f"{name} is null (lost or never recorded): the contract does not allow it to be missing"
        return None

    return check


def _undeclared_empty(parameters: Sequence[Parameter], contract: Contract | None) -> list[str]:
    if contract is None:
        return []
    return [p.name for p in parameters if p.is_list and "[]" not in contract.allows_missing.get(p.name, ())]


def _input_problem(error: Exception) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return f"the inputs cannot be read: {error}"
    return "; ".join(_one_problem(error)[:3])


def _one_problem(error: ValidationError) -> list[str]:
    problems = []
    for found in error.errors(include_url=False):
        first, *rest = found["loc"]
        where = str(first) + "".join(f"[{part!r}]" if isinstance(part, str) else f"[{part}]" for part in rest)
        came = repr(found["input"])
        came = came if len(came) <= 60 else came[:57] + "..."
        problems.append(f"{where}: {found['msg'][0].lower()}{found['msg'][1:]}; got {type(found['input']).__name__} {came}")
    return problems


# --- results --------------------------------------------------------------------------------------------------------


def _value_check(
    name: str, allowed: AllowedValues
) -> Callable[[Any, str, Mapping[str, Any]], Measured]:
    """Return the check of a metric's value; a value that breaks it is the metric's fault, never the row's."""

    def broken(kind: str, text: str) -> Measured:
        return Measured("error", None, f"{name} returned {text}", {}, kind)

    def number(value: Any, reason: str, detail: Mapping[str, Any]) -> Measured:
        if type(value) is not float and type(value) is not int:
            value = _from_numpy(value)
            if isinstance(value, bool) or not isinstance(value, int | float):
                return broken("not_a_number", f"{_short(value)} ({type(value).__name__}), not a number")
        if not math.isfinite(value):
            return broken("not_finite", f"{value!r}, not a finite number")
        inside = value in allowed if isinstance(allowed, range) else allowed[0] <= value <= allowed[1]  # type: ignore[index]
        if not inside:
            return broken("out_of_range", f"{value!r}, outside its range {allowed!r}")
        return Measured("scored", value if isinstance(allowed, range) else float(value), reason, detail, None)

    def label(value: Any, reason: str, detail: Mapping[str, Any]) -> Measured:
        if not isinstance(value, str):
            return broken("wrong_shape", f"{_short(value)} ({type(value).__name__}), not a label")
        if value not in allowed:  # type: ignore[operator]
            return broken("unlisted_label", f"{_short(value)}, not one of {allowed!r}")
        return Measured("scored", value, reason, detail, None)

    def ranking(value: Any, reason: str, detail: Mapping[str, Any]) -> Measured:
        if not isinstance(value, list) or len(value) != allowed:
            return broken("wrong_shape", f"{_short(value)}, not a list of {allowed} items")
        return Measured("scored", value, reason, detail, None)

    return number if isinstance(allowed, tuple | range) else label if isinstance(allowed, list) else ranking


def _from_numpy(value: Any) -> Any:
    # A numpy scalar is converted once; it is recognised by its module, so that numpy need not be imported.
    is_scalar = type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0
    return value.item() if is_scalar else value


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


# --- faults ---------------------------------------------------------------------------------------------------------


def _fault(error: BaseException, function: Callable[..., Any]) -> Measured:
    if isinstance(error, InvalidRow) or (type(error) is ValueError and _is_raised_by(error.__traceback__, function)):
        return Measured("invalid", None, str(error), {}, "contract")
    return Measured("error", None, f"{type(error).__name__}: {error} ({_place(error.__traceback__, function)})", {}, "exception")


def _is_raised_by(trace: TracebackType | None, function: Callable[..., Any]) -> bool:
    """Tell a ``raise`` statement in the metric's own module from an accident such as ``int("x")`` in it."""
    last = None
    while trace is not None:
        last, trace = trace, trace.tb_next
    if last is None or last.tb_frame.f_globals is not _globals_of(function):
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] == _RAISE


def _place(trace: TracebackType | None, function: Callable[..., Any]) -> str:
    """Name the innermost line of the metric's own module (file name only: no path of this machine is written)."""
    own, last = None, None
    while trace is not None:
        last = trace
        if trace.tb_frame.f_globals is _globals_of(function):
            own = trace
        trace = trace.tb_next
    found = own or last
    if found is None:
        return "place unknown"
    code = found.tb_frame.f_code
    return f"{PurePath(code.co_filename).name}, line {found.tb_lineno}, in {code.co_name}"


def _globals_of(function: Callable[..., Any]) -> dict[str, Any] | None:
    return function.__globals__ if isinstance(function, FunctionType) else None


# --- async ----------------------------------------------------------------------------------------------------------

_loop: asyncio.AbstractEventLoop | None = None
_loop_lock = threading.Lock()


def run_coroutine(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end from synchronous code, on evalkit's own loop in its own thread.

    A notebook kernel already runs a loop; patching it (as ragas' ``score`` does) changes every later cell, so it is
    left alone.
    """
    global _loop
    with _loop_lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="evalkit-async-metrics", daemon=True).start()
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop)
    with contextlib.suppress(KeyboardInterrupt):
        return future.result()
    future.cancel()
    raise KeyboardInterrupt
