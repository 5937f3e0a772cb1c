"""The check of what a metric returned: a value that breaks it is the metric's fault, never the row's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from evalkit.contract.lint import AllowedValues

__all__ = ["BadValue", "shorten", "value_check"]


class BadValue(Exception):  # noqa: N818 - a word of the message, not an error of evalkit
    """A value that a metric may not return; `kind` is the record's ``error_kind``."""

    def __init__(self, text: str, *, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


def value_check(allowed: AllowedValues) -> Callable[[Any], float | int | str | list[Any]]:
    """Return the check of one value: it gives the plain value back, or raises `BadValue`."""
    if isinstance(allowed, tuple):
        low, high = allowed
        return lambda value: _in_range(value, low, high)
    if isinstance(allowed, range):
        return lambda value: _in_steps(value, allowed)
    if isinstance(allowed, list):
        return lambda value: _label(value, allowed)
    return lambda value: _ranking(value, allowed)


def _in_range(value: Any, low: float, high: float) -> float:
    number = _number(value)
    if not low <= number <= high:
        raise _outside(number, (low, high))
    return float(number)


def _in_steps(value: Any, allowed: range) -> int:
    number = _number(value)
    if isinstance(number, float) and not number.is_integer():
        raise _outside(number, allowed)
    step = int(number)  # a range finds an int at once, but walks through all its members for a float
    if step not in allowed:
        raise _outside(number, allowed)
    return step


def _number(value: Any) -> float | int:
    if type(value) in (float, int):
        return value  # type: ignore[no-any-return] # just asked
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        # A numpy scalar is converted once; it is recognised by its module, so that numpy need not be imported.
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = f"{shorten(value)} ({type(value).__name__}), not a number"
        raise BadValue(text, kind="not_a_number")
    return value


def _outside(number: Any, allowed: tuple[float, float] | range) -> BadValue:
    if isinstance(number, float) and not math.isfinite(number):
        return BadValue(f"{number!r}, not a finite number", kind="not_finite")
    return BadValue(f"{shorten(number)}, outside its range {allowed!r}", kind="out_of_range")


def _label(value: Any, allowed: list[str]) -> str:
    if not isinstance(value, str):
        text = f"{shorten(value)} ({type(value).__name__}), not a label"
        raise BadValue(text, kind="wrong_shape")
    if value not in allowed:
        text = f"{shorten(value)}, not one of {allowed!r}"
        raise BadValue(text, kind="unlisted_label")
    return allowed[allowed.index(value)]  # the declared label, also where a member of a str enum was returned


def _ranking(value: Any, length: int) -> list[Any]:
    if not isinstance(value, list) or len(value) != length:
        text = f"{shorten(value)}, not a list of {length} items"
        raise BadValue(text, kind="wrong_shape")
    if bad := [item for item in value if not _is_json(item)]:
        text = f"a ranking with {shorten(bad[0])} in it, which is not plain finite JSON"
        raise BadValue(text, kind="wrong_shape")
    return value


def _is_json(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if value is None or isinstance(value, str | int):
        return True
    if isinstance(value, list):
        return all(map(_is_json, value))
    return isinstance(value, Mapping) and all(isinstance(key, str) and _is_json(item) for key, item in value.items())


def shorten(value: Any, most: int = 80) -> str:
    """Show a value by its ``repr``, cut to `most` characters; for one that cannot be shown, its type."""
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 - whatever a foreign __repr__ raises; an int of 5,000 digits raises too
        return f"<{type(value).__name__} that cannot be shown>"
    return shown if len(shown) <= most else shown[: most - 3] + "..."
