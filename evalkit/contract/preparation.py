"""Preparation hooks: a function per input that changes a text before the metric sees it; both forms stay known."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, NamedTuple

from evalkit.contract.blame import faults_of_code
from evalkit.contract.canonical import canonical_json
from evalkit.contract.lint import ContractError, Parameter
from evalkit.contract.measure import Measured
from evalkit.contract.source import fingerprint_of
from evalkit.contract.values import shorten

__all__ = ["FAULT", "Preparation", "Received", "preparation_of", "prepared_measure"]

FAULT = "preparation"
"""The ``error_kind`` of a row that a hook has spoilt."""

Hook = Callable[[Any], Any]


class Received(NamedTuple):
    """What a metric receives of one row."""

    inputs: dict[str, Any]
    """Prepared where there is a hook, as the case has them otherwise."""
    forms: dict[str, Any]
    """The prepared form of each input that a hook was called on."""
    problem: str | None
    """What a hook did wrong; the metric is then not called."""


@dataclass(frozen=True, eq=False)
class Preparation:
    """The hooks of a metric, by the input that each prepares, and the check of what goes in and comes out."""

    hooks: Mapping[str, FunctionType]
    annotations: Mapping[str, Any]
    """By input, the type that the metric takes."""

    @cached_property
    def checks(self) -> Mapping[str, Callable[[Any], object]]:
        """By input: raises for a value that the metric does not take."""
        from pydantic import ConfigDict, TypeAdapter

        strict = ConfigDict(strict=True, allow_inf_nan=False)
        adapters = {name: TypeAdapter(self.annotations[name], config=strict) for name in self.hooks}
        return {name: found.validator.validate_python for name, found in adapters.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return Preparation, (self.hooks, self.annotations)  # what is compiled from them cannot be pickled

    def facts(self) -> dict[str, dict[str, str]]:
        """Return name and source hash of each hook: what a manifest shows."""
        return {
            name: {"hook": hook.__qualname__, "sha256": fingerprint_of(hook, hook.__qualname__)}
            for name, hook in self.hooks.items()
        }

    def in_words(self) -> str:
        """Say what is prepared by what."""
        named = ", ".join(f"{name} by {hook.__qualname__}" for name, hook in self.hooks.items())
        return f"prepared before the metric sees it: {named} (both forms are in each record)"

    def of(self, inputs: Mapping[str, Any]) -> Received:
        """Prepare one row's inputs.

        A hook is called on what is there and of the right type. Lost (``null``), none (``[]``) and misshapen inputs are
        facts about the row, so they pass as they are, for the contract to judge.
        """
        # A judge's row is checked first and rendered afterwards: both must see one form, whatever the hook does.
        last = self._last.get("row")
        if last is None or last[0] != inputs:
            last = self._last["row"] = (dict(inputs), self._made(inputs))
        return last[1]

    @cached_property
    def _last(self) -> dict[str, tuple[dict[str, Any], Received]]:
        return {}

    def _made(self, inputs: Mapping[str, Any]) -> Received:
        received: dict[str, Any] = dict(inputs)
        forms: dict[str, Any] = {}
        for name, hook in self.hooks.items():
            value = inputs.get(name)
            if value is None or value == [] or not _passes(self.checks[name], value):
                continue
            try:
                # A hook that sorts a list in place must not change the raw form.
                form = hook(copy.deepcopy(value) if isinstance(value, list) else value)
            except faults_of_code() as error:
                said = f": {error}" if str(error) else ""
                return Received(received, forms, f"{hook.__qualname__}({name}) raised {type(error).__name__}{said}")
            if not _passes(self.checks[name], form) or form is None or form == []:
                came = f"{type(form).__name__} {shorten(form, most=60)}"
                return Received(received, forms, f"{hook.__qualname__}({name}) returned no {name}; got {came}")
            received[name] = forms[name] = form
        return Received(received, forms, None)


def _passes(check: Callable[[Any], object], value: Any) -> bool:
    try:
        check(value)
        canonical_json(value)
    except Exception:  # noqa: BLE001 - pydantic's own or the writer's: either way it is not such a value
        return False
    return True


def preparation_of(metric: str, parameters: Sequence[Parameter], hooks: Mapping[str, Any]) -> Preparation:
    """Check a declaration of hooks.

    Raises
    ------
    ContractError
        For no hook at all, an input that the metric does not have, or what is not a plain named function: the record
        names the hook and the manifest its source, so there must be a name and a source.
    """
    annotations = {parameter.name: parameter.annotation for parameter in parameters}
    for name, hook in hooks.items():
        if name not in annotations:
            msg = f"{metric} has no input {name!r} that could be prepared"
            raise ContractError(msg, do=f"its inputs are {', '.join(annotations)}")
        is_named = isinstance(hook, FunctionType) and hook.__name__ != "<lambda>"
        if not is_named or inspect.iscoroutinefunction(hook):
            msg = f"the preparation of {name} must be a plain function with a name; got {hook!r:.80}"
            raise ContractError(msg, do="write `def` for it: one argument, the input; it returns the prepared input")
    if not hooks:
        msg = f"prepared() of {metric} names no input"
        raise ContractError(msg, do=f"for example {metric}.prepared({next(iter(annotations))}=function)")
    return Preparation(dict(hooks), {name: annotations[name] for name in hooks})


def prepared_measure(
    measure: Callable[[Mapping[str, Any]], Measured], preparation: Preparation
) -> Callable[[Mapping[str, Any]], Measured]:
    """Put the preparation before a compiled metric; what it made of each input travels with the result."""

    def measured(inputs: Mapping[str, Any]) -> Measured:
        received = preparation.of(inputs)
        if received.problem is not None:
            return Measured("error", None, received.problem, {}, FAULT, received.forms)
        found = measure(received.inputs)
        if found.state == "invalid" and received.forms and measure(inputs).state != "invalid":
            # The row itself keeps the contract, so whoever wrote the hook is told, not the owner of the test data.
            names = ", ".join(f"{preparation.hooks[name].__qualname__}({name})" for name in received.forms)
            reason = f"in order before {names}, unfit after it: {found.reason}"
            return Measured("error", None, reason, {}, FAULT, received.forms)
        return found._replace(prepared=received.forms)

    return measured
