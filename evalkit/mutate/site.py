"""The place where an operator works: one node with its text, its surroundings and what is known of the metric."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evalkit.contract import Metric
from evalkit.mutate.source import Edit, Unit

__all__ = ["Facts", "Operator", "Site", "called_name", "facts_of", "is_atom", "is_docstring", "result_value"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the operators know of the metric as a whole."""

    kind: str = "numeric"
    worst: str = "0.0"
    """The lowest allowed value (numeric) or the last label, as Python writes it."""
    best: str = "1.0"
    """The highest allowed value or the first label, as Python writes it."""
    labels: tuple[str, ...] = ()
    inputs: tuple[tuple[str, str], ...] = ()
    """Each input with its shape: ``list of str``, ``str``, ``list`` or ``other``."""
    reviewed: tuple[str, ...] = ()
    produced: tuple[str, ...] = ()
    calls: frozenset[str] = frozenset()
    """The names of all functions and methods that the metric's source calls."""
    refuses: bool = True
    """Whether anything in the metric's source raises."""

    def inputs_of(self, *shapes: str) -> list[str]:
        """Return the inputs of these shapes."""
        return [name for name, shape in self.inputs if shape in shapes]


def facts_of(metric: Metric, units: Sequence[Unit]) -> Facts:
    """Collect what the operators need to know of a metric."""
    allowed = metric.allowed_values
    labels = tuple(allowed) if isinstance(allowed, list) else ()
    if isinstance(allowed, range):
        worst, best = repr(min(allowed)), repr(max(allowed))
    elif isinstance(allowed, tuple):
        worst, best = repr(allowed[0]), repr(allowed[1])
    else:
        worst, best = (repr(labels[-1]), repr(labels[0])) if labels else ("[]", "[]")
    nodes = [node for unit in units for node in ast.walk(unit.root)]
    return Facts(
        kind=metric.kind,
        worst=worst,
        best=best,
        labels=labels,
        inputs=tuple((p.name, _shape(p.annotation, is_list=p.is_list)) for p in metric.parameters),
        reviewed=metric.contract.reviewed if metric.contract else (),
        produced=metric.contract.produced if metric.contract else (),
        calls=frozenset(called_name(node) for node in nodes if isinstance(node, ast.Call)),
        refuses=any(isinstance(node, ast.Raise) for node in nodes),
    )


def _shape(annotation: object, *, is_list: bool) -> str:
    if is_list:
        return "list of str" if "list[str]" in str(annotation) else "list"
    return "str" if annotation is str else "other"


@dataclass(frozen=True, slots=True)
class Site:
    """One node, its unit, and the facts."""

    unit: Unit
    facts: Facts
    is_own: bool = False
    """Whether the unit is the metric's own function, whose ``return`` is the score."""

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where the node stands in the unit's text."""
        return self.unit.spans[node]

    def text(self, node: ast.AST) -> str:
        """Return the node as its author wrote it (without brackets around it)."""
        start, end = self.unit.spans[node]
        return self.unit.text[start:end]

    def parent(self, node: ast.AST) -> ast.AST | None:
        """Return the node above."""
        return self.unit.parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes above, the nearest first."""
        found = self.parent(node)
        while found is not None:
            yield found
            found = self.parent(found)

    def replace(self, node: ast.AST, text: str) -> Edit:
        """Put `text` in the node's place."""
        return Edit(*self.unit.spans[node], text)

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> Edit | None:
        """Change the first `old` (a regular expression) that stands between two nodes, their brackets left alone."""
        start, end = self.unit.spans[left].end, self.unit.spans[right].start
        found = re.search(old, self.unit.text[start:end])
        return Edit(start + found.start(), start + found.end(), new) if found else None

    def entry(self, *lines: str) -> Iterator[Edit]:
        """Insert statements before the first one of the function's body, after its docstring."""
        root = self.unit.root
        if not isinstance(root, ast.FunctionDef | ast.AsyncFunctionDef):
            return
        body = [statement for statement in root.body if not is_docstring(statement, self)]
        start = self.span(body[0])[0] if body else 0
        line_start = self.unit.text.rfind("\n", 0, start) + 1
        margin = self.unit.text[line_start:start]
        if body and not margin.strip():
            yield Edit(line_start, line_start, "".join(f"{margin}{line}\n" for line in lines))


class Operator(NamedTuple):
    """One kind of slip: which nodes it looks at, and the changes it makes of each."""

    name: str
    description: str
    nodes: tuple[type[ast.AST], ...]
    edits: Callable[[ast.AST, Site], Iterator[Edit]]


def is_docstring(node: ast.AST, site: Site) -> bool:
    """Tell whether a statement is the docstring of the function it stands in."""
    above = site.parent(node)
    return (
        isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef)
        and above.body[0] is node
        and isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def called_name(node: ast.Call) -> str:
    """Return the last part of the name that is called: ``strip`` for ``text.strip()``."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def is_atom(node: ast.AST) -> bool:
    """Tell whether an expression needs no brackets wherever it is put."""
    return isinstance(node, ast.Name | ast.Call | ast.Constant | ast.Attribute | ast.Subscript | ast.List | ast.Dict)


def result_value(node: ast.AST, site: Site) -> ast.expr | None:
    """Return the expression that becomes the score, if `node` is where it is handed over.

    That is the value given to a ``MetricResult``, or what the metric's own function returns when it is not one.
    """
    if isinstance(node, ast.Call) and called_name(node) == "MetricResult":
        named = [keyword.value for keyword in node.keywords if keyword.arg == "value"]
        return next(iter([*named, *node.args[:1]]), None)
    if isinstance(node, ast.Return) and site.is_own and node.value is not None:
        inner = any(
            isinstance(above, ast.FunctionDef | ast.Lambda) and above is not site.unit.root
            for above in site.above(node)
        )
        is_result = isinstance(node.value, ast.Call) and called_name(node.value) == "MetricResult"
        return None if inner or is_result else node.value
    return None
