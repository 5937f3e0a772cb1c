"""Tasks in forked children: whatever they do, the parent goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from evalkit.contract import EvalkitError
from evalkit.mutate.runner import Event, Limits, Stopped, run_tasks

QUICK = Limits(seconds=0.8, memory=64 << 20)


def says(*messages):
    def task(beat):
        for number, message in enumerate(messages):
            beat(number)
            yield message

    return task


def does(action, step=3):
    def task(beat):
        beat(step)
        action()
        yield "not stopped"

    return task


def hang():
    while True:
        pass


def recurse():
    recurse()


def events(*tasks):
    return list(run_tasks(tasks, QUICK))


def test_messages_come_in_the_order_of_the_tasks():
    assert events(says(1, [2, None]), says(), says("x")) == [Event(0, 1), Event(0, [2, None]), Event(2, "x")]


@pytest.mark.parametrize(
    ("action", "stopped"),
    [
        (hang, Stopped("time", 3, "did not end within 0.8 s")),
        (lambda: time.sleep(60), Stopped("time", 3, "did not end within 0.8 s")),
        (lambda: os._exit(0), Stopped("death", 3, "left the process (exit 0)")),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), Stopped("death", 3, "the process was ended by SIGKILL")),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), Stopped("death", 3, "the process was ended by SIGSEGV")),
        (recurse, Stopped("death", 3, "left the process (exit 70)")),  # the runner's own guard; a mutant has its own
        (lambda: list(range(10**9)), Stopped("death", 3, "left the process (exit 70)")),
    ],
)
def test_a_task_is_stopped_and_the_next_one_goes_on(action, stopped):
    assert events(says("before"), does(action), says("after")) == [
        Event(0, "before"),
        Event(1, stopped),
        Event(2, "after"),
    ]


def test_what_was_said_before_the_end_is_kept():
    def task(beat):
        yield "said"
        os._exit(1)

    assert events(task)[0] == Event(0, "said")


def test_the_time_is_that_of_a_step_not_of_the_task():
    def task(beat):
        for step in range(4):
            beat(step)
            time.sleep(0.3)
        yield "done"

    assert events(task) == [Event(0, "done")]


def test_an_allocation_beyond_the_limit_fails_in_the_task():
    def task(beat):
        try:
            yield len([0] * 10**9)
        except MemoryError:
            yield "MemoryError"

    assert events(task, says("after")) == [Event(0, "MemoryError"), Event(1, "after")]


def test_a_child_that_has_grown_is_replaced():
    pids = []

    def grow(beat):
        yield [os.getpid(), len(bytearray(220 << 20))]

    def stay(beat):
        yield [os.getpid(), 0]

    pids = [event.message[0] for event in run_tasks([stay, grow, stay], Limits(memory=1 << 30))]
    assert pids[0] == pids[1] != pids[2]


def test_nothing_of_a_task_is_seen_in_the_parent(capfd):
    found = []

    def task(beat):
        found.append("changed")
        sys.modules["evalkit_was_here"] = sys
        sys.stdout.write("printed")
        sys.stdout.flush()
        os.write(1, b"written")
        yield len(found)

    assert events(task) == [Event(0, 1)]
    assert found == []
    assert "evalkit_was_here" not in sys.modules
    assert capfd.readouterr() == ("", "")


def test_a_process_started_by_a_task_goes_with_it():
    def task(beat):
        beat(0)
        child = subprocess.Popen(["sleep", "60"])
        yield child.pid
        hang()

    pid = events(task)[0].message
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and _is_alive(pid):
        time.sleep(0.02)
    assert not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_no_child_and_no_file_is_left():
    # Compared, not counted: another test of this process may keep a server of its own.
    before = (_children(), _open_files())
    events(says(1), does(hang), says(2))
    assert (_children(), _open_files()) == before


def _children() -> set[str]:
    """Return the process ids of this process's children, zombies included (empty where there is no /proc)."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in brackets may hold anything; state and parent follow it.
            parent = int(status.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):  # it ended while we looked
            continue
        if parent == os.getpid():
            found.add(status.parent.name)
    return found


def _open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def test_a_lock_held_by_another_thread_of_the_parent_stops_no_child():
    lock = threading.Event()

    def keep_writing():
        while not lock.is_set():
            sys.stdout.write("")

    thread = threading.Thread(target=keep_writing)
    thread.start()
    try:
        assert events(does(lambda: sys.stdout.write("x"))) == [Event(0, "not stopped")]
    finally:
        lock.set()
        thread.join()


def test_a_system_without_fork_is_told_so(monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(EvalkitError, match="this system has no fork"):
        events(says(1))
