"""From a frame of rows to the few numbers that a chart draws: counted here, as data that a test can read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.contract import EvalkitError
from evalkit.pages.plain import plain, shown

if TYPE_CHECKING:
    import pandas as pd

    from evalkit.decisions.resolution import Resolution

__all__ = ["Counted", "label_counts", "ledger_counts", "numbers_of", "step_points", "value_counts"]

BINS = 20
_MOST_BARS = 24
"""Up to this many different values, each has its own bar; beyond it they are binned."""

_WORDS = ("pass", "review", "fail", "undecided", "invalid", "error", "unrun")
_STACK = ("pass", "review", "fail", "undecided")


class Counted(NamedTuple):
    """Counts to draw, and how many rows they leave out."""

    frame: pd.DataFrame
    shown: int
    """Rows that the counts hold."""
    not_shown: int
    """Rows without a finite score: missing is not a number, so they have no place on the axis."""

    def note(self) -> str:
        """Say what is left out, for a subtitle."""
        total = self.shown + self.not_shown
        return f"{self.shown:,} of {total:,} rows; {self.not_shown:,} not shown (no score)"


def numbers_of(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of scores as nullable floats; NaN and infinities become missing, which they are.

    Raises
    ------
    EvalkitError
        Where the column holds something else than numbers: nothing is guessed from text, periods or durations.
    """
    import pandas as pd

    if len(column) == 0 or column.isna().all():
        return pd.Series(pd.array([None] * len(column), dtype="Float64"), index=column.index)
    bad = next((value for value in column if not _is_missing(value) and not _is_number(value)), None)
    if bad is not None:
        msg = f"the column {column.name!r} must hold numbers; got {type(bad).__name__} {bad!r}"
        raise EvalkitError(msg, do="choose the column of scores, or count labels with label_counts")
    numbers = [None if _is_missing(value) or not math.isfinite(float(value)) else float(value) for value in column]
    return pd.Series(pd.array(numbers, dtype="Float64"), index=column.index)


def value_counts(frame: pd.DataFrame, bounds: Mapping[str, float] | None = None) -> Counted:
    """Count scores by slice, value (or bin) and decision.

    Parameters
    ----------
    frame : DataFrame
        ``slice, value`` and, where rows were decided, ``decision``; other columns of any type are not looked at.
    bounds : mapping, optional
        The policy's minimum or maximum by slice.

    Returns
    -------
    Counted
        ``slice, start, end, label, decision, rows, base, top, bound``: one line a bar. Bars of one place
        stand on each other from ``base`` to ``top``; up to 24 different values have their own bar, more are binned
        into 20.
    """
    import pandas as pd

    scores = numbers_of(frame["value"])
    kept = pd.DataFrame(
        {"slice": _texts(frame["slice"]), "value": scores, "decision": _decisions(frame, scores)}
    ).dropna(subset=["value"])
    kept["value"] = kept["value"].astype("float64")
    low, high = _ends(kept["value"])
    is_binned = kept["value"].nunique() > _MOST_BARS
    if is_binned:
        kept["start"] = (((kept["value"] - low) / (high - low) * BINS).astype(int).clip(upper=BINS - 1)) * (
            (high - low) / BINS
        ) + low
    else:
        kept["start"] = kept["value"]
    counted = kept.groupby(["slice", "start", "decision"], as_index=False, observed=True).size()
    counted = counted.rename(columns={"size": "rows"})
    width = (high - low) / BINS
    counted["label"] = [
        f"{shown(start)} to {shown(start + width)}" if is_binned else shown(start) for start in counted["start"]
    ]
    counted["end"] = counted["start"] + width * 0.9 if is_binned else counted["start"] + width / 8
    counted["start"] = counted["start"] if is_binned else counted["start"] - width / 8
    named = {plain(name, newline=" "): bound for name, bound in (bounds or {}).items()}
    counted["bound"] = counted["slice"].map(named).astype("float64")
    return Counted(_stacked(counted, ["slice", "start"]), len(kept), len(frame) - len(kept))


def label_counts(frame: pd.DataFrame) -> Counted:
    """Count labels by slice and decision: ``slice, label, decision, rows``."""
    import pandas as pd

    labels = frame["value"].astype("string")
    kept = pd.DataFrame({"slice": _texts(frame["slice"]), "label": labels, "decision": _decisions(frame, labels)})
    kept = kept.dropna(subset=["label"])
    kept["label"] = [plain(label, newline=" ") for label in kept["label"]]
    counted = kept.groupby(["slice", "label", "decision"], as_index=False, observed=True).size()
    return Counted(counted.rename(columns={"size": "rows"}), len(kept), len(frame) - len(kept))


def ledger_counts(frame: pd.DataFrame) -> pd.DataFrame:
    """Count rows by slice and by what became of them: ``slice, word, rows, of, base, top``; no row is left out."""
    import pandas as pd

    decided = frame["decision"].astype("object").where(frame["decision"].notna(), "undecided")
    words = decided.where(frame["state"] == "scored", frame["state"]).astype(str)
    kept = pd.DataFrame({"slice": _texts(frame["slice"]), "decision": words})
    counted = kept.groupby(["slice", "decision"], as_index=False).size().rename(columns={"size": "rows"})
    counted = _stacked(counted, ["slice"], _WORDS).rename(columns={"decision": "word"})
    counted["of"] = counted.groupby("slice")["rows"].transform("sum")
    return counted


def step_points(resolutions: Iterable[Resolution], low: float = 0.0, high: float = 1.0) -> pd.DataFrame:
    """Return what each threshold lets pass, as corners of a step line: ``slice, threshold, passing, of, policy``.

    Up to ``threshold`` (from the corner before it) ``passing`` of ``of`` rows pass; ``policy`` is the bound in use.
    """
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for found in resolutions:
        for step in found.steps:
            ends = [low if step.above is None else step.above, high if step.upto is None else step.upto]
            lines += [
                {
                    "slice": plain(found.slice, newline=" "), "threshold": end, "passing": step.passing, "of": step.of,
                    "policy": found.threshold,
                }
                for end in (ends if ends[0] < ends[1] else [])
            ]  # fmt: skip
    frame = pd.DataFrame(lines, columns=["slice", "threshold", "passing", "of", "policy"])
    return frame.astype({"threshold": "float64", "policy": "float64"})


def _is_missing(value: Any) -> bool:
    import pandas as pd

    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def _is_number(value: Any) -> bool:
    import numbers
    from decimal import Decimal

    return isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool)


def _texts(column: pd.Series[Any]) -> list[str]:
    return [plain(str(value), newline=" ") for value in column]


def _decisions(frame: pd.DataFrame, scores: pd.Series[Any]) -> pd.Series[Any]:
    import pandas as pd

    if "decision" not in frame:
        return pd.Series(["undecided"] * len(scores), index=scores.index)
    column = frame["decision"].astype("object")
    return column.where(column.notna(), "undecided").astype(str)


def _ends(values: pd.Series[Any]) -> tuple[float, float]:
    if len(values) == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _stacked(counted: pd.DataFrame, place: list[str], order: tuple[str, ...] = _STACK) -> pd.DataFrame:
    ranked = counted.assign(rank=[order.index(word) if word in order else len(order) for word in counted["decision"]])
    ranked = ranked.sort_values([*place, "rank"], ignore_index=True)
    ranked["top"] = ranked.groupby(place)["rows"].cumsum()
    ranked["base"] = ranked["top"] - ranked["rows"]
    return ranked.drop(columns="rank")
