"""Notebook 01 in a real JupyterLab under Debian's chromium: run, explored by hand, and decided like headless."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalkit.pages.notebooks.command import NotebookOptions, run_notebooks

ROOT = Path(__file__).parents[2]
NAME = "01_design_a_metric"
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
]  # fmt: skip
QUIET = [
    "--no-browser", "--ip=127.0.0.1", "--ServerApp.port_retries=0", "--IdentityProvider.token=test",
    "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
]  # fmt: skip

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None or find_spec("playwright") is None or find_spec("jupyterlab") is None,
        reason="needs Debian's chromium, playwright and jupyterlab",
    ),
]


class Lab(NamedTuple):
    """A server over a copy of the project."""

    folder: Path
    address: str

    def ask(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.address}/api/{path}?token=test", timeout=10) as reply:
            return json.load(reply)


def until(what: Callable[[], Any], why: str, seconds: float = 120) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if found := what():
                return found
        except OSError:
            pass
        time.sleep(0.2)
    pytest.fail(f"after {seconds:g} seconds still not: {why}")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "fixtures", folder / "fixtures")
    (folder / "notebooks").mkdir()
    for ending in (".py", ".ipynb"):
        shutil.copy(ROOT / f"notebooks/{NAME}{ending}", folder / "notebooks")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {f"JUPYTER_{kind}_DIR": str(folder / f".{kind.lower()}") for kind in ("CONFIG", "DATA", "RUNTIME")}
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    command = [sys.executable, "-m", "jupyterlab", *QUIET, *root, f"--port={port}"]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env=os.environ | own | {"IPYTHONDIR": str(folder / ".ipython")}
        )
    started = Lab(folder, f"http://127.0.0.1:{port}")
    try:
        until(lambda: started.ask("status"), "the server answers", 60)
        yield started
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.fixture(scope="module")
def page(lab: Lab) -> Iterator[Any]:
    """The notebook, opened and run whole through the menu."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(f"{lab.address}/lab/tree/notebooks/{NAME}.ipynb?token=test")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        until(
            lambda: [k for k in lab.ask("kernels") if k["execution_state"] == "idle" and k["connections"]], "a kernel"
        )
        page.wait_for_timeout(1_000)  # the page learns of its kernel a moment after the server
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_text("Run All Cells", exact=True).click()
        until((lab.folder / f"runs/notebooks/{NAME}/outcome.json").exists, "an outcome file")
        page.locator(".evalkit-explorer").scroll_into_view_if_needed(timeout=30_000)
        yield page
        browser.close()


def test_the_row_explorer_is_used_with_mouse_and_keyboard(page: Any) -> None:
    from playwright.sync_api import expect

    explorer = page.locator(".evalkit-explorer")
    status, card = explorer.locator("[role=status]"), explorer.locator(".evalkit-card")
    expect(status).to_have_text("32 of 32 rows match")
    expect(card).to_contain_text("partner-shop-drop-off")

    rows = explorer.get_by_role("listbox", name="Rows", exact=True)
    rows.focus()
    page.keyboard.press("ArrowDown")
    expect(card).to_contain_text("ja-getsugaku-kaiyaku")
    # In command mode the notebook takes arrow keys for its own cells: the list must keep every one of them.
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    expect(rows).to_be_focused()
    assert rows.evaluate("list => list.selectedIndex") == 6
    page.keyboard.press("Home")
    expect(card).to_contain_text("partner-shop-drop-off")

    explorer.get_by_label("Slice").select_option(label="billing-critical (10)")
    expect(status).to_have_text("10 of 32 rows match")
    explorer.get_by_label("Find").fill("late-fee")
    expect(status).to_have_text("3 of 32 rows match")
    expect(rows.locator("option")).to_have_count(3)
    for part in ("Verdict", "Reason", "Owner", "Input required_claim_ids", "Answer", "Retrieved passages"):
        expect(card).to_contain_text(part)
    assert card.evaluate("e => e.scrollWidth <= e.clientWidth"), "text runs out of the card"


def test_k04_charts_are_drawn_without_the_web(page: Any, lab: Lab) -> None:
    panel = page.locator(".jp-WindowedPanel-outer").first
    panel.evaluate("e => e.scrollTo(0, 0)")
    seen = 0
    for _ in range(40):  # charts far off the screen are taken out of the page
        seen = max(seen, page.locator(".vega-embed canvas, .vega-embed svg.marks").count())
        panel.evaluate("e => e.scrollBy(0, 500)")
        page.wait_for_timeout(150)
    assert seen >= 1
    strangers = [
        url
        for url in page.asked
        if not url.startswith((lab.address, lab.address.replace("http", "ws"), "data:", "blob:"))
    ]
    assert strangers == []


def test_s5_2_the_outcome_by_hand_is_that_of_papermill(page: Any, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    by_hand = json.loads((lab.folder / f"runs/notebooks/{NAME}/outcome.json").read_text())
    monkeypatch.chdir(lab.folder)
    headless = run_notebooks([NAME], NotebookOptions(out=lab.folder / "headless")).verdicts[0].facts
    assert headless is not None
    assert by_hand["outcome_hash"] == headless["outcome_hash"]
    assert by_hand["figures"] == headless["figures"]
    assert by_hand["outcome"] == headless["outcome"] == "passed"


def test_saving_in_the_lab_leaves_the_source_as_it_was(page: Any, lab: Lab) -> None:
    built = lab.folder / f"notebooks/{NAME}.ipynb"
    before = built.read_bytes()
    page.locator(".jp-Notebook").first.click(position={"x": 5, "y": 5})
    page.keyboard.press("Control+s")
    until(lambda: built.read_bytes() != before, "the notebook is saved", 30)
    source = lab.folder / f"notebooks/{NAME}.py"
    assert source.read_text(encoding="utf-8") == (ROOT / f"notebooks/{NAME}.py").read_text(encoding="utf-8")
