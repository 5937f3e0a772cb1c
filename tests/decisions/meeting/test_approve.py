from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import meeting_room as room
import pytest

from evalkit import GateOptions, evidence_coverage, gate
from evalkit.contract import EvalkitError, Outcome, sha256_file
from evalkit.decisions.calibrate import CalibrateOptions
from evalkit.decisions.meeting.approve import Approved, parse_actions
from evalkit.decisions.meeting.policy_text import policy_text
from evalkit.decisions.meeting.votes import entries_hash

APPROVED = Approved(
    approved_by="the council",
    rationale="two of three\nis not enough",
    expires_on=date(2027, 2, 1),
    decided_on=room.DAY,
    basis="by_definition",
    dissent='bo: "too strict"',
    attendees=("cy", " "),
    actions=parse_actions("mend the contract | anna | 2026-12-15"),
)


def test_the_policy_keeps_comments_and_everything_that_was_not_decided(tmp_path: Path) -> None:
    review = room.opened(tmp_path)
    done = review.decide({"default": 0.8}, APPROVED)
    text = done.policy.read_text(encoding="utf-8")
    assert "# Reviewed like code." in text
    assert "# Everyday questions.\n[slices.default]\nminimum = 0.8 # the council's own words" in text
    old, new = tomllib.loads(room.POLICY), tomllib.loads(text)
    changed = {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
    assert changed == {
        "version", "approved_on", "expires_on", "rationale", "votes", "dissent", "calibration", "slices",
    }  # fmt: skip
    assert new["slices"] == {"default": {"minimum": 0.8}, "money": {"minimum": 1.0}}
    assert new["version"] == "2026-12-01"
    assert (new["rationale"], new["dissent"]) == (APPROVED.rationale, APPROVED.dissent)
    assert done.diff.startswith("--- the policy now\n+++ the policy decided")
    assert "-minimum = 0.75 # the council's own words" in done.diff


def test_the_policy_names_the_votes_and_the_calibration_it_was_decided_with(tmp_path: Path) -> None:
    review = room.opened(tmp_path)
    review.cast("anna", "c", "hold")
    done = review.decide({"default": 0.8}, APPROVED)
    policy = tomllib.loads(done.policy.read_text(encoding="utf-8"))
    assert policy["votes"] == entries_hash(review.entries())
    assert policy["calibration"] == sha256_file(tmp_path / "decided.calibration.json")


def test_the_decided_policy_gates_the_rows_and_the_version_goes_up(tmp_path: Path) -> None:
    review = room.opened(tmp_path)
    first = review.decide({"default": 0.8}, APPROVED)
    second = review.decide({"default": 0.5}, APPROVED)
    assert (first.version, second.version) == ("2026-12-01", "2026-12-01.2")
    assert first.record != second.record
    assert first.record.exists()
    options = GateOptions(as_of=room.DAY)
    result = gate(evidence_coverage, tmp_path / "cases.jsonl", second.policy, options=options)
    assert [(b.kind, b.outcome) for b in result.blockers] == [("failed", Outcome.quality_failed)] * len(result.blockers)
    assert {row.case_id for blocker in result.blockers for row in blocker.rows} == {"a", "h"}


def test_a_slice_that_people_decided_is_decided_by_the_threshold_from_now_on(tmp_path: Path) -> None:
    by_people = room.POLICY.replace("[slices.money]\nminimum = 1.0", '[slices.money]\ndecide = "review"')
    review = room.opened(tmp_path, policy=by_people)
    text = policy_text(review.meeting, {"money": 0.5}, reviewed_on=room.DAY)
    assert tomllib.loads(text)["slices"]["money"] == {"minimum": 0.5}
    assert "minimum = 0.5 # threshold review 2026-12-01: any of 2" not in text
    assert "minimum = 0.5 # threshold review 2026-12-01: all but 1 of 2" in text


def test_the_record_says_who_decided_what_and_why(tmp_path: Path) -> None:
    review = room.opened(tmp_path)
    review.cast("anna", "c", "hold")
    review.cast("bo", "c", "ship")
    review.mark("bo", "c", "to_review")
    done = review.decide({"default": 0.8}, APPROVED)
    facts: dict[str, Any] = json.loads(done.record.read_text(encoding="utf-8"))
    assert facts["attendees"] == ["cy", "anna", "bo"]
    assert facts["actions"] == [{"what": "mend the contract", "owner": "anna", "due": "2026-12-15"}]
    assert facts["split"] == ["c"]
    assert facts["marks"] == {"c": {"bo": "to_review"}}
    assert [flip["case_id"] for flip in facts["flips"]["flips"]] == ["c", "d"]
    assert facts["policy"]["sha256"] == sha256_file(done.policy)
    assert str(tmp_path) not in done.record.read_text(encoding="utf-8")


def test_a_policy_that_somebody_changed_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    review = room.opened(tmp_path, policy_out=tmp_path / "policy.toml")
    room.write_policy(tmp_path / "policy.toml", room.POLICY + "# a colleague was here\n")
    with pytest.raises(EvalkitError, match=r"was changed since this meeting opened it"):
        review.decide({"default": 0.8}, APPROVED)
    assert "a colleague was here" in (tmp_path / "policy.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"approved_by": " "}, "approved by is blank"),
        ({"rationale": ""}, "rationale is blank"),
        ({"expires_on": room.DAY}, "would expire on 2026-12-01, not after the decision"),
        ({"basis": "provisional"}, "blocks for at most 60 days; 2027-02-01 is later; let it expire by 2027-01-30"),
        ({"basis": "calibrated"}, "the labels do not certify default: no: labels not drawn at random"),
    ],
)
def test_what_is_missing_or_untrue_is_refused_and_nothing_is_written(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    review = room.opened(tmp_path)
    with pytest.raises(EvalkitError, match=said):
        review.decide({"default": 0.8}, replace(APPROVED, **change))
    assert not (tmp_path / "decided.toml").exists()
    assert list(review.folder.glob("decision-*")) == []


def test_a_policy_may_rest_on_labels_that_certify_every_slice_it_decides(tmp_path: Path) -> None:
    rows = [
        room.bare(room.row(f"{name}-{word}-{n}", supported, slice=name))
        for name in ("default", "money")
        for word, supported in (("bad", 2), ("good", 4))
        for n in range(30)
    ]
    words = {line["case_id"]: "fail" if "bad" in line["case_id"] else "pass" for line in rows}
    labels = room.write_labels(tmp_path / "labels.jsonl", words, selection="random", provenance="production")
    options = CalibrateOptions(max_false_pass=0.2, confidence=0.9)
    review = room.opened(tmp_path, rows=rows, labels=labels, options=options)
    done = review.decide({"default": 1.0}, replace(APPROVED, basis="calibrated"))
    # Two slices share 10 %: 5 % each, and 0.8**30 = 0.0012.
    assert review.gate({}, done.policy).outcome is Outcome.quality_failed
    assert not [b for b in review.gate({}, done.policy).blockers if b.outcome is Outcome.incomplete]
    with pytest.raises(EvalkitError, match=r"do not certify default: no: certified is at least 1.0"):
        review.decide({"default": 0.5}, replace(APPROVED, basis="calibrated"))


@pytest.mark.parametrize("line", ["mend it", "mend it | anna", "mend it | anna | soon", " | anna | 2026-12-15"])
def test_an_action_without_owner_or_date_is_refused(line: str) -> None:
    with pytest.raises(EvalkitError, match=r"line 2 of the actions must be: what \| owner \| YYYY-MM-DD"):
        parse_actions(f"fine | bo | 2026-12-02\n{line}")


def test_hostile_text_stays_a_text_in_the_policy(tmp_path: Path) -> None:
    evil = '"""\n[slices.money]\nminimum = 0.0\n\x1b[2K"\'\\ </script>'
    done = room.opened(tmp_path).decide({"default": 0.8}, replace(APPROVED, rationale=evil, dissent=evil))
    policy = tomllib.loads(done.policy.read_text(encoding="utf-8"))
    assert policy["slices"]["money"] == {"minimum": 1.0}
    assert policy["rationale"] == evil.strip()
