"""Figures of a notebook held against ``fixtures/expected/NAME.json``, each within its stated tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError
from evalkit.scoring.run import write_whole

__all__ = ["Difference", "Expected", "accept", "differences", "read_expected"]

Figure = float | int | str | None


class Difference(NamedTuple):
    """One figure that is not as expected."""

    name: str
    expected: Figure
    found: Figure
    tolerance: float
    is_absent: bool = False
    """The page did not write it at all, which is more than writing null."""
    is_new: bool = False
    """Nobody expected it: accept it, or it is not held against anything."""

    def __str__(self) -> str:
        if self.is_new:
            return f"{self.name} = {self.found!r} is not among the expected figures"
        if self.is_absent:
            return f"{self.name} = {self.expected!r} was expected and is absent"
        within = f" within {self.tolerance:g}" if self.tolerance else ""
        return f"{self.name}: expected {self.expected!r}{within}, got {self.found!r}"


class Expected(NamedTuple):
    """What a notebook's figures must be under its default parameters."""

    outcome: str
    figures: Mapping[str, Figure]
    tolerance: float
    """Absolute, for numbers without one of their own."""
    tolerances: Mapping[str, float]


def read_expected(path: Path) -> Expected | None:
    """Read expected figures; ``None`` where there is no such file."""
    if not path.exists():
        return None
    try:
        facts = parse_object(path.read_bytes())
        return Expected(facts["outcome"], facts["figures"], float(facts["tolerance"]), facts.get("tolerances", {}))
    except (OSError, JsonProblem, KeyError, TypeError, ValueError) as error:
        msg = f"cannot be read as expected figures ({error})"
        raise EvalkitError(msg, where=str(path), do="write it anew with evalkit notebooks NAME --accept") from error


def differences(expected: Expected, outcome: str, figures: Mapping[str, Figure]) -> list[Difference]:
    """Return every figure that differs, the outcome first; the order of figures does not matter.

    >>> wanted = Expected("passed", {"mean": 0.5, "rows": 3}, 1e-9, {"mean": 0.01})
    >>> [str(d) for d in differences(wanted, "passed", {"mean": 0.505, "rows": 4})]
    ['rows: expected 3 within 1e-09, got 4']
    """
    found = [Difference("outcome", expected.outcome, outcome, 0.0)] if outcome != expected.outcome else []
    for name, wanted in expected.figures.items():
        tolerance = expected.tolerances.get(name, expected.tolerance)
        if name not in figures:
            found.append(Difference(name, wanted, None, tolerance, is_absent=True))
        elif not _is_within(wanted, figures[name], tolerance):
            found.append(Difference(name, wanted, figures[name], tolerance))
    new = [name for name in figures if name not in expected.figures]
    return found + [Difference(name, None, figures[name], 0.0, is_new=True) for name in new]


def _is_within(wanted: Figure, got: Figure, tolerance: float) -> bool:
    if isinstance(wanted, bool) or isinstance(got, bool) or not _is_number(wanted) or not _is_number(got):
        return wanted == got and type(wanted) is type(got)
    return abs(float(wanted or 0) - float(got or 0)) <= tolerance


def _is_number(value: Figure) -> bool:
    return isinstance(value, int | float)


def accept(path: Path, name: str, outcome: str, figures: Mapping[str, Figure], before: Expected | None) -> None:
    """Write these figures as the expected ones; tolerances that somebody set stay."""
    facts: dict[str, Any] = {
        "schema": 1,
        "notebook": name,
        "outcome": outcome,
        "tolerance": before.tolerance if before else 1e-9,
        "tolerances": {key: value for key, value in (before.tolerances if before else {}).items() if key in figures},
        "figures": dict(figures),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, orjson.dumps(facts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
