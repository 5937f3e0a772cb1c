"""Break: faults planted on purpose, and which case catches each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import BREAK, app, complain, finish, parse_feeds, say, write_json
from evalkit.cli.judge_options import (
    Attempts,
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

__all__ = ["controls", "mutate"]


@app.command(rich_help_panel=BREAK)
def mutate(
    metric: Annotated[
        str,
        typer.Argument(metavar="METRIC", help="A built-in name, module:object or path.py:object (code that is run)."),
    ],
    cases: Annotated[Path, typer.Option(metavar="FILE", help="Contract cases, each with its oracle.")],
    equivalent: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Reviewed equivalents; equivalent.toml beside the cases.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Mutate this policy and the gate as well.")
    ] = None,
    rows: Annotated[Path | None, typer.Option(metavar="FILE", help="The rows that the policy decides.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Show every case to every mutant.")] = False,
    seconds: Annotated[float, typer.Option(metavar="S", min=0.1, help="A mutant's time for one case.")] = 2.0,
    feed: Feed = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="The matrix ('-': standard output).")] = None,
) -> None:
    """Plant faults in a metric's source: 0 all killed, 1 survivors, 2 it fails its own cases."""
    from evalkit.mutate import kill_matrix
    from evalkit.pages.kill_screen import kill_screen
    from evalkit.pages.progress import counting

    with counting("mutants") as count:
        matrix = kill_matrix(
            metric,
            cases,
            equivalent=equivalent,
            policy=policy,
            rows=rows,
            feeds=parse_feeds(feed or []),
            full=full,
            seconds=seconds,
            on_mutant=lambda *_: count(1),
        )
    if str(json) != "-":
        say(kill_screen(matrix))
    if json:
        write_json(json, matrix.to_json())
    finish(matrix.outcome)


@app.command(rich_help_panel=BREAK)
def controls(
    judge: JudgeName,
    controls: Annotated[Path, typer.Argument(metavar="CONTROLS", help="A .jsonl file: cases with role and expected.")],
    replay: Replay = None,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Try faulty prompts too: each sentence taken out in turn.")
    ] = False,
    equivalent: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Reviewed prompts; equivalent.toml beside the controls.")
    ] = None,
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the run of the controls there.")] = None,
    policy: Annotated[Path | None, typer.Option(metavar="FILE", help="Its prices and its cost limit hold.")] = None,
    budget: Annotated[str | None, typer.Option(metavar="AMOUNT", help="Money, faulty prompts included.")] = None,
    max_calls: MaxCalls = None,
    max_seconds: MaxSeconds = None,
    concurrency: Concurrency = 8,
    model: Model = None,
    mode: Mode = "json_object",
    set_: Set = None,
    unset: Unset = None,
    timeout: Timeout = 60.0,
    attempts: Attempts = 3,
    llm: Llm = None,
    store: Store = None,
    fresh: Fresh = False,
    no_preflight: NoPreflight = False,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the controls' verdicts as a cassette.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The control run, which a policy can freeze ('-': output).")
    ] = None,
) -> None:
    """Try a judge on controls, and the controls on faulty judges: 0 all told, 1 not, 2 cannot be judged.

    Settings are those of evalkit judge. Without a model, the cassette JUDGE.cassette.jsonl beside the controls is read.
    """
    from evalkit.pages.controls_run import ControlsAsk, control_facts, run_control_command
    from evalkit.pages.controls_text import controls_screen
    from evalkit.pages.judge_command import JudgeAsk
    from evalkit.scoring.judge import DEFAULT_STORE

    settings = settings_of(
        model=model, mode=mode, given=set_, left_out=unset, timeout=timeout, attempts=attempts, concurrency=concurrency,
        replay=replay, llm=llm,
    )  # fmt: skip
    ask = JudgeAsk(
        judge=judge,
        cases=controls,
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
        has_preflight=not no_preflight,
        export=export,
    )
    done = run_control_command(ControlsAsk(ask=ask, has_prompts=prompts, equivalent=equivalent), on_note=complain)
    if json:  # before anything is printed: a reader that closes the pipe must not cost the file
        write_json(json, control_facts(done))
    if str(json) != "-":
        say(controls_screen(done, json))
    finish(done.outcome)
