"""A moment to strike: just before a process changes the file system for the n-th time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["at_step"]

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate")


def at_step(wanted: int, act: Callable[[], object]) -> Callable[[], None]:
    """Act just before the given change of the file system: an open for writing, a folder made, a rename, a removal."""
    seen = 0

    def hook(event: str, found: tuple[Any, ...]) -> None:
        nonlocal seen
        if event in _CHANGES or (event == "open" and isinstance(found[2], int) and found[2] & _WRITES):
            seen += 1
            if seen == wanted:
                act()

    return lambda: sys.addaudithook(hook)
