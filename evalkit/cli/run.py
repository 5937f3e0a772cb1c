"""Run: the notebooks, a metric to start from, and what is wrong with this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import RUN, app, finish, say, write_json

__all__ = ["doctor", "new", "notebooks"]


@app.command(rich_help_panel=RUN)
def notebooks(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME...", help="By name, number or path; all where none is named.")
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option("-p", "--parameter", metavar="NAME=VALUE", help="Read by its declared type.")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Pages and outcome files.")] = Path("runs/notebooks"),
    workers: Annotated[int, typer.Option(metavar="N", help="Notebooks at a time.")] = 2,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="For one notebook.")] = 600.0,
    accept: Annotated[bool, typer.Option("--accept", help="Write these figures as the expected ones.")] = False,
    build: Annotated[bool, typer.Option("--build", help="Write the .ipynb pages beside their sources.")] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="All outcomes ('-': standard output).")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="JUnit XML, one case a check.")] = None,
) -> None:
    """Run notebooks headless, in parallel; exit code from their outcome files, figures against expected ones."""
    from evalkit.pages.notebooks.command import NotebookOptions, run_notebooks
    from evalkit.pages.notebooks.shown import notebooks_facts, notebooks_junit, notebooks_screen
    from evalkit.scoring.run import write_whole

    options = NotebookOptions(
        parameters=parameter or [], out=out, workers=workers, timeout=timeout, accept=accept, build=build
    )
    done = run_notebooks(names or [], options)
    if str(json) != "-":
        say(notebooks_screen(done).rstrip("\n"))
    if json:
        write_json(json, notebooks_facts(done))
    if junit:
        write_whole(junit, notebooks_junit(done))
    finish(done.exit_code)


@app.command(rich_help_panel=RUN)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the metric: an identifier.")],
    kind: Annotated[str, typer.Option(metavar="KIND", help="numeric, discrete, ranking or judge.")] = "numeric",
    to: Annotated[Path | None, typer.Option(metavar="FOLDER", help="New or empty; ./NAME by default.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="What was written ('-': standard output).")] = None,
) -> None:
    """Write a metric to start from: module, cases, rows, policy and card that pass their own checks."""
    from evalkit.pages.new import start_metric, started_screen

    started = start_metric(name, to, kind=kind)  # type: ignore[arg-type] # checked there, with the kinds there are
    if str(json) != "-":
        say(started_screen(started).rstrip("\n"))
    if json:
        write_json(json, {"metric": started.spec, "kind": started.kind, "files": list(started.files)})


@app.command(rich_help_panel=RUN)
def doctor(
    deep: Annotated[bool, typer.Option("--deep", help="Import ragas too (ten seconds or more).")] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="The checks ('-': standard output).")] = None,
) -> None:
    """Say what is wrong here and how to mend it: 0 nothing, 2 something."""
    from evalkit.cli.doctor import doctor_facts, doctor_screen, examine, outcome_of

    findings = list(examine(Path.cwd(), deep=deep))
    if str(json) != "-":
        say(doctor_screen(findings))
    if json:
        write_json(json, doctor_facts(findings))
    finish(outcome_of(findings))
