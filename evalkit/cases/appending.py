"""Files that only grow, a line an entry: it is on the disk before it is acknowledged, or the file is as before."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from evalkit.cases.lines import read_lines
from evalkit.cases.strict_json import JsonProblem, parse_object

__all__ = ["append_synced", "growing"]


@contextlib.contextmanager
def growing(path: Path) -> Iterator[int]:
    """Open a file for `append_synced`; nobody else appends to it meanwhile, and its last line is whole.

    A last line that a killed process left unfinished is taken off: it was never acknowledged, and the next one must not
    be glued to it.

    Raises
    ------
    OSError
        Where it cannot be opened or mended.
    """
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        _lock(descriptor)
        _mend_tail(descriptor, path)
        yield descriptor
    finally:
        os.close(descriptor)
    if is_new:
        _sync_folder(path.parent)


def append_synced(descriptor: int, raw: bytes) -> None:
    """Append whole lines in one write; when this returns they are on the disk, when it raises none of them is.

    Raises
    ------
    OSError
    """
    size = os.fstat(descriptor).st_size
    try:
        if os.write(descriptor, raw) != len(raw):
            msg = "no space left"
            raise OSError(msg)
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise


def _mend_tail(descriptor: int, path: Path) -> None:
    last = None
    for last in read_lines(path):  # noqa: B007 - only the last one is looked at
        pass
    if last is None or not last.is_cut:
        return
    try:
        parse_object(last.raw)
    except JsonProblem:
        os.ftruncate(descriptor, os.fstat(descriptor).st_size - len(last.raw))
    else:
        os.write(descriptor, b"\n")


def _lock(descriptor: int) -> None:
    """Keep two processes apart; where the system has no locks, each append is still one write."""
    with contextlib.suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some systems cannot sync a folder; the file itself is synced
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
