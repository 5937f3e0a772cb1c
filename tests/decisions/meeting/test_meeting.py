from __future__ import annotations

from pathlib import Path

import meeting_room as room
import pytest

from evalkit import GateOptions, discrete_metric, evidence_coverage, gate
from evalkit.contract import EvalkitError
from evalkit.decisions.calibrate import CalibrateOptions
from evalkit.decisions.calibrating.thresholds import is_pass
from evalkit.decisions.meeting.confusion import confusion_at
from evalkit.decisions.meeting.meeting import open_meeting
from evalkit.decisions.meeting.review import open_review


def test_a_proposal_flips_exactly_the_rows_between_the_two_thresholds(tmp_path: Path) -> None:
    meeting = room.opened(tmp_path).meeting
    found = meeting.flips({"default": 0.8})
    assert [(f.case_id, f.old, f.new, f.label) for f in found.flips] == [
        ("c", "pass", "fail", "fail"),
        ("d", "pass", "fail", "pass"),
    ]
    # Seven rows of default and two of money have a decision under both.
    assert found.compared == 9
    assert meeting.flips({}).flips == ()
    assert meeting.flips({"default": 0.75}).compared == 9


def test_flips_are_what_two_gates_differ_in(tmp_path: Path) -> None:
    review = room.opened(tmp_path)
    old = {r.case_id: r.decision for r in review.gate({}).notable}
    new = {r.case_id: r.decision for r in review.gate({"default": 0.8, "money": 0.5}).notable}
    changed = {case_id for case_id in old.keys() | new.keys() if old.get(case_id) != new.get(case_id)}
    flips = review.meeting.flips({"default": 0.8, "money": 0.5}).flips
    assert {flip.case_id for flip in flips} == changed == {"c", "d", "h"}


@pytest.mark.parametrize("threshold", [0.0, 0.25, 0.3, 0.5, 0.75, 0.76, 0.8, 0.9, 1.0])
def test_the_confusion_is_what_counting_by_hand_gives(tmp_path: Path, threshold: float) -> None:
    meeting = room.opened(tmp_path).meeting
    line = next(line for line in confusion_at(meeting, {"default": threshold}) if line.slice == "default")
    scores = {"a": 0.25, "b": 0.5, "c": 0.75, "d": 0.75, "e": 0.8, "f": 1.0, "g": 1.0}
    passing = {case_id for case_id, score in scores.items() if is_pass(score, threshold, "higher")}
    bad = {case_id for case_id in scores if room.LABELS[case_id] == "fail"}
    assert (line.n, line.passing, line.failing) == (7, len(passing), 7 - len(passing))
    assert (line.n_fail, line.n_pass) == (3, 4)
    assert line.false_pass == len(passing & bad)
    assert line.false_fail == len(scores.keys() - passing - bad)


def test_errors_without_labels_are_no_numbers(tmp_path: Path) -> None:
    meeting = room.opened(tmp_path, labels=None).meeting
    line = confusion_at(meeting, {})[0]
    assert (line.false_pass, line.false_fail, line.false_pass_interval) == (None, None, None)
    assert (line.is_certified, line.certificate) == (False, "no labels")


def test_picked_labels_describe_and_a_random_draw_certifies(tmp_path: Path) -> None:
    rows = [room.row(f"bad-{n}", 2) for n in range(30)] + [room.row(f"good-{n}", 4) for n in range(30)]
    rows = [room.bare(line) for line in rows]
    words = {line["case_id"]: "fail" if line["case_id"].startswith("bad") else "pass" for line in rows}
    # 20 % at 90 %: 0.8**30 = 0.0012, so 30 fails without one passing certify 1.0; at 0.5 all of them pass.
    options = CalibrateOptions(max_false_pass=0.2, confidence=0.9)
    for selection, certified in (("targeted", False), ("random", True)):
        labels = room.write_labels(tmp_path / "labels.jsonl", words, selection=selection, provenance="production")
        policy = room.write_policy(tmp_path / "policy.toml")
        cases = room.write_lines(tmp_path / "cases.jsonl", rows)
        meeting = open_meeting(evidence_coverage, cases, policy, labels, options=options)
        line = confusion_at(meeting, {"default": 0.75})[0]
        assert line.is_certified is certified, line.certificate
        assert confusion_at(meeting, {"default": 0.5})[0].is_certified is False
    assert line.certificate == "yes"
    assert confusion_at(meeting, {"default": 0.5})[0].certificate == "no: certified is at least 1.0"


def test_candidates_hold_the_policys_own_threshold_and_a_parameter(tmp_path: Path) -> None:
    meeting = room.opened(tmp_path).meeting
    assert [c.threshold for c in meeting.candidates("default", [0.79])] == [0.25, 0.5, 0.75, 0.79, 1.0]
    assert meeting.meaning("default", 0.8) == "all of 4, all but 1 of 5"


@pytest.mark.parametrize(
    ("thresholds", "said"),
    [
        ({"defualt": 0.5}, "the policy has no slice 'defualt'; its slices are 'default', 'money'"),
        ({"default": 1.5}, "the threshold 1.5 lies outside the range of evidence_coverage, 0.0 to 1.0"),
    ],
)
def test_a_threshold_that_means_nothing_is_refused(tmp_path: Path, thresholds: dict[str, float], said: str) -> None:
    with pytest.raises(EvalkitError, match=said):
        room.opened(tmp_path, thresholds=thresholds)


def test_labels_have_no_threshold_to_review(tmp_path: Path) -> None:
    @discrete_metric(allowed_values=["pass", "fail"])
    def tone(answer: str) -> str:
        return "pass"

    with pytest.raises(EvalkitError, match=r"tone gives discrete values: there is no threshold to review"):
        open_review(tone, tmp_path / "x.jsonl", tmp_path / "p.toml")


def test_a_policy_of_another_metric_is_refused(tmp_path: Path) -> None:
    other = room.POLICY.replace('metric = "evidence_coverage"', 'metric = "tone"')
    with pytest.raises(EvalkitError, match=r"the policy is of 'tone', contract '1'"):
        room.opened(tmp_path, policy=other)


def test_the_hash_of_the_proposal_is_that_of_any_gate_with_these_limits(tmp_path: Path) -> None:
    review = room.opened(tmp_path)
    by_hand = room.write_policy(tmp_path / "other.toml", room.POLICY.replace("minimum = 0.75", "minimum = 0.8"))
    options = GateOptions(as_of=room.DAY)
    assert review.gate({"default": 0.8}).outcome_hash == (
        gate(evidence_coverage, tmp_path / "cases.jsonl", by_hand, options=options).outcome_hash
    )
    assert review.gate({"default": 0.8}).outcome_hash != review.gate({}).outcome_hash
