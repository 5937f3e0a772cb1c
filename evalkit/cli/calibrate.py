"""Decide: a threshold that is certified on labels, or how many labels are missing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import DECIDE, app, finish, parse_day, parse_feeds, say, write_json
from evalkit.cli.label_options import (
    AsOf,
    Cases,
    Confidence,
    Criterion,
    Fails,
    Feed,
    Json,
    Labels,
    Metric,
    Passes,
    PassValue,
    Risk,
    Rubric,
    Slices,
    reading_of,
)

__all__ = ["calibrate"]


@app.command(rich_help_panel=DECIDE)
def calibrate(
    metric: Metric,
    cases: Cases,
    labels: Labels,
    max_false_pass: Risk = 0.05,
    confidence: Confidence = 0.95,
    slices: Slices = None,
    criterion: Criterion = None,
    rubric: Rubric = None,
    passes: Passes = None,
    fails: Fails = None,
    pass_value: PassValue = None,
    policy_out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certify on held-out rows and write the policy.")
    ] = None,
    approved_by: Annotated[str | None, typer.Option(metavar="WHO", help="Without approval the policy reports.")] = None,
    rationale: Annotated[str | None, typer.Option(metavar="TEXT", help="Why these limits.")] = None,
    expires_on: Annotated[str | None, typer.Option(metavar="DATE", help="Last day of the policy.")] = None,
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Hold-out ledger; beside the policy by default.")
    ] = None,
    spend: Annotated[bool, typer.Option("--spend", help="Only show what is left of the held-out rows.")] = False,
    card: Annotated[Path | None, typer.Option(metavar="FILE", help="Dataset card; card.md beside the labels.")] = None,
    as_of: AsOf = None,
    feed: Feed = None,
    json: Json = None,
) -> None:
    """Find the lowest threshold of each slice that labels certify, or say how many labels are missing.

    Only labels of cases drawn at random certify (selection = random); stale ones are counted and left out.
    Where cases are split, thresholds are chosen on calibration rows; held-out rows are opened with --policy-out or
    --ledger only, once, and the look is written down.

    Exit 0 where every slice is certified, 3 where one is not, 2 where nothing can be calibrated.
    """
    from evalkit.decisions.calibrate import CalibrateOptions
    from evalkit.decisions.calibrating.policy_out import Approval
    from evalkit.pages.calibrate_run import CalibrateFiles, run_calibrate, spend_screen

    options = CalibrateOptions(
        max_false_pass=max_false_pass,
        confidence=confidence,
        reading=reading_of(passes, fails, pass_value, criterion, rubric),
        slices=tuple(slices or ()),
        purpose=f"calibrate at {max_false_pass:g} / {confidence:g}",
    )
    files = CalibrateFiles(
        labels=labels,
        policy_out=policy_out,
        ledger=ledger,
        approval=Approval(approved_by, rationale, parse_day(expires_on, "--expires-on")),
        card=card,
        as_of=parse_day(as_of),
        feeds=parse_feeds(feed or []),
    )
    if spend:
        say(spend_screen(metric, cases, options, files))
        finish(0)
    done = run_calibrate(metric, cases, options, files)
    if str(json) != "-":
        say(done.screen)
    if json:
        write_json(json, done.facts)
    finish(done.exit_code)
