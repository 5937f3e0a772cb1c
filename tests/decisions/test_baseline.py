from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalkit import evidence_coverage
from evalkit.contract import EvalkitError
from evalkit.decisions.baseline import Baseline, read_baseline
from evalkit.scoring.records import Record, Ruling
from evalkit.scoring.run import Run, RunWriter

PLAIN = Record(
    1, "a", "default", True, None, None, "scored", 0.5, "r", {}, None, "pass", None, None, {}, None, "h", None, "s",
    "1", None, {}, None, None,
)  # fmt: skip


def now(**words: str) -> dict[str, Record]:
    """Records by case id, from one word each: a decision or a state."""
    return {
        name: PLAIN._replace(case_id=name, decision=word)
        if word in ("pass", "fail", "review")
        else PLAIN._replace(case_id=name, state=word, value=None, decision=None)
        for name, word in words.items()
    }


def test_failures_are_new_known_or_fixed():
    old = Baseline("run-1", {"a": "fail", "b": "fail", "c": "pass", "d": "pass", "e": "review", "f": "fail"})
    found = old.compare(now(a="fail", b="pass", c="fail", d="pass", e="fail", f="review", g="fail"))
    assert (found.run_id, found.known, found.new, found.fixed) == ("run-1", ["a"], ["c", "e", "g"], ["b"])
    # f waits for a person: that is not fixed.
    assert (found.appeared, found.unjudged, found.vanished) == (1, ["f"], [])


@pytest.mark.parametrize("state", ["invalid", "error", "unrun"])
def test_a_failure_that_was_not_scored_again_is_not_fixed(state: str):
    found = Baseline("r", {"a": "fail", "b": "fail"}).compare(now(a=state))
    assert (found.fixed, found.unjudged, found.vanished) == ([], ["a"], ["b"])


def test_only_rows_decided_in_both_runs_are_pairs():
    old = Baseline("r", {"a": "fail", "b": "pass", "c": "invalid", "d": "pass", "e": "fail"})
    found = old.compare(now(a="pass", b="fail", c="fail", d="error", f="fail"))
    assert (found.pairs, found.only_old, found.only_new) == (2, 1, 1)
    assert found.p_value == 1.0
    assert found.new == ["b", "c", "f"]


def test_the_exact_test_by_hand():
    old = Baseline("r", {f"c{i}": "pass" for i in range(10)})
    found = old.compare(now(**{f"c{i}": "fail" if i < 6 else "pass" for i in range(10)}))
    # Six rows differ, all one way: 2 * (1/2)**6.
    assert (found.pairs, found.only_new, found.p_value) == (10, 6, pytest.approx(0.03125))


def test_over_no_difference_there_is_no_p_value():
    assert Baseline("r", {"a": "fail"}).compare(now(a="fail")).p_value is None
    assert Baseline("r", {}).compare({}).pairs == 0


def test_the_facts_are_plain():
    facts = Baseline("r", {"a": "fail"}).compare(now(a="fail")).facts()
    assert (facts["run_id"], facts["known"], facts["pairs"]) == ("r", ["a"], 1)


# --- reading one ------------------------------------------------------------------------------------------------------


def made(folder: Path, records: list[Record], **metric: Any) -> Run:
    found = {"name": "evidence_coverage", "contract_version": "1"} | metric
    with RunWriter(folder) as writer:
        writer.write(b"".join(record.to_json() for record in records))
        return writer.finish({"metric": found, "ledger": {}, "records_sha256": writer.close_records()})


def strict(record: Record) -> Ruling:
    if record.state != "scored":
        return Ruling(None, None, "v", None)
    return Ruling("fail" if record.value == 0.5 else "pass", 0.6, "v", None)


def test_s1_7_a_baseline_is_decided_anew_under_todays_limits(tmp_path: Path):
    records = [
        PLAIN,  # passed then; 0.5 fails under today's limits
        PLAIN._replace(case_id="b", value=1.0, decision="fail"),
        PLAIN._replace(case_id="c", state="error", value=None, decision=None),
        PLAIN._replace(case_id=None, state="invalid", value=None, decision=None),
    ]
    run = made(tmp_path / "old", records)
    found = read_baseline(run, evidence_coverage, strict)
    assert found == Baseline(run.manifest["run_id"], {"a": "fail", "b": "pass", "c": "error"})
    assert found.failing() == {"a"}


@pytest.mark.parametrize("change", [{"name": "other"}, {"contract_version": "2"}], ids=str)
def test_s1_6_runs_of_different_contracts_are_not_compared(tmp_path: Path, change: dict[str, str]):
    run = made(tmp_path / "old", [PLAIN], **change)
    with pytest.raises(EvalkitError, match="rows of different contracts are not compared") as caught:
        read_baseline(run, evidence_coverage, strict)
    assert caught.value.where == str(run.folder)


def test_a_baseline_that_was_changed_is_refused(tmp_path: Path):
    run = made(tmp_path / "old", [PLAIN])
    run.records_path.write_bytes(PLAIN._replace(value=0.0).to_json())
    with pytest.raises(EvalkitError, match="does not have the hash"):
        read_baseline(run, evidence_coverage, strict)
