"""Planting: every operator at every node of a metric's source, without duplicates, each with an id that lasts."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from evalkit.contract import Metric
from evalkit.mutate.blueprint import Blueprint, Change, blueprint_of
from evalkit.mutate.operators import GENERAL
from evalkit.mutate.site import Operator, Site, facts_of
from evalkit.mutate.slips import SLIPS
from evalkit.mutate.source import Edit, parse_unit

__all__ = ["OPERATORS", "Planted", "Planting", "Seed", "plant", "seeds"]

OPERATORS: tuple[Operator, ...] = (*SLIPS, *GENERAL)
"""All operators that change a metric's source, the telling ones first: of two equal mutants the first is kept."""

_DEFAULT = Operator("default", "a parameter's default changed", (), lambda *_: iter(()))


class Seed(NamedTuple):
    """One change that an operator proposes."""

    operator: Operator
    node: ast.AST
    edit: Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One fault, ready to be built."""

    id: str
    operator: Operator
    where: str
    line: int
    diff: str
    change: Change


@dataclass(frozen=True, slots=True)
class Planting:
    """A metric with all faults that can be planted in it."""

    blueprint: Blueprint
    mutants: tuple[Planted, ...]
    idle: tuple[Operator, ...]
    """The operators that found nothing to change in this metric."""


def plant(metric: Metric) -> Planting:
    """Make every mutant of a metric's source that Python accepts and that differs from the others.

    The metric's own function comes first, then the helpers and constants of its module that it reaches, each in the
    order of its text.

    Raises
    ------
    EvalkitError
        Where the metric has no source.
    """
    blueprint = blueprint_of(metric)
    facts = facts_of(metric, blueprint.units)
    mutants: list[Planted] = []
    met: Counter[str] = Counter()
    for unit in blueprint.units:
        site = Site(unit, facts, is_own=unit is blueprint.units[0])
        for seed in sorted(seeds(site), key=lambda found: found.edit.start):
            try:
                change = blueprint.change(unit, seed.edit)
            except SyntaxError:
                continue
            key = _key(site, seed)
            met[key] += 1
            ordinal = f":{met[key]}" if met[key] > 1 else ""
            digest = hashlib.sha256(key.encode()).hexdigest()[:8]
            mutants.append(
                Planted(
                    id=f"{unit.name}:{seed.operator.name}:{digest}{ordinal}",
                    operator=seed.operator,
                    where=unit.name,
                    line=unit.line_of(seed.edit.start),
                    diff=unit.diff(seed.edit),
                    change=change,
                )
            )
    used = {mutant.operator.name for mutant in mutants}
    return Planting(blueprint, tuple(mutants), tuple(o for o in (*OPERATORS, _DEFAULT) if o.name not in used))


def seeds(site: Site, operators: tuple[Operator, ...] = OPERATORS) -> Iterator[Seed]:
    """Yield the changes of one unit in the order of its text, leaving out those that change nothing or occur twice."""
    unit = site.unit
    unit.spans  # noqa: B018 - locating replaces the expressions inside f-strings, so it comes before the walk
    nodes = [node for node in _walk(unit.root) if _place(site, node) is not None]
    known = {ast.dump(parse_unit(unit, unit.text))}
    for node in sorted(nodes, key=lambda n: _place(site, n) or (0, 0)):
        if unit.kind == "closure" and not (isinstance(node, ast.Constant) and node.value in unit.held):
            continue
        is_default = _is_default(site, node)
        for operator in operators:
            if not isinstance(node, operator.nodes):
                continue
            for edit in operator.edits(node, site):
                try:
                    shape = ast.dump(parse_unit(unit, unit.apply(edit)))
                except SyntaxError:
                    continue
                if shape not in known:
                    known.add(shape)
                    yield Seed(_DEFAULT if is_default else operator, node, edit)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through what runs: annotations do not."""
    yield node
    skipped = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    for child in ast.iter_child_nodes(node):
        if not any(child is gone for gone in skipped):
            yield from _walk(child)


def _place(site: Site, node: ast.AST) -> tuple[int, int] | None:
    if isinstance(node, ast.comprehension):
        node = node.target
    span = site.unit.spans.get(node)
    return (span.start, -span.end) if span else None


def _is_default(site: Site, node: ast.AST) -> bool:
    above = site.parent(node)
    return isinstance(above, ast.arguments)


def _key(site: Site, seed: Seed) -> str:
    """Name a seed by what it does, the statement it does it in and those around it, whatever lines they stand on."""
    around = [_shape(node, _BODIES) for node in (seed.node, *site.above(seed.node)) if isinstance(node, ast.stmt)]
    change = "".join((seed.edit.shown or seed.edit.text).split())
    return "\0".join((seed.operator.name, site.unit.name, *around, _shape(seed.node, _BODIES), change))


_BODIES = frozenset({"body", "orelse", "handlers", "finalbody", "decorator_list"})
_NO_MEANING = frozenset({"ctx", "kind", "type_comment"})


def _shape(node: object, without: frozenset[str] = frozenset()) -> str:
    """Show what a node says, not how it is laid out; the same in every version of Python, unlike `ast.dump`."""
    if isinstance(node, list):
        return f"[{','.join(_shape(item) for item in node)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, [])]
    kept = [f"{name}={_shape(value)}" for name, value in fields if name not in without | _NO_MEANING]
    return f"{type(node).__name__}({','.join(kept)})"
