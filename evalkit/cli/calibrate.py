"""Decide: a threshold that is certified on labels, or how many labels are missing."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalkit.cli.app import DECIDE, app, finish, parse_feeds, say, write_json
from evalkit.contract import EvalkitError

if TYPE_CHECKING:
    from evalkit.decisions.calibrating.pairing import Reading

__all__ = ["calibrate", "day_of", "reading_of"]

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
        approval=Approval(approved_by, rationale, day_of("--expires-on", expires_on)),
        card=card,
        as_of=day_of("--as-of", as_of),
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


def day_of(option: str, text: str | None) -> date | None:
    """Read an ISO day such as 2026-11-30."""
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError as error:
        msg = f"{option} must be a day such as 2026-11-30; got {text!r}"
        raise EvalkitError(msg) from error
