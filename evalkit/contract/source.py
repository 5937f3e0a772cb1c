"""The source a metric consists of: its function, the helpers and constants it reaches in its module, one fingerprint."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from evalkit.contract.canonical import sha256_of

__all__ = ["Reach", "fingerprint_of", "reach_of"]

_CONSTANTS = (bool, int, float, str, bytes, tuple, frozenset, list, dict, set, re.Pattern, type(None))


class Reach(NamedTuple):
    """What a metric's function can reach in its own module."""

    functions: dict[str, FunctionType]
    """By qualified name, the metric's own function first."""
    constants: dict[str, Any]
    """Module constants and closure values that these functions read, by name."""


def reach_of(function: Callable[..., Any]) -> Reach:
    """Follow the names that `function` reads through its module's globals and its closures."""
    functions: dict[str, FunctionType] = {}
    constants: dict[str, Any] = {}
    waiting = [function] if isinstance(function, FunctionType) else []
    while waiting:
        current = waiting.pop(0)
        if current.__qualname__ in functions:
            continue
        functions[current.__qualname__] = current
        for name, value in _read_by(current):
            value = inspect.unwrap(value) if callable(value) else value
            if isinstance(value, FunctionType):
                if value.__globals__ is current.__globals__:
                    waiting.append(value)
            elif isinstance(value, _CONSTANTS):
                constants[name] = value
    return Reach(functions, constants)


def _read_by(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # an empty cell: the name is not bound yet
            continue


def _names(code: CodeType) -> set[str]:
    nested = [_names(const) for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*nested)


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
            "constants": {name: _stable_repr(value) for name, value in reach.constants.items()},
        }
    )


def _normal_source(function: FunctionType) -> str:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        # No source (typed into a prompt, or compiled away): the code itself still tells two versions apart.
        code = function.__code__
        return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {_code_consts(code)}"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.decorator_list = []
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _code_consts(code: CodeType) -> list[str]:
    return [_code_consts(c).__repr__() if isinstance(c, CodeType) else repr(c) for c in code.co_consts]


def _stable_repr(value: object) -> str:
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__}({sorted(map(repr, value))})"
    return repr(value)
