"""Measure: a model's verdicts over cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import MEASURE, app, complain, finish, parse_day, parse_feeds, say, write_json
from evalkit.cli.judge_options import (
    AsOf,
    Attempts,
    Budget,
    Concurrency,
    Feed,
    Fresh,
    JudgeName,
    Llm,
    MaxCalls,
    MaxSeconds,
    Mode,
    Model,
    NoPreflight,
    Replay,
    Set,
    Store,
    Timeout,
    Unset,
    settings_of,
)

__all__ = ["judge"]


@app.command(rich_help_panel=MEASURE)
def judge(
    judge: JudgeName,
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="A .jsonl file.")],
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="New, or an interrupted run, which goes on.")] = None,
    policy: Annotated[Path | None, typer.Option(metavar="FILE", help="Its prices and limits hold; it decides.")] = None,
    replay: Replay = None,
    budget: Budget = None,
    max_calls: MaxCalls = None,
    max_seconds: MaxSeconds = None,
    concurrency: Concurrency = 8,
    model: Model = None,
    embeddings: Annotated[
        str | None, typer.Option(metavar="NAME|FILE.py:OBJECT", help="Compares texts; or EVALKIT_EMBEDDING_MODEL.")
    ] = None,
    mode: Mode = "json_object",
    set_: Set = None,
    unset: Unset = None,
    timeout: Timeout = 60.0,
    attempts: Attempts = 3,
    llm: Llm = None,
    repeat: Annotated[
        int, typer.Option(metavar="N", help="Ask each row N times, keep all: a majority decides, a tie goes to people.")
    ] = 1,
    store: Store = None,
    fresh: Fresh = False,
    no_preflight: NoPreflight = False,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write this run's verdicts as a cassette.")
    ] = None,
    show_prompt: Annotated[
        str | None, typer.Option(metavar="CASE_ID", help="Print what would be sent, no more.")
    ] = None,
    feed: Feed = None,
    as_of: AsOf = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ledger, calls and cost ('-': standard output).")
    ] = None,
) -> None:
    """Ask a model about each case: kept verdicts are read, the others asked for once.

    Reads OPENAI_API_KEY, OPENAI_BASE_URL, EVALKIT_JUDGE_MODEL and EVALKIT_EMBEDDING_MODEL. Without a model, the
    cassette JUDGE.cassette.jsonl beside the cases is replayed.
    """
    from evalkit.pages.judge_command import JudgeAsk, ask_judge
    from evalkit.pages.judge_command import show_prompt as shown_prompt
    from evalkit.scoring.judge import DEFAULT_STORE

    settings = settings_of(
        model=model, mode=mode, given=set_, left_out=unset, timeout=timeout, attempts=attempts, concurrency=concurrency,
        replay=replay, llm=llm, embeddings=embeddings,
    )  # fmt: skip
    ask = JudgeAsk(
        judge=judge,
        cases=cases,
        run=run,
        settings=settings,
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
