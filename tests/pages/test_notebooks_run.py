"""Field case I01: exit codes do not survive papermill, so only the outcome file of this very run counts."""

from __future__ import annotations

import json
import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import meeting_room as room
import pytest

from evalkit.contract import EvalkitError, Outcome
from evalkit.pages.notebooks import sources
from evalkit.pages.notebooks.command import NotebookOptions, NotebooksDone, run_notebooks
from evalkit.pages.notebooks.shown import notebooks_facts, notebooks_junit, notebooks_screen
from evalkit.pages.notebooks.verdict import Check, Verdict

PAGE = """
# %% [markdown]
# A page of a test.

# %% tags=["parameters"]
threshold: float = 0.8  # a share
flag: bool = False
id: str = "a"

# %%
from evalkit.pages.notebooks import Conclusion, open_page
from evalkit.contract import Outcome

page = open_page("{name}", globals())

# %%
{body}

# %%
figures = {{"threshold": threshold, "flag": flag, "id": id}}
page.finish(Conclusion(outcome=Outcome.{outcome}, sentences={sentences!r}, figures=figures))
"""

LOST_TASK = """
import asyncio, gc
async def fail():
    raise ValueError("nobody looked")
task = asyncio.get_running_loop().create_task(fail())
await asyncio.sleep(0.05)
del task
_ = gc.collect()
"""

# Kernels that start at once must not choose the same port, and nobody else may reach one.
NO_PORT = """
import json
from ipykernel.connect import get_connection_info
assert json.loads(get_connection_info())["transport"] == "ipc"
"""

EVENT_LOOP = """
import asyncio
from evalkit import evidence_coverage, numeric_metric

def asyncio_run_is_refused():
    pending = asyncio.sleep(0)
    try:
        asyncio.run(pending)
    except RuntimeError:
        pending.close()
        return True

@numeric_metric()
async def share(found: int) -> float:
    await asyncio.sleep(0)
    return found / 4

assert asyncio_run_is_refused()
assert evidence_coverage.score(required_claim_ids=["a", "b"], supported_claim_ids=["a"]).value == 0.5
assert share.score(found=1).value == 0.25
assert (await share.ascore(found=3)).value == 0.75
assert asyncio_run_is_refused(), "the kernel's loop was patched"
"""

# What a page does in its third code cell, and what its last one concludes.
BODIES = {
    "fine": (NO_PORT.strip(), "passed"),
    "bad_rows": ("1 + 1", "quality_failed"),
    "sys_exit_0": ("import sys\nsys.exit(0)", "passed"),
    "system_exit": ('raise SystemExit("quality failed")', "passed"),
    "killed": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "passed"),
    "raised": ('{"present": 1}["absent"]', "passed"),
    "lost_task": (LOST_TASK.strip(), "passed"),
    "event_loop": (EVENT_LOOP.strip(), "passed"),
    "worker_killed": ("import os, time\nos.kill(os.getppid(), 9)\ntime.sleep(60)", "passed"),
    "memory": ("import resource\nresource.setrlimit(resource.RLIMIT_AS, (2**30,) * 2)\n_ = bytearray(2**31)", "passed"),
}


def project_with(folder: Path, pages: dict[str, str]) -> Path:
    (folder / "fixtures").mkdir(parents=True, exist_ok=True)
    (folder / "notebooks").mkdir(exist_ok=True)
    for name, text in pages.items():
        (folder / "notebooks" / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def page_text(name: str, body: str = "1 + 1", outcome: str = "passed") -> str:
    sentences = () if outcome == "passed" else (f"it is {outcome}",)
    return PAGE.format(name=name, body=body, outcome=outcome, sentences=sentences)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> NotebooksDone:
    pages = {f"{i:02}_{name}": page_text(name, *what) for i, (name, what) in enumerate(BODIES.items())}
    pages["90_tagged"] = page_text("tagged").replace("# %%\n1 + 1", '# %% tags=["raises-exception"]\n1 / 0')
    folder = project_with(tmp_path_factory.mktemp("pages"), pages)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return run_notebooks([], NotebookOptions(out=folder / "runs"))


@pytest.fixture
def verdict(done: NotebooksDone) -> Callable[[str], Verdict]:
    by_name = {item.name[3:]: item for item in done.verdicts}
    return by_name.__getitem__


@pytest.mark.parametrize(("name", "outcome"), [("fine", "passed"), ("bad_rows", "quality_failed")])
def test_i01_the_outcome_file_decides(verdict: Callable[[str], Verdict], name: str, outcome: str) -> None:
    found = verdict(name)
    assert found.outcome.name == outcome, found.checks
    assert found.exit_code == int(Outcome[outcome])
    assert (found.cells_run, found.cells_total) == (4, 4)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sys_exit_0", "code cell 3 (import sys) ended the notebook: SystemExit: 0"),
        ("system_exit", 'code cell 3 (raise SystemExit("quality failed")) ended the notebook'),
        ("killed", "the kernel died in code cell 3 (import os, signal) of 4"),
        ("raised", 'code cell 3 ({"present": 1}["absent"]) ended the notebook: KeyError: \'absent\''),
        (
            "lost_task",
            "code cell 3 (import asyncio, gc) lost an exception in a task nobody awaited: ValueError: nobody",
        ),
        ("worker_killed", "its process was ended by SIGKILL (out of memory?) in code cell 3 (import os, time) of 4"),
        ("memory", "code cell 3 (import resource) ended the notebook: MemoryError"),
        ("tagged", "code cell 3 is tagged raises-exception"),
    ],
)
def test_i01_everything_else_is_incomplete_and_names_the_cell(
    verdict: Callable[[str], Verdict], name: str, said: str
) -> None:
    found = verdict(name)
    assert found.outcome is Outcome.incomplete
    assert found.exit_code == 2
    assert said in " | ".join(check.sentence for check in found.checks)


def test_h01_metrics_score_in_a_running_loop_and_leave_it_as_it_was(verdict: Callable[[str], Verdict]) -> None:
    assert verdict("event_loop").outcome is Outcome.passed, verdict("event_loop").checks


def test_the_worst_outcome_is_the_exit_code_and_incomplete_beats_quality_failed(done: NotebooksDone) -> None:
    assert done.outcome is Outcome.incomplete
    assert done.exit_code == 2
    without = [v for v in done.verdicts if v.outcome is not Outcome.incomplete]
    assert NotebooksDone(tuple(without), done.pages[: len(without)]).exit_code == 1


def test_the_screen_has_a_line_per_notebook_and_fits(done: NotebooksDone) -> None:
    screen = notebooks_screen(done)
    lines = screen.splitlines()
    for verdict in done.verdicts:
        (line,) = [line for line in lines if line.startswith(verdict.name)]
        assert verdict.outcome.name in line
        assert f"{verdict.cells_run} of {verdict.cells_total} cells" in line
    assert max(len(line) for line in lines if not line.endswith(".ipynb")) <= 80, "only a path may be longer"
    assert "INCOMPLETE (exit code 2): 2 of 11 notebooks passed" in screen


def test_the_executed_page_is_kept_as_far_as_it_got_without_places_of_this_machine(done: NotebooksDone) -> None:
    kept = {path.stem[3:]: path for path in done.pages if path.exists()}
    assert {"fine", "raised", "killed", "sys_exit_0"} <= set(kept)
    for path in kept.values():
        text = path.read_text(encoding="utf-8")
        assert "papermill" not in json.dumps(json.loads(text)["metadata"])
        assert str(path.parent) not in text


def test_junit_has_a_case_per_check_and_tells_error_from_failure(done: NotebooksDone) -> None:
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(notebooks_junit(done)).iter("testsuite")}
    assert [case.get("name") for case in suites["00_fine"].iter("testcase")] == [
        "parameters", "cells", "outcome file", "outcome", "figures",
    ]  # fmt: skip
    (failure,) = suites["01_bad_rows"].iter("failure")
    assert (failure.get("type"), failure.get("message")) == ("quality_failed", "it is quality_failed")
    assert [error.get("type") for error in suites["02_sys_exit_0"].iter("error")] == ["incomplete"]


def test_the_facts_hold_each_outcome_file(done: NotebooksDone) -> None:
    facts = notebooks_facts(done)
    assert facts["exit_code"] == 2
    fine = next(item for item in facts["notebooks"] if item["name"] == "00_fine")
    assert fine["result"]["parameters"] == {"threshold": 0.8, "flag": False, "id": "a"}
    assert fine["page"].endswith("runs/00_fine/00_fine.ipynb")
    assert json.loads(json.dumps(facts)) == facts


def test_i01_a_page_that_hangs_is_stopped_and_its_cell_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project_with(tmp_path, {"01_hangs": page_text("hangs", "import time\ntime.sleep(600)")}))
    done = run_notebooks(["01"], NotebookOptions(timeout=8))
    (verdict,) = done.verdicts
    assert verdict.outcome is Outcome.incomplete
    assert "stopped after 8 seconds in code cell 3 (import time) of 4" in verdict.checks[1].sentence
    assert verdict.seconds < 20


def test_an_old_outcome_file_is_taken_away_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project_with(tmp_path, {"01_stale": page_text("stale").split("# %%\nfigures")[0]}))
    old = Path("runs/notebooks/01_stale/outcome.json")
    old.parent.mkdir(parents=True)
    old.write_text(json.dumps({"schema": 1, "outcome": "passed", "exit_code": 0}))
    assert run_notebooks([], NotebookOptions()).exit_code == 2
    assert not old.exists()


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        (["99_absent"], {}, "0 notebooks are called '99_absent'; known here: 01_fine"),
        (["nowhere.ipynb"], {}, "nowhere.ipynb: a notebook (.py or .ipynb) was expected; there is no such file"),
        (["01", "01_fine"], {}, "two of these notebooks have one name"),
        ([], {"workers": 0}, "--workers and --timeout must be above 0; got 0"),
        ([], {"parameters": ["threshold"]}, "-p must be NAME=VALUE; got 'threshold'"),
        ([], {"parameters": ["id=1", "id=2"]}, "-p gives 'id' twice: '1' and '2'"),
        ([], {"parameters": ["id=1"], "accept": True}, "--accept works on a run with default parameters"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], options: dict[str, object], said: str
) -> None:
    monkeypatch.chdir(project_with(tmp_path, {"01_fine": page_text("fine")}))
    with pytest.raises(EvalkitError) as caught:
        run_notebooks(names, NotebookOptions(**options))  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_a_folder_without_notebooks_says_what_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sources, "project_folder", lambda *_: None)
    with pytest.raises(EvalkitError, match=r"no folder above holds notebooks/NN_name\.py beside fixtures/"):
        run_notebooks([], NotebookOptions())


def test_a_file_that_is_no_notebook_is_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project_with(tmp_path, {}))
    Path("broken.ipynb").write_text(textwrap.dedent("not json"))
    done = run_notebooks(["broken.ipynb"], NotebookOptions())
    assert done.exit_code == 2
    assert "cannot be read as a notebook" in done.verdicts[0].checks[0].sentence


def test_junit_of_a_page_that_gates_has_a_case_for_each_check_of_the_gate(tmp_path: Path) -> None:
    facts = json.loads((room.gated_run(tmp_path) / "outcome.json").read_text())
    verdict = Verdict("01_gates", (Check("cells", Outcome.passed, "4 of 4"),), 1.0, 4, 4, facts, None)
    (suite,) = ElementTree.fromstring(notebooks_junit(NotebooksDone((verdict,), (tmp_path,)))).iter("testsuite")
    cases = {(case.get("classname"), case.get("name")): case for case in suite.iter("testcase")}
    assert len(cases) == 1 + 9 + 2 * 2  # the page's, the gate's, and two of each of two slices
    # Of default, a (1 of 4) and b (2 of 4) lie below 0.75; of money, h (1 of 2) below 1.0.
    for place in ("evidence_coverage.default", "evidence_coverage.money"):
        assert cases[place, "rows reach the limit"].find("failure") is not None
        assert cases[place, "no row waits for a person"].find("failure") is None
    assert cases["evidence_coverage", "no more errors than allowed"].find("error") is None
