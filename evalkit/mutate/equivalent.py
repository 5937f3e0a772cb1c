"""Equivalent mutants: reviewed, each with its reason, in a file whose every entry must still be true."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.contract import EvalkitError, example_list
from evalkit.mutate.matrix import Mutant

__all__ = ["Reviewed", "check_equivalents", "read_equivalents"]

_KEYS = {"id", "reason", "reviewed_by", "on"}
_EXAMPLE = '[[equivalent]] with id = "...", reason = "...", reviewed_by = "...", on = 2026-11-30'


class Reviewed(NamedTuple):
    """One mutant that a person found to behave as the original does."""

    id: str
    reason: str
    reviewed_by: str
    on: datetime.date


def read_equivalents(path: Path) -> dict[str, Reviewed]:
    """Read the reviewed file, by mutant id.

    Raises
    ------
    EvalkitError
        For anything unreadable, unknown, absent, blank or said twice.
    """
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"cannot be read ({error.strerror or error})"
        raise EvalkitError(
            msg, where=str(path), do="give the path of the reviewed file of equivalent mutants"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"is not TOML ({error})"
        raise EvalkitError(msg, where=path.name) from error
    if plain.get("schema") != 1 or not set(plain) <= {"schema", "metric", "equivalent"}:
        msg = f"must have schema = 1, and besides it only metric and equivalent; got {', '.join(plain) or 'nothing'}"
        raise EvalkitError(msg, where=path.name, do=f"write entries as {_EXAMPLE}")
    found: dict[str, Reviewed] = {}
    for number, entry in enumerate(plain.get("equivalent", []), 1):
        reviewed = _entry(entry, f"{path.name}, entry {number}")
        if reviewed.id in found:
            msg = f"names {reviewed.id!r} twice"
            raise EvalkitError(msg, where=path.name, do="keep one entry")
        found[reviewed.id] = reviewed
    return found


def _entry(entry: Any, where: str) -> Reviewed:
    if not isinstance(entry, dict) or set(entry) != _KEYS:
        keys = ", ".join(sorted(entry)) if isinstance(entry, dict) else type(entry).__name__
        msg = f"an entry has exactly id, reason, reviewed_by and on; got {keys}"
        raise EvalkitError(msg, where=where, do=f"write it as {_EXAMPLE}")
    for key in ("id", "reason", "reviewed_by"):
        if not isinstance(entry[key], str) or not entry[key].strip():
            msg = f"{key} must be a non-blank text; got {entry[key]!r}"
            raise EvalkitError(msg, where=where, do="say it in words: an unexplained entry hides a survivor")
    if type(entry["on"]) is not datetime.date:
        msg = f"on must be a date; got {entry['on']!r}"
        raise EvalkitError(msg, where=where, do="write it without quotes, as 2026-11-30")
    return Reviewed(**entry)


def check_equivalents(reviewed: Mapping[str, Reviewed], mutants: Sequence[Mutant], where: str) -> list[Mutant]:
    """Return the mutants with the reviewed ones marked equivalent.

    Raises
    ------
    EvalkitError
        For an entry whose mutant no longer exists (stale), and for one that a case kills: it is not equivalent.
    """
    known = {mutant.id for mutant in mutants}
    if stale := [name for name in reviewed if name not in known]:
        msg = f"names mutants that no longer exist: {example_list(stale)}"
        raise EvalkitError(msg, where=where, do="the code they change was edited: remove the entries, and review anew")
    if wrong := [m for m in mutants if m.id in reviewed and m.kills]:
        named = example_list([f"{m.id} (killed by {m.killed_by[0]})" for m in wrong])
        msg = f"calls mutants equivalent that a case kills: {named}"
        raise EvalkitError(msg, where=where, do="remove the entries: a killed mutant needs no excuse")
    return [_marked(mutant, reviewed.get(mutant.id)) for mutant in mutants]


def _marked(mutant: Mutant, entry: Reviewed | None) -> Mutant:
    from dataclasses import replace

    if entry is None:
        return mutant
    return replace(mutant, status="equivalent", note=f"{entry.reason} ({entry.reviewed_by}, {entry.on.isoformat()})")
