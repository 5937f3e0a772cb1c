"""Break: faults planted on purpose, and which case catches each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import BREAK, app, complain, finish, parse_feeds, say, write_json

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
    feed: Annotated[
        list[str] | None, typer.Option("--input", metavar="PARAM=KEY", help="Feed from another key.")
    ] = None,
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
    judge: Annotated[str, typer.Argument(metavar="JUDGE", help="Named like a METRIC.")],
    controls: Annotated[Path, typer.Argument(metavar="CONTROLS", help="A .jsonl file: cases with role and expected.")],
    replay: Annotated[Path | None, typer.Option(metavar="FILE", help="A cassette to read; nothing is sent.")] = None,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Try faulty prompts too: each sentence taken out in turn.")
    ] = False,
    equivalent: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Reviewed prompts; equivalent.toml beside the controls.")
    ] = None,
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the run of the controls there.")] = None,
    policy: Annotated[Path | None, typer.Option(metavar="FILE", help="Its prices and its cost limit hold.")] = None,
    budget: Annotated[str | None, typer.Option(metavar="AMOUNT", help="Money, faulty prompts included.")] = None,
    max_calls: Annotated[int | None, typer.Option(metavar="N", min=0, help="Calls, the preflight included.")] = None,
    max_seconds: Annotated[float | None, typer.Option(metavar="N", min=0, help="No new call after this.")] = None,
    concurrency: Annotated[int, typer.Option(metavar="N", help="Calls under way at a time.")] = 8,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Instead of EVALKIT_JUDGE_MODEL.")] = None,
    mode: Annotated[
        str, typer.Option(metavar="json_object|json_schema|tools", help="How the reply's shape is asked for.")
    ] = "json_object",
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter to send.")] = None,
    unset: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A parameter to leave out.")] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="For one attempt.")] = 60.0,
    attempts: Annotated[int, typer.Option(metavar="N", help="Where the provider fails; never for a verdict.")] = 3,
    llm: Annotated[str | None, typer.Option(metavar="FILE.py:OBJECT", help="A ragas llm of another provider.")] = None,
    store: Annotated[Path | None, typer.Option(metavar="FILE", help="Where verdicts are kept.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask anew, whatever is kept.")] = False,
    no_preflight: Annotated[bool, typer.Option("--no-preflight", help="Go without the check of the endpoint.")] = False,
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
    from evalkit.pages.judge_command import JudgeAsk, parse_parameters
    from evalkit.scoring.judge import DEFAULT_STORE, environment_settings

    settings = environment_settings(
        model=model or ("that of the llm" if llm else None),
        mode=mode,
        parameters=parse_parameters(set_ or [], unset or []),
        timeout=timeout,
        attempts=attempts,
        concurrency=concurrency,
    )
    ask = JudgeAsk(
        judge=judge,
        cases=controls,
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
        has_preflight=not no_preflight,
        export=export,
    )
    done = run_control_command(ControlsAsk(ask=ask, has_prompts=prompts, equivalent=equivalent), on_note=complain)
    if json:  # before anything is printed: a reader that closes the pipe must not cost the file
        write_json(json, control_facts(done))
    if str(json) != "-":
        say(controls_screen(done, json))
    finish(done.outcome)
