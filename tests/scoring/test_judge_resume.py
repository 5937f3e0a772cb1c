"""Judge runs that are killed, interrupted or continued: nothing recorded is lost, nothing is paid for twice."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from endpoint import Answer, Call, status, verdict
from judges import CONTRACT, JUDGE, Home

from evalkit.contract import EvalkitError
from evalkit.scoring.judge import Budget, run_judge
from evalkit.scoring.judging.budget import Price
from evalkit.scoring.judging.folder import JudgeFolder
from evalkit.scoring.judging.verdicts import VerdictStore
from evalkit.scoring.run import open_run

PRICE = Price(Decimal("1.00"), Decimal("2.00"), "USD")


def row_of(call: Call) -> str:
    return "r" + call.prompt.split("answer ")[1].split("\n")[0]


def slowly(call: Call) -> Answer:
    return verdict("fail" if row_of(call).endswith("7") else "pass", reason=row_of(call), delay=0.015)


def start(home: Home, **options: Any) -> int:
    """Run in a child forked from this process, in which everything is imported already."""
    chosen = home.options(**options)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            asyncio.run(run_judge(JUDGE, home.cases, home.folder / "run", chosen))
            code = 0
        finally:
            os._exit(code)
    return child


def recorded(home: Home) -> set[str]:
    with closing(sqlite3.connect(home.store)) as database:
        return {case_id for (case_id,) in database.execute("SELECT case_id FROM replies WHERE case_id IS NOT NULL")}


def kill_and_resume(home: Home, *, rows: int, kills: int) -> None:
    import openai  # noqa: F401 - warm, so that a child asks at once

    rng = random.Random(20261130)
    home.write(rows)
    home.endpoint.script = slowly
    options = {"settings": home.settings(concurrency=4), "price": PRICE, "budget": Budget(cost=Decimal("1000"))}
    snapshots = []
    for _ in range(kills):
        child = start(home, **options)
        time.sleep(rng.uniform(0.01, 0.12))
        os.kill(child, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), "the run ended before it could be killed: give it more rows"
        snapshots.append((recorded(home), Counter(map(row_of, home.endpoint.calls))))
    assert os.waitpid(start(home, **options), 0)[1] == 0

    run = open_run(home.folder / "run")
    records = list(run.records())
    assert [record.case_id for record in records] == [f"r{i}" for i in range(rows)]
    assert [record.value for record in records] == ["fail" if i % 10 == 7 else "pass" for i in range(rows)]
    assert [record.reason for record in records] == [record.case_id for record in records]
    # No verdict that was recorded when the process died is asked for again.
    final = Counter(map(row_of, home.endpoint.calls))
    for known, calls in snapshots:
        assert {row: final[row] for row in known} == {row: calls[row] for row in known}
    # Every call beyond one a row was under way at a kill, and is listed and charged.
    doubts = run.manifest["in_doubt"]
    assert home.endpoint.count <= rows + len(doubts)
    assert len(doubts) <= kills * 4  # as many as were under way at a time
    assert run.manifest["calls"] == rows + len(doubts)
    assert all(Decimal(doubt["charged"]) > 0 for doubt in doubts)
    with VerdictStore(home.store) as store:
        used = store.used(run.manifest["run_id"])
    paid = rows * Decimal("0.00014")  # 100 tokens at 1.00 and 20 at 2.00 per million
    assert used.cost == paid + sum((Decimal(doubt["charged"]) for doubt in doubts), Decimal(0))
    assert Decimal(run.manifest["charged"]) == used.cost
    assert Decimal(run.manifest["cost"]) == paid


def test_five_kills_lose_nothing_and_pay_for_nothing_twice(home: Home) -> None:
    kill_and_resume(home, rows=240, kills=5)


@pytest.mark.faults
def test_fifty_kills_lose_nothing_and_pay_for_nothing_twice(home: Home) -> None:
    kill_and_resume(home, rows=1500, kills=50)


def test_an_interrupt_leaves_a_run_that_goes_on(home: Home) -> None:
    home.write(40)
    home.endpoint.script = slowly
    options = {"settings": home.settings(concurrency=4)}

    async def interrupted() -> None:
        task = asyncio.create_task(run_judge(JUDGE, home.cases, home.folder / "run", home.options(**options)))
        while home.endpoint.count < 12:
            await asyncio.sleep(0.005)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    with pytest.raises(EvalkitError, match="is an unfinished run"):
        open_run(home.folder / "run")
    known = len(recorded(home))
    before = home.endpoint.count
    done = home.run(**options)
    assert [record["state"] for record in home.records()] == ["scored"] * 40
    assert home.endpoint.count - before == 40 - known
    # Those under way when it was interrupted; one may have been noted and not yet have left.
    assert before - known <= len(done.facts["in_doubt"]) <= 4
    assert done.facts["cache_hits"] == 0  # what this run has paid for is no hit


def test_the_budget_counts_what_the_interrupted_part_has_used(home: Home) -> None:
    home.write(10)
    home.endpoint.script = lambda call: status(401) if call.number == 4 else verdict("pass")
    with pytest.raises(RuntimeError, match="stop here"):
        home.run(settings=home.settings(concurrency=1), before_manifest=fail)
    assert home.endpoint.count == 4
    done = home.run(settings=home.settings(concurrency=1), budget=Budget(calls=9))
    assert (home.endpoint.count, done.facts["calls"]) == (9, 9)  # 4 before, 5 now
    # 3 + 5 of them brought a verdict; the one that was refused has been asked again
    assert [record["state"] for record in home.records()] == ["scored"] * 8 + ["unrun"] * 2


def fail(*_: object) -> None:
    msg = "stop here"
    raise RuntimeError(msg)


def test_a_run_that_died_between_its_records_and_its_manifest_is_finished(home: Home) -> None:
    home.write(3)
    with pytest.raises(RuntimeError):
        home.run(before_manifest=fail)
    assert (home.folder / "run" / "records.jsonl").exists()
    done = home.run()
    assert (home.endpoint.count, done.ledger.total(state="scored"), done.facts["calls"]) == (3, 3, 3)
    assert len(home.records()) == 3


def test_records_alone_are_enough_where_the_store_is_gone(home: Home) -> None:
    home.write(3)
    with pytest.raises(RuntimeError):
        home.run(before_manifest=fail)
    for path in home.folder.glob("verdicts.sqlite*"):
        path.unlink() if path.is_file() else None
    home.run()
    assert home.endpoint.count == 3
    assert [record["value"] for record in home.records()] == ["pass"] * 3


def test_a_record_that_was_cut_in_the_middle_is_written_again(home: Home) -> None:
    home.write(3)
    with pytest.raises(RuntimeError):
        home.run(before_manifest=fail)
    path = home.folder / "run" / "records.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    home.run()
    assert [record["case_id"] for record in home.records()] == ["r0", "r1", "r2"]
    assert home.endpoint.count == 3


def test_rows_whose_provider_failed_are_asked_again_when_the_run_goes_on(home: Home) -> None:
    home.write(3)
    home.endpoint.script = lambda call: status(500) if call.number == 2 else verdict("pass")
    with pytest.raises(RuntimeError):
        home.run(settings=home.settings(concurrency=1), before_manifest=fail)
    home.run(settings=home.settings(concurrency=1))
    records = home.records()
    assert [record["state"] for record in records] == ["scored"] * 3
    # the first failure is kept beside the verdict
    assert [a["error_kind"] for a in records[1]["judge"]["attempts"]] == ["server_error", None]


def test_an_unfinished_run_of_something_else_is_not_continued(home: Home) -> None:
    home.write(2)
    with pytest.raises(RuntimeError):
        home.run(before_manifest=fail)
    other = replace(JUDGE, rubric_version="2")
    with pytest.raises(EvalkitError, match="about something else: its fingerprint, configuration differ"):
        home.run(judge=other)
    home.write(3)
    with pytest.raises(EvalkitError, match="its cases differ"):
        home.run()
    assert home.endpoint.count == 2


def test_a_finished_run_is_never_overwritten(home: Home) -> None:
    home.write(1)
    home.run()
    with pytest.raises(EvalkitError, match="is a finished run, and a run folder is never overwritten"):
        home.run()


def test_a_folder_of_something_else_is_left_alone(home: Home) -> None:
    home.write(1)
    (home.folder / "run").mkdir()
    (home.folder / "run" / "thesis.txt").write_text("x")
    with pytest.raises(EvalkitError, match=r"holds no judge's run \(it holds 'thesis.txt'\)"):
        home.run()
    assert [path.name for path in (home.folder / "run").iterdir()] == ["thesis.txt"]


def test_two_processes_do_not_write_one_run(home: Home) -> None:
    subject = {"judge": "right"}
    folder = JudgeFolder(home.folder / "run", subject)
    child = os.fork()
    if child == 0:
        try:
            JudgeFolder(home.folder / "run", subject)
        except EvalkitError as error:
            os._exit(7 if "is being written by another process" in str(error) else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    folder.close()


def test_two_runs_over_one_store_pay_for_each_question_once(home: Home) -> None:
    import openai  # noqa: F401 - warm

    home.write(40)
    home.endpoint.script = slowly
    chosen = [home.options(settings=home.settings(concurrency=4)) for _ in range(2)]
    children = []
    for number, options in enumerate(chosen):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                asyncio.run(run_judge(JUDGE, home.cases, home.folder / f"run{number}", options))
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert home.endpoint.count == 40
    assert [r["value"] for r in home.records("run0")] == [r["value"] for r in home.records("run1")]


def test_a_contract_that_redacts_resumes_like_any_other(home: Home) -> None:
    careful = replace(CONTRACT, redact=lambda text: text.replace("answer", "[cut]"))
    judge = replace(JUDGE, contract=careful)
    home.write(3)
    with pytest.raises(RuntimeError):
        home.run(judge=judge, before_manifest=fail)
    home.run(judge=judge)
    assert home.endpoint.count == 3
    assert all("answer" not in str(record) for record in home.records())
