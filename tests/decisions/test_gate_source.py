"""What a run brings with it into a gate: its cost against the policy's limit."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path

import pytest

from evalkit import GateOptions, Outcome, gate, load_metric, numeric_metric
from evalkit.pages.publish import score_to_run

POLICY = """schema = 1
name = "p"
version = "1"
metric = "share"
contract_version = "0"
approved_by = "the council"
approved_on = 2026-11-30
expires_on = 2999-01-01
rationale = "what a run may cost"
[slices.default]
minimum = 0.4
[limits]
cost = "5.00"
currency = "USD"
"""


@numeric_metric()
def share(x: float) -> float:
    return x


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        ({"judge": {"model": "m"}, "calls": 3, "cost": "5.00", "charged": None}, Outcome.passed),
        ({"judge": {"model": "m"}, "calls": 3, "cost": "5.01", "charged": None}, Outcome.incomplete),
        # 4.90 is known to be paid, 5.20 may be: calls in doubt count
        ({"judge": {"model": "m"}, "calls": 3, "cost": "4.90", "charged": "5.20"}, Outcome.incomplete),
        ({"judge": {"model": "m"}, "calls": 3, "cost": None, "charged": None}, Outcome.incomplete),
        ({"judge": {"model": "m"}, "calls": 0, "cost": None, "charged": None}, Outcome.passed),
        ({"judge": None}, Outcome.passed),
    ],
)
def test_the_cost_of_a_judged_run_is_held_against_the_policy(
    tmp_path: Path, facts: dict[str, object], outcome: Outcome
) -> None:
    (tmp_path / "cases.jsonl").write_text('{"case_id": "a", "x": 0.5}\n')
    (tmp_path / "policy.toml").write_text(POLICY)
    run = score_to_run(share, tmp_path / "cases.jsonl", tmp_path / "run").run
    manifest = run.folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | facts))
    result = gate(share, run.folder, tmp_path / "policy.toml")
    assert result.outcome is outcome
    assert [blocker.kind for blocker in result.blockers] == ([] if outcome is Outcome.passed else ["cost"])


def test_gating_a_judge_replays_the_cassette_beside_the_cases_and_never_pays(tmp_path: Path) -> None:
    fixtures = Path(__file__).parents[2] / "fixtures/refund_answer"
    judge, options = load_metric("refund_answer"), GateOptions(as_of=date(2026, 12, 1))
    result = gate(judge, fixtures / "cases.jsonl", fixtures / "policy.toml", options=options)
    # 14 rows, one of which breaks a precondition
    assert (result.ledger.total(state="scored"), result.ledger.total(state="invalid")) == (13, 1)
    shutil.copy(fixtures / "cases.jsonl", tmp_path)
    alone = gate(judge, tmp_path / "cases.jsonl", fixtures / "policy.toml", options=options)
    assert (alone.ledger.total(state="scored"), alone.ledger.total(state="unrun")) == (0, 13)
    assert alone.outcome is Outcome.incomplete
