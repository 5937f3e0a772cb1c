"""Measure: scoring without a policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalkit.cli.app import MEASURE, app, finish, parse_day, parse_feeds, say, write_json
from evalkit.cli.label_options import Criterion
from evalkit.contract import EvalkitError, Outcome

if TYPE_CHECKING:
    from evalkit.pages.analysis_run import AfterScoring, Afterwards
    from evalkit.pages.publish import Scored

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
        list[str] | None,
        typer.Option(metavar="PARAM=RUN", help="Feed a parameter from a run, or from a METRIC given here."),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The ledger as JSON ('-' for standard output).")
    ] = None,
    analysis: Annotated[
        str | None, typer.Option(metavar="DOMAIN", help="Write DIR/analysis.json, .md and .html, e.g. of 'medical'.")
    ] = None,
    policy: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A policy of one of the metrics, for the analysis.")
    ] = None,
    as_of: Annotated[str | None, typer.Option(metavar="DATE", help="The day policies are judged on; today.")] = None,
    beside: Annotated[
        list[Path] | None, typer.Option(metavar="RUN", help="Say what METRIC adds to the metrics of kept runs.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What people say of the rows, for --beside.")
    ] = None,
    criterion: Criterion = None,
    engine: Annotated[
        str | None, typer.Option(metavar="dask", help="Score parts on a cluster: METRIC, then files or a folder.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A running Dask scheduler; without it, this machine's cores.")
    ] = None,
) -> None:
    """Score cases: one record a line, no policy. Several metrics give DIR/METRIC/ runs."""
    from evalkit.pages.analysis_run import AfterScoring
    from evalkit.pages.screen import score_screen

    feeds = parse_feeds(feed or [])
    verdicts = {name: Path(folder) for name, folder in parse_feeds(verdict or [], option="--verdict").items()}
    if len(targets) < 2:
        msg = "score needs at least one METRIC before CASES"
        raise EvalkitError(msg, do="for example: evalkit score evidence_coverage cases.jsonl --run runs/first")
    if engine is None and scheduler is not None:
        msg = "--scheduler is the address of an engine, and no engine was named"
        raise EvalkitError(msg, do="add --engine dask")
    after = AfterScoring(
        domain=analysis,
        policies=tuple(policy or ()),
        as_of=parse_day(as_of),
        beside=tuple(beside or ()),
        labels=labels,
        criterion=criterion,
    )
    if engine is not None:
        if not after.is_nothing:
            msg = "--analysis and --beside are not known to engines"
            raise EvalkitError(msg, do="score without --engine")
        scored, then = _elsewhere(engine, scheduler, targets, run, feeds, verdicts), None
    else:
        scored, then = _here(targets, run, feeds, verdicts, after)
    results = {name: found.ledger.facts() for name, found in scored.items()}
    for name, found in scored.items():
        say(score_screen(name, results[name], run=found.run, findings=found.findings))
    if then:
        say(then.screen)
    if json:
        write_json(json, (results if len(results) > 1 else next(iter(results.values()))) | (then.facts if then else {}))
    is_empty = any(facts["scored"] == 0 for facts in results.values())
    finish(Outcome.worst([Outcome.incomplete if is_empty else Outcome.passed, *(then.outcomes if then else [])]))


def _here(
    targets: list[str], run: Path, feeds: dict[str, str], verdicts: dict[str, Path], after: AfterScoring
) -> tuple[dict[str, Scored], Afterwards | None]:
    from evalkit.pages.publish import score_to_run, score_to_runs
    from evalkit.scoring.load import load_metric

    metrics, cases = [load_metric(spec) for spec in targets[:-1]], Path(targets[-1])
    after.check([metric.name for metric in metrics])
    if len(metrics) == 1:
        scored = {metrics[0].name: score_to_run(metrics[0], cases, run, feeds=feeds, verdicts=verdicts)}
    else:
        passed_on = {name: str(of) for name, of in verdicts.items()}
        scored = score_to_runs(metrics, cases, run, feeds=feeds, verdicts=passed_on)
    return scored, None if after.is_nothing else after.do(metrics, [found.run for found in scored.values()], run)


def _elsewhere(
    engine: str, scheduler: str | None, targets: list[str], run: Path, feeds: dict[str, str], verdicts: dict[str, Path]
) -> dict[str, Scored]:
    from evalkit.pages.engine_run import engine_named, score_parts_to_run

    if verdicts:
        msg = "--verdict is not known to engines"
        raise EvalkitError(msg, do="score without --engine")
    spec, *cases = targets
    scored = score_parts_to_run(spec, cases, run, engine_named(engine, scheduler), feeds=feeds)
    return {str(scored.run.manifest["metric"]["name"]): scored}
