"""The comparison of preparation hooks: between case and metric, so what they moved belongs to the adapter's owner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.contract import sha256_of
from evalkit.contract.preparation import FAULT
from evalkit.decisions.explaining.kept import Difference, Shown, names
from evalkit.decisions.explaining.run_facts import RunFacts
from evalkit.decisions.explaining.sides import Sides
from evalkit.scoring.preparation import KEY
from evalkit.scoring.records import Record
from evalkit.scoring.retention import is_kept_in_full

__all__ = ["preparation"]


def preparation(sides: Sides) -> Difference | None:
    """Compare the hooks, and of this row what they made of it: a hook that left it alone moved nothing here."""
    before, after = sides.old_run.hooks, sides.new_run.hooks
    changed = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    moved = [name for name in changed if _is_moved(sides, name)]
    if not moved:
        return None
    is_same_input = sides.old.input_hash == sides.new.input_hash
    if not is_same_input and sides.rescored is not None and sides.rescored.value == sides.old.value:
        return None  # the new hooks give the old inputs their old value
    tail = "the case says the same" if is_same_input else "the inputs changed as well"
    failed = f" ({sides.new.reason})" if sides.new.error_kind == FAULT else ""
    text = f"the preparation of {names(moved)} changed, so the metric received something else{failed}; {tail}"
    return Difference(KEY, text, Shown(_hooks(sides.old_run, moved), _hooks(sides.new_run, moved)))


def _is_moved(sides: Sides, name: str) -> bool:
    """Tell whether the metric received something else, and a hook had a hand in it on at least one side."""
    records = (sides.old, sides.new)
    received = [_received(record, name) for record in records]
    return received[0] != received[1] and received != [_raw(record, name) for record in records]


def _received(record: Record, name: str) -> str | None:
    """Return the hash of what the metric received of one input; ``None`` where a hook failed before that."""
    entry: Mapping[str, Any] = (record.lineage.get(KEY) or {}).get(name) or {}
    if entry.get("received") == "nothing":
        return None
    return str(entry.get("sha256")) if entry.get("received") == "prepared" else _raw(record, name)


def _raw(record: Record, name: str) -> str:
    raw = (record.inputs or {}).get(name)
    return str(raw["sha256"]) if isinstance(raw, Mapping) and not is_kept_in_full(raw) else sha256_of(raw)


def _hooks(run: RunFacts, moved: list[str]) -> str:
    found = [(name, run.hooks.get(name)) for name in moved]
    return ", ".join(
        f"{name}: {hook['hook']} ({hook['sha256'][:19]})" if hook else f"{name}: raw" for name, hook in found
    )
