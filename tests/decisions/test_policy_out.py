"""The policy that rests on a calibration: readable by the gate, bound by hash, uncertified slices for people."""

from __future__ import annotations

import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from labelled_rows import SHARE, WORD, label, record, separable, world

from evalkit.cases.labels import LabelFile
from evalkit.contract import EvalkitError, Metric, sha256_file
from evalkit.decisions.calibrate import CalibrateOptions, Calibration, calibrate
from evalkit.decisions.calibrating.calibration_record import Basis
from evalkit.decisions.calibrating.policy_out import Approval, write_policy
from evalkit.decisions.fitness import Subject, unfit
from evalkit.decisions.policy import read_policy

APPROVED = Approval("a council", "the labels of November", date(2027, 2, 1))


def basis(**more: Any) -> Basis:
    labels = LabelFile(Path("labels.jsonl"), "sha256:labels", (), 0, 0, ())
    fields = {
        "cases": "cases.jsonl", "cases_sha256": "sha256:cases", "metric_fingerprint": SHARE.fingerprint, "judge": None,
        "labels": labels, "ledger_sha256": None, "made_on": "2026-11-30",
    }  # fmt: skip
    return Basis(**fields | more)  # type: ignore[arg-type]


def two_slices() -> Calibration:
    records, labels = world(separable(59), prefix="a-", slice="big")
    more, said = world(separable(3), prefix="b-", slice="small")
    return calibrate(SHARE, records + more, labels + said)


def blockers(path: Path, metric: Metric = SHARE, **subject: Any) -> list[str]:
    fields = {"metric_fingerprint": metric.fingerprint, "cases_sha256": "x"}
    found = Subject(**{"lock_sha256": None, "judge": None} | fields | subject)
    return [blocker.sentence for blocker in unfit(read_policy(path), metric, found, date(2026, 12, 1))]


def test_a_written_policy_can_be_used_by_the_gate_and_names_its_record_by_hash(tmp_path: Path) -> None:
    written = write_policy(tmp_path / "policy.toml", two_slices(), basis(), APPROVED)
    content = tomllib.loads(written.policy.read_text())
    assert (content["basis"], content["mode"]) == ("calibrated", "block")
    assert content["calibration"] == sha256_file(written.record) == written.record_sha256
    assert content["slices"] == {"big": {"minimum": 1.0}, "small": {"decide": "review"}}
    # One slice more would get 0.05 / 2 and need 72 fails (0.95**72 = 0.0249); three are there.
    assert "Not certified: 69 more labelled fails needed" in written.policy.read_text()
    assert blockers(written.policy) == []


def test_an_edited_metric_or_record_is_found_by_the_gate(tmp_path: Path) -> None:
    written = write_policy(tmp_path / "policy.toml", two_slices(), basis(judge="sha256:judge"), APPROVED)
    assert any(
        "metric_fingerprint is frozen" in text for text in blockers(written.policy, metric_fingerprint="sha256:x")
    )
    assert any("judge is frozen" in text for text in blockers(written.policy))
    written.record.write_text(written.record.read_text().replace("0.05", "0.5"))
    assert any("no .json file beside policy.toml has the hash" in text for text in blockers(written.policy))


def test_an_uncertified_slice_cannot_be_made_to_decide_by_editing_the_policy(tmp_path: Path) -> None:
    written = write_policy(tmp_path / "policy.toml", two_slices(), basis(), APPROVED)
    text = written.policy.read_text().replace('decide = "review"', "minimum = 0.5")
    written.policy.write_text(text)
    assert any("does not cover slices.small" in sentence for sentence in blockers(written.policy))


def test_without_approval_the_policy_only_reports(tmp_path: Path) -> None:
    for approval in (Approval(), APPROVED._replace(rationale=None)):
        written = write_policy(tmp_path / "policy.toml", two_slices(), basis(), approval)
        assert written.mode == "report"
    assert Approval().missing() == ["--approved-by", "--rationale", "--expires-on"]


def test_j04_the_record_binds_metric_judge_rows_and_labels_and_says_who_labelled(tmp_path: Path) -> None:
    records, labels = world(separable(59))
    found = calibrate(SHARE, records, labels)
    file = LabelFile(Path("labels.jsonl"), "sha256:labels", tuple(labels), 69, 0, ())
    written = write_policy(tmp_path / "p.toml", found, basis(labels=file, judge="sha256:judge"), APPROVED)
    assert written.record.name == "p.calibration.json"
    record_ = json.loads(written.record.read_text())
    assert record_["cases"] == {"name": "cases.jsonl", "sha256": "sha256:cases"}
    assert record_["labels"] == {"name": "labels.jsonl", "sha256": "sha256:labels", "reviewers": {"r1": 69}}
    assert (record_["metric_fingerprint"], record_["judge"]) == (SHARE.fingerprint, "sha256:judge")
    assert record_["slices"]["s"] == {
        "threshold": 1.0, "n_fail_labels": 59, "false_pass": 0, "level": pytest.approx(0.05), "synthetic": False
    }  # fmt: skip
    assert record_["uncertified"] == {}


def test_an_existing_policy_keeps_comments_limits_and_overrides(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    write_policy(path, two_slices(), basis(), APPROVED)
    path.write_text(path.read_text() + "\n# counted in the meeting of May\n[limits]\ninvalid = 2\n")
    write_policy(path, two_slices(), basis(), APPROVED)
    text = path.read_text()
    assert "# counted in the meeting of May" in text
    content = tomllib.loads(text)
    assert content["limits"] == {"invalid": 2}
    assert content["version"] == "2026-11-30.2"


def test_a_slice_that_was_not_calibrated_this_time_goes_to_people(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    write_policy(path, two_slices(), basis(), APPROVED)
    records, labels = world(separable(59), slice="other")
    write_policy(path, calibrate(SHARE, records, labels), basis(), APPROVED)
    content = tomllib.loads(path.read_text())
    assert content["slices"] == {
        "other": {"minimum": 1.0}, "big": {"decide": "review"}, "small": {"decide": "review"}
    }  # fmt: skip
    assert blockers(path) == []


def test_a_policy_of_another_metric_and_a_file_that_is_no_toml_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('metric = "other"\n')
    with pytest.raises(EvalkitError, match="is a policy of 'other', not of 'share'"):
        write_policy(path, two_slices(), basis(), APPROVED)
    path.write_text("= =")
    with pytest.raises(EvalkitError, match="exists and is not TOML"):
        write_policy(path, two_slices(), basis(), APPROVED)
    assert path.read_text() == "= ="


def test_synthetic_labels_are_called_so_in_the_policy(tmp_path: Path) -> None:
    records, labels = world(separable(59), label_more={"provenance": "synthetic"})
    path = write_policy(tmp_path / "p.toml", calibrate(SHARE, records, labels), basis(), APPROVED).policy
    assert "SYNTHETIC" in path.read_text()
    assert tomllib.loads(path.read_text())["scope"] == ["the synthetic example only"]


def test_a_discrete_metric_gets_its_passing_values(tmp_path: Path) -> None:
    records = [record(f"c{i}", "fail" if i < 59 else "pass") for i in range(70)]
    labels = [label(made, str(made.value), i) for i, made in enumerate(records)]
    found = calibrate(WORD, records, labels, CalibrateOptions())
    written = write_policy(tmp_path / "p.toml", found, basis(metric_fingerprint=WORD.fingerprint), APPROVED)
    assert tomllib.loads(written.policy.read_text())["slices"] == {"s": {"require": ["pass"]}}
    assert blockers(written.policy, WORD) == []


def test_a_case_id_with_control_characters_cannot_break_the_file(tmp_path: Path) -> None:
    rows = [record("a\nminimum = 0.0\x1b", text="one two three four"), record("b", text="four three two one")]
    labels = [label(made, "fail", i) for i, made in enumerate(rows)]
    path = write_policy(tmp_path / "p.toml", calibrate(SHARE, rows, labels), basis(), APPROVED).policy
    assert tomllib.loads(path.read_text())["slices"] == {"s": {"decide": "review"}}
