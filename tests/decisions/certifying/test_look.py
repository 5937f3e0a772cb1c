"""A gate's look at held-out rows is written down first, repeated freely, and refused after an edit."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from labelled_rows import record

from evalkit.cases.holdout import Look, append_look, read_looks
from evalkit.contract import EvalkitError
from evalkit.decisions.certifying.against import Labelled
from evalkit.decisions.certifying.look import Judged, open_held_out
from evalkit.decisions.policy import Policy, SliceLimits

DAY = date(2026, 12, 1)
JUDGE = Judged("refund", "1", "sha256:prompt", "sha256:model")
ROWS = [
    Labelled(
        slice="s",
        partition="held_out",
        good=[record("a", "pass", decision="pass")],
        bad=[record("b", "pass", decision="pass")],
        labels={"a": "pass", "b": "fail"},
    )
]


def policy(allowed: int = 0) -> Policy:
    limits = SliceLimits(require=("pass",), max_false_passes=allowed)
    head = {"schema": 1, "name": "p", "version": "1", "metric": "refund", "contract_version": "1", "mode": "report"}
    return Policy(**head, slices={"s": limits})  # type: ignore[arg-type]  # as the file has them


def test_a_look_is_written_once_and_may_be_repeated_as_often_as_ci_runs(tmp_path: Path) -> None:
    ledger = tmp_path / "holdout.jsonl"
    for day in (DAY, date(2026, 12, 24)):
        open_held_out(ledger, ROWS, policy(), JUDGE, day)
    (look,) = read_looks(ledger)
    assert (look.looked_on, look.result, look.case_ids) == ("2026-12-01", {"s": "1 false passes"}, {"s": ("a", "b")})


@pytest.mark.parametrize(
    ("judged", "allowed", "rows", "fragment"),
    [
        (JUDGE._replace(fingerprint="sha256:new prompt"), 0, ROWS, "the metric was edited"),
        (JUDGE._replace(configuration="sha256:new model"), 0, ROWS, "the judge's model or settings changed"),
        (JUDGE, 1, ROWS, "another limit or confidence is asked for"),
        (JUDGE, 0, [replace(ROWS[0], labels={"a": "pass", "b": "pass"})], "the rows or their labels changed"),
    ],
)
def test_after_an_edit_the_rows_are_spent(
    tmp_path: Path, judged: Judged, allowed: int, rows: list[Labelled], fragment: str
) -> None:
    ledger = tmp_path / "holdout.jsonl"
    open_held_out(ledger, ROWS, policy(), JUDGE, DAY)
    with pytest.raises(EvalkitError, match="the held-out partition is spent: 2 of these rows") as caught:
        open_held_out(ledger, rows, policy(allowed), judged, DAY)
    assert fragment in str(caught.value)
    assert len(read_looks(ledger)) == 1


def test_fresh_rows_may_be_looked_at_by_an_edited_judge(tmp_path: Path) -> None:
    ledger = tmp_path / "holdout.jsonl"
    open_held_out(ledger, ROWS, policy(), JUDGE, DAY)
    fresh = [replace(ROWS[0], good=[], bad=[record("c", "fail", decision="fail")], labels={"c": "fail"})]
    open_held_out(ledger, fresh, policy(), JUDGE._replace(fingerprint="sha256:new prompt"), DAY)
    assert len(read_looks(ledger)) == 2


def calibration(fingerprint: str) -> Look:
    return Look(
        "2026-11-30", "calibrate", "refund", "1", fingerprint, {"max_false_pass": 0.05}, "sha256:rows", {"s": 1.0},
        {"s": ("a", "b")},
    )  # fmt: skip


def test_a_calibration_of_the_same_judge_spends_nothing_for_the_gate(tmp_path: Path) -> None:
    ledger = tmp_path / "holdout.jsonl"
    append_look(ledger, calibration(JUDGE.fingerprint))
    open_held_out(ledger, ROWS, policy(), JUDGE, DAY)
    assert len(read_looks(ledger)) == 2


def test_a_calibration_of_the_judge_as_it_was_before_an_edit_does(tmp_path: Path) -> None:
    ledger = tmp_path / "holdout.jsonl"
    append_look(ledger, calibration("sha256:older prompt"))
    with pytest.raises(EvalkitError, match="the metric was edited"):
        open_held_out(ledger, ROWS, policy(), JUDGE, DAY)
