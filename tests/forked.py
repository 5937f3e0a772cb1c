"""The command line in a forked child: as good as a process of its own, without the second that a cold start takes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from evalkit.cli import main

__all__ = ["Ended", "Forked", "forked"]


class Ended(NamedTuple):
    code: int
    """The exit code; minus the signal where one ended it."""
    out: str
    err: str


class Forked:
    """A child that leads a process group of its own, as a shell's job does."""

    def __init__(self, pid: int, said: Path) -> None:
        self.pid = pid
        self._said = said

    def kill(self) -> None:
        """``kill -9`` the child alone; whatever it has started must end by itself."""
        os.kill(self.pid, signal.SIGKILL)

    def interrupt(self) -> None:
        """Do what a terminal does on Ctrl-C: the signal goes to the whole group."""
        os.killpg(self.pid, signal.SIGINT)

    def end(self) -> Ended:
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        out, err = (self._said.with_suffix(f".{name}").read_text(errors="replace") for name in ("out", "err"))
        return Ended(code, out, err)

    def survivors(self, seconds: float = 10.0) -> list[int]:
        """Return (and then kill) the processes of the group that are still there after waiting for them to go."""
        until = time.monotonic() + seconds
        while (left := _alive(self.pid)) and time.monotonic() < until:
            time.sleep(0.05)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return left


def forked(here: Path, *arguments: object, before: Callable[[], object] = lambda: None) -> Forked:
    """Run ``evalkit ARGUMENTS`` in `here`; what it says is kept beside, in ``<here>.said``."""
    folder = here.with_name(f"{here.name}.said")
    folder.mkdir(exist_ok=True)
    said = folder / f"{time.monotonic_ns()}"
    pid = os.fork()
    if pid == 0:
        os._exit(_child(here, said, list(map(str, arguments)), before))
    return Forked(pid, said)


def _child(here: Path, said: Path, arguments: list[str], before: Callable[[], object]) -> int:
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(here)
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(said.with_suffix(f".{name}"), os.O_WRONLY | os.O_CREAT), number)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115 - they live as long as it
        sys.argv = ["evalkit", *arguments]
        before()
        main()
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 99
    except BaseException:  # noqa: BLE001 - a traceback that reached the user, for the test to see
        os.write(2, traceback.format_exc().encode())
        return 99
    return 99  # main always exits


def _alive(group: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, of_group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
            except OSError:  # gone meanwhile
                continue
            if int(of_group) == group and state != "Z":
                found.append(int(entry.name))
    return found
