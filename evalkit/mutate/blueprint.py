"""A metric that can be built again from a changed text: in a copy of its module's namespace, no file touched."""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import linecache
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any, Literal, NamedTuple

from evalkit.contract import EvalkitError, Measured, Metric
from evalkit.contract.judge import Judge
from evalkit.contract.measure import build_measure
from evalkit.contract.preparation import prepared_measure
from evalkit.contract.source import Reach, reach_of
from evalkit.mutate.module import ModuleText
from evalkit.mutate.source import Edit, Unit, parse_unit
from evalkit.scoring.load import as_metric

__all__ = ["Blueprint", "Change", "Versions", "blueprint_of"]

_DEF = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_LARGEST_COPY = 10_000


class Versions:
    """One compiled `measure` for every version of a metric's function.

    A mutant has the inputs of the original, so their validator, which takes longer to make than to use, is made once.
    """

    def __init__(self, metric: Metric) -> None:
        self._current: Any = metric

        def call(**inputs: Any) -> Any:
            return self._current(**inputs)

        self._call: Any = call
        measure = build_measure(
            metric.name,
            call,
            metric.parameters,
            metric.allowed_values,
            metric.contract,
            is_async=inspect.iscoroutinefunction(metric.function),
        )
        self._measure = prepared_measure(measure, metric.preparation) if metric.preparation else measure

    def measure(self, function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Measured]:
        """Return the measure of one version; it holds until the next version is asked for."""
        self._current = self._call.__wrapped__ = function  # unwrapped where a fault is blamed on the metric's module
        return self._measure


class Change(NamedTuple):
    """A fault in one statement of the module."""

    chunk: int
    codes: tuple[CodeType, ...]
    """The statements that run again, in order, the faulty one among them."""
    modules: tuple[str, ...] = ()
    """Modules that the changed text names and that the author did not import."""


@dataclass(frozen=True, eq=False)
class Blueprint:
    """What is needed to build a metric again."""

    metric: Metric
    names: dict[str, Any]
    """The namespace of the module that holds the metric's function: read, never written."""
    holder: str
    """The name under which that namespace holds the metric."""
    module: ModuleText
    start: frozenset[int]
    """The statements that define what the metric reaches: they run again for each mutant."""
    containers: tuple[str, ...]
    """Lists, dicts and sets that the metric reads: each mutant finds them as they were at first."""
    copied: tuple[str, ...]
    """Those of them that are copied, because building them may cost something."""
    units: tuple[Unit, ...]
    """The metric's own function first."""

    def change(self, unit: Unit, edit: Edit) -> Change:
        """Compile one change.

        Raises
        ------
        SyntaxError
            Where Python refuses it.
        """
        index = self.module.chunk_at(unit.first_line)
        chunk = self.module.chunks[index]
        before = self.module.lines[chunk.first_line - 1 : unit.first_line - 1]
        after = self.module.lines[unit.last_line : chunk.last_line]
        text = "\n".join([*before, unit.apply(edit), *after])
        modules = ("numpy",) if "numpy." in edit.text and "numpy" not in self.names else ()
        mutated = self.module.compile(index, text)
        return Change(index, tuple(mutated if i == index else self._codes[i] for i in self._run(index)), modules)

    def _run(self, *changed: int) -> list[int]:
        if changed not in self._runs:
            self._runs[changed] = self.module.affected(self.start.union(changed), self.containers)
        return self._runs[changed]

    @cached_property
    def _runs(self) -> dict[tuple[int, ...], list[int]]:
        return {}

    @cached_property
    def _codes(self) -> dict[int, CodeType]:
        return {index: self.module.compile(index) for index in range(len(self.module.chunks))}

    def build(self, change: Change | None = None) -> Metric:
        """Build the metric, with one change or as it is, in a fresh copy of its module's namespace."""
        # The contract may have been attached elsewhere: everything but the function stays as it was loaded.
        return replace(self.metric, function=self.function(change))

    def function(self, change: Change | None = None) -> Callable[..., Any]:
        """Build the metric's function alone, with one change or as it is."""
        names = dict(self.names)
        for name in self.copied:
            names[name] = copy.deepcopy(names[name])
        if change:
            names |= {name: importlib.import_module(name) for name in change.modules}
        for code in change.codes if change else [self._codes[index] for index in self._run()]:
            exec(code, names)  # noqa: S102 - the user's own metric
        return as_metric(names[self.holder]).function


def blueprint_of(metric: Metric) -> Blueprint:
    """Find a metric's source and what of its module must run again to build it anew.

    Raises
    ------
    EvalkitError
        Where there is no source, or no module-level name that leads to the metric.
    """
    if isinstance(metric, Judge):
        msg = f"a model gives the values of {metric.name}: there is no source to plant faults in"
        # Whole labels are what controls hold a judge to; a number is compared with people's labels.
        do = f"evalkit {'calibrate' if metric.kind == 'numeric' else 'controls'} {metric.name} …"
        raise EvalkitError(msg, do=f"see whether it can tell good from bad: {do}")
    reach = reach_of(metric.function)
    if not reach.functions:
        msg = f"{metric.name} has no Python function behind it (a C extension or a callable object)"
        raise EvalkitError(msg, do="only a metric that is written as a function in a file can be mutated")
    own = next(iter(reach.functions.values()))
    names, code = own.__globals__, own.__code__
    linecache.checkcache(code.co_filename)  # an edited file must not be read as it was
    text = "".join(linecache.getlines(code.co_filename, names))
    module = _module_text(metric.name, text, code)
    holder = _holder(metric, names)
    nodes = dict(_nodes(module, reach))
    if own.__qualname__ not in nodes:
        msg = (
            f"the source of {metric.name} is not where its code says: {code.co_filename!r}, line {code.co_firstlineno}"
        )
        raise EvalkitError(msg, do="save the file, and load the metric again")
    bound = module.binding(holder)
    start = {module.chunk_at(node.lineno) for node in nodes.values()} | {
        index for name in reach.classes if (index := module.binding(name.partition(".")[0])) is not None
    }
    constants = {name: value for name, value in reach.constants.items() if names.get(name) is value}
    start |= {bound} if bound is not None else set()
    containers = [name for name, value in constants.items() if isinstance(value, list | dict | set)]
    units = (*_function_units(module, nodes), *_assigned_units(module, constants, nodes, bound, reach))
    run = module.affected(start, containers)
    rebuilt = frozenset(name for index in run for name in module.chunks[index].binds)
    copied = tuple(n for n in containers if n not in rebuilt and len(names[n]) <= _LARGEST_COPY)
    return Blueprint(metric, names, holder, module, frozenset(start), tuple(containers), copied, units)


def _module_text(metric: str, text: str, code: CodeType) -> ModuleText:
    mend = "save the metric in a .py file and name it path/to/file.py:object"
    if not text.strip():
        msg = f"the source of {metric} cannot be read: there is no text behind {code.co_filename!r}"
        raise EvalkitError(msg, do=mend)
    try:
        return ModuleText(text, code.co_filename, code.co_flags)
    except SyntaxError as error:
        msg = f"the source of {metric} is no longer valid Python ({error.msg}, line {error.lineno})"
        raise EvalkitError(msg, do=mend) from error


def _holder(metric: Metric, names: dict[str, Any]) -> str:
    for name, value in names.items():
        if value is metric or (metric.original is not None and value is metric.original):
            return name
    for name, value in names.items():
        if isinstance(value, Metric) and value.function is metric.function:
            return name
    msg = f"{metric.name} has no name of its own in the module that holds its function"
    raise EvalkitError(msg, do="assign it to a name at the top level of that module, and load it from there")


# --- units ----------------------------------------------------------------------------------------------------------


def _nodes(
    module: ModuleText, reach: Reach
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]]:
    """Find the definition of each reached function, and of each method of a reached class, once."""
    seen: set[tuple[int, str]] = set()
    for name, function in [*reach.functions.items(), *_methods(reach)]:
        code = function.__code__
        place = (code.co_firstlineno, code.co_name)
        if code.co_filename == module.filename and place not in seen:
            seen.add(place)
            if (node := _definition(module.tree, *place)) is not None:
                yield name, node


def _methods(reach: Reach) -> Iterator[tuple[str, FunctionType]]:
    for found in reach.classes.values():
        for member in vars(found).values():
            function = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", member))
            if isinstance(function, FunctionType):
                yield function.__qualname__, function


def _definition(tree: ast.AST, first: int, name: str) -> _Function | None:
    lambdas = []
    for node in ast.walk(tree):
        if isinstance(node, _DEF) and node.name == name:
            if min([node.lineno, *(item.lineno for item in node.decorator_list)]) == first:
                return node
        elif isinstance(node, ast.Lambda) and node.lineno == first and name == "<lambda>":
            lambdas.append(node)
    # Two lambdas on one line cannot be told apart by their code, so neither is changed.
    return lambdas[0] if len(lambdas) == 1 else None


def _function_units(module: ModuleText, nodes: Mapping[str, _Function]) -> Iterator[Unit]:
    taken: list[Unit] = []
    for name, node in nodes.items():
        first, last = node.lineno, node.end_lineno or node.lineno
        is_inside = any(other.first_line <= first and last <= other.last_line for other in taken)
        if not isinstance(node, ast.Lambda) and not is_inside:
            # Named by the functions around it: the mark <locals> says nothing to a reader.
            unit = Unit(name.replace(".<locals>", ""), "function", module.slice_text(first, last), first)
            taken.append(unit)
            yield unit


def _assigned_units(
    module: ModuleText, constants: Iterable[str], nodes: Mapping[str, _Function], bound: int | None, reach: Reach
) -> Iterator[Unit]:
    """Yield the assignments of constants and lambdas that are read, and what fills the closure of the metric."""
    lambdas = [module.chunk_at(node.lineno) for node in nodes.values() if isinstance(node, ast.Lambda)]
    indexes = [*(module.binding(name) for name in constants), *lambdas]
    for index in dict.fromkeys(indexes):
        if index is not None and index != bound:
            yield from _assigned_unit(module, index, "constant", ())
    held = tuple(
        value for name, value in reach.constants.items() if "." in name and isinstance(value, str | int | float)
    )
    if bound is not None and held:
        yield from _assigned_unit(module, bound, "closure", held)


def _assigned_unit(
    module: ModuleText, index: int, kind: Literal["constant", "closure"], held: tuple[Any, ...]
) -> Iterator[Unit]:
    chunk = module.chunks[index]
    name = next(iter(sorted(chunk.binds)), "")
    unit = Unit(name, kind, module.slice_text(chunk.first_line, chunk.last_line), chunk.first_line, held)
    try:
        parse_unit(unit, unit.text)
    except SyntaxError:  # not one assignment: a loop, a definition, two statements on a line
        return
    yield unit
