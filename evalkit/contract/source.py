"""The source a metric consists of: its function, the helpers and constants it reaches in its module, one hash."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from evalkit.contract.canonical import sha256_of

__all__ = ["Reach", "fingerprint_of", "reach_of"]

_DEEPEST = 12


class Reach(NamedTuple):
    """What a metric's function can reach in its own module."""

    functions: dict[str, FunctionType]
    """By qualified name, the metric's own function first."""
    constants: dict[str, Any]
    """Values that these functions read, by name: module constants, and ``function.name`` for what a closure holds."""
    classes: dict[str, type]
    """Classes of the same module that these functions use, by qualified name."""


def reach_of(function: Callable[..., Any]) -> Reach:
    """Follow the names that `function` reads through its module's globals and its closures.

    Functions are also followed into other metrics of the module, into lists and mappings of functions, and through the
    methods of its classes. What is imported from elsewhere is not: its version is the lock file's business.
    """
    reach = Reach({}, {}, {})
    start = _function_of(function)
    waiting = [start, *_of_its_object(function, start, reach)] if start else []
    seen: set[int] = set()
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        if "." not in current.__qualname__ or "<locals>" in current.__qualname__ or current is start:
            reach.functions[_free_name(current, reach.functions)] = current
        for name, value in _read_by(current):
            waiting += _followed(name, value, current, reach)
    return reach


def _of_its_object(function: Callable[..., Any], start: FunctionType, reach: Reach) -> list[FunctionType]:
    """Follow a method into its object's classes and settings: they decide its result as much as its own lines do."""
    owner = getattr(inspect.unwrap(function), "__self__", None)
    if owner is None:
        return []
    plain = (str, int, float, bool, list, tuple, dict, type(None))
    reach.constants["self"] = {
        name: value if isinstance(value, plain) else type(value).__qualname__
        for name, value in getattr(owner, "__dict__", {}).items()
    }
    found = [_followed(kind.__qualname__, kind, start, reach) for kind in type(owner).__mro__ if kind is not object]
    return [function for functions in found for function in functions]


def _followed(name: str, value: Any, current: FunctionType, reach: Reach) -> list[FunctionType]:
    """Note one value that `current` reads, and return the functions that it leads to."""
    if isinstance(value, type):
        if value.__module__ != current.__module__ or value.__qualname__ in reach.classes:
            return []
        reach.classes[value.__qualname__] = value
        inside: list[Any] = [
            getattr(member, "fget", None) or getattr(member, "__func__", member) for member in vars(value).values()
        ]
    elif _function_of(value):
        inside = [value]
    elif isinstance(value, ModuleType | BuiltinFunctionType):
        return []
    else:
        reach.constants[name] = value
        inside = list(_members(value))
        if type(value).__module__ == current.__module__:  # an object of a class of this module
            return _followed(name, type(value), current, reach)
    found = [function for member in inside if (function := _function_of(member))]
    return [function for function in found if function.__globals__ is current.__globals__]


def _function_of(value: Any) -> FunctionType | None:
    """Return the plain function in a function, a partial, an evalkit metric or a ragas decorator metric."""
    if isinstance(value, functools.partial):
        value = value.func
    if not callable(value):
        return None
    value = inspect.unwrap(value)
    if isinstance(value, MethodType):
        value = value.__func__
    for attribute in ("function", "_func"):
        if not isinstance(value, FunctionType | type):
            value = getattr(value, attribute, value)
    return value if isinstance(value, FunctionType) else None


def _members(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield what a container holds, at any depth: tables of rules hold functions."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if depth <= _DEEPEST and isinstance(value, list | tuple | set | frozenset):
        for member in value:
            yield member
            yield from _members(member, depth + 1)


def _free_name(function: FunctionType, taken: Mapping[str, object]) -> str:
    name, number = function.__qualname__, 1
    while name in taken:  # two lambdas, or two closures made by one function
        number += 1
        name = f"{function.__qualname__}#{number}"
    return name


def _read_by(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield f"{function.__qualname__}.{name}", cell.cell_contents
        except ValueError:  # an empty cell: the name is not bound yet
            continue


def _names(code: CodeType) -> set[str]:
    nested = [_names(const) for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*nested)


# --- fingerprint ----------------------------------------------------------------------------------------------------


def fingerprint_of(function: Callable[..., Any], declaration: object) -> str:
    """Hash the metric's source as it computes: comments, layout and docstrings do not count, helpers and constants do.

    Parameters
    ----------
    function : callable
        The metric's function.
    declaration : object
        Name, kind and allowed values as plain JSON values.
    """
    reach = reach_of(function)
    return sha256_of(
        {
            "declaration": declaration,
            "functions": {name: _normal_source(found) for name, found in reach.functions.items()},
            "defaults": {name: _defaults(found) for name, found in reach.functions.items()},
            "classes": {name: _normal_source(found) for name, found in reach.classes.items()},
            "constants": {name: _stable(value) for name, value in reach.constants.items()},
        }
    )


def _normal_source(found: FunctionType | type) -> str:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(found)))
    except (OSError, TypeError, SyntaxError):
        # No source (typed into a prompt, or compiled away): the code itself still tells two versions apart.
        if isinstance(found, type):
            methods = {name: value for name, value in vars(found).items() if isinstance(value, FunctionType)}
            return _stable({name: _code_facts(method.__code__) for name, method in sorted(methods.items())})
        return _stable(_code_facts(found.__code__))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not isinstance(node, ast.ClassDef):
                node.decorator_list = []
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _code_facts(code: CodeType) -> list[Any]:
    consts = [_code_facts(const) if isinstance(const, CodeType) else const for const in code.co_consts]
    return [code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, consts]


def _defaults(function: FunctionType) -> str:
    # A default may name a constant of the module, which is read when the function is made and in no code of it.
    return _stable([list(function.__defaults__ or ()), function.__kwdefaults__ or {}])


def _stable(value: Any, depth: int = 0) -> str:
    """Show a value by what it is: the same text in every process, whatever the hash seed and the addresses."""
    if depth > _DEEPEST:
        return "..."
    show = functools.partial(_stable, depth=depth + 1)
    kind = type(value).__qualname__
    if isinstance(value, set | frozenset):
        return f"{kind}{{{', '.join(sorted(map(show, value)))}}}"
    if isinstance(value, Mapping):
        return f"{kind}{{{', '.join(f'{show(key)}: {show(item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"{kind}[{', '.join(map(show, value))}]"
    return _stable_leaf(value, show, kind)


def _stable_leaf(value: Any, show: Callable[[Any], str], kind: str) -> str:
    if isinstance(value, enum.Enum):
        return f"{kind}.{value.name}={show(value.value)}"
    if isinstance(value, re.Pattern):
        return f"{kind}({value.pattern!r}, {value.flags})"  # its repr cuts a long pattern
    if isinstance(value, type) or _function_of(value):
        return f"<{getattr(value, '__qualname__', kind)}>"
    if dataclasses.is_dataclass(value):
        return f"{kind}({', '.join(f'{f.name}={show(getattr(value, f.name))}' for f in dataclasses.fields(value))})"
    if hasattr(value, "tolist"):  # a numpy array, whose repr leaves its middle out
        return f"{kind}({show(value.tolist())})"
    shown = repr(value)
    return kind if re.search(r" at 0x[0-9a-fA-F]+", shown) else shown
