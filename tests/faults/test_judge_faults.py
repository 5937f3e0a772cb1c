"""A judge's run on a full or read-only disk, raced, interrupted, its clock set back: nothing paid for is lost."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import Path

import pytest
from endpoint import Answer, Call, Endpoint, verdict
from forked import Ended, Forked, forked
from judges import Home

from evalkit.metrics.refund_answer import refund_answer
from evalkit.scoring.judging import folder as folder_module
from evalkit.scoring.run import open_run

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not hasattr(os, "fork") or not Path("/proc").is_dir(), reason="needs fork and /proc"),
]

ROW = {
    "user_input": "Can I send it back?", "reference": "Refunded within 30 days.", "rubric_version": "refunds-1",
}  # fmt: skip


class Room:
    """A folder with cases, and an endpoint that answers each of them in its own time."""

    def __init__(self, folder: Path, endpoint: Endpoint) -> None:
        self.here = folder / "here"
        self.home = Home(self.here, endpoint)
        self.endpoint = endpoint
        rows = [{"case_id": f"r{n}", "response": f"answer {n}", **ROW} for n in range(60)]
        self.home.write("".join(json.dumps(row) + "\n" for row in rows))
        self.home.options(refund_answer, settings=self.home.settings(model="example-model"))  # compared elsewhere

    def judge(self, run: Path | str = "run", store: Path | None = None, **more: Callable[[], object]) -> Forked:
        return forked(
            self.here, "judge", "refund_answer", self.home.cases, "--run", run, "--store", store or self.home.store,
            "--no-preflight", "--max-calls", 500, "--attempts", 1, "--concurrency", 4, "--json", "o.json", **more,
        )  # fmt: skip


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    import openai  # noqa: F401 - warm, so that a child asks at once

    def slowly(call: Call) -> Answer:
        return verdict("pass", delay=0.02)

    with Endpoint(slowly) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("EVALKIT_JUDGE_MODEL", "example-model")
        yield Room(tmp_path, endpoint)


def assert_plain(done: Ended) -> None:
    assert done.code == 2, done
    assert done.err.splitlines()[-1].startswith("evalkit: ")
    for never in ("Traceback", "fault inside", "Exception ignored", "sqlite3"):
        assert never not in done.out + done.err, done


def finished(room: Room, run: Path | str) -> list[str | None]:
    """Run it to its end; return the case ids of its records."""
    done = room.judge(run).end()
    assert done.code == 0, done
    opened = open_run(room.here / run)
    opened.check()
    return [record.case_id for record in opened.records()]


EVERYTHING = [f"r{n}" for n in range(60)]


@pytest.mark.parametrize("size", [16 << 10, 64 << 10, 200 << 10])
def test_a_store_on_a_full_disk_is_said_in_words_and_what_was_paid_for_stays(
    room: Room, small_disk: Callable[[int], Path], size: int
) -> None:
    disk = small_disk(size)
    done = room.judge(store=disk / "verdicts.sqlite").end()
    assert_plain(done)
    assert "verdicts.sqlite" in done.err
    assert "free space" in done.err
    paid = room.endpoint.count
    subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
    again = room.judge(store=disk / "verdicts.sqlite").end()
    assert again.code == 0, again
    # At most the calls that were under way when the disk was full are asked again.
    assert room.endpoint.count <= 60 + min(paid, 4)
    assert [record.case_id for record in open_run(room.here / "run").records()] == EVERYTHING


def test_a_run_folder_on_a_full_disk_is_said_in_words_and_the_same_command_goes_on(
    room: Room, small_disk: Callable[[int], Path]
) -> None:
    disk = small_disk(40 << 10)
    done = room.judge(disk / "run").end()
    assert_plain(done)
    assert "No space left on device" in done.err
    paid = room.endpoint.count
    assert not (disk / "run" / "manifest.json").exists()
    subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
    assert finished(room, disk / "run") == EVERYTHING
    assert room.endpoint.count <= 60 + min(paid, 4)


def test_a_read_only_folder_is_said_before_anything_is_paid_for(room: Room, small_disk: Callable[[int], Path]) -> None:
    disk = small_disk(1 << 20)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for done in (room.judge(disk / "run").end(), room.judge(store=disk / "verdicts.sqlite").end()):
        assert_plain(done)
        assert "cannot be made (Read-only file system)" in done.err or "cannot be opened or made" in done.err
    assert room.endpoint.count == 0


def test_of_two_processes_that_want_one_folder_the_other_is_told_and_nothing_is_paid_twice(room: Room) -> None:
    first = room.judge()
    while room.endpoint.count < 4:
        time.sleep(0.01)
    second = room.judge().end()
    assert_plain(second)
    assert "is being written by another process; wait for it, or give --run a new name" in second.err
    assert first.end().code == 0
    assert room.endpoint.count == 60
    assert [record.case_id for record in open_run(room.here / "run").records()] == EVERYTHING


def test_ctrl_c_says_that_the_same_command_goes_on_and_it_does(room: Room) -> None:
    child = room.judge()
    while room.endpoint.count < 8:
        time.sleep(0.01)
    child.interrupt()
    done = child.end()
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "evalkit judge: what was answered is kept; the same command goes on from here",
        "evalkit: interrupted; what was being written is marked unfinished",
    ]
    assert not (room.here / "run" / "manifest.json").exists()
    assert finished(room, "run") == EVERYTHING
    assert room.endpoint.count <= 60 + 4


def test_a_clock_that_is_set_back_meanwhile_harms_no_run(room: Room) -> None:
    class Backwards(datetime):
        """Each look at the clock is an hour before the last."""

        looks = 0

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            cls.looks += 1
            return datetime(2026, 11, 30, 12, tzinfo=tz) - timedelta(hours=cls.looks)

    def set_back() -> None:
        folder_module.datetime = Backwards  # type: ignore[misc]

    assert room.judge(before=set_back).end().code == 0
    manifest = open_run(room.here / "run").manifest
    assert 0 <= manifest["seconds"] < 60
    assert room.endpoint.count == 60
