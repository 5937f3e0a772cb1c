"""One row through one metric: strict inputs, the call, and the state it ends in. No event loop per row, no ragas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NotRequired

from evalkit.contract.blame import blame_of, faults_of_code
from evalkit.contract.faults import example_list
from evalkit.contract.lint import AllowedValues, Parameter
from evalkit.contract.model import Contract, MetricResult
from evalkit.contract.own_loop import run_coroutine
from evalkit.contract.values import BadValue, shorten, value_check
from evalkit.contract.words import State

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["Measured", "build_measure", "quotable"]


class Measured(NamedTuple):
    """What one row came to."""

    state: State
    value: float | int | str | list[Any] | None
    reason: str
    detail: Mapping[str, Any]
    error_kind: str | None
    """Which rule was broken, for ``invalid`` and ``error``: ``missing_input``, ``wrong_type``, ``contract``,
    ``exception``, ``out_of_range``, ``not_a_number``, ``not_finite``, ``unlisted_label``, ``wrong_shape``,
    ``preparation``."""
    prepared: Mapping[str, Any] | None = None
    """The inputs that preparation hooks changed, as the metric received them; ``None`` without hooks."""


class _Result(NamedTuple):
    value: Any
    reason: Any
    detail: Any


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
    check_value = value_check(allowed_values)
    undeclared_empty = _undeclared_empty(parameters, contract)
    missing_input = _null_check(parameters, contract)
    may_quote = quotable(parameters, contract)

    call: Callable[..., Any] = (lambda **inputs: run_coroutine(function(**inputs))) if is_async else function

    def result_of(arguments: Mapping[str, Any]) -> Measured:
        try:
            value, reason, detail = _unwrapped(call(**arguments))
        except faults_of_code() as error:
            blame = blame_of(error, function)
            return Measured(blame.state, None, blame.reason, {}, blame.error_kind)
        # The exact type first: asking whether a dict is a Mapping takes longer than all the other checks of a row.
        if not (isinstance(reason, str) and (type(detail) is dict or isinstance(detail, Mapping))):
            text = (
                f"{name} returned a reason of type {type(reason).__name__} and a detail of type {type(detail).__name__}"
            )
            return Measured("error", None, f"{text}: a text and an object are expected", {}, "wrong_shape")
        try:
            return Measured("scored", check_value(value), reason, detail, None)
        except BadValue as bad:
            return Measured("error", None, f"{name} returned {bad}", {}, bad.kind)

    def measure(inputs: Mapping[str, Any]) -> Measured:
        if (problem := missing_input(inputs)) is not None:
            return Measured("invalid", None, problem, {}, "missing_input")
        try:
            arguments = validate(inputs if type(inputs) is dict else dict(inputs))
        except Exception as error:  # noqa: BLE001 - pydantic's own, or what a foreign mapping raises: the row's either way
            return Measured("invalid", None, _input_problem(error, may_quote), {}, "wrong_type")
        measured = result_of(arguments)
        for parameter in undeclared_empty:
            # Asked after the call, because a metric that refuses an empty list itself says why in better words.
            if inputs.get(parameter) == [] and measured.state != "invalid":
                text = f"{parameter} is []: the contract does not say what an empty list means for it"
                return Measured("invalid", None, text, {}, "missing_input")
        return measured

    return measure


def _unwrapped(returned: Any) -> _Result:
    """Take evalkit's result or ragas' apart at once; the latter is neither comparable nor plain (field case A10)."""
    if type(returned) is MetricResult:
        return _Result(returned.value, returned.reason or "", returned.detail or {})
    if hasattr(returned, "value") and hasattr(returned, "reason"):
        return _Result(returned.value, returned.reason or "", getattr(returned, "detail", None) or {})
    return _Result(returned, "", {})


# --- inputs ---------------------------------------------------------------------------------------------------------


def _validator(name: str, parameters: Sequence[Parameter]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    from pydantic import ConfigDict, TypeAdapter, with_config
    from typing_extensions import TypedDict  # pydantic asks for it below Python 3.12

    fields = {p.name: p.annotation if p.required else NotRequired[p.annotation] for p in parameters}
    schema: Any = TypedDict(f"inputs_of_{name}", fields)  # type: ignore[misc] # the fields are known only now
    with_config(ConfigDict(strict=True, extra="ignore", allow_inf_nan=False))(schema)
    adapter: TypeAdapter[Any] = TypeAdapter(schema)
    validate: Callable[[Mapping[str, Any]], dict[str, Any]] = adapter.validator.validate_python
    return validate


def _null_check(
    parameters: Sequence[Parameter], contract: Contract | None
) -> Callable[[Mapping[str, Any]], str | None]:
    """Absent and null are checked before types, so that the message speaks of what is missing."""
    required = [p.name for p in parameters if p.required]
    refuses_null = [p.name for p in parameters if not _takes_null(p, contract)]

    def check(inputs: Mapping[str, Any]) -> str | None:
        for name in required:
            if name not in inputs:
                return f"{name} is absent: the metric cannot be computed without it"
        for name in refuses_null:
            if inputs.get(name, 0) is None:
                return f"{name} is null (lost or never recorded): the contract does not allow it to be missing"
        return None

    return check


def _takes_null(parameter: Parameter, contract: Contract | None) -> bool:
    if contract is None:
        return parameter.is_optional
    return "null" in contract.allows_missing.get(parameter.name, ())


def _undeclared_empty(parameters: Sequence[Parameter], contract: Contract | None) -> list[str]:
    if contract is None:
        return []
    return [p.name for p in parameters if p.is_list and "[]" not in contract.allows_missing.get(p.name, ())]


def quotable(parameters: Sequence[Parameter], contract: Contract | None) -> frozenset[str]:
    """Return the inputs whose text a reason may quote: none that is kept by hash, nor any where texts are redacted.

    A redaction cannot be relied on here: of a text cut for the reason, it may not recognise what it would take out.
    """
    if contract is None:
        return frozenset(parameter.name for parameter in parameters)
    if contract.redact is not None:
        return frozenset()
    return frozenset(p.name for p in parameters if contract.retention.get(p.name) != "hash")


def _input_problem(error: Exception, may_quote: frozenset[str]) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return f"the inputs cannot be read: {error}"
    return example_list(_problems(error, may_quote), most=3)


def _problems(error: ValidationError, may_quote: frozenset[str]) -> list[str]:
    problems = []
    for found in error.errors(include_url=False):
        first, *rest = found["loc"] or ("the row",)
        where, came = str(first), type(found["input"]).__name__
        if first in may_quote:
            where += "".join(f"[{part!r}]" if isinstance(part, str) else f"[{part}]" for part in rest)
            came += f" {shorten(found['input'], most=60)}"
        problems.append(f"{where}: {found['msg'][0].lower()}{found['msg'][1:]}; got {came}")
    return problems
