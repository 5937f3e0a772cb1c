"""Where each node of a parsed text stands, in characters; inside f-strings too, where Python 3.11 itself is wrong."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Span", "locate"]


class Span(NamedTuple):
    """The characters `start` to `end` of a text."""

    start: int
    end: int


def locate(root: ast.AST, text: str, *, first_line: int = 1) -> dict[ast.AST, Span]:
    """Return the span in `text` of `root` and of every node below it that has a place.

    The expressions inside f-strings are replaced by equal ones that were parsed on their own, because up to Python
    3.11 their line and column are not those of the file. One that cannot be found again is left without a span.

    Parameters
    ----------
    root : ast.AST
        Parsed from `text`; changed in place, as said above.
    text : str
        The text.
    first_line : int
        The number that the parser gave to the first line of `text`.
    """
    spans: dict[ast.AST, Span] = {}
    _locate(root, _Lines(text, first_line), 0, spans)
    return spans


class _Lines:
    def __init__(self, text: str, first_line: int) -> None:
        self.text = text
        self.first_line = first_line
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int:
        """Return the character offset; the parser counts columns in UTF-8 bytes."""
        index = line - self.first_line
        found = self.lines[index]
        return self.starts[index] + (column if found.isascii() else len(found.encode()[:column].decode()))


def _locate(node: ast.AST, lines: _Lines, base: int, spans: dict[ast.AST, Span]) -> None:
    if (
        isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword | ast.excepthandler)
        and node.end_lineno is not None
    ):
        start = lines.offset(node.lineno, node.col_offset)
        end = lines.offset(node.end_lineno, node.end_col_offset or 0)
        spans[node] = Span(base + start, base + end)
        if isinstance(node, ast.JoinedStr):
            _locate_fields(node, lines.text[start:end], base + start, spans)
            return
    for child in ast.iter_child_nodes(node):
        _locate(child, lines, base, spans)


def _locate_fields(node: ast.JoinedStr, text: str, base: int, spans: dict[ast.AST, Span]) -> None:
    cursor = 0
    for part in node.values:
        if not isinstance(part, ast.FormattedValue):
            continue
        wanted = ast.dump(part.value)
        for opening in _openings(text, cursor):
            end = _expression_end(text, opening + 1, wanted)
            if end is None:
                continue
            # In brackets, a field that spans lines parses; the bracket stands where the brace stood.
            inside = f"({text[opening + 1 : end]})"
            part.value = ast.parse(inside, mode="eval").body
            cursor = _field_end(text, end)
            spans[part] = Span(base + opening, base + cursor)
            _locate(part.value, _Lines(inside, 1), base + opening, spans)
            break


def _openings(text: str, start: int) -> Iterator[int]:
    index = start
    while (index := text.find("{", index)) >= 0:
        if text[index + 1 : index + 2] == "{":
            index += 2
            continue
        yield index
        index += 1


def _expression_end(text: str, start: int, wanted: str) -> int | None:
    for end in range(start, len(text)):
        if text[end] in "}!:=" and _dump(text[start:end]) == wanted:
            return end
    return None


def _dump(expression: str) -> str | None:
    try:
        return ast.dump(ast.parse(f"({expression})", mode="eval").body)
    except (SyntaxError, ValueError):
        return None


def _field_end(text: str, start: int) -> int:
    depth = 1
    for index in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    return len(text)
