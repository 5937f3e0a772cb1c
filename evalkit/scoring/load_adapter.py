"""ADAPTER to adapter: the name of a shipped mapping, or ``path/to/file.py:object``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.adapters.declare import Adapter
from evalkit.cases.adapters.shipped import SHIPPED
from evalkit.contract import EvalkitError, sha256_file

__all__ = ["LoadedAdapter", "load_adapter"]


class LoadedAdapter(NamedTuple):
    """An adapter and where it came from."""

    adapter: Adapter
    source: dict[str, Any] | None
    """``{"path", "object", "sha256"}`` of the user's file; ``None`` for a shipped mapping."""


def load_adapter(spec: str) -> LoadedAdapter:
    """Load the adapter that `spec` names.

    Raises
    ------
    EvalkitError
        For whatever keeps it from being loaded.

    Examples
    --------
    >>> load_adapter("plain").adapter.revision
    '1'
    >>> load_adapter("plian")
    Traceback (most recent call last):
    ...
    evalkit.contract.faults.EvalkitError: there is no adapter 'plian'; shipped are csv, openinference, otel-genai,
    plain, ragas; your own is named path/to/file.py:object
    """
    if spec in SHIPPED:
        return LoadedAdapter(SHIPPED[spec], None)
    place, colon, name = spec.rpartition(":")
    if not colon or not place.endswith(".py"):
        msg = f"there is no adapter {spec!r}"
        do = f"shipped are {', '.join(sorted(SHIPPED))}; your own is named path/to/file.py:object"
        raise EvalkitError(msg, do=do)
    path = Path(place)
    if not path.is_file():
        msg = "there is no such file"
        raise EvalkitError(msg, where=place, do="give the path of a .py file, as seen from the current folder")
    from evalkit.scoring.user_code import run_file

    found = getattr(run_file(path), name, None)
    if not isinstance(found, Adapter):
        came = "no such object" if found is None else f"an object of type {type(found).__name__}"
        msg = f"an Adapter was expected at {name!r}; got {came}"
        raise EvalkitError(msg, where=place, do="write NAME = Adapter(name=..., revision=..., answer=..., ...)")
    # No path of this machine travels with a run.
    shown = path.name if path.is_absolute() else path.as_posix()
    return LoadedAdapter(found, {"path": shown, "object": name, "sha256": sha256_file(path)})
