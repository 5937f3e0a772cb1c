"""The slips people make in metrics, as a table of small generators: wrong counts, lost guards, silent mending."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import product

from evalkit.mutate.site import Operator, Site, called_name, is_atom, is_docstring, result_value
from evalkit.mutate.source import Edit

__all__ = ["SLIPS"]

_DEF = (ast.FunctionDef, ast.AsyncFunctionDef)
_SET_OPERATORS: dict[type[ast.operator], str] = {ast.Sub: "-", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
_SET_METHODS = ("difference", "intersection", "union", "symmetric_difference")
_NORMALISERS = ("strip", "lstrip", "rstrip", "lower", "upper", "casefold", "removeprefix", "removesuffix")


# --- counts ---------------------------------------------------------------------------------------------------------


def numerator(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Let the numerator count what the denominator counts."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield site.replace(node.left, site.text(node.right))


def denominator(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Let the denominator count what the numerator counts, then each produced input."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        produced = [name for name in site.facts.inputs_of("list", "list of str") if name in site.facts.produced]
        for text in dict.fromkeys((site.text(node.left), *(f"len({n})" for n in produced if site.is_own))):
            yield site.replace(node.right, text if is_atom(node.left) else f"({text})")


def set_operation(node: ast.AST, site: Site) -> Iterator[Edit]:
    """``-``, ``&``, ``|`` and ``^`` (or the methods of these names) exchanged."""
    if isinstance(node, ast.BinOp) and type(node.op) in _SET_OPERATORS:
        old = _SET_OPERATORS[type(node.op)]
        for new in _SET_OPERATORS.values():
            edit = site.between(node.left, node.right, rf"\{old}", new) if new != old else None
            if edit:
                yield edit
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SET_METHODS:
        end = site.span(node.func)[1]
        for name in _SET_METHODS:
            if name != node.func.attr:
                yield Edit(end - len(node.func.attr), end, name)


# --- guards ---------------------------------------------------------------------------------------------------------


def guard(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Leave a guard out: an ``if`` that ends the row, a branch of a conditional, a fallback, a filter."""
    if isinstance(node, ast.If):
        if not node.orelse and isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue | ast.Break):
            is_elif = site.text(node).startswith("elif")
            yield site.replace(node, "" if is_elif else "pass")
    elif isinstance(node, ast.IfExp):
        yield site.replace(node, site.text(node.body))
        yield site.replace(node, site.text(node.orelse))
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and not _is_condition(node, site):
        yield site.replace(node, site.text(node.values[0]))
    elif isinstance(node, ast.comprehension):
        for test in node.ifs:
            yield site.replace(test, "True")


def _is_condition(node: ast.AST, site: Site) -> bool:
    above = site.parent(node)
    return isinstance(above, ast.BoolOp | ast.UnaryOp) or getattr(above, "test", None) is node


def deduplicate(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Silently free a list input of duplicates."""
    if isinstance(node, _DEF) and site.is_own and node is site.unit.root:
        for name in site.facts.inputs_of("list of str"):
            yield from site.entry(f"{name} = list(dict.fromkeys({name}))")


def normalise_more(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Silently strip or fold a text input, where the metric itself does neither."""
    if not (isinstance(node, _DEF) and site.is_own and node is site.unit.root):
        return
    for (name, shape), method in product(site.facts.inputs, ("strip", "casefold")):
        mends = {method, "lower", "upper"} if method == "casefold" else {method, "split"}
        if shape in ("str", "list of str") and not mends & site.facts.calls:
            mended = f"{name}.{method}()" if shape == "str" else f"[item.{method}() for item in {name}]"
            yield from site.entry(f"{name} = {mended}")


def normalise_less(node: ast.AST, site: Site) -> Iterator[Edit]:
    """``strip``, ``lower``, ``casefold`` and their kin are left out."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _NORMALISERS:
        start, end = site.span(node)
        yield (
            Edit(site.span(node.func.value)[1], end, "")
            if _ends_plain(node, site)
            else Edit(start, end, f"({site.text(node.func.value)})")
        )


def _ends_plain(node: ast.Call, site: Site) -> bool:
    inner = node.func.value if isinstance(node.func, ast.Attribute) else node.func
    gap = site.unit.text[site.span(inner)[1] : site.span(node.func)[1]]
    return ")" not in gap


# --- what is returned -----------------------------------------------------------------------------------------------


def swallow(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Turn a refusal or an exception into a score: the worst allowed value, then the best."""
    ends = dict.fromkeys((site.facts.worst, site.facts.best))
    if isinstance(node, ast.Raise) and site.is_own:
        for end in ends:
            yield site.replace(node, f"return {end}")
    elif isinstance(node, _DEF) and site.is_own and node is site.unit.root and site.facts.refuses:
        statements = [statement for statement in node.body if not is_docstring(statement, site)]
        start, end_of_body = site.span(statements[0])[0], site.span(statements[-1])[1] if statements else 0
        margin = site.unit.text[site.unit.text.rfind("\n", 0, start) + 1 : start]
        body = site.unit.text[start:end_of_body]
        if margin.strip() or any(mark in body for mark in ('"""', "'''", "\\\n")):
            return  # moving such lines to the right would change what they say
        moved = body.replace("\n", "\n    ")
        for end in ends:
            rescue = f"except Exception:\n{margin}    return {end}"
            shown = f"+ try:\n+     (the whole body)\n+ except Exception:\n+     return {end}"
            yield Edit(start, end_of_body, f"try:\n{margin}    {moved}\n{margin}{rescue}", shown)


def _bent(template: str) -> Callable[[ast.AST, Site], Iterator[Edit]]:
    """Make the generator that wraps the score in `template`."""

    def edits(node: ast.AST, site: Site) -> Iterator[Edit]:
        if site.facts.kind == "numeric" and (value := result_value(node, site)) is not None:
            known = {"value": site.text(value), "worst": site.facts.worst, "best": site.facts.best}
            yield site.replace(value, template.format(**known))

    return edits


def percentage(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Report a ratio as a percentage, or a percentage as a ratio."""
    sign = {"1.0": "*", "1": "*", "100.0": "/", "100": "/"}.get(site.facts.best)
    if sign:
        yield from _bent(f"({{value}}) {sign} 100")(node, site)


def complement(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Count the score from the other end: what is missing instead of what is there."""
    whole = "{best}" if site.facts.worst in ("0", "0.0") else "{worst} + {best}"
    yield from _bent(f"{whole} - ({{value}})")(node, site)


def empty_is_best(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Let an empty input mean the best score."""
    if isinstance(node, _DEF) and site.is_own and node is site.unit.root:
        for name in site.facts.inputs_of("list of str", "list", "str"):
            yield from site.entry(f"if not {name}:", f"    return {site.facts.best}")


def inputs_exchanged(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Exchange a reviewed and a produced input of the same shape."""
    if isinstance(node, _DEF) and site.is_own and node is site.unit.root:
        shapes = dict(site.facts.inputs)
        for one, other in product(site.facts.reviewed, site.facts.produced):
            if shapes.get(one) == shapes.get(other) != "other":
                yield from site.entry(f"{one}, {other} = {other}, {one}")


def reason_thinned(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Leave one of the things that a text reports out of it, such as the missing ids."""
    if isinstance(node, ast.FormattedValue) and node in site.unit.spans:
        yield site.replace(node, "")


def detail_dropped(node: ast.AST, site: Site) -> Iterator[Edit]:
    """Drop the structured detail, whole and key by key."""
    if isinstance(node, ast.Call) and called_name(node) == "MetricResult":
        for keyword in node.keywords:
            if keyword.arg == "detail":
                yield site.replace(keyword.value, "{}")
                yield from _without_each_key(keyword.value, site)


def _without_each_key(node: ast.expr, site: Site) -> Iterator[Edit]:
    if not isinstance(node, ast.Dict) or len(node.keys) < 2 or None in node.keys:
        return
    pairs = [f"{site.text(k)}: {site.text(v)}" for k, v in zip(node.keys, node.values, strict=True) if k is not None]
    for gone in range(len(pairs)):
        yield site.replace(node, "{" + ", ".join(pairs[:gone] + pairs[gone + 1 :]) + "}")


_HANDED_OVER = (ast.Return, ast.Call)

SLIPS: tuple[Operator, ...] = (
    Operator("numerator", "the numerator counts what the denominator counts", (ast.BinOp,), numerator),
    Operator(
        "denominator",
        "the denominator counts what the numerator counts, or a produced input",
        (ast.BinOp,),
        denominator,
    ),
    Operator("set_operation", "set operation exchanged for another", (ast.BinOp, ast.Call), set_operation),
    Operator(
        "guard", "a guard, fallback or filter left out", (ast.If, ast.IfExp, ast.BoolOp, ast.comprehension), guard
    ),
    Operator("deduplicate", "duplicates in an input silently removed", _DEF, deduplicate),
    Operator("normalise_more", "an input silently stripped or folded", _DEF, normalise_more),
    Operator("normalise_less", "strip, lower or casefold left out", (ast.Call,), normalise_less),
    Operator("swallow", "an exception swallowed into the worst or best score", (ast.Raise, *_DEF), swallow),
    Operator("clamp", "the score clamped to its range", _HANDED_OVER, _bent("min(max({value}, {worst}), {best})")),
    Operator("round", "the score rounded to two digits", _HANDED_OVER, _bent("round({value}, 2)")),
    Operator("percentage", "a percentage instead of a ratio, or back", _HANDED_OVER, percentage),
    Operator("returns_bool", "the score as a bool", _HANDED_OVER, _bent("bool({value})")),
    Operator(
        "numpy_scalar", "the score as a numpy scalar of less precision", _HANDED_OVER, _bent("numpy.float32({value})")
    ),
    Operator("complement", "the score counted from the other end", _HANDED_OVER, complement),
    Operator("empty_is_best", "an empty input gives the best score", _DEF, empty_is_best),
    Operator("inputs_exchanged", "a reviewed and a produced input exchanged", _DEF, inputs_exchanged),
    Operator("reason_thinned", "a text leaves out what it should name", (ast.FormattedValue,), reason_thinned),
    Operator("detail_dropped", "the structured detail dropped, whole or by key", (ast.Call,), detail_dropped),
)
