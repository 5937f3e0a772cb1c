"""Measure: a model's verdicts over cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import MEASURE, app, complain, finish, parse_day, parse_feeds, say, write_json

__all__ = ["judge"]


@app.command(rich_help_panel=MEASURE)
def judge(
    judge: Annotated[str, typer.Argument(metavar="JUDGE", help="Named like a METRIC.")],
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="A .jsonl file.")],
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="New, or an interrupted run, which goes on.")] = None,
    policy: Annotated[Path | None, typer.Option(metavar="FILE", help="Its prices and limits hold; it decides.")] = None,
    replay: Annotated[Path | None, typer.Option(metavar="FILE", help="A cassette to read; nothing is sent.")] = None,
    budget: Annotated[str | None, typer.Option(metavar="AMOUNT", help="Money, in the policy's currency.")] = None,
    max_calls: Annotated[int | None, typer.Option(metavar="N", min=0, help="Calls, the preflight included.")] = None,
    max_seconds: Annotated[float | None, typer.Option(metavar="N", min=0, help="No new call after this.")] = None,
    concurrency: Annotated[int, typer.Option(metavar="N", help="Calls under way at a time.")] = 8,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Instead of EVALKIT_JUDGE_MODEL.")] = None,
    embeddings: Annotated[
        str | None, typer.Option(metavar="NAME|FILE.py:OBJECT", help="Compares texts; or EVALKIT_EMBEDDING_MODEL.")
    ] = None,
    mode: Annotated[
        str, typer.Option(metavar="json_object|json_schema|tools", help="How the reply's shape is asked for.")
    ] = "json_object",
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter to send.")] = None,
    unset: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A parameter to leave out.")] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="For one attempt.")] = 60.0,
    attempts: Annotated[int, typer.Option(metavar="N", help="Where the provider fails; never for a verdict.")] = 3,
    llm: Annotated[str | None, typer.Option(metavar="FILE.py:OBJECT", help="A ragas llm of another provider.")] = None,
    repeat: Annotated[
        int, typer.Option(metavar="N", help="Ask each row N times, keep all: a majority decides, a tie goes to people.")
    ] = 1,
    store: Annotated[Path | None, typer.Option(metavar="FILE", help="Where verdicts are kept.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask anew, whatever is kept.")] = False,
    no_preflight: Annotated[bool, typer.Option("--no-preflight", help="Go without the check of the endpoint.")] = False,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write this run's verdicts as a cassette.")
    ] = None,
    show_prompt: Annotated[
        str | None, typer.Option(metavar="CASE_ID", help="Print what would be sent, no more.")
    ] = None,
    feed: Annotated[
        list[str] | None, typer.Option("--input", metavar="PARAM=KEY", help="Feed from another key.")
    ] = None,
    as_of: Annotated[str | None, typer.Option(metavar="DATE", help="The day the policy is judged on; today.")] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ledger, calls and cost ('-': standard output).")
    ] = None,
) -> None:
    """Ask a model about each case: kept verdicts are read, the others asked for once.

    Reads OPENAI_API_KEY, OPENAI_BASE_URL, EVALKIT_JUDGE_MODEL and EVALKIT_EMBEDDING_MODEL. Without a model, the
    cassette JUDGE.cassette.jsonl beside the cases is replayed.
    """
    from evalkit.pages.judge_command import JudgeAsk, ask_judge, parse_parameters
    from evalkit.pages.judge_command import show_prompt as shown_prompt
    from evalkit.scoring.judge import DEFAULT_STORE, environment_settings

    settings = environment_settings(
        model=model or ("that of the llm" if llm else None),
        embedding_model=embeddings,
        mode=mode,
        parameters=parse_parameters(set_ or [], unset or []),
        timeout=timeout,
        attempts=attempts,
        concurrency=concurrency,
    )
    ask = JudgeAsk(
        judge=judge,
        cases=cases,
        run=run,
        # A replay is of what was recorded, whatever the environment names; only --model asks for a comparison.
        settings=settings if replay is None or model else None,
        llm=llm,
        policy=policy,
        replay=replay,
        store=store or DEFAULT_STORE,
        budget=budget,
        max_calls=max_calls,
        max_seconds=max_seconds,
        is_fresh=fresh,
        repeat=repeat,
        has_preflight=not no_preflight,
        export=export,
        as_of=parse_day(as_of),
        feeds=parse_feeds(feed or []),
    )
    try:
        done = shown_prompt(ask, show_prompt) if show_prompt else ask_judge(ask, on_note=complain)
    except KeyboardInterrupt:
        complain("evalkit judge: what was answered is kept; the same command goes on from here")
        raise
    if str(json) != "-":
        say(done.screen)
    if json:
        write_json(json, done.facts)
    finish(done.outcome)
