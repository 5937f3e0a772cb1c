"""The typer application, its groups, and the few ways in which a command may speak or end."""

from __future__ import annotations

import contextlib
import os
import sys
from datetime import date
from pathlib import Path
from typing import Any, NoReturn, TextIO

import typer

from evalkit.contract import EvalkitError, Outcome

__all__ = [
    "BREAK",
    "BRING",
    "DECIDE",
    "EXPLAIN",
    "MEASURE",
    "RUN",
    "app",
    "complain",
    "finish",
    "parse_day",
    "parse_feeds",
    "say",
    "silence",
    "write_json",
]

BRING, MEASURE, BREAK, DECIDE, EXPLAIN, RUN = "Bring", "Measure", "Break", "Decide", "Explain", "Run"

app = typer.Typer(
    name="evalkit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    help="Design, break, calibrate, decide, gate and explain the metrics that decide whether an LLM system ships.\n\n"
    "Exit codes of every command that checks: 0 passed, 1 quality failed, 2 incomplete (cannot be judged), "
    "3 review required.\n\n"
    "METRIC, JUDGE and ADAPTER may name your own code (module:object or path.py:object): naming it runs it, as "
    "importing would. Name only what you would run.",
)


@app.callback()
def _evalkit() -> None:
    """Make `app` a group of commands also where only one of them is loaded."""


def say(text: str = "") -> None:
    """Print to standard output; what rows contain has been made harmless by whoever built the text."""
    try:
        typer.echo(text)
    except BrokenPipeError:  # `| head` has seen enough: what is left to write is written, and the outcome stays
        silence(sys.stdout)


def silence(stream: TextIO) -> None:
    """Let a stream that takes nothing more swallow the rest, so that Python does not complain about it at exit."""
    with contextlib.suppress(OSError, ValueError):  # a stream that is no file (a test's) has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def complain(text: str) -> None:
    """Print to standard error."""
    typer.echo(text, err=True)


def finish(outcome: Outcome | int) -> NoReturn:
    """End the command with the exit code of an outcome."""
    raise typer.Exit(int(outcome))


def write_json(path: Path, facts: dict[str, Any]) -> None:
    """Write the machine-readable form of a result (``--json FILE``), whole or not at all; ``-`` is standard output."""
    import orjson

    from evalkit.scoring.run import write_whole
    from evalkit.scoring.spilled import json_chunks

    chunks = json_chunks(facts, orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if str(path) == "-":
        sys.stdout.buffer.writelines(chunks)
        sys.stdout.buffer.flush()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, chunks)


def parse_feeds(pairs: list[str], option: str = "--input") -> dict[str, str]:
    """Read ``--input PARAM=KEY`` options, or those of another option of this form."""
    feeds: dict[str, str] = {}
    for pair in pairs:
        name, separator, key = pair.partition("=")
        if not (name and separator and key):
            wanted, example = ("KEY", "answer") if option == "--input" else ("RUN", "runs/first")
            msg = f"{option} must be PARAM={wanted}; got {pair!r}"
            raise EvalkitError(msg, do=f"for example {option} response={example}")
        if name in feeds:
            msg = f"{option} feeds {name!r} twice"
            raise EvalkitError(msg, do="name each parameter once")
        feeds[name] = key
    return feeds


def parse_day(text: str | None, option: str = "--as-of") -> date | None:
    """Read an ISO day such as 2026-11-30."""
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        msg = f"{option} must be a day such as 2026-11-30; got {text!r}"
        raise EvalkitError(msg) from error
