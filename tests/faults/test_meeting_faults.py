"""Votes and policies under kill -9, full disks and races: what was acknowledged is there, and nothing half of it."""

from __future__ import annotations

import errno
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meeting_room as room
import pytest
from forked import Forked, forked
from steps import at_step

from evalkit.cases.holdout import read_looks
from evalkit.contract import EvalkitError
from evalkit.decisions.meeting.agenda import VOTES_NAME, AgendaOptions, review_folder
from evalkit.decisions.meeting.approve import Approved
from evalkit.decisions.meeting.decision_record import latest_decision
from evalkit.decisions.meeting.review import Review
from evalkit.decisions.meeting.votes import read_folder
from evalkit.decisions.policy import read_policy

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not hasattr(os, "fork") or not Path("/proc").is_dir(), reason="needs fork and /proc"),
]

KILLS = 50
CALIBRATION = Path(__file__).parents[2] / "fixtures" / "evidence_coverage" / "calibration"
APPROVED = Approved(
    approved_by="the council", rationale="r", expires_on=room.date(2027, 2, 1), decided_on=room.DAY,
    basis="by_definition",
)  # fmt: skip


def in_child(work: Callable[[], object]) -> int:
    """Do something again and again in a child that only a signal ends."""
    pid = os.fork()
    if pid == 0:
        try:
            while True:
                work()
        finally:
            os._exit(1)
    return pid


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL


@pytest.fixture
def review(tmp_path: Path) -> Review:
    run = room.gated_run(tmp_path)
    return room.opened(tmp_path, folder=review_folder(run), agenda=AgendaOptions(n=2, far=1, seed=7))


# --- votes ------------------------------------------------------------------------------------------------------------


def test_after_fifty_kills_every_vote_that_was_acknowledged_is_there_once(review: Review) -> None:
    chance = random.Random(20261130)
    reading, writing = os.pipe()
    rows = list(review.agenda.rows)
    acknowledged: list[str] = []

    def vote() -> None:
        cast = review.cast("anna", rows[os.getpid() % len(rows)], "hold", "x" * 3000)
        os.write(writing, f"{cast.entry_id}\n".encode())

    for _ in range(KILLS):
        pid = in_child(vote)
        time.sleep(chance.uniform(0.002, 0.06))
        kill(pid)
        # Somebody else's process goes on at once; a vote cut in the middle must not spoil the next.
        acknowledged.append(review.cast("anna", rows[0], "ship").entry_id)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        acknowledged += pipe.read().split()
    assert len(acknowledged) > 2 * KILLS, "the votes were too slow for the kills"
    found = [entry.entry_id for entry in read_folder(review.votes_folder).entries]
    assert len(found) == len(set(found))
    assert set(acknowledged) <= set(found)
    # One a kill may be on the disk whose acknowledgement was cut off.
    assert len(found) <= len(acknowledged) + KILLS


def test_two_kernels_of_one_reviewer_lose_nothing_to_each_other(review: Review) -> None:
    rows = list(review.agenda.rows)
    children = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                for number in range(25):
                    review.cast("anna", rows[number % len(rows)], "ship")
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * 4
    assert len(read_folder(review.votes_folder).entries) == 100


def test_votes_that_do_not_fit_on_the_disk_are_refused_and_those_before_stay(
    tmp_path: Path, small_disk: Callable[[int], Path]
) -> None:
    disk = small_disk(256 << 10)
    run = room.gated_run(tmp_path)
    review = room.opened(tmp_path, folder=disk / "meeting", agenda=AgendaOptions(n=2, far=1, seed=7))
    rows, saved = list(review.agenda.rows), list[str]()

    def fill() -> None:
        for number in range(200):
            saved.append(review.cast("anna", rows[number % len(rows)], "hold", "x" * 3000).entry_id)

    with pytest.raises(EvalkitError, match=r"the vote was NOT saved \(.*[Nn]o space left.*free space") as caught:
        fill()
    assert caught.value.do == "free space or mend the folder, then vote again"
    assert [entry.entry_id for entry in read_folder(review.votes_folder).entries] == saved
    assert len(saved) > 20
    assert run.exists()


# --- policies ---------------------------------------------------------------------------------------------------------


def test_after_fifty_kills_of_a_decision_the_policy_is_the_old_or_the_new_one(review: Review) -> None:
    chance = random.Random(7)
    for case_id in review.agenda.rows:
        review.cast("anna", case_id, "ship")
    review.decide({"default": 0.8}, APPROVED)
    versions = set()
    for number in range(KILLS):
        pid = in_child(lambda n=number: review.decide({"default": 0.8 if n % 2 else 0.5}, APPROVED))
        time.sleep(chance.uniform(0.01, 0.12))
        kill(pid)
        policy = read_policy(review.policy_out).policy
        assert policy is not None
        versions.add(policy.version)
        # The record comes first: whatever the policy is, the meeting knows who decided it and why.
        assert (review.folder / f"decision-{policy.version}.json").exists()
        assert latest_decision(review.folder) is not None
    assert len(versions) > KILLS // 3, "the decisions were too slow for the kills"


def calibrated(here: Path, out: str, before: Callable[[], object] = lambda: None) -> Forked:
    return forked(
        here, "calibrate", "evidence_coverage", CALIBRATION / "cases.jsonl", "--labels", CALIBRATION / "labels.jsonl",
        "--max-false-pass", "0.2", "--confidence", "0.9", "--as-of", "2026-11-30", "--slice", "default",
        "--policy-out", here / f"{out}.toml", "--ledger", here / f"{out}.ledger", before=before,
    )  # fmt: skip


def test_a_kill_before_any_change_of_the_file_system_leaves_no_policy_without_its_look(tmp_path: Path) -> None:
    import scipy.stats  # noqa: F401 - warm, so that no child imports it again

    for step in range(1, 60):
        out = f"killed{step}"
        done = calibrated(tmp_path, out, at_step(step, lambda: os.kill(os.getpid(), signal.SIGKILL))).end()
        policy, looks = tmp_path / f"{out}.toml", read_looks(tmp_path / f"{out}.ledger")
        if done.code == 0:
            break
        assert done.code == -signal.SIGKILL
        assert not policy.exists() or read_policy(policy).policy is not None
        # Held-out rows are seen when the look is on the disk, so a policy never comes before it.
        assert len(looks) == 1 or not policy.exists()
    assert step > 4
    assert read_policy(policy).policy is not None
    assert len(looks) == 1


def test_a_full_disk_at_any_change_of_the_file_system_is_said_in_words_and_leaves_no_policy(tmp_path: Path) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    refused = 0
    for step in range(1, 9):  # the ledger, its folder, then two files, each opened and renamed: 6 places
        out = f"full{step}"
        done = calibrated(tmp_path, out, at_step(step, full)).end()
        if done.code == 0:  # past the last of them, or at a folder that was there already
            continue
        refused += 1
        assert done.code == 2, done
        assert "No space left on device" in done.err
        assert "Traceback" not in done.err
        assert "fault inside" not in done.err
        assert not (tmp_path / f"{out}.toml").exists()
    assert refused >= 5


# --- collecting -------------------------------------------------------------------------------------------------------


def test_collecting_that_was_killed_is_finished_by_the_same_command(review: Review, tmp_path: Path) -> None:
    returned: list[Any] = []
    for reviewer in ("bo", "cy", "di"):
        other = room.opened(tmp_path, folder=tmp_path / reviewer, agenda=AgendaOptions(n=2, far=1, seed=7))
        for case_id in review.agenda.rows:
            other.cast(reviewer, case_id, "ship")
        returned += sorted((tmp_path / reviewer / VOTES_NAME).glob("*.jsonl"))
    command = ("votes", "collect", *returned, "--run", tmp_path / "run")
    for step in range(1, 60):
        code = forked(tmp_path, *command, before=at_step(step, lambda: os.kill(os.getpid(), signal.SIGKILL))).end().code
        read_folder(review.votes_folder)  # whatever is there is whole
        if code == 0:
            break
    assert step >= 3
    assert len(read_folder(review.votes_folder).entries) == 3 * len(review.agenda.rows)
