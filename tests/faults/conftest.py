"""What the fault tests share: a disk that is soon full."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A disk of so many bytes."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk takes root")
    disk = tmp_path / "disk"
    disk.mkdir()

    def mounted(size: int) -> Path:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], check=False)
        if done.returncode != 0:
            pytest.skip("this container may not mount a small disk")
        return disk

    yield mounted
    subprocess.run(["umount", str(disk)], capture_output=True, check=False)
