"""A gate that is killed, starved, interrupted or raced: no half folder passes for a run."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from forked import Ended, Forked, forked
from steps import at_step

from evalkit.contract import EvalkitError
from evalkit.decisions.policy import read_policy
from evalkit.pages import junit, report, screen, summary  # noqa: F401 - so that no child imports them again
from evalkit.pages.gate_run import GateOutputs, run_gate
from evalkit.scoring import run as run_module
from evalkit.scoring.run import open_run, write_whole

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not hasattr(os, "fork") or not Path("/proc").is_dir(), reason="needs fork and /proc"),
]

KILLS = 50
ROWS = 24_000
"""More than 8 MiB of cases: from there on the gate works on every core."""
POLICY = """\
schema = 1
name = "release"
version = "7"
metric = "evidence_coverage"
contract_version = "1"
approved_by = "council"
approved_on = 2026-11-30
expires_on = 2027-02-28
rationale = "r"
[slices.default]
minimum = 0.75
"""


class World(NamedTuple):
    """A folder with cases and a policy, and what an undisturbed gate makes of them."""

    here: Path
    seconds: dict[str, float]
    """By file of cases, how long its gate takes here."""
    hashes: dict[str, str]
    """By file of cases, the outcome hash."""
    sizes: dict[str, int]
    """By file of the large run, its bytes."""

    def gate(self, run: Path | str, cases: str = "large.jsonl", **more: Any) -> Forked:
        return forked(self.here, *arguments(run, cases), **more)


def arguments(run: Path | str, cases: str) -> tuple[str, ...]:
    return (
        "gate", "evidence_coverage", cases, "--policy", "policy.toml", "--as-of", "2026-12-01", "--run", str(run),
    )  # fmt: skip


def lines(count: int) -> str:
    ids = [f"claim-{number}" for number in range(8)]
    evidence = {"question": "q" * 60, "answer": "a" * 60}
    rows = (
        {"case_id": f"r{n}", "required_claim_ids": ids, "supported_claim_ids": ids[: 8 - n % 2], "evidence": evidence}
        for n in range(count)
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    here = tmp_path_factory.mktemp("faults") / "here"
    here.mkdir()
    (here / "large.jsonl").write_text(lines(ROWS))
    (here / "middle.jsonl").write_text(lines(ROWS // 6))
    (here / "small.jsonl").write_text(lines(20))
    (here / "policy.toml").write_text(POLICY)
    found = World(here, {}, {}, {})
    # Once in this process, so that every child inherits what a gate imports.
    run_gate("evidence_coverage", here / "small.jsonl", here / "policy.toml", {"as_of": None}, GateOutputs())
    for cases in ("middle.jsonl", "large.jsonl"):
        began = time.monotonic()
        done = found.gate(f"whole {cases}", cases).end()
        found.seconds[cases] = time.monotonic() - began
        assert done.code == 0, done.err
        found.hashes[cases] = hash_of(here / f"whole {cases}")
    found.sizes.update((path.name, path.stat().st_size) for path in (here / "whole large.jsonl").iterdir())
    return found


def hash_of(run: Path) -> str:
    """The outcome hash of a run that must be whole."""
    opened = open_run(run)
    opened.check()
    outcome = opened.outcome()
    assert outcome is not None
    return str(outcome["outcome_hash"])


def snapshot(folder: Path) -> dict[str, str]:
    """Every file outside run folders, by hash."""
    files = (path for path in folder.iterdir() if path.is_file())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def assert_refused(run: Path) -> None:
    """Nobody takes the folder for a finished run, and what is said of it tells what to do."""
    if not run.exists():
        return
    with pytest.raises(EvalkitError, match=r"it holds no manifest\.json") as caught:
        open_run(run)
    assert caught.value.do == "run again into a new folder"


def assert_plain(done: Ended) -> None:
    assert done.code == 2, done
    assert done.err.startswith("evalkit: ")
    for never in ("Traceback", "fault inside", "Exception ignored"):
        assert never not in done.err


# --- kill -9 ----------------------------------------------------------------------------------------------------------


def test_after_fifty_kills_at_random_moments_no_folder_passes_for_a_run_and_no_process_stays(world: World) -> None:
    chance = random.Random(20261130)
    before = snapshot(world.here)
    killed = 0
    for number in range(KILLS):
        cases = "middle.jsonl" if number % 5 else "large.jsonl"  # the large one with two workers; ten times is enough
        run = world.here / f"killed{number}"
        child = world.gate(run, cases)
        time.sleep(chance.uniform(0, world.seconds[cases]))
        child.kill()
        if child.end().code == -signal.SIGKILL and not (run / "manifest.json").exists():
            killed += 1
            assert_refused(run)
        else:  # it was quicker: then it must be whole
            assert hash_of(run) == world.hashes[cases]
        assert child.survivors() == []
    assert killed >= KILLS // 2, f"only {killed} of {KILLS} kills came in time"
    assert snapshot(world.here) == before
    for cases, expected in world.hashes.items():
        assert world.gate(f"again {cases}", cases).end().code == 0
        assert hash_of(world.here / f"again {cases}") == expected


def test_a_kill_before_any_change_of_the_file_system_leaves_nothing_that_passes_for_a_run(world: World) -> None:
    before = snapshot(world.here)
    for step in range(1, 100):
        run = world.here / f"step{step}"
        child = world.gate(run, "small.jsonl", before=at_step(step, lambda: os.kill(os.getpid(), signal.SIGKILL)))
        done = child.end()
        if done.code == 0:
            break
        assert done.code == -signal.SIGKILL
        assert_refused(run)
        assert snapshot(world.here) == before
    # mkdir, the records and their rename, then four files, each opened and renamed: at least 11 places to die.
    assert step > 11
    assert open_run(run).manifest["ledger"]["lines"] == 20


def test_a_full_disk_at_any_change_of_the_file_system_is_said_in_words(world: World) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for step in range(1, 100):
        run = world.here / f"full{step}"
        done = world.gate(run, "small.jsonl", before=at_step(step, full)).end()
        if done.code == 0:
            break
        assert_plain(done)
        assert "No space left on device" in done.err
        assert_refused(run)
    assert step > 11


def test_a_policy_that_is_written_while_kill_9_comes_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    texts = [POLICY.replace('"7"', f'"{version}"') + f"# {'x' * 200_000}\n" for version in (7, 8)]
    write_whole(path, texts[0])
    chance = random.Random(7)
    met = set()
    for _ in range(KILLS):
        pid = os.fork()
        if pid == 0:
            try:
                while True:
                    write_whole(path, texts[1])
                    write_whole(path, texts[0])
            finally:
                os._exit(1)
        time.sleep(chance.uniform(0.001, 0.03))
        os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        assert path.read_text() in texts
        policy = read_policy(path).policy
        assert policy is not None
        met.add(policy.version)
    assert met == {"7", "8"}


# --- no room, no right ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", ["nothing", "half the records", "the records", "all but the manifest"])
def test_a_full_disk_exits_2_in_words_and_the_folder_says_unfinished(
    world: World, small_disk: Callable[[int], Path], share: str
) -> None:
    page = 4096
    records, total = world.sizes["records.jsonl"], sum(-(-size // page) * page for size in world.sizes.values())
    size = {
        "nothing": page,
        "half the records": records // 2,
        "the records": records + page,
        "all but the manifest": total - page,
    }[share]
    run = small_disk(size) / "run"
    done = world.gate(run).end()
    assert_plain(done)
    early = "records cannot be written (No space left on device); the folder stays marked as unfinished; free space"
    late = "cannot be written (No space left on device); nothing that was there before has changed; free space"
    assert (early if share in ("nothing", "half the records") else late) in done.err
    assert_refused(run)


def test_a_read_only_folder_is_said_before_anything_is_judged(world: World, small_disk: Callable[[int], Path]) -> None:
    disk = small_disk(1 << 20)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    done = world.gate(disk / "run", "small.jsonl").end()
    assert_plain(done)
    assert "cannot be made (Read-only file system)" in done.err
    assert "choose another folder with --run" in done.err
    for option in ("--json", "--junit", "--summary"):
        done = forked(world.here, *arguments(f"ro{option}", "small.jsonl"), option, disk / "file").end()
        assert_plain(done)
        assert "Read-only file system" in done.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into any folder")
def test_a_folder_without_the_right_to_write_is_said_in_words(world: World, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = world.gate(tmp_path / "run", "small.jsonl").end()
    assert_plain(done)
    assert "cannot be made (Permission denied)" in done.err


# --- two at once ------------------------------------------------------------------------------------------------------


def meeting_at_mkdir(reading: int, writing: int) -> Callable[[], None]:
    """Let both processes look for the folder, and neither make it before the other has looked."""
    has_met = False

    def hook(event: str, _: tuple[Any, ...]) -> None:
        nonlocal has_met
        if event == "os.mkdir" and not has_met:
            has_met = True
            os.close(writing)
            os.read(reading, 1)  # returns when nobody holds the writing end any more

    return lambda: sys.addaudithook(hook)


def test_of_two_processes_that_want_one_folder_exactly_one_wins(world: World) -> None:
    for number in range(10):
        reading, writing = os.pipe()
        run = world.here / f"raced{number}"
        children = [world.gate(run, "small.jsonl", before=meeting_at_mkdir(reading, writing)) for _ in range(2)]
        os.close(reading)
        os.close(writing)
        won, lost = sorted((child.end() for child in children), key=lambda done: done.code)
        assert won.code == 0
        assert_plain(lost)
        assert "cannot be made (File exists); choose another folder with --run" in lost.err
        open_run(run).check()
        assert [record.line for record in open_run(run).records()] == list(range(1, 21))


# --- signals, pipes, clocks -------------------------------------------------------------------------------------------


def test_ctrl_c_exits_2_with_one_plain_line_and_leaves_no_process(world: World) -> None:
    chance = random.Random(3)
    for number in range(5):
        run = world.here / f"interrupted{number}"
        child = world.gate(run)
        time.sleep(world.seconds["large.jsonl"] * chance.uniform(0.2, 0.6))
        child.interrupt()
        done = child.end()
        assert (done.code, done.out) == (2, "")
        assert done.err == "evalkit: interrupted; what was being written is marked unfinished\n"
        assert_refused(run)
        assert child.survivors() == []


def test_a_worker_that_is_killed_is_not_called_a_fault_of_ours(world: World) -> None:
    run = world.here / "worker"
    child = world.gate(run)
    began = time.monotonic()
    while not (workers := children_of(child.pid)) and time.monotonic() - began < 10:
        time.sleep(0.005)
    if not workers:
        child.end()
        pytest.skip("one core: no worker is started")
    os.kill(workers[0], signal.SIGKILL)
    done = child.end()
    assert_plain(done)
    assert "a worker process died before its rows were scored" in done.err
    assert_refused(run)


def children_of(pid: int) -> list[int]:
    try:
        return [int(found) for found in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


@pytest.mark.parametrize(
    ("redirect", "code"),
    [(">&-", 0), (">&- 2>&-", 0), ("<&- >&- 2>&-", 0), (">/dev/full", 2), (">/dev/full 2>/dev/full", 2)],
)
@pytest.mark.parametrize("printed", ["text", "jsonl"])
def test_standard_output_that_is_closed_or_full_is_never_called_a_quality_failure(
    world: World, redirect: str, code: int, printed: str
) -> None:
    run = f"redirected {printed} {redirect}".replace("/", "-")
    command = [sys.executable, "-m", "evalkit", *arguments(run, "small.jsonl"), "--format", printed]
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {redirect}', *command],
        cwd=world.here, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "fault inside" not in done.stderr
    # The run was finished before anything was printed, and no descriptor was mistaken for standard output.
    opened = open_run(world.here / run)
    opened.check()
    assert [record.line for record in opened.records()] == list(range(1, 21))


def test_a_clock_that_is_set_back_meanwhile_harms_no_run(world: World) -> None:
    class Backwards(datetime):
        """Each look at the clock is an hour before the last."""

        looks = 0

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            cls.looks += 1
            return datetime(2026, 11, 30, 12, tzinfo=tz) - timedelta(hours=cls.looks)

    def set_back() -> None:
        run_module.datetime = Backwards  # type: ignore[misc]

    ids = set()
    for number in range(3):
        run = world.here / f"clock{number}"
        assert world.gate(run, "small.jsonl", before=set_back).end().code == 0
        manifest = open_run(run).manifest
        assert 0 <= manifest["seconds"] < 60
        ids.add(manifest["run_id"])
    assert len(ids) == 3  # the same second again, another id
