"""The lint of a metric at its definition: signature, range or labels, name and roles, refused with the mend."""

from __future__ import annotations

import inspect
import keyword
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.contract.faults import EvalkitError
from evalkit.contract.model import Contract
from evalkit.contract.words import CASE_KEYS, Kind

__all__ = ["AllowedValues", "ContractError", "Parameter", "kind_of", "lint_contract", "lint_name", "parameters_of"]

AllowedValues = tuple[float, float] | range | list[str] | int

# Names that would collide with a column of a record or of a frame of results.
_RESERVED = CASE_KEYS | {
    "line", "state", "value", "reason", "detail", "error_kind", "decision", "minimum", "policy_version", "inputs",
    "input_hash", "evidence_hash", "seen_hash", "owner", "judge", "lineage",
}  # fmt: skip

_PLAIN = (str, int, float, bool, type(None))
_LARGEST = sys.float_info.max


class ContractError(EvalkitError, ValueError):
    """A metric or its contract is declared in a way that could not be enforced."""


class Parameter(NamedTuple):
    """One input of a metric, as its signature declares it."""

    name: str
    annotation: Any
    required: bool
    is_list: bool
    is_optional: bool


def lint_name(name: str) -> None:
    """Refuse a name that could not be a column, a folder and a command-line word at once."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name) or len(name) > 64:
        msg = f"a metric's name must be an ASCII identifier of at most 64 characters; got {name!r}"
        raise ContractError(msg, do="rename it, for example 'evidence_coverage'")
    if name in _RESERVED:
        msg = f"a metric may not be named {name!r}: that is a field of every case or record"
        raise ContractError(msg, do="choose another name")


def kind_of(name: str, allowed_values: AllowedValues) -> Kind:
    """Return the kind that `allowed_values` declares, or say what is wrong with them."""
    if isinstance(allowed_values, bool):
        kind: Kind | None = None
    elif isinstance(allowed_values, int):
        kind = "ranking" if allowed_values >= 1 else None
    elif isinstance(allowed_values, range):
        kind = "numeric" if len(allowed_values) > 1 else None
    elif isinstance(allowed_values, list):
        kind = "discrete" if _distinct_labels(allowed_values) else None
    else:
        kind = "numeric" if _ordered_range(allowed_values) else None
    if kind is None:
        msg = (
            f"allowed_values of {name} must be a finite, ordered pair (low, high), a range of integers, a list of at "
            f"least two labels that differ by more than case, or the length of a ranking; got {allowed_values!r}"
        )
        raise ContractError(msg)
    return kind


def _ordered_range(pair: object) -> bool:
    if not isinstance(pair, tuple) or len(pair) != 2:
        return False
    if any(isinstance(end, bool) or not isinstance(end, int | float) for end in pair):
        return False
    # An int beyond any float would pass math.isfinite by raising; NaN is below nothing.
    return bool(-_LARGEST <= pair[0] < pair[1] <= _LARGEST)


def _distinct_labels(labels: Sequence[object]) -> bool:
    if len(labels) < 2 or not all(isinstance(label, str) and label.strip() == label and label for label in labels):
        return False
    return len({str(label).casefold() for label in labels}) == len(labels)


def parameters_of(name: str, function: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Read a metric's signature, refusing what would make rows fail or arguments vanish.

    Parameters must be annotated, public, named, of plain JSON types, and neither ``*args`` nor ``**kwargs``.
    """
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        msg = f"an annotation of {name} cannot be read ({error}): it names something that is not at module level"
        raise ContractError(msg, do="annotate with plain types such as str, float, list[str]") from error
    parameters = tuple(_parameter(name, raw, hints) for raw in inspect.signature(function).parameters.values())
    if not parameters:
        msg = f"{name} takes no input"
        raise ContractError(msg, do="name the inputs it scores as annotated parameters")
    return parameters


def _parameter(metric: str, raw: inspect.Parameter, hints: Mapping[str, Any]) -> Parameter:
    where = f"parameter {raw.name!r} of {metric}"
    if raw.kind in (raw.VAR_POSITIONAL, raw.VAR_KEYWORD):
        msg = f"{where} collects whatever it is given (* or **): a misspelt key would vanish in it"
        raise ContractError(msg, do="name every input")
    if raw.kind is raw.POSITIONAL_ONLY:
        msg = f"{where} is positional-only, but scores are called with named arguments"
        raise ContractError(msg, do="remove the '/'")
    if raw.name.startswith("_"):
        msg = f"{where} is private (leading underscore): a value passed to it would be ignored by ragas"
        raise ContractError(msg, do="rename it, or make it a constant of the module")
    if raw.annotation is raw.empty:
        msg = f"{where} has no annotation: text could arrive where a list is meant, and be scored"
        raise ContractError(msg, do=f"annotate it, for example {raw.name}: str or {raw.name}: list[str]")
    annotation = hints[raw.name]
    if annotation is Any or not _is_plain(annotation):
        shown = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        msg = f"{where} is annotated {shown}, which is not a plain JSON type"
        mend = "use str, int, float, bool, None, Literal, list[...], dict[str, ...] or a TypedDict"
        raise ContractError(msg, do=mend)
    options = _options(annotation)
    return Parameter(
        name=raw.name,
        annotation=annotation,
        required=raw.default is raw.empty,
        is_list=any((typing.get_origin(option) or option) is list for option in options),
        is_optional=type(None) in options,
    )


def _options(annotation: Any) -> tuple[Any, ...]:
    if typing.get_origin(annotation) is typing.Annotated:
        return _options(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.get_args(annotation)
    return (annotation,)


def _is_plain(annotation: Any) -> bool:
    if annotation is Any or annotation in _PLAIN or annotation in (list, dict) or typing.is_typeddict(annotation):
        return True
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return all(isinstance(value, str | int | bool) or value is None for value in arguments)
    if origin in (list, dict) and not arguments:
        return True  # typing.List and typing.Dict, written without what they hold
    if origin is dict:
        return arguments[0] is str and _is_plain(arguments[1])
    if origin in (list, typing.Annotated):
        return _is_plain(arguments[0])
    return origin in (typing.Union, types.UnionType) and all(map(_is_plain, arguments))


def lint_contract(name: str, parameters: Sequence[Parameter], contract: Contract) -> None:
    """Check that the contract names each parameter in exactly one role, and allows only what the types admit."""
    names = [parameter.name for parameter in parameters]
    roles = [*contract.reviewed, *contract.produced]
    for parameter in names:
        if roles.count(parameter) != 1:
            times = "in no role" if parameter not in roles else "more than once"
            msg = f"parameter {parameter!r} of {name} stands {times} in its contract"
            raise ContractError(msg, do="name it exactly once, in reviewed (facts) or produced (output)")
    if unknown := [role for role in roles if role not in names]:
        msg = f"the contract of {name} gives a role to {', '.join(map(repr, unknown))}, which it does not take"
        raise ContractError(msg, do=f"its parameters are {', '.join(names)}")
    by_name = {parameter.name: parameter for parameter in parameters}
    for parameter, kinds in contract.allows_missing.items():
        if parameter not in by_name:
            msg = f"allows_missing of {name} names {parameter!r}, which is not a parameter"
            raise ContractError(msg, do=f"its parameters are {', '.join(names)}")
        if "null" in kinds and not by_name[parameter].is_optional:
            msg = f"allows_missing of {name} accepts null for {parameter!r}, but its annotation does not"
            raise ContractError(msg, do=f"annotate it {parameter}: ... | None")
        if "[]" in kinds and not by_name[parameter].is_list:
            msg = f"allows_missing of {name} accepts [] for {parameter!r}, which is not a list"
            raise ContractError(msg, do="remove the entry")
