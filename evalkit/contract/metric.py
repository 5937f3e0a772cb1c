"""A metric: a function with a name, a range or labels, and a contract. Made by the same decorators as ragas'."""

from __future__ import annotations

import importlib
import inspect
import operator
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from evalkit.contract.canonical import sha256_of
from evalkit.contract.lint import (
    AllowedValues,
    ContractError,
    Parameter,
    kind_of,
    lint_contract,
    lint_name,
    parameters_of,
)
from evalkit.contract.measure import Measured, build_measure
from evalkit.contract.model import Contract, MetricResult
from evalkit.contract.preparation import Preparation, preparation_of, prepared_measure
from evalkit.contract.source import fingerprint_of
from evalkit.contract.words import Kind

__all__ = ["Metric", "attach", "discrete_metric", "make_metric", "numeric_metric", "ranking_metric"]


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric object; call `score` with named inputs, or the object itself like the function it was made from."""

    name: str
    kind: Kind
    allowed_values: AllowedValues
    function: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    contract: Contract | None = None
    origin: str = "evalkit"
    """``evalkit``, or ``ragas`` for a metric object that was written only against ragas."""
    original: Any = field(default=None, repr=False)
    """The ragas object it was brought from."""
    preparation: Preparation | None = field(default=None, repr=False)
    """Hooks that change inputs before the metric sees them; see `prepared`."""

    @property
    def display_name(self) -> str:
        """What its author calls it: a ragas metric may have any name, of which `name` is the safe form."""
        return str(getattr(self.original, "name", None) or self.name)

    @property
    def version(self) -> str:
        """The contract's version, ``"0"`` where no contract was written."""
        return self.contract.version if self.contract else "0"

    @cached_property
    def measure(self) -> Callable[[Mapping[str, Any]], Measured]:
        """The metric compiled into a function of one row's inputs; it never raises for a bad row or a broken metric."""
        measure = build_measure(
            self.name,
            self.function,
            self.parameters,
            self.allowed_values,
            self.contract,
            is_async=inspect.iscoroutinefunction(self.function),
        )
        return self._after_preparation(measure)

    def _after_preparation(self, measure: Callable[[Mapping[str, Any]], Measured]) -> Callable[..., Measured]:
        return prepared_measure(measure, self.preparation) if self.preparation else measure

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what the metric computes: its source, the helpers and constants it reaches, its allowed values.

        Preparation hooks are part of it, so that limits certified without a hook, or with another one, do not fit.
        """
        return self._with_preparation(fingerprint_of(self.function, self.declaration()))

    def _with_preparation(self, fingerprint: str) -> str:
        return sha256_of([fingerprint, self.preparation.facts()]) if self.preparation else fingerprint

    def preparation_facts(self) -> dict[str, Any] | None:
        """Return what a manifest says of the hooks, and the fingerprint of the metric without them."""
        if self.preparation is None:
            return None
        return {"hooks": self.preparation.facts(), "fingerprint_without": replace(self, preparation=None).fingerprint}

    def prepared(self, **hooks: Callable[[Any], Any]) -> Self:
        """Return this metric with functions that prepare its inputs: ``metric.prepared(response=without_markup)``.

        Each function takes one input as the case has it and returns it as the metric shall see it, of the same type.
        It is called in every command that scores (score, judge, gate, mutate, calibrate, compare, explain). Record and
        labels speak of the raw form; the prepared one is kept beside it, under the contract's retention. What a hook
        spoils is an *error* of the adapter, never a dropped row. Hooks that were there before are replaced as a whole.

        Raises
        ------
        ContractError
            For an input that the metric does not have, or anything but a plain named function.

        Examples
        --------
        >>> from evalkit import evidence_coverage
        >>> def lower(claims: list[str]) -> list[str]:
        ...     return [claim.lower() for claim in claims]
        >>> metric = evidence_coverage.prepared(supported_claim_ids=lower)
        >>> metric.score(required_claim_ids=["a"], supported_claim_ids=["A"]).value
        1.0
        """
        return replace(self, preparation=preparation_of(self.name, self.parameters, hooks))

    def declaration(self) -> dict[str, Any]:
        """Name, kind and allowed values as plain JSON values."""
        plain: Any = self.allowed_values
        if isinstance(plain, range):
            plain = [plain.start, plain.stop, plain.step]
        plain = list(plain) if isinstance(plain, tuple) else plain
        return {"name": self.name, "kind": self.kind, "allowed_values": plain}

    def unanswered(self) -> list[str]:
        """Return the contract questions that nobody has answered (all four, where there is no contract)."""
        if self.contract:
            return []
        roles = "which inputs are reviewed and which produced"
        return ["what it measures", roles, "when a row is invalid", "who reads it"]

    def score(self, *args: Any, **inputs: Any) -> MetricResult:
        """Score one row given as named arguments.

        Returns
        -------
        MetricResult
            With value ``None`` and a reason where the row is invalid, the metric raised, or its value is outside the
            allowed values.

        Raises
        ------
        TypeError
            For a positional call, a missing or unknown argument, or an argument of the wrong type.

        Notes
        -----
        Deliberately stricter than the ragas decorators: see `evalkit.scoring.ragas_bridge`.
        """
        if args:
            raise TypeError(self._positional_message(args))
        names = [parameter.name for parameter in self.parameters]
        if unknown := [name for name in inputs if name not in names]:
            msg = f"{self.name}.score() got unknown arguments: {', '.join(unknown)}; it takes {', '.join(names)}"
            raise TypeError(msg)
        measured = self.measure(inputs)
        if measured.error_kind == "wrong_type" or (measured.error_kind == "missing_input" and self._is_absent(inputs)):
            msg = f"{self.name}.score(): {measured.reason}"
            raise TypeError(msg)
        return MetricResult(measured.value, measured.reason, measured.detail)

    async def ascore(self, *args: Any, **inputs: Any) -> MetricResult:
        """Score one row from asynchronous code; the same as `score`, off the caller's event loop."""
        import asyncio

        return await asyncio.to_thread(self.score, *args, **inputs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the plain function the metric was made from: no check of inputs, no check of its value."""
        return self.function(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        module, qualified = self.function.__module__, self.function.__qualname__
        found = _found_at(module, qualified)
        if found is self:
            return _found_at, (module, qualified)
        if _function_in(found) is not self.function:
            msg = f"{self.name} cannot be pickled: {module} has no {qualified} that holds its function; define it there"
            raise pickle.PicklingError(msg)
        made = (module, qualified, self.allowed_values, self.name, self.contract, self.origin, self.preparation)
        return _made_again, made

    def _is_absent(self, inputs: Mapping[str, Any]) -> bool:
        return any(p.required and inputs.get(p.name) is None for p in self.parameters)

    def _positional_message(self, args: tuple[Any, ...]) -> str:
        names = [parameter.name for parameter in self.parameters]
        given = [f"{name}={value!r}" for name, value in zip(names, args, strict=False)]
        rest = [f"{name}=..." for name in names[len(args) :]]
        return f"{self.name}.score() takes named arguments only; write {self.name}.score({', '.join(given + rest)})"


def make_metric(
    function: Callable[..., Any],
    allowed_values: AllowedValues,
    *,
    name: str | None = None,
    contract: Contract | None = None,
    origin: str = "evalkit",
    original: Any = None,
) -> Metric:
    """Lint a function's declaration and make it a metric."""
    metric_name = name or str(getattr(function, "__name__", ""))
    lint_name(metric_name)
    parameters = parameters_of(metric_name, function)
    if contract:
        lint_contract(metric_name, parameters, contract)
    kind = kind_of(metric_name, allowed_values)
    metric = Metric(metric_name, kind, allowed_values, function, parameters, contract, origin, original)
    object.__setattr__(metric, "__doc__", function.__doc__)
    return metric


def _found_at(module: str, qualified: str) -> Any:
    try:
        return operator.attrgetter(qualified)(importlib.import_module(module))
    except AttributeError:
        return None


def _function_in(found: Any) -> Any:
    return found.function if isinstance(found, Metric) else getattr(found, "_func", found)


def _made_again(
    module: str,
    qualified: str,
    allowed_values: AllowedValues,
    name: str,
    contract: Contract | None,
    origin: str,
    preparation: Preparation | None,
) -> Metric:
    """Unpickle a metric that is not itself an object of a module: one brought from ragas, or given another contract."""
    found = _found_at(module, qualified)
    original = found if origin == "ragas" else None
    function = _function_in(found)
    metric = make_metric(function, allowed_values, name=name, contract=contract, origin=origin, original=original)
    return replace(metric, preparation=preparation) if preparation else metric


def _decorator(
    allowed_values: AllowedValues, name: str | None, contract: Contract | None
) -> Callable[[Callable[..., Any]], Metric]:
    return lambda function: make_metric(function, allowed_values, name=name, contract=contract)


def numeric_metric(
    *,
    name: str | None = None,
    allowed_values: tuple[float, float] | range | None = None,
    contract: Contract | None = None,
) -> Callable[[Callable[..., Any]], Metric]:
    """Make a function a numeric metric.

    Parameters
    ----------
    name : str, optional
        Defaults to the function's name.
    allowed_values : (float, float) or range, optional
        The range of well-formed values, both ends included; ``(0.0, 1.0)`` by default. It is not a threshold.
    contract : Contract, optional
        What it measures and when a row is invalid.

    Examples
    --------
    >>> @numeric_metric(allowed_values=(0.0, 1.0))
    ... def share(found: list[str], wanted: list[str]) -> float:
    ...     return len(set(found) & set(wanted)) / len(wanted)
    >>> share.score(found=["a"], wanted=["a", "b"]).value
    0.5
    """
    return _decorator((0.0, 1.0) if allowed_values is None else allowed_values, name, contract)


def discrete_metric(
    *, name: str | None = None, allowed_values: list[str] | None = None, contract: Contract | None = None
) -> Callable[[Callable[..., Any]], Metric]:
    """Make a function a discrete metric: its value is one of `allowed_values` (``["pass", "fail"]`` by default)."""
    return _decorator(["pass", "fail"] if allowed_values is None else allowed_values, name, contract)


def ranking_metric(
    *, name: str | None = None, allowed_values: int = 2, contract: Contract | None = None
) -> Callable[[Callable[..., Any]], Metric]:
    """Make a function a ranking metric: its value is a list of `allowed_values` items, best first."""
    return _decorator(allowed_values, name, contract)


def attach(metric: Any, contract: Contract) -> Metric:
    """Give a metric its contract without touching the file it is written in.

    `metric` is an evalkit metric or any ragas metric object made by a decorator.
    """
    if not isinstance(metric, Metric):
        # Only this branch needs the bridge; contract is the lowest room, so the import stays inside the call.
        from evalkit.scoring.load import as_metric

        metric = as_metric(metric)
    if not isinstance(metric, Metric):
        msg = f"attach needs a metric object; got {type(metric).__name__}"
        raise ContractError(msg)
    lint_contract(metric.name, metric.parameters, contract)
    return replace(metric, contract=contract)
