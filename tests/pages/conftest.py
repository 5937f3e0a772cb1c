"""Runs of the gate for the pages to show: the real gate, small made-up rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from evalkit.contract import Metric
from evalkit.decisions.gate import GateOptions, GateResult, gate
from evalkit.decisions.outcome_file import facts_of
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.pages.publish import publish_gate
from evalkit.scoring.run import Run, RunWriter

POLICY = """
schema = 1
name = "release"
version = "7"
metric = "evidence_coverage"
contract_version = "1"
approved_by = "the council"
approved_on = 2026-11-01
expires_on = 2027-02-28
rationale = "made up"
[consequences]
false_pass = "a wrong answer ships"
false_fail = "a day is lost"
[slices.default]
minimum = 0.75
[slices.doubtful]
minimum = 0.75
review_band = 0.1
"""

CLAIMS = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]


class Gated(NamedTuple):
    """A gate's outcome file and its run."""

    facts: dict[str, Any]
    run: Run
    html: str
    result: GateResult


def coverage_row(case_id: str, supported: int, required: int = 4, **more: Any) -> dict[str, Any]:
    """Return a row of which `supported` of `required` claims are covered."""
    ids = CLAIMS[:required]
    return {"case_id": case_id, "required_claim_ids": ids, "supported_claim_ids": ids[:supported], **more}


@pytest.fixture
def policy_text() -> str:
    return POLICY


@pytest.fixture(name="coverage_row")
def _coverage_row() -> Callable[..., dict[str, Any]]:
    return coverage_row


@pytest.fixture
def gated(tmp_path: Path) -> Callable[..., Gated]:
    """Gate rows (objects, or raw lines) under a policy and publish the run."""
    made: list[Gated] = []

    def run(
        rows: Sequence[dict[str, Any] | str],
        *,
        policy: str = POLICY,
        metric: Metric = evidence_coverage,
        as_of: date = date(2026, 12, 1),
        baseline: Path | None = None,
    ) -> Gated:
        folder = tmp_path / f"run-{len(made)}"
        cases, policy_path = tmp_path / f"cases-{len(made)}.jsonl", tmp_path / "policy.toml"
        lines = [row if isinstance(row, str) else orjson.dumps(row).decode() for row in rows]
        cases.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        policy_path.write_text(policy, encoding="utf-8")
        with RunWriter(folder) as writer:
            options = GateOptions(as_of=as_of, baseline=baseline)
            result = gate(metric, cases, policy_path, options=options, sink=writer)
            facts = facts_of(result, run_id=writer.run_id, command="gate", parameters={})
            published = publish_gate(result, writer, facts)
        html = (folder / "report.html").read_text(encoding="utf-8")
        made.append(Gated(facts, published, html, result))
        return made[-1]

    return run
