"""Decide: the meeting of people without Jupyter: a ballot to mail, votes that come back, the page that goes round."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import DECIDE, app, finish, say, write_json
from evalkit.contract import Outcome

__all__ = ["ballot", "collect", "packet"]

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The run folder whose rows are reviewed.")]
Out = Annotated[Path, typer.Option(metavar="FILE.html", help="The page to write.")]

votes = typer.Typer(no_args_is_help=True, help="Votes of a threshold review: collect.")
app.add_typer(votes, name="votes", rich_help_panel=DECIDE)


@app.command(rich_help_panel=DECIDE)
def ballot(
    run: Run,
    out: Out,
    slices: Annotated[
        list[str] | None, typer.Option("--slice", metavar="NAME", help="Whose threshold is reviewed (repeatable).")
    ] = None,
    threshold: Annotated[float | None, typer.Option(metavar="NUMBER", help="Instead of the policy's.")] = None,
    rows: Annotated[int, typer.Option(metavar="N", min=1, help="Rows just below and just above it.")] = 5,
    far: Annotated[int, typer.Option(metavar="N", min=0, help="Rows from elsewhere among them.")] = 2,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the rows' order.")] = 7,
) -> None:
    """Write one static page to vote on blind, offline and without Jupyter; the votes come back as a file.

    Its rows are those of the run's meeting: the first ballot or notebook chooses them, every later one shows the same.
    """
    from evalkit.decisions.meeting.agenda import AgendaOptions
    from evalkit.pages.ballot import make_ballot
    from evalkit.pages.plain import plain

    made = make_ballot(run, out, slices=slices or (), threshold=threshold, options=AgendaOptions(rows, far, seed))
    reviewed = ", ".join(f"{plain(name)} {value!r}" for name, value in made.agenda.thresholds.items())
    say(f"wrote {plain(str(made.path))}: {len(made.agenda.rows)} rows around {reviewed}, {made.size:,} bytes")
    say(f"mail it; then: evalkit votes collect FILE... --run {plain(str(run))}")
    finish(Outcome.passed)


@votes.command("collect")
def collect(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="What Download votes saved.")],
    run: Annotated[Path, typer.Option(metavar="RUN", help="The run folder that the ballot was made for.")],
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The counts as JSON ('-': standard output).")
    ] = None,
) -> None:
    """Check files of votes and merge them into the meeting beside RUN: all of them, or none.

    Votes on other answers than the run shows are refused (exit 2). Merging a file twice changes nothing.
    """
    from evalkit.pages.collect import collect_votes

    done = collect_votes(files, run)
    if str(json) != "-":
        say(done.screen)
    if json:
        write_json(json, done.facts)
    finish(done.outcome)


@app.command(rich_help_panel=DECIDE)
def packet(
    run: Run,
    policy: Annotated[Path, typer.Option(metavar="FILE", help="The policy under review, or the one decided.")],
    out: Out,
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="labels.jsonl, for error counts.")] = None,
    minutes: Annotated[Path | None, typer.Option(metavar="FILE.md", help="Markdown minutes, after a decision.")] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="METRIC", help="The metric that made RUN, if not built in.")
    ] = None,
) -> None:
    """Write the page of a meeting, offline in one file: votes, candidates and evidence; after a decision, its minutes.

    It shows who voted how: send it once voting has closed.
    """
    from evalkit.pages.packet_run import write_packet
    from evalkit.pages.plain import plain

    done = write_packet(run, labels=labels, policy=policy, out=out, minutes=minutes, metric=metric)
    what = "minutes" if done.is_minutes else "for the discussion"
    say(f"wrote {plain(str(done.path))} ({what}): {len(done.reviewers)} reviewers, {done.size:,} bytes")
    finish(Outcome.passed)
