"""``evalkit notebooks`` killed half-way: no page goes on by itself, and no outcome file speaks for a run that died."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc"),
]

KILLS = 5
PAGE = """
# %% tags=["parameters"]
seconds: float = {seconds}

# %%
import time
from evalkit.pages.notebooks import Conclusion, open_page
from evalkit.contract import Outcome

page = open_page("{name}", globals())

# %%
time.sleep(seconds)

# %%
page.finish(Conclusion(outcome=Outcome.passed, sentences=(), figures={{"seconds": seconds}}))
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "notebooks").mkdir()
    for name, seconds in (("01_quick", 0.1), ("02_slow", 60), ("03_slow", 60)):
        (tmp_path / f"notebooks/{name}.py").write_text(PAGE.format(name=name, seconds=seconds))
    return tmp_path


def processes(here: Path) -> list[int]:
    """Return every process whose folder is this one: evalkit, its workers and their kernels."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == here and not is_dead(entry):
                found.append(int(entry.name))
        except OSError:  # gone meanwhile
            continue
    return found


def is_dead(entry: Path) -> bool:
    return (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"


def until(what: Callable[[], bool], seconds: float = 60) -> bool:
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def start(here: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "evalkit", "notebooks"]
    return subprocess.Popen(
        command, cwd=here, text=True, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def outcomes(here: Path) -> dict[str, str]:
    found = here.glob("runs/notebooks/*/outcome.json")
    return {path.parent.name: json.loads(path.read_text())["outcome"] for path in found}


def test_after_five_kills_no_kernel_stays_and_every_outcome_file_is_whole(here: Path) -> None:
    chance = random.Random(11)
    for _ in range(KILLS):
        running = start(here)
        # Two pages at a time, each with a worker and a kernel, besides evalkit, its fork server and its tracker.
        assert until(lambda: len(processes(here)) >= 6), "no kernel was started"
        time.sleep(chance.uniform(0, 4))
        running.kill()
        running.communicate()
        assert until(lambda: not processes(here), 15), "a page goes on without the command that would judge it"
        assert set(outcomes(here).items()) <= {("01_quick", "passed")}


def test_ctrl_c_stops_every_page_and_says_so_in_one_line(here: Path) -> None:
    running = start(here)
    assert until(lambda: len(processes(here)) >= 6)
    assert until(lambda: "01_quick" in outcomes(here))
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (2, "")
    assert err.splitlines()[-1] == "evalkit: interrupted; what was being written is marked unfinished"
    assert "Traceback" not in err
    assert until(lambda: not processes(here), 15)
    assert outcomes(here) == {"01_quick": "passed"}
