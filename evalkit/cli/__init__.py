"""The command line: one file a room, each command a thin call of one function. `main` never lets Python's own 1 out."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from importlib import import_module
from pathlib import Path

import click

from evalkit.cli.app import app
from evalkit.contract import EvalkitError, Outcome

__all__ = ["main"]

_ROOMS = ("measure", "decide", "run")

for _room in _ROOMS:
    import_module(f"evalkit.cli.{_room}")


def main() -> None:
    """Run the command line; every fault ends with exit code 2 and a plain line."""
    sys.exit(_run())


def _run() -> int:
    try:
        result = app(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        return _flushed(end.exit_code)
    except click.ClickException as error:
        error.show()
        return int(Outcome.incomplete)
    except (click.Abort, KeyboardInterrupt):
        _say("evalkit: interrupted; what was being written is marked unfinished")
        return int(Outcome.incomplete)
    except BrokenPipeError:
        return _closed_pipe()
    except EvalkitError as error:
        from evalkit.pages.plain import plain

        _say(f"evalkit: {plain(str(error))}")
        return int(Outcome.incomplete)
    except Exception as error:  # noqa: BLE001 - whatever else goes wrong is ours, and must not look like a quality failure
        log = _log(traceback.format_exc())
        _say(f"evalkit: a fault inside evalkit ({type(error).__name__}); nothing was decided. Details: {log}")
        return int(Outcome.incomplete)
    return result if isinstance(result, int) else 0


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
