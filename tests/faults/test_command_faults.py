"""Every command with its reader gone, on a full or read-only disk, or interrupted: words, exit code 2, nothing half."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pkgutil
import random
import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import meeting_room as room
import pytest
from forked import Ended, Forked, forked
from steps import at_step

import evalkit
from evalkit.decisions.meeting.agenda import AgendaOptions, review_folder
from evalkit.decisions.meeting.votes import vote_path

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not hasattr(os, "fork") or not Path("/proc").is_dir(), reason="needs fork and /proc"),
]

FIXTURES = Path(__file__).parents[2] / "fixtures"
COVERAGE, ADAPTERS, REFUND = (FIXTURES / name for name in ("evidence_coverage", "adapters", "refund_answer"))
CASES, LABELS = (COVERAGE / "calibration" / f"{name}.jsonl" for name in ("cases", "labels"))
LABELLED = ("evidence_coverage", CASES, "--labels", LABELS)
POLICY = ("--policy", COVERAGE / "policy.toml", "--as-of", "2026-12-01")
EDITED = COVERAGE / "incidents/metric_edited"
CALIBRATED = ("--max-false-pass", "0.2", "--confidence", "0.9", "--as-of", "2026-11-30", "--slice", "default")


SLOW = ("packet",)
"""Draws for seconds; it writes its one file as the ballot does."""


class Command(NamedTuple):
    words: tuple[Any, ...]
    writes: tuple[str, ...] = ()
    """What it leaves in the current folder."""
    prints: bool = True
    """Whether it prints more than a line or two."""


# Each command that a person calls, as the README does; OUT stands for a file in the current folder.
COMMANDS = {
    "adapt": Command(("adapt", "plain", ADAPTERS / "plain.jsonl", "--out", "c.jsonl", "--json", "o.json"),
                     ("c.jsonl", "c.jsonl.adapter.json", "o.json")),
    "audit": Command(("audit", "plain", ADAPTERS / "plain.jsonl", "--json", "o.json"), ("o.json",)),
    "ballot": Command(("ballot", "run", "--out", "b.html"), ("b.html",), prints=False),
    "calibrate": Command(("calibrate", *LABELLED, *CALIBRATED, "--policy-out", "p.toml", "--json", "o.json"),
                         ("p.toml", "p.calibration.json", "o.json")),
    "claims draft": Command(("claims", "draft", ADAPTERS / "plain.jsonl", "--out", "s.csv"), ("s.csv",)),
    "compare": Command(("compare", "evidence_coverage", f"{EDITED / 'new_metric.py'}:evidence_coverage",
                        EDITED / "new.jsonl", "--json", "o.json", "--markdown", "o.md"), ("o.json", "o.md")),
    "estimate": Command(("estimate", *LABELLED, "--json", "o.json"), ("o.json",)),
    "explain": Command(("explain", "run", "older", "--json", "o.json", "--markdown", "o.md"), ("o.json", "o.md")),
    "flips": Command(("flips", *LABELLED, "--from", "0.5", "--to", "0.75", "--json", "o.json"), ("o.json",)),
    "gate": Command(("gate", "evidence_coverage", CASES, *POLICY, "--format", "jsonl", "--json", "o.json"),
                    ("o.json",)),
    "judge": Command(("judge", "refund_answer", REFUND / "cases.jsonl", "--run", "judged", "--json", "o.json"),
                     ("o.json",)),
    "labels import": Command(("labels", "import", ADAPTERS / "labels.csv", "--map", ADAPTERS / "labels.map.toml",
                              "--out", "l.jsonl", "--json", "o.json"), ("l.jsonl", "o.json")),
    "mutate": Command(("mutate", "evidence_coverage", "--cases", COVERAGE / "contract.jsonl", "--json", "o.json"),
                      ("o.json",)),
    "new": Command(("new", "mine", "--json", "o.json"), ("o.json",)),
    "next-labels": Command(("next-labels", *LABELLED, "--out", "n.jsonl", "--json", "o.json"), ("n.jsonl", "o.json")),
    "packet": Command(("packet", "run", "--policy", "policy.toml", "--out", "p.html"), ("p.html",), prints=False),
    "partition": Command(("partition", CASES, "--out", "split.jsonl", "--json", "o.json"), ("split.jsonl", "o.json")),
    "score": Command(("score", "evidence_coverage", CASES, "--run", "scored", "--json", "o.json"), ("o.json",)),
    "votes collect": Command(("votes", "collect", "returned.jsonl", "--run", "run", "--json", "o.json"), ("o.json",)),
}  # fmt: skip


def warm_up() -> None:
    """Import once what commands import as they go, so that no child does it again."""
    for module in pkgutil.walk_packages(evalkit.__path__, "evalkit."):
        if "ragas" not in module.name and not module.name.endswith("__main__"):
            import_module(module.name)
    for name in ("scipy.stats", "pandas", "altair"):
        import_module(name)


class World(NamedTuple):
    home: Path
    whole: dict[str, Ended]
    """What each command does undisturbed."""
    seconds: dict[str, float]
    made: dict[str, dict[str, bytes]]

    def start(self, name: str, at: str, before: Callable[[], object] = lambda: None) -> tuple[Path, Forked]:
        here = self.home.with_name(f"{name.replace(' ', '-')} {at}")
        here.mkdir()
        for path in self.home.iterdir():  # inputs are shared; what is written comes beside them
            (here / path.name).symlink_to(path)
        return here, forked(here, *COMMANDS[name].words, before=before)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    home = tmp_path_factory.mktemp("commands") / "home"
    home.mkdir()
    run = room.gated_run(home, name="run")
    room.gated_run(home, [room.row("a", 2), *room.ROWS[1:]], name="older")
    review = room.opened(home, folder=review_folder(run), agenda=AgendaOptions(n=2, far=1, seed=7))
    for case_id in review.agenda.rows:
        review.cast("anna", case_id, "ship")
    (home / "returned.jsonl").write_bytes(vote_path(review.votes_folder, "anna").read_bytes())
    warm_up()
    world = World(home, {}, {}, {})
    for name in COMMANDS:
        began = time.monotonic()
        here, child = world.start(name, "whole")
        world.whole[name] = child.end()
        world.seconds[name] = time.monotonic() - began
        assert world.whole[name].err == "" or "evalkit:" not in world.whole[name].err, world.whole[name]
        world.made[name] = {file: (here / file).read_bytes() for file in COMMANDS[name].writes}
    return world


def assert_plain(done: Ended) -> None:
    assert done.code == 2, done
    assert done.err.splitlines()[-1].startswith("evalkit: ")
    assert_no_traceback(done)


def assert_no_traceback(done: Ended) -> None:
    for never in ("Traceback", "fault inside", "Exception ignored", "Errno"):
        assert never not in done.out + done.err, done


def assert_whole_or_absent(here: Path, name: str) -> None:
    for file in COMMANDS[name].writes:
        path = here / file
        if path.exists() and path.suffix in (".json", ".jsonl"):
            for line in [path.read_bytes()] if path.suffix == ".json" else path.read_bytes().splitlines():
                json.loads(line)
    assert [path.name for path in here.iterdir() if path.name.endswith(".part")] == []


# --- the reader is gone -----------------------------------------------------------------------------------------------


def reader_gone() -> None:
    """Do what ``| head -0`` does."""
    reading, writing = os.pipe()
    os.close(reading)
    os.dup2(writing, 1)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - it lives as long as the child


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.prints])
def test_a_reader_that_has_gone_costs_no_file_and_changes_no_exit_code(world: World, name: str) -> None:
    here, child = world.start(name, "head", reader_gone)
    done = child.end()
    assert_no_traceback(done)
    assert done.code == world.whole[name].code
    assert [file for file in COMMANDS[name].writes if not (here / file).exists()] == []


# --- no room, no right ------------------------------------------------------------------------------------------------


REFUSED = [
    *((name, errno.ENOSPC) for name in COMMANDS if name not in SLOW),
    *((name, number) for name in ("judge", "labels import", "new") for number in (errno.EROFS, errno.EACCES)),
]
"""A full disk for every command; no right to write for those that open files in their own way."""


@pytest.mark.parametrize(("name", "number"), REFUSED, ids=lambda value: errno.errorcode.get(value, value))
def test_a_disk_that_takes_nothing_more_is_said_in_words_at_every_step(world: World, name: str, number: int) -> None:
    def refuse() -> None:
        raise OSError(number, os.strerror(number))

    refused = steps = 0
    for steps in range(1, 40):
        reading, writing = os.pipe()

        def strike(at: int = writing) -> None:
            os.write(at, b"x")
            refuse()

        here, child = world.start(name, f"{number} {steps}", at_step(steps, strike))
        done = child.end()
        os.close(writing)
        was_struck = os.read(reading, 1) != b""
        os.close(reading)
        if not was_struck:  # there is no such step any more
            break
        assert_no_traceback(done)
        assert_whole_or_absent(here, name)
        if done.code == 2 != world.whole[name].code:
            refused += 1
            assert_plain(done)
            assert os.strerror(number) in done.err
            assert "; " in done.err, "it does not say what to do"
        else:  # something that it can do without: a folder that was there already
            assert done.code == world.whole[name].code
    assert refused >= 1
    assert steps > 1


# --- interrupted ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SLOW])
def test_ctrl_c_at_a_random_moment_is_one_plain_line(world: World, name: str) -> None:
    chance = random.Random(name)
    for number in range(2):
        here, child = world.start(name, f"ctrl-c {number}")
        time.sleep(world.seconds[name] * chance.uniform(0.1, 0.9))
        with contextlib.suppress(ProcessLookupError):  # it may be quicker than it was before
            child.interrupt()
        done = child.end()
        assert_no_traceback(done)
        assert_whole_or_absent(here, name)
        if done.code != world.whole[name].code:
            assert done.code == 2 or done.code == -signal.SIGINT, done
            assert done.err.splitlines()[-1:] == ["evalkit: interrupted; what was being written is marked unfinished"]
        assert child.survivors() == []
