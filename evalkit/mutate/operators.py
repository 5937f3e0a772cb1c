"""General operators: the small changes that any code may suffer, as a table of small generators."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from evalkit.mutate.site import Operator, Site, called_name, is_atom, is_docstring, result_value
from evalkit.mutate.source import Edit

__all__ = ["GENERAL"]

_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: (r"-", "+"),
    ast.Mult: (r"\*", "/"),
    ast.Div: (r"/", "*"),
    ast.FloorDiv: (r"//", "/"),
    ast.Mod: (r"%", "*"),
    ast.Pow: (r"\*\*", "*"),
}

_COMPARISON: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: (r"<", "<="),
    ast.LtE: (r"<=", "<"),
    ast.Gt: (r">", ">="),
    ast.GtE: (r">=", ">"),
    ast.Eq: (r"==", "!="),
    ast.NotEq: (r"!=", "=="),
    ast.Is: (r"\bis\b", "is not"),
    ast.IsNot: (r"\bis\s+not\b", "is"),
    ast.In: (r"\bin\b", "not in"),
    ast.NotIn: (r"\bnot\s+in\b", "in"),
}

# Negating one of these is what the operator "comparison" does.
_MIRRORED = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)

_OPPOSITES = {
    "max": "min", "min": "max", "any": "all", "all": "any", "startswith": "endswith", "endswith": "startswith",
    "upper": "lower", "issubset": "issuperset", "issuperset": "issubset", "floor": "ceil", "ceil": "floor",
}  # fmt: skip

# Swapping the arguments of these changes nothing.
_COMMUTATIVE = frozenset({"max", "min", "gcd", "isclose", "union", "intersection"})


def arithmetic(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Exchange ``+`` and ``-``, ``*`` and ``/``; weaken ``//``, ``%``, ``**``."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _ARITHMETIC:
        left, right = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        if edit := site.between(left, right, *_ARITHMETIC[type(node.op)]):
            yield edit


def comparison(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Exchange ``<`` and ``<=``, ``==`` and ``!=``, ``in`` and ``not in``."""
    if isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        for index, operator in enumerate(node.ops):
            edit = site.between(operands[index], operands[index + 1], *_COMPARISON[type(operator)])
            if edit:
                yield edit


def negation(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Turn a condition into its opposite."""
    for test in _tests_of(node):
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = site.text(test.operand)
            yield site.replace(test, inner if is_atom(test.operand) else f"({inner})")
        elif not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], _MIRRORED)):
            inner = site.text(test)
            yield site.replace(test, f"not {inner}" if is_atom(test) else f"not ({inner})")


def _tests_of(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.comprehension):
        return node.ifs
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        return [node.test]
    return [node] if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else []


def boolean(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Exchange ``and`` and ``or``."""
    if isinstance(node, ast.BoolOp):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        start, end = site.span(node)
        text = site.unit.text
        for left, right in reversed(list(zip(node.values, node.values[1:], strict=False))):
            edit = site.between(left, right, rf"\b{old}\b", new)
            text = text[: edit.start] + edit.text + text[edit.end :] if edit else text
        yield Edit(start, end, text[start : len(text) - len(site.unit.text) + end])


def number(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Make a number a little larger, and a little smaller."""
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        step = 1 if isinstance(value, int) or abs(value) > 1 else 0.01
        for new in (value + step, value - step):
            shown = repr(round(new, 12) if isinstance(new, float) else new)
            yield site.replace(node, f"({shown})" if isinstance(site.parent(node), ast.Attribute) else shown)


def truth(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Exchange ``True`` and ``False``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield site.replace(node, repr(not node.value))


def string(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Empty a text (an empty one gets a word)."""
    above = site.parent(node)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        is_detail_key = isinstance(above, ast.Dict) and node in above.keys and _is_detail(above, site)
        is_label = node.value in site.facts.labels
        if isinstance(above, ast.JoinedStr) or is_detail_key or is_label or (above and is_docstring(above, site)):
            return
        quote = site.text(node)[-1]
        yield site.replace(node, f"{quote}{'' if node.value else 'mutated'}{quote}")
    elif isinstance(node, ast.JoinedStr) and not isinstance(above, ast.FormattedValue):
        quote = site.text(node)[-1]
        yield site.replace(node, quote * 2)


def label(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Exchange an allowed label for each of the other ones."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in site.facts.labels:
        for other in site.facts.labels:
            if other != node.value:
                quote = site.text(node)[-1]
                yield site.replace(node, f"{quote}{other}{quote}")


def _is_detail(node: ast.AST, site: Site) -> bool:
    above = site.parent(node)
    return isinstance(above, ast.keyword) and above.arg == "detail"


def boundary(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Return the worst, then the best allowed value (``None`` from a helper)."""
    if (value := result_value(node, site)) is not None:
        ends = site.facts.labels or (site.facts.worst, site.facts.best)
        for end in dict.fromkeys(repr(e) if site.facts.labels else e for e in ends):
            yield site.replace(value, end)
    elif isinstance(node, ast.Return) and node.value is not None and not site.is_own:
        yield site.replace(node.value, "None")


def deletion(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Leave a statement out (``break`` and ``continue`` are exchanged)."""
    if isinstance(node, ast.Break | ast.Continue):
        yield site.replace(node, "continue" if isinstance(node, ast.Break) else "break")
    elif isinstance(node, ast.Assign):
        if _is_known_before(node, site):
            yield site.replace(node, "pass")
    elif isinstance(node, ast.Raise):
        above = site.parent(node)
        if not (isinstance(above, ast.If) and above.body[-1] is node):  # that one is the slip "guard removed"
            yield site.replace(node, "pass")
    elif not is_docstring(node, site):
        yield site.replace(node, "pass")


def _is_known_before(node: ast.Assign, site: Site) -> bool:
    """Whether the names have a value already: without their only assignment they would merely be unknown."""
    known = {argument.arg for argument in ast.walk(site.unit.root) if isinstance(argument, ast.arg)}
    around = list(site.above(node))
    for other in ast.walk(site.unit.root):
        is_before = isinstance(other, ast.Assign) and site.span(other) < site.span(node)
        if is_before and site.parent(other) in around:
            known |= {target.id for target in ast.walk(other) if isinstance(target, ast.Name)}
    return all(target.id in known for target in node.targets if isinstance(target, ast.Name))


def off_by_one(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Move a bound of a slice, or an index, by one (the operator ``number`` moves those written as numbers)."""
    if isinstance(node, ast.Subscript):
        index = node.slice
        bounds = [index.lower, index.upper] if isinstance(index, ast.Slice) else [index]
        for bound in bounds:
            if bound is None or not isinstance(bound, ast.Name | ast.BinOp | ast.Call | ast.Attribute):
                continue
            text = site.text(bound)
            text = text if is_atom(bound) else f"({text})"
            yield site.replace(bound, f"{text} + 1")
            yield site.replace(bound, f"{text} - 1")


def order(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Leave ``sorted`` out, then reverse it; leave ``reversed`` out."""
    if isinstance(node, ast.Call) and called_name(node) in ("sorted", "reversed") and node.args:
        yield site.replace(node, f"list({site.text(node.args[0])})")
        if called_name(node) == "sorted" and not any(keyword.arg == "reverse" for keyword in node.keywords):
            inside = site.text(node)[:-1].rstrip().rstrip(",")
            yield site.replace(node, f"{inside}, reverse=True)")


def opposite(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Exchange ``max`` and ``min``, ``any`` and ``all``, ``startswith`` and ``endswith``."""
    if isinstance(node, ast.Call) and (new := _OPPOSITES.get(called_name(node))):
        end = site.span(node.func)[1]
        yield Edit(end - len(called_name(node)), end, new)


def swap(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Exchange the first two arguments of a call."""
    if isinstance(node, ast.Call) and len(node.args) > 1 and called_name(node) not in _COMMUTATIVE:
        first, second = node.args[:2]
        if not any(isinstance(argument, ast.Starred) for argument in (first, second)):
            start, end = site.span(first)[0], site.span(second)[1]
            gap = site.unit.text[site.span(first)[1] : site.span(second)[0]]
            if not re.search(r"[()]", gap):
                yield Edit(start, end, f"{site.text(second)}{gap}{site.text(first)}")


def exception_type(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Raise another type: an invalid row becomes an error, an error an invalid row."""
    if isinstance(node, ast.Raise) and node.exc is not None:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if isinstance(raised, ast.Name | ast.Attribute) and site.text(raised)[:1].isupper():
            is_invalid = site.text(raised).split(".")[-1] in ("InvalidRow", "ValueError")
            yield site.replace(raised, "RuntimeError" if is_invalid else "ValueError")


def exception_message(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Raise without a message."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
        yield site.replace(node.exc.args[0], '""')


_TESTS = (ast.If, ast.While, ast.IfExp, ast.Assert, ast.comprehension, ast.UnaryOp)
_STATEMENTS = (ast.Expr, ast.Assign, ast.AugAssign, ast.Assert, ast.Delete, ast.Raise, ast.Break, ast.Continue)

GENERAL: tuple[Operator, ...] = (
    Operator("arithmetic", "+ and -, * and / exchanged", (ast.BinOp, ast.AugAssign), arithmetic),
    Operator("comparison", "< and <=, == and !=, in and not in exchanged", (ast.Compare,), comparison),
    Operator("negation", "a condition turned into its opposite", _TESTS, negation),
    Operator("and_or", "and, or exchanged", (ast.BoolOp,), boolean),
    Operator("number", "a number made a little larger or smaller", (ast.Constant,), number),
    Operator("truth", "True and False exchanged", (ast.Constant,), truth),
    Operator("label", "a label exchanged for another", (ast.Constant,), label),
    Operator("string", "a text emptied", (ast.Constant, ast.JoinedStr), string),
    Operator("boundary", "a returned value made the worst or the best allowed one", (ast.Return, ast.Call), boundary),
    Operator("deletion", "a statement left out", _STATEMENTS, deletion),
    Operator("off_by_one", "a slice bound or an index moved by one", (ast.Subscript,), off_by_one),
    Operator("order", "sorted left out or reversed", (ast.Call,), order),
    Operator("opposite", "max and min, any and all exchanged", (ast.Call,), opposite),
    Operator("swap", "two arguments exchanged", (ast.Call,), swap),
    Operator("exception_type", "another exception type: invalid becomes error, or back", (ast.Raise,), exception_type),
    Operator("exception_message", "an exception without its message", (ast.Raise,), exception_message),
)
"""``default changed`` is one of these at work on a parameter's default; it is reported under the name ``default``."""
