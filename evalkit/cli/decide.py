"""Decide: the release check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evalkit.cli.app import DECIDE, app, finish, parse_day, parse_feeds, say, write_json
from evalkit.contract import EvalkitError

__all__ = ["gate"]


@app.command(rich_help_panel=DECIDE)
def gate(
    metric: Annotated[
        str,
        typer.Argument(metavar="METRIC", help="A built-in name, module:object or path.py:object (code that is run)."),
    ],
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="A .jsonl file, or a run folder to read instead.")],
    policy: Annotated[Path, typer.Option(metavar="FILE", help="The policy.toml.")],
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="The run folder to make (never overwritten).")] = None,
    baseline: Annotated[Path | None, typer.Option(metavar="RUN", help="Split failures into new, known, fixed.")] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="labels.jsonl, for limits on false passes.")
    ] = None,
    causes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="causes.jsonl: why decision and label differ, row by row.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Hold-out ledger; beside the policy by default.")
    ] = None,
    require_revision: Annotated[str | None, typer.Option(metavar="ID", help="Each row's system_revision.")] = None,
    as_of: Annotated[str | None, typer.Option(metavar="DATE", help="The day dates are judged on; today.")] = None,
    feed: Annotated[
        list[str] | None, typer.Option("--input", metavar="PARAM=KEY", help="Feed from another key.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="JUnit XML, one case a check.")] = None,
    summary: Annotated[Path | None, typer.Option(metavar="FILE", help="Markdown, appended if it exists.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="The outcome file ('-': standard output).")] = None,
    format: Annotated[str, typer.Option(metavar="text|jsonl", help="jsonl: one object a row, nothing else.")] = "text",  # noqa: A002 - the option's name
) -> None:
    """Judge each row under a policy: passed 0, quality failed 1, incomplete 2, review required 3."""
    from evalkit.pages.gate_run import GateOutputs, run_gate

    outputs = GateOutputs(run=run, junit=junit, summary=summary, format=_format(format))
    options: dict[str, Any] = {
        "baseline": baseline,
        "labels": labels,
        "causes": causes,
        "ledger": ledger,
        "require_revision": require_revision,
        "as_of": parse_day(as_of),
        "feeds": parse_feeds(feed or []),
    }
    done = run_gate(metric, cases, policy, options, outputs)
    if json:  # before anything is printed: a reader that closes the pipe must not cost the file
        write_json(json, done.facts)
    if outputs.format == "text":
        say(done.screen)
    finish(done.exit_code)


def _format(name: str) -> str:
    if name not in ("text", "jsonl"):
        msg = f"--format must be text or jsonl; got {name!r}"
        raise EvalkitError(msg)
    return name
