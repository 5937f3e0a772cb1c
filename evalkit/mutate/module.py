"""A module cut into its top-level statements, and which of them must run again when one of them changes."""

from __future__ import annotations
import __future__

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CodeType

__all__ = ["Chunk", "ModuleText"]

_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORT = (ast.Import, ast.ImportFrom)
_CONTAINERS = frozenset(
    {"list", "dict", "set", "frozenset", "tuple", "defaultdict", "OrderedDict", "Counter", "deque", "compile"}
)


@dataclass(frozen=True, eq=False)
class Chunk:
    """One top-level statement of a module (or several that share a line)."""

    nodes: tuple[ast.stmt, ...]
    first_line: int
    last_line: int

    @property
    def is_import(self) -> bool:
        """Whether it only imports: what it binds is never changed by a mutant."""
        return all(isinstance(node, _IMPORT) for node in self.nodes)

    @property
    def is_definition(self) -> bool:
        """Whether it only defines a function or a class, which reads names when it is called, not when it runs."""
        return all(isinstance(node, _DEFINITION) for node in self.nodes)

    @cached_property
    def binds(self) -> frozenset[str]:
        """The module's names that it gives a value, or whose value it changes in place."""
        return frozenset(name for node in self.nodes for name in _bound(node))

    @cached_property
    def mentions(self) -> frozenset[str]:
        """The names that it reads or sets when it runs (of a function: those of its decorators and defaults)."""
        return frozenset(name for node in self.nodes for name in _mentioned(node))

    @property
    def is_cheap(self) -> bool:
        """Whether it only builds a container, so that running it again costs nothing and gives a fresh one."""
        calls = [node for top in self.nodes for node in ast.walk(top) if isinstance(node, ast.Call)]
        return all(getattr(call.func, "attr", getattr(call.func, "id", "")) in _CONTAINERS for call in calls)


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, _DEFINITION):
        yield node.name
        return
    if isinstance(node, _IMPORT):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        yield node.id
    if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        yield from _base(node)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from _base(node.value.func)  # `RULES.append(check)` changes RULES
    if not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)


def _base(node: ast.AST) -> Iterator[str]:
    is_part = isinstance(node, ast.Attribute | ast.Subscript)
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    if is_part and isinstance(node, ast.Name):
        yield node.id


def _mentioned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        now: Sequence[ast.AST | None] = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
    else:
        now = [node]
    for part in now:
        yield from (n.id for n in ast.walk(part) if isinstance(n, ast.Name)) if part else ()


class ModuleText:
    """The text of one module.

    Parameters
    ----------
    text : str
        The whole file.
    filename : str
        The name that code compiled from it carries.
    flags : int
        Compiler flags of the original code, for its ``from __future__`` imports.
    """

    def __init__(self, text: str, filename: str, flags: int = 0) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.filename = filename
        self.flags = flags & __future__.annotations.compiler_flag
        self.tree = ast.parse(text)
        self.chunks = list(_chunks(self.tree))

    def chunk_at(self, line: int) -> int:
        """Return the index of the chunk that holds a line."""
        return next(i for i, chunk in enumerate(self.chunks) if chunk.first_line <= line <= chunk.last_line)

    def binding(self, name: str) -> int | None:
        """Return the index of the last chunk that binds a name: the one whose value the module ends up with."""
        return next((i for i in reversed(range(len(self.chunks))) if name in self.chunks[i].binds), None)

    def slice_text(self, first_line: int, last_line: int) -> str:
        """Return whole lines."""
        return "\n".join(self.lines[first_line - 1 : last_line])

    def compile(self, index: int, text: str | None = None) -> CodeType:
        """Compile a chunk, or a changed text of it, with the line numbers of the file.

        Raises
        ------
        SyntaxError
            Where Python refuses the changed text.
        """
        chunk = self.chunks[index]
        text = self.slice_text(chunk.first_line, chunk.last_line) if text is None else text
        lines = "\n" * (chunk.first_line - 1)  # so that every line has its number of the file
        code: CodeType = compile(lines + text, self.filename, "exec", flags=self.flags, dont_inherit=True)
        return code

    def affected(self, start: Iterable[int], fresh: Iterable[str]) -> list[int]:
        """Return the chunks that must run again, in order, so that a change takes effect and nothing old is left.

        Parameters
        ----------
        start : iterable of int
            The chunks that define what the metric reaches.
        fresh : iterable of str
            Names of containers that each mutant must find as they were at first; those that are cheap to build are
            built again.
        """
        run = {index for index in start if not self.chunks[index].is_import}
        run |= {
            i
            for i, chunk in enumerate(self.chunks)
            if chunk.binds & set(fresh) and chunk.is_cheap and not chunk.is_definition
        }
        while True:
            changed = frozenset(name for index in run for name in self.chunks[index].binds)
            needed = {i for i, chunk in enumerate(self.chunks) if i not in run and self._depends(chunk, changed)}
            needed |= {found for index in run for found in self._decorators(index)} - run
            if not needed:
                return sorted(run)
            run |= needed

    def _depends(self, chunk: Chunk, changed: frozenset[str]) -> bool:
        return not chunk.is_import and not chunk.is_definition and bool(chunk.mentions & changed)

    def _decorators(self, index: int) -> Iterator[int]:
        """Yield the chunks that define this module's own decorators of a function that runs again."""
        for name in self.chunks[index].mentions if self.chunks[index].is_definition else ():
            found = self.binding(name)
            if found is not None and self.chunks[found].is_definition:
                yield found


def _chunks(tree: ast.Module) -> Iterator[Chunk]:
    waiting: list[ast.stmt] = []
    first = last = 0
    for node in tree.body:
        decorators = [item.lineno for item in getattr(node, "decorator_list", [])]
        start, end = min([node.lineno, *decorators]), node.end_lineno or node.lineno
        if waiting and start > last:
            yield Chunk(tuple(waiting), first, last)
            waiting = []
        first = first if waiting else start
        last = max(last, end)
        waiting.append(node)
    if waiting:
        yield Chunk(tuple(waiting), first, last)
