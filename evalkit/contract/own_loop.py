"""evalkit's own event loop: async metrics are run from synchronous code without touching the caller's loop."""

from __future__ import annotations

import os
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # a run whose metric is not async does not pay for loading it
    import asyncio

__all__ = ["run_coroutine"]


class _Ended(NamedTuple):
    value: Any
    error: BaseException | None


class _OwnLoop:
    """One loop in one daemon thread, started at its first use."""

    def __init__(self) -> None:
        self.start_over()

    def start_over(self) -> None:
        # Also after a fork: the child inherits the loop, but not the thread that runs it.
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                import asyncio

                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="evalkit-async-metrics", daemon=True
                )
                self._thread.start()
            return self._loop

    def is_current(self) -> bool:
        return threading.current_thread() is self._thread


_OWN = _OwnLoop()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_OWN.start_over)


def run_coroutine(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end from synchronous code, on evalkit's own loop in its own thread.

    A notebook kernel already runs a loop; patching it (as ragas' ``score`` does) changes every later cell, so it is
    left alone.
    """
    if _OWN.is_current():
        return _run_elsewhere(coroutine)
    import asyncio

    future = asyncio.run_coroutine_threadsafe(_to_the_end(coroutine), _OWN.running())
    try:
        ended = future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise
    return _value_of(ended)


async def _to_the_end(coroutine: Coroutine[Any, Any, Any]) -> _Ended:
    try:
        return _Ended(await coroutine, None)
    except BaseException as error:  # noqa: BLE001 - it is raised again in the caller's thread; a SystemExit would end the loop
        return _Ended(None, error)


def _run_elsewhere(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Serve an async metric that scores another one: waiting on the own loop from inside it would never end."""
    import asyncio

    ended: list[_Ended] = []
    thread = threading.Thread(target=lambda: ended.append(asyncio.run(_to_the_end(coroutine))), daemon=True)
    thread.start()
    thread.join()
    return _value_of(ended[0])


def _value_of(ended: _Ended) -> Any:
    if ended.error is not None:
        raise ended.error
    return ended.value
