"""Controls as tests need them: a whole suite for the judge of `judges.py`, and the bundled one with its rule."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["BUNDLED", "changed", "rows_of", "rule", "write_rows"]

BUNDLED = Path(__file__).parents[1] / "fixtures/refund_answer"


def rows_of(name: str = "controls.jsonl") -> list[dict[str, Any]]:
    """Return the bundled controls, each as a dict of its own."""
    return [json.loads(line) for line in (BUNDLED / name).read_text(encoding="utf-8").splitlines()]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def changed(case_id: str, change: Callable[[dict[str, Any]], object]) -> list[dict[str, Any]]:
    """Return the bundled controls with one of them changed in place."""
    rows = rows_of()
    (row,) = (row for row in rows if row["case_id"] == case_id)
    change(row)
    return rows


@cache
def rule() -> ModuleType:
    """Return the rule that made the bundled verdicts: in tests it is the model behind the endpoint."""
    spec = importlib.util.spec_from_file_location("rule_of_refund_answer", BUNDLED / "rule.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
