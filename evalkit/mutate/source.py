"""The text a metric consists of, cut into units (functions, constants) whose nodes know their place."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from evalkit.mutate.places import Span, locate

__all__ = ["Edit", "Unit", "parse_unit"]

_DEF = (ast.FunctionDef, ast.AsyncFunctionDef)


class Edit(NamedTuple):
    """One change of a unit's text: the characters `start` to `end` become `text`."""

    start: int
    end: int
    text: str
    shown: str = ""
    """What to show instead of the changed lines, where the change is larger than what it means."""


@dataclass(frozen=True, eq=False)
class Unit:
    """One piece of a metric's source as its author wrote it."""

    name: str
    """The function's qualified name, or the name that is given a value."""
    kind: Literal["function", "constant", "closure"]
    text: str
    """Whole lines."""
    first_line: int
    """The line of the file on which `text` begins."""
    held: tuple[Any, ...] = ()
    """Of a closure's unit, the statement that makes the metric: the values that the closure holds. Only they change."""

    @cached_property
    def root(self) -> ast.AST:
        """The unit's own node: a function definition, or the value that a name is given."""
        return parse_unit(self, self.text)

    @cached_property
    def spans(self) -> Mapping[ast.AST, Span]:
        """Where each node stands in `text`, those inside f-strings included."""
        return locate(self.root, self.text, first_line=self.root_line)

    @cached_property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """The node above each node."""
        self.spans  # noqa: B018 - locating replaces the expressions inside f-strings
        return {child: node for node in ast.walk(self.root) for child in ast.iter_child_nodes(node)}

    @property
    def last_line(self) -> int:
        """The line of the file on which `text` ends."""
        return self.first_line + self.text.count("\n")

    @property
    def root_line(self) -> int:
        """The number that the parser gives to the first line of `text`."""
        return 2 if self._is_indented else 1

    @property
    def _is_indented(self) -> bool:
        return self.text[:1] in (" ", "\t")

    def parse_text(self, text: str) -> ast.Module:
        """Parse this unit's (changed) text as it stands, indented or not."""
        return ast.parse(f"if 1:\n{text}" if self._is_indented else text)

    def apply(self, edit: Edit) -> str:
        """Return the text with one change."""
        return self.text[: edit.start] + edit.text + self.text[edit.end :]

    def line_of(self, offset: int) -> int:
        """Return the line of the file that holds the character at `offset`."""
        return self.first_line + self.text.count("\n", 0, offset)

    def diff(self, edit: Edit) -> str:
        """Return the changed lines, the author's before and the mutant's after, without their common indentation."""
        if edit.shown:
            return edit.shown
        old, new = self.text.split("\n"), self.apply(edit).split("\n")
        head = _common(old, new)
        tail = _common(old[head:][::-1], new[head:][::-1])
        gone, come = old[head : len(old) - tail], new[head : len(new) - tail]
        margin = min((len(x) - len(x.lstrip()) for x in (*gone, *come) if x.strip()), default=0)
        marked = [f"- {line[margin:]}" for line in gone] + [f"+ {line[margin:]}" for line in come]
        return "\n".join(line.rstrip() for line in marked)


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def parse_unit(unit: Unit, text: str) -> ast.AST:
    """Return the unit's own node out of its (changed) text.

    Raises
    ------
    SyntaxError
        Where the change left something that is not Python, or is no longer one such unit.
    """
    tree = unit.parse_text(text)
    found: list[ast.AST] = []
    if unit.kind == "function":
        found = [node for node in _statements(tree) if isinstance(node, _DEF)]
    else:
        assigned = [node for node in _statements(tree) if isinstance(node, ast.Assign | ast.AnnAssign)]
        found = [node.value for node in assigned if node.value is not None]
    if len(found) != 1:
        msg = f"{unit.name} is not one {unit.kind}"
        raise SyntaxError(msg)
    return found[0]


def _statements(tree: ast.Module) -> list[ast.stmt]:
    first = tree.body[0] if tree.body else None
    return first.body if isinstance(first, ast.If) and len(tree.body) == 1 else tree.body
