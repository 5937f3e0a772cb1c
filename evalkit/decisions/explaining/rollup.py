"""Explained rows by owner and by kind: who is asked first, and about what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from evalkit.decisions.explaining.divergence import ORDER, Divergence

if TYPE_CHECKING:
    from evalkit.decisions.explaining.explanation import Explained

__all__ = ["NOBODY", "Group", "Rollup", "roll_up"]

NOBODY = "none"
"""The key of rows without an owner in ``by_owner``."""


class Group(NamedTuple):
    """Rows with one owner and one kind of divergence."""

    owner: str | None
    kind: Divergence
    rows: tuple[Explained, ...]


class Rollup(NamedTuple):
    """All rows, counted three ways; each adds up to the same number."""

    by_owner: dict[str, int]
    by_kind: dict[Divergence, int]
    groups: tuple[Group, ...]
    """Largest first; among equals, in the order of the comparisons."""


def roll_up(rows: Iterable[Explained]) -> Rollup:
    """Count rows by owner and kind."""
    grouped: dict[tuple[str | None, Divergence], list[Explained]] = {}
    for row in rows:
        grouped.setdefault((row.owner, row.first_divergence), []).append(row)
    groups = [Group(owner, kind, tuple(found)) for (owner, kind), found in grouped.items()]
    groups.sort(key=lambda group: (-len(group.rows), ORDER.index(group.kind)))
    owners: Counter[str] = Counter()
    kinds: Counter[Divergence] = Counter()
    for group in groups:
        owners[group.owner or NOBODY] += len(group.rows)
        kinds[group.kind] += len(group.rows)
    return Rollup(dict(owners.most_common()), dict(kinds.most_common()), tuple(groups))
