"""What a contract case expects of the metric (its ``oracle``), and how what came differs from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit.contract import EvalkitError, Measured
from evalkit.mutate.matrix import By

__all__ = ["Difference", "Oracle", "difference", "oracle_of", "parse_oracle", "plain_oracle"]

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")  # of an object in memory: another in every run
_TOLERANCE = 1e-9
_SHAPE = '{"value": ..., "reason": "..."}, {"invalid": "fragment"} or {"error": "fragment"}'


class Oracle(NamedTuple):
    """What a case should come to."""

    state: str
    value: Any = None
    reason: str | None = None
    """Of a scored row the whole reason; of an invalid row or an error a fragment of it; ``None``: any."""
    detail: Mapping[str, Any] | None = None


class Difference(NamedTuple):
    """The first thing in which a result differs from what was expected."""

    by: By
    seen: str


def parse_oracle(plain: Any, where: str) -> Oracle:
    """Read the ``oracle`` of a contract case.

    Raises
    ------
    EvalkitError
        Where it is not one of the three shapes.

    Examples
    --------
    >>> parse_oracle({"invalid": "must not be empty"}, "case empty")
    Oracle(state='invalid', value=None, reason='must not be empty', detail=None)
    """
    keys = set(plain) if isinstance(plain, Mapping) else set()
    if "value" in keys and keys <= {"value", "reason", "detail"}:
        reason, detail = plain.get("reason"), plain.get("detail")
        if isinstance(reason, str | None) and isinstance(detail, Mapping | None):
            return Oracle("scored", plain["value"], reason, detail)
    for state in ("invalid", "error"):
        if keys == {state} and isinstance(plain[state], str) and plain[state].strip():
            return Oracle(state, None, plain[state])
    msg = f"an oracle must be {_SHAPE}; got {plain!r}"
    raise EvalkitError(msg, where=where, do="write what the case should come to, and nothing else")


def oracle_of(measured: Measured) -> dict[str, Any]:
    """Return the oracle that a result fulfils, as plain JSON: what a case would say to hold the metric to it."""
    return plain_oracle(Oracle(measured.state, measured.value, measured.reason, measured.detail))


def plain_oracle(oracle: Oracle) -> dict[str, Any]:
    """Return an oracle as it stands in a case."""
    if oracle.state != "scored":
        return {oracle.state: oracle.reason}
    plain = {"value": oracle.value, "reason": oracle.reason}
    return plain | ({"detail": dict(oracle.detail)} if oracle.detail else {})


def difference(measured: Measured, oracle: Oracle) -> Difference | None:
    """Return the first thing in which a result differs from the oracle: its state, value, reason or detail.

    Numbers may differ by 1e-9, the order in which a sum is taken; everything else must be equal.
    """
    if measured.state != oracle.state:
        is_memory = measured.state == "error" and measured.reason.startswith("MemoryError")
        seen = repr(measured.value) if measured.state == "scored" else measured.reason
        return Difference("memory" if is_memory else "state", _short(f"{measured.state}: {seen}"))
    if oracle.state != "scored":
        if oracle.reason is not None and oracle.reason not in measured.reason:
            return Difference("reason", _short(measured.reason))
        return None
    if not _equal(measured.value, oracle.value):
        return Difference("value", _short(repr(measured.value)))
    if oracle.reason is not None and measured.reason != oracle.reason:
        return Difference("reason", _short(measured.reason))
    if oracle.detail is not None and not _equal(measured.detail, oracle.detail):
        return Difference("detail", _short(repr(dict(measured.detail))))
    return None


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return isinstance(one, bool) == isinstance(other, bool) and abs(one - other) <= _TOLERANCE
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    return bool(one == other)


def _short(text: str) -> str:
    text = _ADDRESS.sub("0x", " ".join(text.split()))
    return text if len(text) <= 100 else text[:97] + "..."
