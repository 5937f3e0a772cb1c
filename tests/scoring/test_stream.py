from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalkit import evidence_coverage
from evalkit.cases import lines as lines_module
from evalkit.contract import EvalkitError, MetricResult, numeric_metric
from evalkit.scoring import stream as stream_module
from evalkit.scoring.parts import Judgement, Streamed
from evalkit.scoring.records import Diagnosis, Record, Ruling
from evalkit.scoring.score import Scorer, score_cases
from evalkit.scoring.stream import stream_cases, stream_records


class Kept:
    """A sink that remembers what it was given."""

    def __init__(self) -> None:
        self.raw = b""
        self.restarts = 0

    def write(self, raw: bytes) -> None:
        self.raw += raw

    def restart(self) -> None:
        self.raw = b""
        self.restarts += 1

    def records(self) -> list[Record]:
        return [Record.from_json(line, where="kept") for line in self.raw.split(b"\n")[:-1]]


def half(record: Record) -> Ruling:
    """A policy in one line: 0.5 passes."""
    if record.state != "scored":
        return Ruling(None, None, "v1", record.owner)
    is_good = isinstance(record.value, float) and record.value >= 0.5
    return Ruling("pass" if is_good else "fail", 0.5, "v1", None if is_good else "answer")


JUDGED = Judgement(half, lambda record: Diagnosis("retrieval", f"look at {record.case_id}"))
SCORER = Scorer(evidence_coverage)


def row(case_id: str, supported: int = 1, required: int = 2, **more: Any) -> dict[str, Any]:
    ids = [f"k{i}" for i in range(required)]
    return {"case_id": case_id, "required_claim_ids": ids, "supported_claim_ids": ids[:supported]} | more


def written(folder: Path, rows: Iterable[dict[str, Any] | str], name: str = "cases.jsonl") -> Path:
    path = folder / name
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in rows))
    return path


MIXED = [row("a", 2), row("b", 0), "", "{", row("c", 1, slice="s"), row("d", 3), row("e", 1, blocking=False), "  "]


def test_every_line_is_blank_or_a_record_in_input_order(tmp_path: Path):
    kept = Kept()
    streamed = stream_cases(written(tmp_path, MIXED), SCORER, JUDGED, kept)
    assert (streamed.ledger.lines, streamed.ledger.blank) == (8, 2)
    assert [(r.line, r.case_id, r.state, r.decision) for r in kept.records()] == [
        (1, "a", "scored", "pass"), (2, "b", "scored", "fail"), (4, None, "invalid", None), (5, "c", "scored", "pass"),
        (6, "d", "scored", "pass"), (7, "e", "scored", "pass"),
    ]  # fmt: skip
    # What is kept in memory: whatever did not plainly pass, without inputs, with its diagnosis.
    assert [r.line for r in streamed.notable] == [2, 4]
    assert all(r.inputs is None and r.evidence is None for r in streamed.notable)
    assert streamed.sentences == {2: "look at b", 4: "look at None"}
    assert [r.owner for r in kept.records()] == [None, "retrieval", "retrieval", None, None, None]


def test_without_a_judgement_nothing_is_decided_and_only_what_was_not_scored_is_notable(tmp_path: Path):
    streamed = stream_cases(written(tmp_path, MIXED), SCORER)
    assert [r.line for r in streamed.notable] == [4]
    assert streamed.ledger.facts()["pass"] == 0
    assert (streamed.sentences, streamed.decided, streamed.knife_edges) == ({}, {}, [])


def test_decisions_are_kept_on_request_only(tmp_path: Path):
    path = written(tmp_path, MIXED)
    assert stream_cases(path, SCORER, JUDGED).decided == {}
    decided = stream_cases(path, SCORER, JUDGED._replace(keep_decisions=True)).decided
    assert {name: record.decision for name, record in decided.items()} == {
        "a": "pass", "b": "fail", "c": "pass", "d": "pass", "e": "pass",
    }  # fmt: skip


def test_b03_where_an_id_occurs_twice_the_file_is_read_again_and_nothing_is_said_twice(tmp_path: Path):
    kept, calls = Kept(), []
    path = written(tmp_path, [row("a", 2), row("b"), row("a", 0), row("B")])
    streamed = stream_cases(path, SCORER, JUDGED, kept, on_rows=calls.append)
    assert kept.restarts == 1
    assert [(r.case_id, r.state, r.error_kind) for r in kept.records()] == [
        ("a", "invalid", "duplicate_case_id"), ("b", "scored", None), ("a", "invalid", "duplicate_case_id"),
        ("B", "scored", None),
    ]  # fmt: skip
    assert (streamed.ledger.lines, streamed.ledger.total()) == (4, 4)
    assert len(streamed.findings) == 1
    assert "'b' (line 2" in streamed.findings[0]


def test_the_stream_and_the_plain_path_give_the_same_records(tmp_path: Path):
    kept = Kept()
    path = written(
        tmp_path, [*MIXED, row("a"), row("x", contract_version="9"), {"case_id": "y", "required_claim_id": []}]
    )
    stream_cases(path, SCORER, None, kept)
    assert kept.records() == list(score_cases(evidence_coverage, path))


# --- nothing depends on how the work is cut up ------------------------------------------------------------------------


def everything(streamed: Streamed, kept: Kept) -> dict[str, Any]:
    return {
        "records": kept.raw, "ledger": streamed.ledger.facts(), "notable": streamed.notable, "hash": streamed.rows_hash,
        "sentences": streamed.sentences, "decided": streamed.decided, "findings": streamed.findings,
        "edges": streamed.knife_edges, "counts": streamed.ledger.counts,
    }  # fmt: skip


@pytest.mark.parametrize("duplicates", [False, True])
def test_blocks_and_processes_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, duplicates: bool):
    rows: list[dict[str, Any] | str] = [row(f"r{i}", i % 3, slice=f"s{i % 2}", blockin=1) for i in range(300)]
    rows += MIXED + [row("a")] * duplicates
    path = written(tmp_path, rows)
    judged = JUDGED._replace(keep_decisions=True)

    def run(workers: int, size: int) -> dict[str, Any]:
        kept = Kept()
        monkeypatch.setattr(lines_module, "_SIZE", size)
        monkeypatch.setattr(stream_module, "_PARALLEL_BYTES", 0)
        return everything(stream_cases(path, SCORER, judged, kept, workers=workers), kept)

    expected = run(1, 1 << 20)
    assert expected["records"].count(b"\n") == expected["ledger"]["lines"] - expected["ledger"]["blank"]
    assert expected["decided"]
    assert (
        "the unknown key 'blockin' is one slip away from 'blocking', which is absent (300 rows)" in expected["findings"]
    )
    for workers, size in ((1, 64), (2, 1 << 20), (2, 777), (3, 64)):
        assert run(workers, size) == expected


def test_a_small_file_is_not_worth_a_second_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream_module, "_run_job", lambda _: pytest.fail("a process was started"))
    assert stream_cases(written(tmp_path, MIXED), SCORER, workers=4).ledger.lines == 8


def test_a_fault_in_a_worker_reaches_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream_module, "_PARALLEL_BYTES", 0)

    def broken(record: Record) -> Ruling:
        msg = "a fault of ours"
        raise ZeroDivisionError(msg)

    with pytest.raises(ZeroDivisionError, match="a fault of ours"):
        stream_cases(written(tmp_path, MIXED), SCORER, Judgement(broken, JUDGED.diagnose), workers=2)


def test_a_worker_that_dies_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream_module, "_PARALLEL_BYTES", 0)
    parent = os.getpid()

    def killed(record: Record) -> Ruling:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return half(record)

    with pytest.raises(EvalkitError, match="a worker process died before its rows were scored"):
        stream_cases(written(tmp_path, MIXED), SCORER, Judgement(killed, JUDGED.diagnose), workers=2)


# --- the hash over what was decided -----------------------------------------------------------------------------------


def hash_of(folder: Path, rows: list[dict[str, Any]], judged: Judgement = JUDGED) -> str:
    return stream_cases(written(folder, rows), SCORER, judged).rows_hash


def test_the_hash_changes_with_id_state_value_and_decision_and_with_nothing_else(tmp_path: Path):
    rows = [row("a", 2), row("b", 1)]
    plain = hash_of(tmp_path, rows)
    assert hash_of(tmp_path, rows) == plain
    # Same value by other claims, another slice, another note: the same decisions.
    assert hash_of(tmp_path, [row("a", 3, 3), row("b", 1, slice="s", note="x")]) == plain
    different = [
        [row("a", 2), row("c", 1)],
        [row("a", 2), row("b", 0)],
        [row("a", 2), row("b", 1) | {"supported_claim_ids": ["zzz"]}],  # invalid
        [row("b", 1), row("a", 2)],
        [row("a", 2)],
        [row("a", 2), row("b", 1), row("c", 1)],
    ]
    hashes = [hash_of(tmp_path, other) for other in different]
    assert len({plain, *hashes}) == len(different) + 1
    harsh = Judgement(lambda record: half(record)._replace(decision="fail"), JUDGED.diagnose)
    assert hash_of(tmp_path, rows, harsh) != plain


def test_the_hash_is_of_the_rows_as_json(tmp_path: Path):
    import hashlib

    # Written out: one array a row, a comma after each.
    rows = b'["a","scored",1.0,"pass"],["b","scored",0.5,"pass"],'
    assert hash_of(tmp_path, [row("a", 2), row("b", 1)]) == "sha256:" + hashlib.sha256(rows).hexdigest()


# --- results that cannot be written -----------------------------------------------------------------------------------


@numeric_metric()
def unwritable(text: str) -> MetricResult:
    return MetricResult(1.0, "fine", {"bad": object()} if text == "bad" else {})


def test_a_passing_row_whose_result_cannot_be_written_is_an_error_that_nobody_overlooks(tmp_path: Path):
    kept = Kept()
    path = written(tmp_path, [{"case_id": "a", "text": "good"}, {"case_id": "b", "text": "bad"}])
    streamed = stream_cases(path, Scorer(unwritable), JUDGED, kept)
    assert [(r.state, r.value, r.decision) for r in kept.records()] == [("scored", 1.0, "pass"), ("error", None, None)]
    assert streamed.ledger.total(state="error", blocking=True) == 1
    assert [(r.case_id, r.state) for r in streamed.notable] == [("b", "error")]
    assert streamed.sentences == {2: "look at b"}


# --- records read again -----------------------------------------------------------------------------------------------


def test_a_run_is_ruled_anew_and_comes_to_the_same_as_its_cases(tmp_path: Path):
    kept, again = Kept(), Kept()
    streamed = stream_cases(written(tmp_path, MIXED), SCORER, JUDGED, kept)
    path = tmp_path / "records.jsonl"
    path.write_bytes(kept.raw)
    reread = stream_records(path, JUDGED, again, blank=2)
    assert again.raw == kept.raw
    assert reread.rows_hash == streamed.rows_hash
    assert reread.ledger.facts() == streamed.ledger.facts()
    assert reread.notable == streamed.notable


def test_without_a_policy_the_decisions_of_an_earlier_one_are_not_taken_over(tmp_path: Path):
    kept, again = Kept(), Kept()
    stream_cases(written(tmp_path, MIXED), SCORER, JUDGED, kept)
    path = tmp_path / "records.jsonl"
    path.write_bytes(kept.raw)
    reread = stream_records(path, None, again, blank=2)
    assert {(r.decision, r.minimum, r.policy_version) for r in again.records()} == {(None, None, None)}
    assert {r.owner for r in again.records() if r.state == "scored"} == {None}
    assert reread.ledger.facts()["fail"] == 0


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"line":1}', b"\n"], ids=repr)
def test_a_damaged_line_of_a_run_is_refused_by_its_number(tmp_path: Path, damage: bytes):
    kept = Kept()
    stream_cases(written(tmp_path, MIXED), SCORER, JUDGED, kept)
    first, second, *rest = kept.raw.split(b"\n")
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"\n".join([first, damage, second, *rest]))
    with pytest.raises(EvalkitError, match=r"records\.jsonl, line 2: is not a record"):
        stream_records(path)


def test_knife_edges_are_listed(tmp_path: Path):
    def close(record: Record) -> Ruling:
        return Ruling("fail", 0.5 + 5e-10, "v1", "answer")

    streamed = stream_cases(written(tmp_path, [row("a", 1), row("b", 2)]), SCORER, Judgement(close, JUDGED.diagnose))
    assert [r.case_id for r in streamed.knife_edges] == ["a"]


def test_the_records_of_a_run_are_json_that_every_parser_reads(tmp_path: Path):
    kept = Kept()
    stream_cases(written(tmp_path, MIXED), SCORER, JUDGED, kept)
    for line in kept.raw.split(b"\n")[:-1]:
        assert json.loads(line) == orjson.loads(line)
