"""Measure: scoring without a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import MEASURE, app, finish, parse_feeds, say, write_json
from evalkit.contract import EvalkitError, Outcome

__all__ = ["score"]


@app.command(rich_help_panel=MEASURE)
def score(
    targets: Annotated[
        list[str], typer.Argument(metavar="METRIC... CASES", help="One or more metrics, then the cases.")
    ],
    run: Annotated[Path, typer.Option(metavar="DIR", help="The run folder to make.")],
    feed: Annotated[
        list[str], typer.Option("--input", metavar="PARAM=KEY", help="Feed a parameter from another key.")
    ] = [],  # noqa: B006 - typer copies it
    verdict: Annotated[
        list[str] | None, typer.Option(metavar="PARAM=RUN", help="Feed a parameter from the values of a run.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The ledger as JSON ('-' for standard output).")
    ] = None,
) -> None:
    """Score cases: one record a line, no policy. Several metrics give DIR/METRIC/ runs."""
    from evalkit.pages.publish import score_to_run, score_to_runs
    from evalkit.pages.screen import score_screen
    from evalkit.scoring.load import load_metric

    *specs, cases = targets
    if not specs:
        msg = "score needs at least one METRIC before CASES"
        raise EvalkitError(msg, do="for example: evalkit score evidence_coverage cases.jsonl --run runs/first")
    metrics, feeds = [load_metric(spec) for spec in specs], parse_feeds(feed or [])
    verdicts = {name: Path(folder) for name, folder in parse_feeds(verdict or [], option="--verdict").items()}
    if len(metrics) == 1:
        scored = {metrics[0].name: score_to_run(metrics[0], Path(cases), run, feeds=feeds, verdicts=verdicts)}
    elif verdicts:
        msg = f"--verdict feeds one metric; {len(metrics)} were given"
        raise EvalkitError(msg, do="score that metric by itself")
    else:
        scored = score_to_runs(metrics, Path(cases), run, feeds=feeds)
    results = {name: found.ledger.facts() for name, found in scored.items()}
    for name, found in scored.items():
        say(score_screen(name, results[name], report=found.run.folder / "report.html", findings=found.findings))
    if json:
        write_json(json, results if len(metrics) > 1 else results[metrics[0].name])
    is_empty = any(facts["scored"] == 0 for facts in results.values())
    finish(Outcome.incomplete if is_empty else Outcome.passed)
