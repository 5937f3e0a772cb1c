"""ADAPTER to adapter: shipped by name, one's own by file and object; every fault in plain words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evalkit.contract import EvalkitError, sha256_file
from evalkit.scoring.load_adapter import load_adapter

MINE = """
from evalkit.cases.adapters import Adapter, Observed

MINE = Adapter(name="mine", revision="3", answer="out", observed=Observed(answer="out"))
OTHER = 5
"""


def test_ones_own_adapter_travels_with_the_hash_of_its_file(user_file: Callable[..., Path]) -> None:
    path = user_file(MINE, "maps/mine.py")
    loaded = load_adapter("maps/mine.py:MINE")
    assert loaded.adapter.revision == "3"
    assert loaded.source == {"path": "maps/mine.py", "object": "MINE", "sha256": sha256_file(path)}
    absolute = load_adapter(f"{path.resolve()}:MINE")
    assert absolute.source is not None
    assert absolute.source["path"] == "mine.py"  # no path of this machine travels with a run


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("plian", "there is no adapter 'plian'; shipped are csv, openinference, otel-genai, plain, ragas"),
        ("nowhere.py:MINE", "there is no such file"),
        ("mine.py:OTHER", "an Adapter was expected at 'OTHER'; got an object of type int"),
        ("mine.py:NONE", "an Adapter was expected at 'NONE'; got no such object"),
        ("broken.py:X", "there is no format|which is no format"),
    ],
)
def test_what_keeps_an_adapter_from_being_loaded_is_told(user_file: Callable[..., Path], spec: str, told: str) -> None:
    user_file(MINE)
    user_file(
        'from evalkit.cases.adapters import Adapter\nX = Adapter(name="x", revision="1", answer="a", reads="xml")\n',
        "broken.py",
    )
    with pytest.raises(EvalkitError, match=told):
        load_adapter(spec)
