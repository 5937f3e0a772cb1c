"""Explain: from a red build to the missing evidence, and a migration rehearsed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import EXPLAIN, app, finish, parse_day, parse_feeds, say, write_json
from evalkit.contract import Outcome

__all__ = ["compare", "explain"]


@app.command(rich_help_panel=EXPLAIN)
def explain(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder to explain.")],
    older: Annotated[Path | None, typer.Argument(metavar="[OLDER_RUN]", help="The run it is compared with.")] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="METRIC", help="The metric that made RUN, to ask what would flip a row.")
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Every row as JSON ('-': standard output).")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="The same for a pull request.")] = None,
) -> None:
    """Name the missing evidence and its owner: of one run, or of what changed between two.

    Exit code 0, or 2 where a run folder cannot be read.
    """
    from evalkit.pages.explain_run import explain_runs

    done = explain_runs(run, older, metric, markdown)
    if str(json) != "-":
        say(done.screen)
    if json:
        write_json(json, done.facts)
    finish(Outcome.passed)


@app.command(rich_help_panel=EXPLAIN)
def compare(
    old: Annotated[str, typer.Argument(metavar="METRIC_A", help="The old metric (or a run folder made with it).")],
    new: Annotated[str, typer.Argument(metavar="METRIC_B", help="The new metric (or a run folder made with it).")],
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="A .jsonl file, or a run folder with its inputs.")],
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Decides both sides, and bounds the window.")
    ] = None,
    as_of: Annotated[str | None, typer.Option(metavar="DATE", help="The day the window is judged on; today.")] = None,
    within: Annotated[float, typer.Option(metavar="NUMBER", help="Values this close agree.")] = 0.0,
    feed: Annotated[
        list[str] | None, typer.Option("--input", metavar="PARAM=KEY", help="Feed from another key.")
    ] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Every row as JSON ('-': standard output).")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="The same for a pull request.")] = None,
) -> None:
    """Run two metrics over the same cases: 0 they agree, 1 some row disagrees, 2 nothing could be compared."""
    from evalkit.pages.explain_run import compare_metrics

    done = compare_metrics(
        (old, new),
        cases,
        policy,
        as_of=parse_day(as_of),
        within=within,
        feeds=parse_feeds(feed or []),
        markdown=markdown,
    )
    if str(json) != "-":
        say(done.screen)
    if json:
        write_json(json, done.facts)
    finish(done.outcome)
