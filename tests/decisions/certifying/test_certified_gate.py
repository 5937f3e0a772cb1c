"""A judge's run through ``gate --labels``: the four outcomes, owners, overrides, held-out rows opened once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalkit import GateOptions, GateResult, Outcome, discrete_metric, gate
from evalkit.cases.holdout import read_looks
from evalkit.contract import MetricResult
from evalkit.scoring.score import score_cases

POLICY = """schema = 1
name = "certified"
version = "1"
metric = "verdict"
contract_version = "0"
approved_by = "the council"
approved_on = 2026-11-30
expires_on = 2027-02-28
rationale = "labels say what is good"
[slices.default]
require = ["pass"]
max_false_passes = 0
max_false_fails = 0
"""
OVERRIDE = """
[[overrides]]
case_id = "{case_id}"
seen_hash = "{seen_hash}"
approver = "the council"
reason = "one known answer"
expires_on = {expires_on}
follow_up = "mend the prompt"
"""


@discrete_metric(name="verdict", allowed_values=["pass", "fail"])
def verdict(said: str) -> MetricResult:
    return MetricResult(value=said, reason="as recorded")


class Room:
    """Cases, labels and causes in a folder, gated as a user would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.policy = POLICY
        self.causes: list[dict[str, Any]] | None = None

    def write(self, rows: dict[str, tuple[str, str | None]], **more: Any) -> None:
        cases = [
            {"case_id": case_id, "said": said, "evidence": {"answer": case_id}} | more
            for case_id, (said, _) in rows.items()
        ]
        labels = [
            {"case_id": case_id, "reviewer": f"r{i}", "label": word, "selection": "random"}
            for case_id, (_, people) in rows.items()
            if people
            for i, word in enumerate(people.split("/"))
        ]
        for name, lines in (("cases", cases), ("labels", labels)):
            (self.folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def gate(self, **options: Any) -> GateResult:
        (self.folder / "policy.toml").write_text(self.policy)
        causes = None
        if self.causes is not None:
            causes = self.folder / "causes.jsonl"
            causes.write_text("".join(json.dumps(line) + "\n" for line in self.causes))
        chosen = GateOptions(labels=self.folder / "labels.jsonl", causes=causes, as_of=date(2026, 12, 1))
        return gate(
            verdict, self.folder / "cases.jsonl", self.folder / "policy.toml", options=replace(chosen, **options)
        )

    def seen(self, case_id: str) -> str:
        records = score_cases(verdict, self.folder / "cases.jsonl")
        return str(next(r.seen_hash for r in records if r.case_id == case_id))

    def cause(self, case_id: str, said: str, people: str, cause: str | None, **more: Any) -> dict[str, Any]:
        fields = {"case_id": case_id, "verdict": said, "label": people, "seen_hash": self.seen(case_id)}
        return fields | {"cause": cause, "reason": "because", "reviewer": "r9"} | more


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def kinds(result: GateResult) -> dict[str, list[str | None]]:
    return {blocker.kind: [row.case_id for row in blocker.rows] for blocker in result.blockers}


ONE_FALSE_PASS = {"a": ("pass", "pass/pass"), "b": ("fail", "fail"), "c": ("pass", "fail/fail")}


def test_a_judge_that_agrees_with_people_passes(room: Room) -> None:
    room.write({"a": ("pass", "pass/pass"), "b": ("fail", "fail")})
    assert room.gate().outcome is Outcome.passed


def test_the_owner_of_a_false_pass_is_that_of_its_earliest_cause(room: Room) -> None:
    room.write(ONE_FALSE_PASS)
    room.causes = [
        room.cause("c", "pass", "fail", "evaluator_reasoning"),
        room.cause("c", "pass", "fail", "rubric_ambiguity", reason="deadline or date?"),
    ]
    result = room.gate()
    (blocker,) = result.blockers
    assert (blocker.kind, blocker.outcome, blocker.owner) == ("false_passes", Outcome.quality_failed, "rubric")
    assert blocker.rows[0].owner == "rubric"
    assert "rubric_ambiguity (r9): deadline or date?" in blocker.rows[0].sentence


def test_s2_13_a_cause_never_makes_a_disagreement_count_less(room: Room) -> None:
    room.write(ONE_FALSE_PASS)
    room.causes = [room.cause("c", "pass", "fail", "gold_defect")]
    result = room.gate()
    assert result.outcome is Outcome.quality_failed
    assert result.blockers[0].owner == "test-data"


@pytest.mark.parametrize("causes", ["none", "draft", "of another verdict", "of another answer"])
def test_a_disagreement_within_the_limits_blocks_until_somebody_classified_it(room: Room, causes: str) -> None:
    room.policy = POLICY.replace("max_false_passes = 0", "max_false_passes = 1")
    room.write(ONE_FALSE_PASS)
    whole = room.cause("c", "pass", "fail", "prompt_gap")
    change = {
        "draft": {"cause": None}, "of another verdict": {"verdict": "fail"},
        "of another answer": {"seen_hash": "sha256:0123456789abcdef"},
    }  # fmt: skip
    room.causes = [] if causes == "none" else [whole | change[causes]]
    result = room.gate()
    assert result.outcome is Outcome.review_required
    assert kinds(result) == {"unclassified": ["c"]}
    room.causes = [whole]
    assert room.gate().outcome is Outcome.passed


def test_a_cause_of_a_row_that_agrees_now_is_told(room: Room) -> None:
    room.write({"a": ("pass", "pass")})
    room.causes = [room.cause("a", "pass", "fail", "prompt_gap")]
    result = room.gate()
    assert result.outcome is Outcome.passed
    assert "1 classified rows are no such disagreements any more: a" in result.warnings


def test_an_override_in_force_lets_one_disagreement_stand_and_is_shown(room: Room) -> None:
    room.write(ONE_FALSE_PASS)
    override = {"case_id": "c", "seen_hash": room.seen("c"), "expires_on": "2026-12-31"}
    room.policy = POLICY + OVERRIDE.format(**override)
    result = room.gate()
    assert result.outcome is Outcome.passed
    assert [record.case_id for record in result.labelled[0].overridden] == ["c"]
    assert [record.case_id for record in result.labelled[0].false_passes] == ["c"]
    assert not [warning for warning in result.warnings if "override" in warning]
    for change in ({"seen_hash": "sha256:another"}, {"case_id": "a"}):
        room.policy = POLICY + OVERRIDE.format(**override | change)
        assert room.gate().outcome is Outcome.quality_failed
    room.policy = POLICY + OVERRIDE.format(**override | {"expires_on": "2026-11-30"})
    assert room.gate().outcome is Outcome.incomplete


def test_an_unknown_label_blocks(room: Room) -> None:
    room.write({"a": ("pass", "garbage")})
    result = room.gate()
    assert (result.outcome, kinds(result)) == (Outcome.incomplete, {"unknown_label": ["a"]})


def test_labels_of_no_row_are_told(room: Room) -> None:
    room.write({"a": ("pass", "pass"), "b": ("pass", "pass")})
    path = room.folder / "cases.jsonl"
    path.write_text(path.read_text().splitlines()[0] + "\n")
    assert "1 labelled cases are not among these rows: b" in room.gate().warnings


# --- held-out rows --------------------------------------------------------------------------------------------------


@pytest.fixture
def split(room: Room) -> Callable[..., Room]:
    def write(**rows: tuple[str, str, str]) -> Room:
        room.write({case_id: (said, people) for case_id, (said, people, _) in rows.items()})
        path = room.folder / "cases.jsonl"
        cases = [json.loads(line) for line in path.read_text().splitlines()]
        parts = {case_id: partition for case_id, (_, _, partition) in rows.items()}
        path.write_text("".join(json.dumps(case | {"partition": parts[case["case_id"]]}) + "\n" for case in cases))
        return room

    return write


def test_s2_14_only_held_out_rows_decide_and_the_look_is_in_the_ledger(split: Callable[..., Room]) -> None:
    room = split(d=("pass", "fail", "development"), c=("fail", "pass", "calibration"), h=("pass", "pass", "held_out"))
    result = room.gate()
    assert result.outcome is Outcome.passed
    facts = {one.partition: one.facts() for one in result.labelled}
    assert (facts["development"]["false_passes"], facts["calibration"]["false_fails"]) == (["d"], ["c"])
    (look,) = read_looks(room.folder / "holdout.jsonl")
    assert look.case_ids == {"default": ("h",)}
    assert room.gate().outcome is Outcome.passed
    assert len(read_looks(room.folder / "holdout.jsonl")) == 1


def test_s2_14_a_limit_moved_after_the_look_is_refused_and_shows_nothing(split: Callable[..., Room]) -> None:
    room = split(h=("pass", "fail", "held_out"))
    assert room.gate().outcome is Outcome.quality_failed
    room.policy = POLICY.replace("max_false_passes = 0", "max_false_passes = 1")
    result = room.gate()
    assert result.outcome is Outcome.incomplete
    (blocker,) = result.blockers
    assert blocker.sentence.startswith("the held-out partition is spent: 1 of these rows")
    assert "false_passes" not in result.labelled[0].facts()


@pytest.mark.parametrize("what", ["unlabelled", "conflict", "error row", "wrong revision"])
def test_held_out_rows_are_not_spent_while_anything_else_stands_in_the_way(
    split: Callable[..., Room], what: str
) -> None:
    rows = {"h": ("pass", "fail", "held_out"), "i": ("pass", "pass", "held_out")}
    rows |= {"unlabelled": {"j": ("pass", "", "held_out")}, "conflict": {"j": ("pass", "pass/fail", "held_out")}}.get(
        what, {}
    )
    rows |= {"j": ("neither", "pass", "held_out")} if what == "error row" else {}
    room = split(**rows)
    result = room.gate(require_revision="r7" if what == "wrong revision" else None)
    assert result.outcome is not Outcome.passed
    assert "false_passes" not in result.labelled[0].facts()
    assert not (room.folder / "holdout.jsonl").exists()


def test_cases_that_are_split_without_a_held_out_row_certify_nothing(split: Callable[..., Room]) -> None:
    result = split(d=("pass", "pass", "development")).gate()
    assert (result.outcome, list(kinds(result))) == (Outcome.incomplete, ["held_out"])


def test_another_ledger_may_be_named(split: Callable[..., Room]) -> None:
    room = split(h=("pass", "pass", "held_out"))
    room.gate(ledger=room.folder / "mine.jsonl")
    assert len(read_looks(room.folder / "mine.jsonl")) == 1
    assert not (room.folder / "holdout.jsonl").exists()


def test_s2_10_a_family_in_two_partitions_keeps_the_held_out_rows_closed(split: Callable[..., Room]) -> None:
    room = split(d=("pass", "pass", "development"), h=("pass", "fail", "held_out"))
    path = room.folder / "cases.jsonl"
    cases = [json.loads(line) | {"family": "boots"} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    result = room.gate()
    assert (result.outcome, list(kinds(result))) == (Outcome.incomplete, ["held_out"])
    assert result.blockers[0].sentence == "1 families stand in several partitions: boots"
    assert not (room.folder / "holdout.jsonl").exists()
