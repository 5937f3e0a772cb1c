"""Runs as a user makes them: cases gated into a run folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalkit import Run, open_run
from evalkit.pages.gate_run import GateOutputs, run_gate
from evalkit.pages.publish import score_to_run
from evalkit.scoring.load import load_metric

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"


@pytest.fixture
def gated(tmp_path: Path) -> Callable[..., Run]:
    """Gate rows (or a file) into a run folder of the given name; without a policy, only score them."""

    def make(
        name: str,
        rows: Path | Iterable[Mapping[str, Any] | str],
        *,
        metric: str = "evidence_coverage",
        policy: Path | None = FIXTURES / "policy.toml",
    ) -> Run:
        cases = rows if isinstance(rows, Path) else tmp_path / f"{name}.jsonl"
        if not isinstance(rows, Path):
            lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
            cases.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        folder = tmp_path / "runs" / name
        if policy is None:
            score_to_run(load_metric(metric), cases, folder)
        else:
            run_gate(metric, cases, policy, {"as_of": date(2026, 12, 1)}, GateOutputs(run=folder, format="none"))
        return open_run(folder)

    return make
