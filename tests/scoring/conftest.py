from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from endpoint import Endpoint
from judges import Home


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, endpoint: Endpoint) -> Home:
    """A folder for judge runs against a real endpoint on loopback."""
    return Home(tmp_path, endpoint)
