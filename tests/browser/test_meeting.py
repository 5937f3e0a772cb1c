"""A whole threshold review in Debian's chromium: votes in JupyterLab and by ballot, discussion, decision, gate."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import jupytext
import meeting_room as room
import pytest

from evalkit.decisions.meeting.votes import read_folder
from evalkit.pages.notebooks.command import NotebookOptions, run_notebooks

ROOT = Path(__file__).parents[2]
SCREENS = ROOT / "build" / "screenshots"
NAME = "04_threshold_review"
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
QUIET = [
    "--no-browser", "--ip=127.0.0.1", "--ServerApp.port_retries=0", "--IdentityProvider.token=test",
    "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    "--LabApp.extension_manager=readonly",
]  # fmt: skip
EVIL = (
    '</script><script>window.pwned=1</script><svg onload="window.pwned=1"></svg>'
    '<img src=x onerror="window.pwned=1">\x1b[31m'
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        CHROMIUM is None or find_spec("playwright") is None or find_spec("jupyterlab") is None,
        reason="needs Debian's chromium, playwright and jupyterlab",
    ),
]


class Lab(NamedTuple):
    """A server over a copy of the project."""

    folder: Path
    address: str

    def ask(self, path: str, method: str = "GET") -> Any:
        request = urllib.request.Request(
            f"{self.address}/api/{path}", method=method, headers={"Authorization": "token test"}
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.loads(reply.read() or b"null")


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


def evalkit(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evalkit", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def project(folder: Path) -> Path:
    """The example with one hostile row more, gated into a run, and notebook 04 with this run as its parameter."""
    shutil.copytree(ROOT / "fixtures", folder / "fixtures")
    (folder / "notebooks").mkdir()
    evil = room.row(f"evil {EVIL}", 3)
    evil["evidence"] |= {
        "question": EVIL, "answer": EVIL, "claims": dict.fromkeys(room.CLAIMS[:4], EVIL),
        "retrieved": [{"document_id": EVIL, "passage_id": EVIL, "text": EVIL}],
        "citations": [{"claim_id": EVIL, "document_id": EVIL, "span": EVIL}],
    }  # fmt: skip
    release = (folder / "fixtures/evidence_coverage/release.jsonl").read_text(encoding="utf-8")
    (folder / "rows.jsonl").write_text(release + json.dumps(evil) + "\n", encoding="utf-8")
    policy = "fixtures/evidence_coverage/policy.toml"
    done = evalkit(
        folder,
        "gate",
        "evidence_coverage",
        "rows.jsonl",
        "--policy",
        policy,
        "--as-of",
        "2026-12-01",
        "--run",
        "runs/mine",
    )
    assert done.returncode == 0, done.stderr
    source = (ROOT / f"notebooks/{NAME}.py").read_text(encoding="utf-8")
    for old, new in {
        'cases: str = "fixtures/evidence_coverage/release.jsonl"': 'cases: str = "runs/mine"',
        'votes: str = "fixtures/evidence_coverage/review/votes"': 'votes: str = ""',
        "rows: int = 5": "rows: int = 3",
        "far: int = 2": "far: int = 1",
    }.items():
        assert old in source
        source = source.replace(old, new)
    (folder / f"notebooks/{NAME}.py").write_text(source, encoding="utf-8")
    jupytext.write(jupytext.reads(source, fmt="py:percent"), folder / f"notebooks/{NAME}.ipynb")
    return folder


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = project(tmp_path_factory.mktemp("meeting"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {f"JUPYTER_{kind}_DIR": str(folder / f".{kind.lower()}") for kind in ("CONFIG", "DATA", "RUNTIME")}
    own |= {"IPYTHONDIR": str(folder / ".ipython"), "JUPYTERLAB_SETTINGS_DIR": str(folder / ".settings")}
    notes = folder / ".settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"
    notes.parent.mkdir(parents=True)
    notes.write_text('{"fetchNews": "false", "checkForUpdates": false}')
    allow = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    command = [sys.executable, "-m", "jupyterlab", *QUIET, *allow, f"--port={port}"]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=os.environ | own)
    started = Lab(folder, f"http://127.0.0.1:{port}")
    try:
        until(lambda: started.ask("status"), "the server answers", 90)
        yield started
    finally:
        server.terminate()
        server.wait(timeout=30)


@pytest.fixture(scope="module")
def playwright() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        yield started


class Desk:
    """One reviewer's JupyterLab."""

    def __init__(self, page: Any, lab: Lab) -> None:
        self.page, self.lab = page, lab
        self.asked: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("dialog", lambda dialog: dialog.accept())

    @property
    def review(self) -> Any:
        return self.page.locator(".ek-review")

    def button(self, name: str) -> Any:
        return self.review.get_by_role("button", name=name, exact=True)

    def open(self) -> None:
        self.page.goto(f"{self.lab.address}/lab/tree/notebooks/{NAME}.ipynb?token=test")
        self.ready()

    def ready(self) -> None:
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
        until(
            lambda: [k for k in self.lab.ask("kernels") if k["execution_state"] == "idle" and k["connections"]],
            "a kernel",
        )
        self.page.wait_for_timeout(1_500)  # the page learns of its kernel a moment after the server

    def menu(self, name: str) -> None:
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_text(name, exact=True).click()

    def run_all(self) -> None:
        self.menu("Run All Cells")
        self.review.scroll_into_view_if_needed(timeout=120_000)

    def sign_in(self, name: str) -> None:
        self.review.get_by_label("Your name").fill(name)
        self.page.keyboard.press("Tab")
        self.page.keyboard.press("Space")
        self.review.locator(".ek-card").wait_for()

    def says(self, text: str) -> None:
        from playwright.sync_api import expect

        expect(self.review).to_contain_text(text, timeout=30_000)

    def shot(self, name: str) -> None:
        SCREENS.mkdir(parents=True, exist_ok=True)
        for width, scale in ((1024, 1), (512, 2)):  # 512 pixels are what 200 % leave of 1024
            self.page.set_viewport_size({"width": width, "height": 2400})
            self.page.wait_for_timeout(700)
            over = self.review.evaluate("e => e.scrollWidth - e.clientWidth")
            assert over <= 2, f"{name} runs {over} pixels out of the page at {width}"
            self.review.screenshot(path=SCREENS / f"meeting-{name}-{100 * scale}.png")
        self.page.set_viewport_size({"width": 1024, "height": 1600})
        self.page.wait_for_timeout(500)


@pytest.fixture(scope="module")
def desk(lab: Lab, playwright: Any) -> Iterator[Desk]:
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    desk = Desk(browser.new_page(viewport={"width": 1024, "height": 1600}), lab)
    desk.open()
    desk.page.keyboard.press("Control+b")  # the side bar away, as somebody who reads would
    desk.run_all()
    yield desk
    browser.close()


def axe(page: Any) -> list[str]:
    """What axe-core finds; its script comes with the package that the lock pins."""
    import axe_playwright_python

    page.evaluate((Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate(
        "async () => (await axe.run()).violations.map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' | '))"
    )
    return list(found)


def contrast_problems(page: Any) -> list[str]:
    """Texts of the review that stand out too little, by the rule of WCAG 2 (4.5 to 1)."""
    script = """root => {
      const parse = c => (c.match(/[\\d.]+/g) || []).map(Number);
      const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
        .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const behind = e => { for (; e; e = e.parentElement) {
        const c = parse(getComputedStyle(e).backgroundColor);
        if (c.length === 3 || c[3] > 0.99) return c; } return [255, 255, 255]; };
      const found = [];
      for (const e of root.querySelectorAll("*")) {
        const text = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent.trim()).join("");
        if (!text || e.closest("svg, style, [disabled]") || !e.getClientRects().length) continue;
        const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) found.push(text.slice(0, 40) + " " + getComputedStyle(e).color);
      }
      return found;
    }"""
    return list(page.locator(".ek-review").evaluate(script))


def nameless(page: Any) -> list[str]:
    """Controls of the review that a screen reader could not name."""
    script = """root => [...root.querySelectorAll("button, input, select, textarea, [role=slider], [tabindex='0']")]
      .filter(e => e.getClientRects().length)
      .filter(e => !((e.tagName !== 'SELECT' && e.innerText) || e.getAttribute("aria-label") ||
        e.title || e.placeholder || (e.labels && e.labels.length) || e.getAttribute("aria-labelledby")))
      .map(e => e.outerHTML.slice(0, 120))"""
    return list(page.locator(".ek-review").evaluate(script))


def rows_of(lab: Lab) -> int:
    return len(json.loads((lab.folder / "runs/mine.review/agenda.json").read_text())["rows"])


def entries(lab: Lab) -> list[Any]:
    return list(read_folder(lab.folder / "runs/mine.review/votes").entries)


def test_1_votes_are_cast_by_keyboard_and_the_page_tells_no_score(desk: Desk, lab: Lab) -> None:
    desk.sign_in("anna")
    total = rows_of(lab)
    assert total == 5  # the three at the threshold, of which one is hostile, the one below it and a far one
    card = desk.review.locator(".ek-card")
    assert not re.search(r"0\.75|supported|missing|label:|delivery-charge", card.inner_text())
    order = []
    card.focus()
    for _ in range(4):
        desk.page.keyboard.press("Tab")
        order.append(desk.page.evaluate("document.activeElement.innerText || document.activeElement.placeholder"))
    assert order == ["optional: why, in a few words", "Ship it", "Hold it", "Cannot tell"]
    ring = desk.page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
    assert ring == "3px", "the focus is to be seen"
    desk.page.keyboard.press("Space")
    desk.says(f"1 of {total} voted")
    assert (nameless(desk.page), contrast_problems(desk.page)) == ([], [])
    desk.shot("vote")
    desk.button("Hold it").focus()
    desk.page.wait_for_timeout(500)
    desk.page.keyboard.press("Enter")
    desk.says(f"2 of {total} voted")
    assert len(entries(lab)) == 2


def test_2_a_killed_kernel_and_a_reloaded_page_lose_no_vote(desk: Desk, lab: Lab) -> None:
    (kernel,) = lab.ask("kernels")
    lab.ask(f"kernels/{kernel['id']}/restart", "POST")
    desk.page.reload()
    desk.ready()
    desk.run_all()
    desk.sign_in("anna")
    desk.says(f"2 of {rows_of(lab)} voted")
    for number in range(3, rows_of(lab) + 1):
        desk.page.wait_for_timeout(450)
        desk.button("Ship it").press("Space")
        desk.says(f"{number} of {rows_of(lab)} voted")
    assert len({entry.case_id for entry in entries(lab)}) == len(entries(lab)) == rows_of(lab)


def test_3_the_second_reviewer_votes_on_a_ballot_in_a_browser_of_their_own(
    lab: Lab, playwright: Any, tmp_path: Path
) -> None:
    done = evalkit(lab.folder, "ballot", "runs/mine", "--out", "ballot.html")
    assert done.returncode == 0, done.stderr
    asked: list[str] = []
    complaints: list[str] = []

    def profile() -> Any:
        return playwright.chromium.launch_persistent_context(
            tmp_path / "profile", executable_path=CHROMIUM, args=FLAGS, viewport={"width": 1024, "height": 900}
        )

    browser = profile()
    page = browser.pages[0]
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto((lab.folder / "ballot.html").as_uri())
    assert axe(page) == []
    page.locator("#download").press("Enter")
    assert "Give your name first" in page.locator("#status").inner_text()
    page.locator("#reviewer").fill("zoe")
    for number in range(1, rows_of(lab) + 1):
        page.locator(f"input[name='vote-{number}']").first.focus()
        page.keyboard.press("ArrowDown" if number % 2 else "Space")  # hold, or ship
    page.locator("textarea").first.fill("half an answer")
    page.locator("#reviewer").focus()
    assert f"{rows_of(lab)} of {rows_of(lab)} rows voted, kept in this browser" in page.locator("#status").inner_text()
    assert page.evaluate("window.pwned") is None
    browser.close()

    browser = profile()  # another day
    page = browser.pages[0]
    page.on("request", lambda request: asked.append(request.url))
    page.goto((lab.folder / "ballot.html").as_uri())
    assert f"{rows_of(lab)} of {rows_of(lab)} rows voted" in page.locator("#status").inner_text()
    with page.expect_download() as download:
        page.locator("#download").press("Enter")
    file = lab.folder / download.value.suggested_filename
    download.value.save_as(file)
    browser.close()
    assert file.name == "votes-zoe.jsonl"
    assert {url.partition(":")[0] for url in asked} <= {"file", "blob"}
    assert complaints == []
    done = evalkit(lab.folder, "votes", "collect", file.name, "--run", "runs/mine")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"zoe: {rows_of(lab)} new, 0 known already; voted on {rows_of(lab)} of {rows_of(lab)} rows" in done.stdout


def test_4_the_discussion_shows_both_and_the_slider_moves_everything(desk: Desk, lab: Lab) -> None:
    desk.button("Discuss").press("Enter")
    desk.says(f"You have voted on {rows_of(lab)} of {rows_of(lab)} rows")
    desk.button("Show all votes").press("Enter")
    desk.review.locator("svg.marks").wait_for(timeout=60_000)
    desk.says("half an answer")
    desk.says("zoe")
    handle = desk.review.locator(".noUi-handle")
    handle.focus()
    desk.page.keyboard.press("ArrowRight")
    desk.says("0.8 · in claims:")
    desk.says("──── 0.8 ────")
    # The card comes last: keys pressed before would move in a list that is about to be replaced.
    desk.says("the policy now says pass")
    rows = desk.review.get_by_label("Rows around the threshold")
    rows.focus()
    listed = [option.strip() for option in rows.locator("option").all_text_contents()]
    place = next(i for i, option in enumerate(listed) if "wrong-colour-delivered" in option)
    for key in ["Home", *["ArrowDown"] * place]:
        desk.page.keyboard.press(key)
        # A hand is no faster: each row is shown before the next key, so no answer of the kernel overtakes a later one.
        desk.page.wait_for_timeout(700)
    desk.says("the row would pass with delivery-charge in supported_claim_ids")
    desk.review.get_by_label("It needs").select_option(label="contract unclear")
    desk.says("Saved: wrong-colour-delivered needs: contract unclear")
    assert (nameless(desk.page), contrast_problems(desk.page)) == ([], [])
    desk.shot("discuss")


def test_5_the_decision_writes_a_policy_that_gates_the_release_rows(desk: Desk, lab: Lab) -> None:
    desk.button("Decide").press("Enter")
    desk.says("compared rows are decided differently")
    desk.says("+minimum = 0.8 # threshold review 2026-12-01")
    for label, text in {
        "Approved by": "the council", "Rationale": "half an answer about money is not an answer",
        "Dissent": "zoe: too strict", "Actions": "mend the contract | anna | 2026-12-15",
    }.items():  # fmt: skip
        desk.review.get_by_label(label, exact=True).fill(text)
    assert (nameless(desk.page), contrast_problems(desk.page)) == ([], [])
    desk.shot("decide")
    desk.button("Write the policy").press("Enter")
    desk.says("Written: policy.toml, version 2026-12-01")
    path = lab.folder / "runs/review/policy.toml"
    policy = tomllib.loads(path.read_text(encoding="utf-8"))
    assert policy["slices"]["default"] == {"minimum": 0.8}
    assert (policy["approved_by"], policy["dissent"]) == ("the council", "zoe: too strict")
    assert "# Refunds and everyday questions." in path.read_text(encoding="utf-8")
    gate = ["gate", "evidence_coverage", "fixtures/evidence_coverage/release.jsonl", "--as-of", "2026-12-01"]
    done = evalkit(lab.folder, *gate, "--policy", "runs/review/policy.toml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "wrong-colour-delivered" in done.stdout


def test_6_the_page_goes_on_and_its_outcome_is_papermills(
    desk: Desk, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = lab.folder / f"runs/notebooks/{NAME}/outcome.json"
    assert not outcome.exists(), "the page waited behind its curtain"
    desk.page.locator(".jp-Cell", has_text="meeting_page.curtain(widget)").locator(".jp-InputArea-editor").first.click()
    desk.menu("Run Selected Cell and All Below")
    until(outcome.exists, "an outcome file", 120)
    by_hand = json.loads(outcome.read_text(encoding="utf-8"))
    monkeypatch.chdir(lab.folder)
    options = NotebookOptions(out=lab.folder / "headless", parameters=["threshold=0.8"])
    headless = run_notebooks([NAME], options).verdicts[0].facts
    assert headless is not None
    assert by_hand["outcome_hash"] == headless["outcome_hash"]
    assert by_hand["outcome"] == headless["outcome"] == "quality_failed"
    assert by_hand["figures"] == headless["figures"]


def test_7_the_packet_is_the_minutes_and_axe_finds_nothing(lab: Lab, playwright: Any) -> None:
    arguments = ["--labels", "fixtures/evidence_coverage/review/labels.jsonl", "--policy", "runs/review/policy.toml"]
    done = evalkit(lab.folder, "packet", "runs/mine", *arguments, "--out", "packet.html", "--minutes", "minutes.md")
    assert (done.returncode, done.stderr) == (0, "")
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    page = browser.new_page(viewport={"width": 1024, "height": 900})
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto((lab.folder / "packet.html").as_uri())
    text = page.locator("main").inner_text()
    for said in ("the council", "anna, zoe", "zoe: too strict", "mend the contract", "default: 0.75 → 0.8"):
        assert said in text
    assert "not the one that was decided" not in text
    assert axe(page) == []
    assert page.evaluate("window.pwned") is None
    assert {url.partition(":")[0] for url in asked} <= {"file", "data"}
    assert complaints == []
    for width in (1024, 512):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    SCREENS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENS / "meeting-packet.png")
    browser.close()
    assert "- **Attendees:** anna, zoe" in (lab.folder / "minutes.md").read_text(encoding="utf-8")


def test_8_no_request_left_the_machine_and_no_text_of_a_row_ran(desk: Desk, lab: Lab) -> None:
    known = (lab.address, lab.address.replace("http", "ws"), "data:", "blob:")
    assert [url for url in desk.asked if not url.startswith(known)] == []
    assert desk.page.evaluate("window.pwned") is None
