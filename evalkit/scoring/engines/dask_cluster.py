"""Dask as an engine: a cluster of this machine's cores, or one that is running somewhere already."""

from __future__ import annotations

import logging
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from evalkit.contract import EvalkitError
from evalkit.scoring.engines.join import Engine

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["dask_engine"]

_SECONDS = 20
"""How long a scheduler and a first worker may take to answer."""


@contextmanager
def dask_engine(scheduler: str | None = None) -> Iterator[Engine]:
    """Connect to a scheduler, or start a worker process for each core of this machine, and end them afterwards.

    Dask sends functions as pickles: whoever can reach a scheduler can run code on its workers. The one started here
    listens on the loopback address only; of your own you know who reaches it.

    Parameters
    ----------
    scheduler : str, optional
        Such as ``tcp://10.0.0.5:8786``.

    Raises
    ------
    EvalkitError
        Where Dask is not installed, or no scheduler or worker answers.
    """
    _require_dask()
    with ExitStack() as stack:
        client = _connected(scheduler, stack) if scheduler else _started(stack)
        yield lambda function, tasks: _run(client, function, tasks)


def _require_dask() -> None:
    try:
        import dask  # noqa: F401 - only whether it is there
        import distributed  # noqa: F401
        import pandas as pd  # noqa: F401
    except ModuleNotFoundError as error:
        msg = f"--engine dask needs {error.name}, which is not installed"
        raise EvalkitError(msg, do='pip install "evalkit-workbench[dask]"') from error


def _started(stack: ExitStack) -> Client:
    from distributed import Client, LocalCluster

    scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="evalkit-dask-"))
    cluster = LocalCluster(  # type: ignore[no-untyped-call] # distributed ships no types
        n_workers=_cores(),
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",  # None still opens a page, on every interface
        silence_logs=logging.ERROR,
        local_directory=scratch,
    )
    stack.enter_context(cluster)
    client: Client = Client(cluster, set_as_default=False)  # type: ignore[no-untyped-call]
    stack.enter_context(client)
    return client


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _connected(scheduler: str, stack: ExitStack) -> Client:
    from distributed import Client

    mend = "start one with: dask scheduler, and workers with: dask worker ADDRESS; then give its address"
    try:
        client: Client = Client(scheduler, timeout=_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        msg = f"no Dask scheduler answers at {scheduler!r} ({type(error).__name__})"
        raise EvalkitError(msg, do=mend) from error
    stack.enter_context(client)
    try:
        client.wait_for_workers(1, timeout=_SECONDS)
    except TimeoutError as error:
        msg = f"the Dask scheduler at {scheduler!r} has no workers"
        raise EvalkitError(msg, do=mend) from error
    return client


def _run(client: Client, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
    """Yield results as they come. Dask itself starts the tasks of a worker that died again, on another one."""
    from distributed import CancelledError, KilledWorker, as_completed

    token = secrets.token_hex(4)
    keys = {f"evalkit-{token}-{at}": task for at, task in enumerate(tasks)}
    # No other reference is kept: a worker forgets a result once it is here, and all of them if nobody waits any more.
    waiting = as_completed(  # type: ignore[no-untyped-call]
        [client.submit(function, task, key=key, pure=False) for key, task in keys.items()],
        loop=client.loop,
        with_results=True,
    )
    try:
        for _, result in waiting:
            yield result
    except KilledWorker as error:
        task = keys.get(str(error.task))
        where = task.part.where if task is not None else ""
        msg = "every worker that was given these lines died (killed, out of memory, or ended by the metric itself)"
        raise EvalkitError(
            msg, where=where, do="score these lines by themselves to see what ends the process"
        ) from error
    except (CancelledError, OSError) as error:
        msg = f"the Dask scheduler went away ({type(error).__name__})"
        raise EvalkitError(msg, do="see that it is running, and score again into a new folder") from error
    except ModuleNotFoundError as error:
        msg = f"the workers have no module {error.name!r}"
        raise EvalkitError(msg, do="install in their environment what is installed here") from error
