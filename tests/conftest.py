"""What every test shares: generated rows that are the same in each run, and files as a user would write them."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run: a red build is red for everybody. `make fuzz` is where new ones are looked for.
settings.register_profile("evalkit", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("evalkit")

# Helpers that several rooms use (endpoint.py) are imported by their bare name.
sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write a Python file as a user would, with the test's own folder as the current one."""
    monkeypatch.chdir(tmp_path)

    def write(source: str, name: str = "mine.py") -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return path

    return write
