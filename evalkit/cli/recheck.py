"""Explain: a judge asked again about a frozen set: drift, and the rehearsal before something changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import EXPLAIN, app, complain, finish, parse_day, parse_feeds, say, write_json
from evalkit.cli.judge_options import (
    AsOf,
    Attempts,
    Budget,
    Concurrency,
    Feed,
    JudgeName,
    MaxSeconds,
    Mode,
    Model,
    Replay,
    Set,
    Store,
    Timeout,
    Unset,
    settings_of,
)

__all__ = ["recheck"]


@app.command(rich_help_panel=EXPLAIN)
def recheck(
    judge: JudgeName,
    against: Annotated[Path, typer.Option(metavar="RUN", help="The run whose verdicts were accepted.")],
    cases: Annotated[Path, typer.Option(metavar="SET", help="The frozen set: the cases of that run, unchanged.")],
    run: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="New, or an interrupted recheck, which goes on; runs/recheck-… by default."),
    ] = None,
    controls: Annotated[Path | None, typer.Option(metavar="FILE", help="Controls, asked before the set.")] = None,
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="They say which verdict is right.")] = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare decisions; its critical slices, prices and limits.")
    ] = None,
    proposed: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write changed rows as proposed cases, for review.")
    ] = None,
    rollback: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What going back takes; DIR.rollback.json by default.")
    ] = None,
    replay: Replay = None,
    budget: Budget = None,
    max_calls: Annotated[int | None, typer.Option(metavar="N", min=0, help="Calls, controls included.")] = None,
    max_seconds: MaxSeconds = None,
    concurrency: Concurrency = 8,
    model: Model = None,
    mode: Mode = "json_object",
    set_: Set = None,
    unset: Unset = None,
    timeout: Timeout = 60.0,
    attempts: Attempts = 3,
    repeat: Annotated[int, typer.Option(metavar="N", help="Ask each row N times, as for evalkit judge.")] = 1,
    store: Store = None,
    feed: Feed = None,
    as_of: AsOf = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="The result as JSON ('-': output).")] = None,
) -> None:
    """Ask a judge again about a frozen set, before an upgrade or on a schedule, and put every change down to its cause.

    First what costs nothing (import, prompt, shapes, saved files), then the controls, then the set, always anew.
    Exit 0 where no verdict moved, 1 where one is wrong now, 2 where it cannot be judged, 3 where nobody can say yet.
    """
    from evalkit.pages.judge_command import JudgeAsk
    from evalkit.pages.recheck_run import RecheckAsk, run_recheck
    from evalkit.pages.recheck_text import recheck_screen
    from evalkit.scoring.judge import DEFAULT_STORE

    settings = settings_of(
        model=model, mode=mode, given=set_, left_out=unset, timeout=timeout, attempts=attempts, concurrency=concurrency,
        replay=replay,
    )  # fmt: skip
    ask = JudgeAsk(
        judge=judge,
        cases=cases,
        run=run,
        settings=settings,
        policy=policy,
        replay=replay,
        store=store or DEFAULT_STORE,
        budget=budget,
        max_calls=max_calls,
        max_seconds=max_seconds,
        repeat=repeat,
        as_of=parse_day(as_of),
        feeds=parse_feeds(feed or []),
    )
    wanted = RecheckAsk(
        ask=ask, against=against, controls=controls, labels=labels, proposed=proposed, rollback=rollback
    )
    done = run_recheck(wanted, on_note=complain)
    if json:
        write_json(json, done.facts)
    if str(json) != "-":
        say(recheck_screen(done))
    finish(done.found.outcome)
