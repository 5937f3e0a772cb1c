"""Real human-labelled data through adapters: clean audits, every corruption caught; runs where the data lie."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared/data"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (DATA / "wice").exists(), reason="ExpertQA and WiCE are not beside the project"),
]


def test_expertqa_and_wice_are_read_through_adapters_and_every_corruption_of_them_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    try:
        module = importlib.import_module("real_data_adapters")
        found = module.figures(DATA, tmp_path)
    finally:
        for name in ("real_data_adapters", "real_adapters", "expertqa"):
            sys.modules.pop(name, None)
    assert [(name, seen) for name, seen, _ in found] == [(name, wanted) for name, _, wanted in found]
    assert len(found) == 13
