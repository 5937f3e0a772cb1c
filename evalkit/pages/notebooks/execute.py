"""Notebooks through papermill, each in a process of its own, several at a time, with a clock on each."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import wait
from multiprocessing.forkserver import ensure_running
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.pages.notebooks.nbfile import notebook_text, parse_notebook
from evalkit.pages.notebooks.page import CELLS_VARIABLE, OUT_VARIABLE, RUN_VARIABLE

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from traitlets.config import Config

__all__ = ["Executed", "Job", "execute", "warm_up"]

_IS_POSIX = os.name == "posix"

_PAGE, _LOG = "page.ipynb", "log.txt"


class Job(NamedTuple):
    """One notebook to run."""

    name: str
    notebook: NotebookNode
    parameters: Mapping[str, Any]
    """Only those that differ from the notebook's own; without any, no cell is injected."""
    run_id: str
    outcome_file: Path
    cells_total: int


class Executed(NamedTuple):
    """What came of running one notebook, before anybody has judged it."""

    job: Job
    page: NotebookNode | None
    """As far as it got; ``None`` where not even its first cell was reached."""
    fault: str | None
    """What ended the run from outside the page: a timeout, a dead kernel, a kernel that never started."""
    seconds: float


class _Running(NamedTuple):
    job: Job
    folder: Path
    process: BaseProcess
    since: float


def execute(
    jobs: Sequence[Job],
    *,
    workers: int = 2,
    timeout: float = 600.0,
    on_tick: Callable[[int], object] = lambda _: None,
) -> Iterator[Executed]:
    """Run notebooks, and yield each as it ends.

    Parameters
    ----------
    jobs : sequence of Job
    workers : int
        How many run at a time.
    timeout : float
        Seconds that one notebook may take, kernel start included; a page that takes longer is stopped.
    on_tick : callable, optional
        Told, several times a second, how many notebooks have ended since the last call.
    """
    context = _context()
    waiting, running = list(jobs), list[_Running]()
    with tempfile.TemporaryDirectory(prefix="evalkit-notebooks-") as scratch:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    running.append(_start(context, waiting.pop(0), Path(scratch)))
                wait([item.process.sentinel for item in running], timeout=0.2)
                ended = [item for item in running if not item.process.is_alive() or _is_late(item, timeout)]
                for item in ended:
                    running.remove(item)
                    yield _end(item, timeout)
                on_tick(len(ended))
        finally:
            for item in running:
                item.process.kill()
                item.process.join()


def warm_up() -> None:
    """Start the process that notebooks are forked from: it imports papermill while this one reads the sources."""
    if _IS_POSIX:
        _context()
        ensure_running()


def _context() -> Any:
    if not _IS_POSIX:
        return multiprocessing.get_context("spawn")
    # A fresh process per notebook would spend two seconds on importing papermill; the fork server does that once, and,
    # unlike this process, it holds no threads that a fork would cut off.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["papermill", "evalkit.pages.notebooks.execute"])
    return context


def _start(context: Any, job: Job, scratch: Path) -> _Running:
    folder = Path(tempfile.mkdtemp(dir=scratch))
    source = folder / "source.ipynb"
    source.write_text(notebook_text(job.notebook), encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "JPY_SESSION_NAME"}
    environment |= {
        RUN_VARIABLE: job.run_id,
        OUT_VARIABLE: str(job.outcome_file.resolve()),
        CELLS_VARIABLE: str(job.cells_total),
    }
    process = context.Process(
        target=_work, args=(source, folder, dict(job.parameters), environment, Path.cwd()), name=job.name
    )
    process.start()
    return _Running(job, folder, process, time.monotonic())


def _is_late(item: _Running, timeout: float) -> bool:
    return time.monotonic() - item.since > timeout


def _end(item: _Running, timeout: float) -> Executed:
    fault = None
    if item.process.is_alive():
        # The kernel watches its parent and ends with it.
        item.process.kill()
        fault = f"stopped after {timeout:g} seconds"
    item.process.join()
    if item.process.exitcode == _SERVER_GONE:  # the page itself may still run, and nobody would see its end
        _kill(item.process.pid)
    seconds = time.monotonic() - item.since
    page = None
    with contextlib.suppress(OSError, ValueError):
        page = parse_notebook(item.folder / _PAGE)
    if fault is None and item.process.exitcode != 0:
        fault = _killed(item.process.exitcode) or _last_words(item.folder / _LOG) or "its process ended"
    return Executed(item.job, page, fault, seconds)


_SERVER_GONE = 255
"""What is reported of a process whose end nobody could see, because the fork server ended with it."""


def _kill(pid: int | None) -> None:
    if pid is not None and _IS_POSIX:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _killed(code: int | None) -> str:
    """Say that somebody else ended the process; where memory runs out, the system does."""
    if code is None or 0 <= code != _SERVER_GONE:
        return ""
    by = "" if code == _SERVER_GONE else f" by {signal.Signals(-code).name}"
    return f"its process was ended{by} (out of memory?)"


def _last_words(log: Path) -> str:
    with contextlib.suppress(OSError):
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        last = lines[-1].strip()[:300] if lines else ""
        return "the kernel died" if "DeadKernelError" in last else last
    return ""


# --- in the worker ---------------------------------------------------------------------------------------------------


def _work(source: Path, folder: Path, parameters: dict[str, Any], environment: dict[str, str], cwd: Path) -> None:
    """Run one notebook; exit code 0 where papermill got to its end or to a cell that raised."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    log = os.open(folder / _LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    # That a cell raised is in the page: whoever judges the page reads it there.
    with contextlib.suppress(PapermillExecutionError):
        papermill.execute_notebook(
            str(source),
            str(folder / _PAGE),
            parameters,
            progress_bar=False,
            start_timeout=120,
            cwd=None,
            config=_sockets(folder),
        )


_LONGEST_SOCKET = 100
"""Characters of a path: the system takes 104 to 108 for a socket."""


def _sockets(folder: Path) -> Config:
    """Let kernel and worker speak through sockets in the job's own folder.

    Two kernels that start at once may choose the same port, and one of them then dies before its first cell; and a port
    is open to everybody on the machine.
    """
    from traitlets.config import Config

    address = str(folder / "kernel")
    if not _IS_POSIX or len(address) + len("-1") > _LONGEST_SOCKET:
        return Config()
    return Config({"KernelManager": {"transport": "ipc", "ip": address}})


def _end_with_parent() -> None:
    """End as soon as nobody is left to judge the page: else it would run on, and write an outcome file hours later."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # the kernel watches this process, and ends with it
