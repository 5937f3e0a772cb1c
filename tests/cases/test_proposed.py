"""S2.19: what a machine proposes is no case: every command that reads cases refuses it until somebody reviewed it."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path

import pytest

from evalkit import GateOptions, Outcome, evidence_coverage, gate, score_cases
from evalkit.cases.proposed import proposed_problem, write_proposed
from evalkit.cases.read import BadLine, Case, read_cases
from evalkit.cli import main
from evalkit.contract import EvalkitError

ROOT = Path(__file__).parents[2]
ROW = {
    "case_id": "r0", "required_claim_ids": ["a"], "supported_claim_ids": ["a"], "partition": "held_out",
    "blocking": False, "slice": "s",
}  # fmt: skip


@pytest.fixture
def proposal(tmp_path: Path) -> Path:
    cases = tmp_path / "cases.jsonl"
    cases.write_text(
        json.dumps(ROW) + "\n\nnot json\n" + '{"case_id": ["r0"]}\n' + json.dumps(ROW | {"case_id": "r1"}) + "\n"
    )
    path = tmp_path / "proposed.jsonl"
    assert write_proposed(path, cases, {"r0": {"by": "recheck", "old": "pass", "new": "fail"}}) == 1
    return path


def test_a_proposal_says_why_and_where_it_goes_is_left_to_people(proposal: Path) -> None:
    (line,) = proposal.read_text().splitlines()
    fields = json.loads(line)
    assert fields["proposed"] == {"by": "recheck", "old": "pass", "new": "fail"}
    assert not fields.keys() & {"partition", "blocking", "oracle", "role"}
    assert fields["slice"] == "s"


def test_a_proposal_is_read_as_an_invalid_line_with_its_reason(proposal: Path) -> None:
    (item,) = read_cases(proposal)
    assert isinstance(item, BadLine)
    assert (item.case_id, item.error_kind, item.blocking) == ("r0", "proposed", True)
    assert item.reason == "it is only proposed: review it, label it, and take out the key 'proposed'"


@pytest.mark.parametrize("value", [True, False, None, "", {}, 0])
def test_no_value_of_the_key_lets_it_through(value: object) -> None:
    assert proposed_problem({"case_id": "a", "proposed": value}) is not None


def test_whoever_takes_the_key_out_has_a_case(proposal: Path) -> None:
    fields = json.loads(proposal.read_text())
    del fields["proposed"]
    proposal.write_text(json.dumps(fields) + "\n")
    (item,) = read_cases(proposal)
    assert isinstance(item, Case)


def test_proposals_are_never_overwritten(proposal: Path) -> None:
    before = proposal.read_bytes()
    with pytest.raises(EvalkitError, match="exists already, and proposals are never overwritten"):
        write_proposed(proposal, proposal, {})
    assert proposal.read_bytes() == before


def test_a_gate_and_a_score_do_not_take_it_for_gold(proposal: Path) -> None:
    (record,) = score_cases(evidence_coverage, proposal)
    assert (record.state, record.owner) == ("invalid", "test-data")
    policy = ROOT / "fixtures/evidence_coverage/policy.toml"
    result = gate(evidence_coverage, proposal, policy, options=GateOptions())
    assert result.outcome is Outcome.incomplete


def evalkit(*arguments: object, cwd: Path) -> tuple[int, str]:
    out = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        patch.setattr(sys, "argv", ["evalkit", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
    return int(str(end.value.code)), out.getvalue()


@pytest.mark.parametrize(
    "command",
    [
        "gate evidence_coverage {cases} --policy {policy} --as-of 2026-12-01",
        "calibrate evidence_coverage {cases} --labels {labels}",
        "mutate evidence_coverage --cases {cases}",
        "controls refund_answer {cases}",
        "judge refund_answer {cases} --run judged --replay {cassette}",
        "score evidence_coverage {cases} --run scored",
        "next-labels evidence_coverage {cases} --labels {labels}",
    ],
)
def test_s2_19_no_command_accepts_a_proposed_case_as_gold(proposal: Path, command: str) -> None:
    labels = proposal.with_name("labels.jsonl")
    labels.write_text(json.dumps({"case_id": "r0", "reviewer": "r1", "label": "pass", "selection": "random"}) + "\n")
    fixtures = ROOT / "fixtures"
    places = {
        "cases": proposal, "labels": labels, "policy": fixtures / "evidence_coverage/policy.toml",
        "cassette": fixtures / "refund_answer/refund_answer.cassette.jsonl",
    }  # fmt: skip
    code, _ = evalkit(*command.format(**places).split(), cwd=proposal.parent)
    if not command.startswith(("score", "next-labels")):
        assert code == Outcome.incomplete
    # Whatever the command is for: the row is never scored, decided or asked about.
    for run in ("judged", "scored"):
        records = proposal.parent / run / "records.jsonl"
        if records.exists():
            assert [json.loads(line)["state"] for line in records.read_text().splitlines()] == ["invalid"]
