"""A progress line on standard error for anything over a second; silent where nobody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["counting"]

_QUIET_SECONDS = 1.0


@contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many more rows are done.

    Nothing is imported and nothing is printed unless standard error is a terminal and a second has passed.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    line = _Line(what)
    try:
        yield line.add
    finally:
        line.stop()


class _Line:
    def __init__(self, what: str) -> None:
        self._what = what
        self._since = time.monotonic()
        self._done = 0
        self._stop: Callable[[], None] = lambda: None
        self._update: Callable[[int], None] | None = None

    def add(self, rows: int) -> None:
        self._done += rows
        if self._update is None and time.monotonic() - self._since > _QUIET_SECONDS:
            self._start()
        if self._update is not None:
            self._update(self._done)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description} {task.completed:,.0f}"), TimeElapsedColumn())
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        task = progress.add_task(self._what, total=None)
        progress.start()
        self._stop = progress.stop
        self._update = lambda done: progress.update(task, completed=done)

    def stop(self) -> None:
        self._stop()
