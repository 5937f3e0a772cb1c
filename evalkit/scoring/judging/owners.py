"""Which process holds what: a lock on a file, which the system itself releases however the process dies."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: no such lock; there, two runs over one store may both pay for a question
    fcntl = None  # type: ignore[assignment]

__all__ = ["Owner", "lock_file"]


def lock_file(path: Path) -> IO[bytes] | None:
    """Open a file and lock it for this process; ``None`` where another living process holds it."""
    stream = path.open("ab")
    if fcntl is not None:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stream.close()
            return None
    return stream


class Owner:
    """One process's mark beside a store: alive as long as its file is locked."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.name = secrets.token_hex(8)
        self._stream = lock_file(folder / self.name)

    def is_alive(self, name: str) -> bool:
        """Tell whether the process that took this name still runs."""
        if name == self.name:
            return True
        path = self._folder / name
        if not path.exists():
            return False
        stream = lock_file(path)
        if stream is None:
            return True
        stream.close()
        path.unlink(missing_ok=True)
        return False

    def close(self) -> None:
        """Give the name up."""
        if self._stream is not None:
            self._stream.close()
        (self._folder / self.name).unlink(missing_ok=True)
