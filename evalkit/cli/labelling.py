"""Decide, around labels: which to collect next, how to split, what a change flips, what a pass rate really is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import DECIDE, app, finish, parse_feeds, say, write_json
from evalkit.cli.label_options import (
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

__all__ = ["estimate", "flips", "next_labels", "partition"]

Seed = Annotated[int, typer.Option(metavar="N", help="The same seed draws the same cases.")]


@app.command("next-labels", rich_help_panel=DECIDE)
def next_labels(
    metric: Metric,
    cases: Cases,
    labels: Labels,
    max_false_pass: Risk = 0.05,
    confidence: Confidence = 0.95,
    most: Annotated[int, typer.Option(metavar="N", min=1, help="Length of the list.")] = 50,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="A JSONL sheet for the reviewer, blind.")] = None,
    slices: Slices = None,
    criterion: Criterion = None,
    rubric: Rubric = None,
    passes: Passes = None,
    fails: Fails = None,
    pass_value: PassValue = None,
    feed: Feed = None,
    json: Json = None,
) -> None:
    """Rank the cases to label next, each with its reason: conflicts, stale labels, random draws, border cases.

    Draws for the certificate are random and say so; border cases inform and certify nothing.
    """
    from evalkit.decisions.calibrate import CalibrateOptions
    from evalkit.pages.labelling_run import run_next_labels

    options = CalibrateOptions(
        max_false_pass=max_false_pass,
        confidence=confidence,
        reading=reading_of(passes, fails, pass_value, criterion, rubric),
        slices=tuple(slices or ()),
    )
    feeds = parse_feeds(feed or [])
    done = run_next_labels(metric, cases, labels, options, most=most, seed=seed, out=out, feeds=feeds)
    say(done.screen)
    if json:
        write_json(json, done.facts)


@app.command(rich_help_panel=DECIDE)
def partition(
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="A .jsonl file.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The same cases with their partitions.")],
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="Spread each label evenly as well.")] = None,
    shares: Annotated[str, typer.Option(metavar="A,B,C", help="Of development, calibration, held_out.")] = (
        "0.2,0.4,0.4"
    ),
    seed: Seed = 0,
    json: Json = None,
) -> None:
    """Split cases by family into development, calibration and held_out; near-copies stay together."""
    from evalkit.pages.labelling_run import run_partition

    done = run_partition(cases, labels, out, shares=shares, seed=seed)
    say(done.screen)
    if json:
        write_json(json, done.facts)


@app.command(rich_help_panel=DECIDE)
def flips(
    metric: Metric,
    cases: Cases,
    old: Annotated[str, typer.Option("--from", metavar="T|FILE", help="A threshold, or a policy.toml.")],
    new: Annotated[str, typer.Option("--to", metavar="T|FILE", help="A threshold, or a policy.toml.")],
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="Show each row's label.")] = None,
    criterion: Criterion = None,
    rubric: Rubric = None,
    feed: Feed = None,
    json: Json = None,
) -> None:
    """List exactly the rows whose decision changes from one threshold or policy to another, with label and slice."""
    from evalkit.pages.labelling_run import run_flips

    done = run_flips(
        metric, cases, old, new, labels=labels, criterion=criterion, rubric=rubric, feeds=parse_feeds(feed or [])
    )
    say(done.screen)
    if json:
        write_json(json, done.facts)


@app.command(rich_help_panel=DECIDE)
def estimate(
    metric: Metric,
    cases: Cases,
    labels: Labels,
    population: Annotated[
        Path | None, typer.Option(metavar="CASES", help="Other rows to speak of; the unlabelled ones by default.")
    ] = None,
    threshold: Annotated[float | None, typer.Option(metavar="T", help="By default the one calibrate chooses.")] = None,
    max_false_pass: Risk = 0.05,
    confidence: Confidence = 0.95,
    slices: Slices = None,
    criterion: Criterion = None,
    rubric: Rubric = None,
    passes: Passes = None,
    fails: Fails = None,
    pass_value: PassValue = None,
    feed: Feed = None,
    json: Json = None,
) -> None:
    """Estimate which share of unlabelled rows people would pass, corrected for the metric's errors, with its interval.

    Exit 3 where a slice has no rate: no labels, or a metric that is no better than chance.
    """
    from evalkit.decisions.calibrate import CalibrateOptions
    from evalkit.pages.labelling_run import run_estimate

    options = CalibrateOptions(
        max_false_pass=max_false_pass,
        confidence=confidence,
        reading=reading_of(passes, fails, pass_value, criterion, rubric),
        slices=tuple(slices or ()),
    )
    feeds = parse_feeds(feed or [])
    done = run_estimate(metric, cases, labels, options, population=population, threshold=threshold, feeds=feeds)
    say(done.screen)
    if json:
        write_json(json, done.facts)
    finish(3 if any(rate["refused"] for rate in done.facts["slices"].values()) else 0)
