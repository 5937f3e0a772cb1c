"""Break: faults planted on purpose, and which case catches each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import BREAK, app, finish, parse_feeds, say, write_json

__all__ = ["mutate"]


@app.command(rich_help_panel=BREAK)
def mutate(
    metric: Annotated[str, typer.Argument(metavar="METRIC", help="A built-in name, module:object or path.py:object.")],
    cases: Annotated[Path, typer.Option(metavar="FILE", help="Contract cases, each with its oracle.")],
    equivalent: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Reviewed equivalents; equivalent.toml beside the cases.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Mutate this policy and the gate as well.")
    ] = None,
    rows: Annotated[Path | None, typer.Option(metavar="FILE", help="The rows that the policy decides.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Show every case to every mutant.")] = False,
    seconds: Annotated[float, typer.Option(metavar="S", min=0.1, help="A mutant's time for one case.")] = 2.0,
    feed: Annotated[
        list[str] | None, typer.Option("--input", metavar="PARAM=KEY", help="Feed from another key.")
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="The matrix ('-': standard output).")] = None,
) -> None:
    """Plant faults in a metric's source: 0 all killed, 1 survivors, 2 it fails its own cases."""
    from evalkit.mutate import kill_matrix
    from evalkit.pages.kill_screen import kill_screen
    from evalkit.pages.progress import counting

    with counting("mutants") as count:
        matrix = kill_matrix(
            metric,
            cases,
            equivalent=equivalent,
            policy=policy,
            rows=rows,
            feeds=parse_feeds(feed or []),
            full=full,
            seconds=seconds,
            on_mutant=lambda *_: count(1),
        )
    if str(json) != "-":
        say(kill_screen(matrix))
    if json:
        write_json(json, matrix.to_json())
    finish(matrix.outcome)
