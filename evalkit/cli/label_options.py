"""The options that every command which reads labels takes, said once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from evalkit.decisions.calibrating.pairing import Reading

__all__ = [
    "AsOf",
    "Cases",
    "Confidence",
    "Criterion",
    "Fails",
    "Feed",
    "Json",
    "Labels",
    "Metric",
    "PassValue",
    "Passes",
    "Risk",
    "Rubric",
    "Slices",
    "reading_of",
]

Metric = Annotated[
    str, typer.Argument(metavar="METRIC", help="A built-in name, module:object or path.py:object (code that is run).")
]
Cases = Annotated[Path, typer.Argument(metavar="CASES", help="A .jsonl file, or a run folder to read instead.")]
Labels = Annotated[Path, typer.Option(metavar="FILE", help="labels.jsonl.")]
Criterion = Annotated[str | None, typer.Option(metavar="NAME", help="Which criterion, where labels answer several.")]
Rubric = Annotated[
    str | None, typer.Option(metavar="VERSION", help="Which rubric version; without it, several stand side by side.")
]
Passes = Annotated[list[str] | None, typer.Option(metavar="LABEL", help="A label that calls a row good ('pass').")]
Fails = Annotated[list[str] | None, typer.Option(metavar="LABEL", help="A label that calls a row bad ('fail').")]
PassValue = Annotated[
    list[str] | None, typer.Option(metavar="VALUE", help="A value of a discrete metric that passes ('pass').")
]
Slices = Annotated[list[str] | None, typer.Option("--slice", metavar="NAME", help="Only this slice (repeatable).")]
Risk = Annotated[float, typer.Option(metavar="SHARE", help="Largest acceptable share of bad answers that pass.")]
Confidence = Annotated[float, typer.Option(metavar="SHARE", help="One-sided, over all slices together.")]
Feed = Annotated[list[str] | None, typer.Option("--input", metavar="PARAM=KEY", help="Feed from another key.")]
AsOf = Annotated[str | None, typer.Option(metavar="DATE", help="The day that is written down; today.")]
Json = Annotated[Path | None, typer.Option(metavar="FILE", help="The result as JSON ('-': standard output).")]


def reading_of(
    passes: list[str] | None,
    fails: list[str] | None,
    pass_values: list[str] | None,
    criterion: str | None,
    rubric: str | None,
) -> Reading:
    """Return how labels and values are read."""
    from evalkit.decisions.calibrating.pairing import Reading

    return Reading(
        passes=frozenset(passes or ["pass"]),
        fails=frozenset(fails or ["fail"]),
        pass_values=frozenset(pass_values or ["pass"]),
        criterion=criterion,
        rubric_version=rubric,
    )
