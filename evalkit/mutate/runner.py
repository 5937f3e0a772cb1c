"""Tasks in forked children of a warm process: what hangs, dies or eats memory is stopped and takes nothing with it."""

from __future__ import annotations

import contextlib
import faulthandler
import mmap
import os
import resource
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NoReturn

import orjson

from evalkit.contract import EvalkitError

__all__ = ["Beat", "Event", "Limits", "Stopped", "Task", "run_tasks"]

Beat = Callable[[int], None]
"""Called by a task with the number of the step it begins; each step has the time limit for itself."""

Task = Callable[[Beat], Iterator[Any]]
"""Yields what the parent should get, as JSON values."""

_BEAT = struct.Struct("qqq")
_SHARED = _BEAT.size + 1  # the last byte: this process has stopped the child
_POLL = 0.02
_GROWN = 192 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What a task may use."""

    seconds: float = 2.0
    """For each step."""
    memory: int = 512 << 20
    """Bytes beyond what the process has when it is forked."""


class Stopped(NamedTuple):
    """A task that did not come to its end."""

    how: Literal["time", "death"]
    step: int
    seen: str


class Event(NamedTuple):
    """One thing a task yielded, or how it was stopped."""

    task: int
    message: Any | Stopped


class _Child(NamedTuple):
    pid: int
    pipe: int
    beat: mmap.mmap
    """Task, step and a count that moves with each step; the child writes, the parent watches."""


def run_tasks(tasks: Sequence[Task], limits: Limits | None = None) -> Iterator[Event]:
    """Run tasks one after another in a forked child, which takes the next one when it is done.

    A child that dies, is stopped or has grown is replaced, and the next one goes on with the next task. Nothing that a
    task does to this process's memory, files or output is seen outside it.

    Parameters
    ----------
    tasks : sequence of callable
        Each is called with a `Beat` and yields JSON values.
    limits : Limits, optional
        Time for each step and memory.

    Yields
    ------
    Event
        In the order of the tasks.
    """
    if not hasattr(os, "fork"):
        msg = "mutants run in forked processes, and this system has no fork"
        raise EvalkitError(msg, do="run evalkit on Linux, macOS or in WSL")
    limits = limits or Limits()
    begun = 0
    while begun < len(tasks):
        child = _fork(tasks, begun, limits)
        try:
            done = begun
            for line in _lines(child, limits):
                index, message = orjson.loads(line)
                if message is None:
                    done = index + 1
                else:
                    yield Event(index, message[0])
            index, stopped = _how_it_ended(child, limits)
            begun = max(done, index)
            if index >= done and stopped:
                yield Event(index, stopped)
                begun = index + 1
        finally:
            _bury(child)


# --- the parent's side ----------------------------------------------------------------------------------------------


def _fork(tasks: Sequence[Task], first: int, limits: Limits) -> _Child:
    beat = mmap.mmap(-1, _SHARED)
    _BEAT.pack_into(beat, 0, first, 0, 0)
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _live(tasks, first, limits, beat, writing)
    os.close(writing)
    return _Child(pid, reading, beat)


def _lines(child: _Child, limits: Limits) -> Iterator[bytes]:
    """Yield what the child says until it ends, killing it when one step takes too long."""
    rest, last, since = b"", b"", time.monotonic()
    while True:
        ready, _, _ = select.select([child.pipe], [], [], _POLL)
        if ready:
            block = os.read(child.pipe, 1 << 16)
            if not block:
                return
            *lines, rest = (rest + block).split(b"\n")
            yield from lines
        now = time.monotonic()
        if (state := bytes(child.beat[:])) != last:
            last, since = state, now
        elif now - since > limits.seconds:
            child.beat[-1] = 1
            _kill(child)


_WENT = 77
"""The exit code of a child that has come to the end of its work: not one that a mutant would think of."""


def _how_it_ended(child: _Child, limits: Limits) -> tuple[int, Stopped | None]:
    """Return the task it was at, and what stopped it (``None`` where it went of itself)."""
    _, status = os.waitpid(child.pid, 0)
    index, step, _ = _BEAT.unpack_from(child.beat)
    if child.beat[-1]:
        return index, Stopped("time", step, f"did not end within {limits.seconds:g} s")
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return index, Stopped("death", step, f"the process was ended by {name}")
    code = os.WEXITSTATUS(status)
    return index, None if code == _WENT else Stopped("death", step, f"left the process (exit {code})")


def _kill(child: _Child) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        # The whole group: a mutant may have started processes of its own.
        os.killpg(child.pid, signal.SIGKILL)


def _bury(child: _Child) -> None:
    _kill(child)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child.pid, 0)
    os.close(child.pipe)
    child.beat.close()


# --- the child's side -----------------------------------------------------------------------------------------------


def _live(tasks: Sequence[Task], first: int, limits: Limits, beat: mmap.mmap, writing: int) -> NoReturn:
    """Take tasks in turn; leave by `os._exit`, so that nothing the parent has set up for its own end runs here."""
    try:
        _settle(limits, writing)
        grown = _peak() + _GROWN
        for index in range(first, len(tasks)):

            def step(number: int, index: int = index) -> None:
                # The parent measures; the alarm is for the case that there is no parent any more.
                signal.setitimer(signal.ITIMER_REAL, limits.seconds + 5)
                _BEAT.pack_into(beat, 0, index, number, _BEAT.unpack_from(beat)[2] + 1)

            step(0)
            for message in tasks[index](step):
                _say(writing, index, [message])
            _say(writing, index, None)
            if _peak() > grown:
                break
        os._exit(_WENT)
    finally:
        os._exit(70)


def _settle(limits: Limits, writing: int) -> None:
    """Leave the parent's group, terminal and files alone, and accept the limits."""
    os.setpgid(0, 0)
    faulthandler.disable()  # a mutant's crash is a result, not a page on the user's terminal
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(name, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        if number != writing:
            os.dup2(nothing, number)
    # New objects: the old ones may hold text of the parent, or a lock that another of its threads had.
    sys.stdout, sys.stderr = (os.fdopen(os.dup(nothing), "w", encoding="utf-8") for _ in range(2))
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = _address_space() + limits.memory
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _address_space() -> int:
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:  # noqa: PTH123 - before any Path is needed in the child
            return int(stream.read().split()[0]) * resource.getpagesize()
    except OSError:  # no /proc here: a round figure that a Python process with its libraries stays below
        return 8 << 30


def _say(writing: int, index: int, message: Any) -> None:
    raw = orjson.dumps([index, message]) + b"\n"
    while raw:
        raw = raw[os.write(writing, raw) :]
