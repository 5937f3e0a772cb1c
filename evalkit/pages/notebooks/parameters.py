"""Parameters of a notebook, held strictly: papermill itself ignores unknown names and enforces no type."""

from __future__ import annotations

import ast
import math
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.contract import EvalkitError
from evalkit.pages.notebooks.nbfile import notebook_text

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = [
    "Declared",
    "declared_in",
    "declared_types",
    "injected_names",
    "read_parameters",
    "split_pairs",
    "value_problems",
]

Value = bool | int | float | str
_TYPES: dict[str, type[Value]] = {"bool": bool, "int": int, "float": float, "str": str}
_WRITE = {"bool": "true or false", "int": "a whole number", "float": "a finite number", "str": "a text"}


class Declared(NamedTuple):
    """One name of a parameters cell: ``name: type = default  # help``."""

    name: str
    type_name: str | None
    """``bool``, ``int``, ``float`` or ``str``; ``None`` where the cell gives no type."""
    default: str
    help: str


def declared_in(notebook: NotebookNode) -> list[Declared]:
    """Return what papermill reads out of the parameters cell.

    Raises
    ------
    EvalkitError
        Where that differs from what Python reads: papermill passes over a line it cannot parse, and would then
        take its parameter for an unknown one.
    """
    from papermill import inspect_notebook

    with tempfile.TemporaryDirectory(prefix="evalkit-notebook-") as folder:
        path = Path(folder) / "source.ipynb"
        path.write_text(notebook_text(notebook), encoding="utf-8")
        found: Mapping[str, Mapping[str, Any]] = inspect_notebook(str(path))
    tagged = [cell.source for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    written = [name for source in tagged[:1] for name in _assigned(source)]
    if lost := [name for name in written if name not in found]:
        msg = f"papermill cannot read the line of {lost[0]!r} in the parameters cell"
        raise EvalkitError(msg, do="write it as `name: type = value  # help`, with no other equals sign in the line")
    return [
        Declared(name, _type_name(facts["inferred_type_name"]), facts["default"], facts["help"])
        for name, facts in found.items()
    ]


def _type_name(inferred: str) -> str | None:
    return None if inferred == "None" else inferred


def _assigned(source: str) -> list[str]:
    body = _statements(source)
    plain = [ast.unparse(target) for s in body if isinstance(s, ast.Assign) for target in s.targets]
    return plain + [ast.unparse(s.target) for s in body if isinstance(s, ast.AnnAssign)]


def split_pairs(pairs: Sequence[str]) -> dict[str, str]:
    """Take ``-p NAME=VALUE`` options apart; only the first ``=`` separates."""
    given: dict[str, str] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator or not name.isidentifier():
            msg = f"-p must be NAME=VALUE; got {pair!r}"
            raise EvalkitError(msg, do="for example: -p cases=rows.jsonl")
        if name in given:
            msg = f"-p gives {name!r} twice: {given[name]!r} and {text!r}"
            raise EvalkitError(msg, do="give each parameter once")
        given[name] = text
    return given


def read_parameters(declared: Sequence[Declared], given: Mapping[str, str]) -> dict[str, Value]:
    """Read the text of each given parameter by the type its notebook declares.

    Nothing is guessed from the text: ``007`` stays text for a ``str``, ``no`` is refused for a ``bool`` (as non-empty
    text it would count as true), and ``nan`` is refused for a ``float``.

    Raises
    ------
    EvalkitError
        With every problem at once, and the names that are known.

    Examples
    --------
    >>> cell = [Declared("limit", "float", "0.8", ""), Declared("run", "str", "''", "")]
    >>> read_parameters(cell, {"limit": "1e-3", "run": "007"})
    {'limit': 0.001, 'run': '007'}
    """
    known = {parameter.name: parameter for parameter in declared}
    values: dict[str, Value] = {}
    problems: list[str] = []
    for name, text in given.items():
        try:
            values[name] = _read(known, name, text)
        except ValueError as problem:
            problems.append(str(problem))
    if problems:
        names = ", ".join(f"{p.name} ({p.type_name or 'no type'})" for p in declared)
        do = f"its parameters are {names}" if names else "tag its first code cell 'parameters' (name: type = value)"
        raise EvalkitError("; ".join(problems), do=do)
    return values


def _read(known: Mapping[str, Declared], name: str, text: str) -> Value:
    parameter = known.get(name)
    if parameter is None:
        msg = f"the notebook has no parameter {name!r}{_nearest(name, known)}"
        raise ValueError(msg)
    if parameter.type_name not in _TYPES:
        msg = f"{name} is declared {parameter.type_name or 'without a type'}; only {', '.join(_TYPES)} can be given"
        raise ValueError(msg)
    value = _READERS[parameter.type_name](text)
    if value is None:
        msg = f"{name} must be {_WRITE[parameter.type_name]}; got {text!r}"
        raise ValueError(msg)
    return value


def _read_bool(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


def _read_int(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None


def _read_float(text: str) -> float | None:
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


_READERS: Mapping[str, Callable[[str], Value | None]] = {
    "bool": _read_bool,
    "int": _read_int,
    "float": _read_float,
    "str": lambda text: text,
}


def _nearest(name: str, known: Mapping[str, Declared]) -> str:
    from rapidfuzz import process

    near = process.extractOne(name, list(known), score_cutoff=60)
    return f", did you mean {near[0]!r}?" if near else ""


# --- inside the kernel ----------------------------------------------------------------------------------------------


def declared_types(inputs: Sequence[str]) -> dict[str, str]:
    """Return names and types of the parameters cell among the cells a kernel has run (the last one, if edited).

    >>> declared_types(["limit: float = 0.8  # share", "import math"])
    {'limit': 'float'}
    """
    for source in reversed(inputs):
        body = _statements(source)
        if body and all(isinstance(statement, ast.AnnAssign) for statement in body):
            return {ast.unparse(s.target): ast.unparse(s.annotation) for s in body if isinstance(s, ast.AnnAssign)}
    return {}


def injected_names(inputs: Sequence[str]) -> list[str]:
    r"""Return the names assigned by papermill's own cell, which it writes for any ``-p``, declared or not.

    >>> injected_names(["limit: float = 0.8", "# Parameters\ntreshold = 0.95\n"])
    ['treshold']
    """
    statements = [s for source in inputs if source.lstrip().startswith("# Parameters\n") for s in _statements(source)]
    return [ast.unparse(s.targets[0]) for s in statements if isinstance(s, ast.Assign)]


def _statements(source: str) -> list[ast.stmt]:
    try:
        return ast.parse(source).body
    except SyntaxError:  # magics; whatever the cell did, it declared no parameters
        return []


def value_problems(types: Mapping[str, str], namespace: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the values that a running notebook's parameters have."""
    problems = []
    for name, type_name in types.items():
        value = namespace.get(name)
        if type_name not in _TYPES:
            problems.append(f"{name} is declared {type_name}: use {', '.join(_TYPES)}, and an empty text for nothing")
        elif not _is_a(type_name, value):
            problems.append(f"{name} must be {_WRITE[type_name]}; got {value!r}")
    return problems


def _is_a(type_name: str, value: object) -> bool:
    if isinstance(value, bool):
        return type_name == "bool"
    if type_name == "float":
        return isinstance(value, int | float) and math.isfinite(value)
    return isinstance(value, _TYPES[type_name])
