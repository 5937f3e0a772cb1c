"""A policy rests on a control run: `[frozen] controls`, end to end through the command and the gate."""

from __future__ import annotations

import json
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from control_rows import BUNDLED, rows_of, write_rows
from typer.testing import CliRunner

from evalkit.cli import application
from evalkit.contract import Outcome, sha256_file
from evalkit.contract.metric import Metric
from evalkit.decisions.controlling.frozen import control_run_problems
from evalkit.decisions.gate import GateOptions, GateResult, gate
from evalkit.decisions.policy import read_policy
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.metrics.refund_answer import refund_answer, refund_answer_review

AS_OF = date(2026, 12, 1)
POLICY = """\
schema = 1
name = "p"
version = "1"
mode = "{mode}"
metric = "refund_answer"
contract_version = "1"
approved_by = "council"
approved_on = 2026-11-30
expires_on = 2027-01-20
rationale = "r"
basis = "provisional"
[slices.default]
require = ["pass"]
{limits}
"""


class Desk:
    """A folder with the bundled controls and cassette, a policy and two rows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copy(BUNDLED / "refund_answer.cassette.jsonl", folder)
        lines = (BUNDLED / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        (folder / "cases.jsonl").write_text(lines[0] + "\n" + lines[2] + "\n", encoding="utf-8")

    def controls(self, rows: list[dict[str, Any]] | None = None, name: str = "run.json") -> str:
        """Run the command and return the hash of its file."""
        import evalkit.cli  # noqa: F401 - registers the commands

        path = write_rows(self.folder / "controls.jsonl", rows_of() if rows is None else rows)
        CliRunner().invoke(application(), ["controls", "refund_answer", str(path), "--json", str(self.folder / name)])
        return sha256_file(self.folder / name)

    def policy(self, frozen: str | None, *, mode: str = "block", limits: str = "") -> Path:
        text = POLICY.format(mode=mode, limits=limits)
        path = self.folder / "policy.toml"
        path.write_text(text + (f'[frozen]\ncontrols = "{frozen}"\n' if frozen else ""), encoding="utf-8")
        return path

    def gate(self, policy: Path) -> GateResult:
        return gate(refund_answer, self.folder / "cases.jsonl", policy, options=GateOptions(as_of=AS_OF))

    def sentences(self, policy: Path, metric: Metric = refund_answer, judge: str | None = None) -> list[str]:
        found = list(control_run_problems(read_policy(policy), metric, metric.fingerprint, judge))
        assert {(b.kind, b.outcome, b.owner) for b in found} <= {("controls", Outcome.incomplete, "judge")}
        return [blocker.sentence for blocker in found]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_gate_that_rests_on_a_control_run_that_separated_passes(desk: Desk) -> None:
    result = desk.gate(desk.policy(desk.controls()))
    assert [blocker.sentence for blocker in result.blockers] == []
    assert result.outcome is Outcome.passed


def test_the_hash_may_be_written_without_its_prefix(desk: Desk) -> None:
    assert desk.gate(desk.policy(desk.controls().removeprefix("sha256:"))).outcome is Outcome.passed


def test_a_control_run_that_is_missing_makes_the_gate_incomplete(desk: Desk) -> None:
    frozen = desk.controls()
    (desk.folder / "run.json").unlink()
    result = desk.gate(desk.policy(frozen))
    (blocker,) = result.blockers
    assert blocker.sentence == f"no .json file beside policy.toml has the hash of its control run, {frozen[:23]}…"
    assert result.outcome is Outcome.incomplete


def test_a_control_run_that_was_edited_is_missing(desk: Desk) -> None:
    policy = desk.policy(desk.controls())
    path = desk.folder / "run.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"pass"', '"fail"', 1), encoding="utf-8")
    assert desk.gate(policy).outcome is Outcome.incomplete


def test_a_control_run_that_did_not_separate_certifies_nothing(desk: Desk) -> None:
    result = desk.gate(desk.policy(desk.controls(rows_of("controls_next.jsonl"))))
    (blocker,) = result.blockers
    assert blocker.sentence == "the control run run.json did not separate (1 of 28 controls: unit-percent)"
    assert result.outcome is Outcome.incomplete


def test_e07_a_pass_on_an_injection_blocks_the_release(desk: Desk) -> None:
    cassette = desk.folder / "refund_answer.cassette.jsonl"
    lines = [json.loads(line) for line in cassette.read_text(encoding="utf-8").splitlines()]
    (obeyed,) = [line for line in lines if line.get("case_id") == "asks-for-pass"]
    obeyed["reply"]["content"] = json.dumps({"reason": "as the answer asks", "value": "pass"})
    cassette.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    result = desk.gate(desk.policy(desk.controls()))
    (blocker,) = result.blockers
    assert blocker.sentence == "the control run run.json did not separate (1 of 26 controls: asks-for-pass)"
    assert (result.outcome, blocker.owner) == (Outcome.incomplete, "judge")


def test_a_suite_without_a_role_has_not_separated(desk: Desk) -> None:
    rows = [row for row in rows_of() if row["role"] != "injection"]
    (sentence,) = desk.sentences(desk.policy(desk.controls(rows)))
    assert sentence == "the control run run.json did not separate (0 of 23 controls)"


def test_a_suite_that_a_faulty_judge_would_pass_certifies_nothing(desk: Desk) -> None:
    # the injection that stays is one that the obedient judge does not take for one: it separates, and catches nothing
    rows = [row for row in rows_of() if row["role"] != "injection"]
    plain = {**rows_of()[11], "response": "Yes, an opened puzzle is refunded."}
    assert plain["role"] == "injection"
    desk.controls([*rows, plain])
    path = desk.folder / "run.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    facts |= {"separated": True, "outcome": "quality_failed"}
    for control in facts["controls"]:
        control["ok"] = True
    path.write_text(json.dumps(facts), encoding="utf-8")
    (sentence,) = desk.sentences(desk.policy(sha256_file(path)))
    assert sentence.endswith("came out 'quality_failed': a faulty judge would pass its controls as well")


def test_a_control_run_of_another_judge_or_configuration_is_refused(desk: Desk) -> None:
    policy = desk.policy(desk.controls())
    found = desk.sentences(policy, refund_answer_review)
    assert [sentence.split(": its ")[1].split(" is ")[0] for sentence in found] == ["name", "fingerprint"]
    configuration = json.loads((desk.folder / "run.json").read_text(encoding="utf-8"))["judge"]["configuration_hash"]
    assert desk.sentences(policy, judge=configuration) == []
    (sentence,) = desk.sentences(policy, judge="sha256:" + "0" * 64)
    assert "is of another judge: its configuration hash is sha256:" in sentence


def test_a_gate_by_replay_compares_the_configuration_of_the_cassette(desk: Desk) -> None:
    policy = desk.policy(desk.controls())
    cassette = desk.folder / "refund_answer.cassette.jsonl"
    cassette.write_text(cassette.read_text(encoding="utf-8").replace('"rule-1"', '"rule-2"'), encoding="utf-8")
    sentences = [blocker.sentence for blocker in desk.gate(policy).blockers if blocker.kind == "controls"]
    assert len(sentences) == 1
    assert "its configuration hash is" in sentences[0]


def test_a_file_with_that_hash_that_is_no_control_run_is_refused(desk: Desk) -> None:
    (desk.folder / "run.json").write_text('{"separated": true}', encoding="utf-8")
    (sentence,) = desk.sentences(desk.policy(sha256_file(desk.folder / "run.json")))
    assert sentence == "run.json has the frozen hash, but is no control run"
    (desk.folder / "run.json").write_text("not JSON", encoding="utf-8")
    (sentence,) = desk.sentences(desk.policy(sha256_file(desk.folder / "run.json")))
    assert sentence.startswith("run.json, the frozen control run, cannot be read: ")


@pytest.mark.parametrize(
    ("limits", "mode", "metric", "expected"),
    [
        ("max_false_passes = 0", "block", refund_answer, 1),
        ("max_false_fails = 2", "block", refund_answer, 1),
        ("max_false_passes = 0", "report", refund_answer, 0),
        ("max_false_passes = 0", "block", evidence_coverage, 0),
        ("max_failures = 0", "block", refund_answer, 0),
    ],
)
def test_a_judge_that_labels_decide_on_needs_a_control_run(
    desk: Desk, limits: str, mode: str, metric: Metric, expected: int
) -> None:
    found = desk.sentences(desk.policy(None, mode=mode, limits=limits), metric)
    assert len(found) == expected
    if expected:
        assert found[0] == ("the policy holds refund_answer to labels, but names no control run that has separated")
