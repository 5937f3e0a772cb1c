"""Unstable rows are listed with their share and its exact interval, where they were judged and where they are gated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from endpoint import Endpoint, verdict
from judges import JUDGE, Home

from evalkit import Outcome, gate
from evalkit.decisions.certifying.instability import repeated_facts, repeated_lines

POLICY = """schema = 1
name = "p"
version = "1"
mode = "report"
metric = "right"
contract_version = "1"
[slices.default]
require = ["pass"]
"""


def test_a_share_comes_with_its_interval_and_its_rows() -> None:
    first, second = repeated_lines({"asked": 3, "rows": 10, "unstable": ["a"], "ties": ["b"]})
    # Clopper-Pearson of 1 of 10: 0.25 % to 44.5 %, shown outwards.
    assert first == "asked 3 times each; unstable: 1 of 10 rows (exact 95 % interval 0-45 %): a"
    facts = repeated_facts({"asked": 3, "rows": 10, "unstable": ["a"], "ties": []})
    assert facts is not None
    assert (facts["share"], facts["interval"]) == (0.1, pytest.approx([0.00253, 0.44502], abs=1e-5))
    assert repeated_facts(None) is None
    assert second == "ties, which a person decides: 1 of 10 rows: b"


@pytest.mark.parametrize(("said", "outcome"), [(("pass", "fail"), "review_required"), (("pass", "pass"), "passed")])
def test_s2_18_a_tie_is_review_in_the_gate_and_unstable_rows_are_told(
    tmp_path: Path, said: tuple[str, str], outcome: str
) -> None:
    turns = iter(said)
    with Endpoint(lambda _: verdict(next(turns))) as endpoint:
        home = Home(tmp_path, endpoint)
        home.cases.write_text(json.dumps({"case_id": "a", "reference": "B", "response": "answer 0"}) + "\n")
        run = home.run(repeat=2).run
    (tmp_path / "policy.toml").write_text(POLICY)
    result = gate(JUDGE, run.folder, tmp_path / "policy.toml")
    assert result.outcome is Outcome[outcome]
    assert any("asked 2 times each; unstable:" in warning for warning in result.warnings)
    if outcome == "review_required":
        assert (result.blockers[0].rows[0].case_id, result.blockers[0].rows[0].owner) == ("a", "judge")
