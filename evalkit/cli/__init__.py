"""The command line: one file a room, each command a thin call of one function. `main` never lets Python's own 1 out."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from importlib import import_module
from pathlib import Path

import typer

from evalkit.cli.app import app
from evalkit.contract import EvalkitError, Outcome

__all__ = ["main"]

_ROOMS = ("bring", "measure", "judge", "break_", "decide", "calibrate", "review", "labelling", "explain", "run")

for _room in _ROOMS:
    import_module(f"evalkit.cli.{_room}")


def main() -> None:
    """Run the command line; every fault ends with exit code 2 and a plain line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a letter gets its escape, not a crash
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_run())


def _run() -> int:
    try:
        result = app(standalone_mode=False)
    except typer.TyperException as error:
        return _usage(error)
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted()
    except (BrokenPipeError, SystemExit):  # typer turns a closed pipe into its own exit, with code 1
        return _closed_pipe()
    except EvalkitError as error:
        from evalkit.pages.plain import plain

        _say(f"evalkit: {plain(str(error))}")
        return int(Outcome.incomplete)
    except Exception as error:  # noqa: BLE001 - whatever else goes wrong is ours, and must not look like a quality failure
        log = _log(traceback.format_exc())
        _say(f"evalkit: a fault inside evalkit ({type(error).__name__}); nothing was decided. Details: {log}")
        return int(Outcome.incomplete)
    if result == _SIGINT:
        return _interrupted()
    return _flushed(result if isinstance(result, int) else 0)


_SIGINT = 130
"""What typer returns for Ctrl-C."""


def _usage(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "evalkit"
    message = (error.format_message() if hasattr(error, "format_message") else str(error)).rstrip(".")
    if message:  # none where the help has just been shown
        _say(f"evalkit: {message}; {command} --help lists what it takes")
    return int(Outcome.incomplete)


def _interrupted() -> int:
    _say("evalkit: interrupted; what was being written is marked unfinished")
    return int(Outcome.incomplete)


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _closed_pipe(code)
    return code


def _closed_pipe(code: int = int(Outcome.incomplete)) -> int:
    # The reader (`| head`) is gone: nothing more can be said there, and Python must not complain about it at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - the last words of a command


def _log(text: str) -> str:
    folder = Path(tempfile.gettempdir())
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=folder, prefix="evalkit-fault-", suffix=".log", delete=False
    ) as stream:
        stream.write(text)
    return stream.name
