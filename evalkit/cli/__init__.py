"""The command line: one file a room, each command a thin call of one function. `main` never lets Python's own 1 out."""

from __future__ import annotations

import errno
import gc
import os
import sys
import tempfile
import traceback
from importlib import import_module
from pathlib import Path

import typer

from evalkit.cli.app import app, silence
from evalkit.contract import EvalkitError, Outcome

__all__ = ["application", "main"]

_ROOMS = {
    "bring": ("adapt", "audit", "claims", "labels"),
    "measure": ("score",),
    "judge": ("judge",),
    "break_": ("mutate", "controls"),
    "decide": ("gate",),
    "calibrate": ("calibrate",),
    "review": ("ballot", "votes", "packet"),
    "labelling": ("next-labels", "partition", "flips", "estimate"),
    "explain": ("explain", "compare"),
    "recheck": ("recheck",),
    "run": ("notebooks", "new", "doctor"),
}
"""Which file holds which commands, so that a command loads its own file only."""


def application(command: str | None = None) -> typer.Typer:
    """Return the application with the room of one command, or with all of them where it is none that we know."""
    rooms = [room for room, commands in _ROOMS.items() if command in commands] or list(_ROOMS)
    for room in rooms:
        import_module(f"evalkit.cli.{room}")
    return app


def main() -> None:
    """Run the command line; every fault ends with exit code 2 and a plain line."""
    # What a command imports is no garbage: looking through it again and again takes 3 % of a short one.
    gc.set_threshold(50_000, 20, 50)
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a letter gets its escape, not a crash
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_run())


def _open_what_is_closed() -> None:
    """Put the null device where a standard stream is closed: else the next file opened would take its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - lives as long as we


def _run() -> int:
    try:
        result = application(sys.argv[1] if len(sys.argv) > 1 else None)(standalone_mode=False)
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
    except OSError as error:
        return _refused(error)
    except Exception as error:  # noqa: BLE001 - whatever else goes wrong is ours, and must not look like a quality failure
        return _our_fault(error)
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


_REFUSALS = (
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.EACCES,
    errno.EPERM, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP,
)  # fmt: skip
"""What the system refuses for want of space, rights or descriptors: nothing that a look at our code would mend."""


def _refused(error: OSError) -> int:
    if error.errno not in _REFUSALS:
        return _our_fault(error)
    from evalkit.pages.plain import plain

    where = f": {plain(str(error.filename))}" if error.filename else ""
    do = "free space or choose another folder, then run again"
    _say(f"evalkit: the system refused a file ({error.strerror}{where}); not finished: {do}")
    return _closed_pipe()


def _our_fault(error: Exception) -> int:
    try:
        details = f"Details: {_log(traceback.format_exc())}"
    except OSError as full:
        details = f"No details: {full.strerror}"
    _say(f"evalkit: a fault inside evalkit ({type(error).__name__}); nothing was decided. {details}")
    return int(Outcome.incomplete)


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _closed_pipe(code)
    except OSError as error:
        return _refused(error)
    return code


def _closed_pipe(code: int = int(Outcome.incomplete)) -> int:
    # The reader (`| head`) is gone: nothing more can be said there.
    silence(sys.stdout)
    return code


def _say(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - the last words of a command
    except OSError:  # nobody can be told; the exit code still speaks
        silence(sys.stderr)


def _log(text: str) -> str:
    folder = Path(tempfile.gettempdir())
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=folder, prefix="evalkit-fault-", suffix=".log", delete=False
    ) as stream:
        stream.write(text)
    return stream.name
