"""Scripts, handlers, links and hidden characters in every text field: inert on each page, visible on each screen."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import meeting_room as room
import pytest
from hostile import Said, evalkit

from evalkit.decisions.meeting.agenda import AgendaOptions, review_folder
from evalkit.decisions.meeting.approve import Action, Approved
from evalkit.pages.row_view import row_parts
from evalkit.pages.widgets import card_html
from evalkit.scoring.run import open_run

CHROMIUM = shutil.which("chromium")
EVIL = (
    "</script><script>window.pwned=1</script><svg/onload=window.pwned=1><img src=x onerror=window.pwned=1>"
    "\" onmouseover=\"window.pwned=1\" x=' onfocus='window.pwned=1' autofocus tabindex=1 "
    "[click](javascript:window.pwned=1) javascript:window.pwned=1 </style></title></textarea>{{7*7}}${7*7}"
    "\u202eelif\u2066\u200b\x1b[31mred\x1b]0;title\x07\x9b2J\x00\r\x08"
)
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]")
"""What a screen or a page must never pass on: C0 and C1 but tab and line feed, zero widths, bidi overrides."""


def evil_row(case_id: str, supported: int, **more: Any) -> dict[str, Any]:
    """A row whose every text is hostile; its ids are, too, and still distinct."""
    ids = [f"{claim} {EVIL}" for claim in room.CLAIMS[:4]]
    passage = dict.fromkeys(("document_id", "revision", "passage_id", "text", "title", "url", "source"), EVIL)
    evidence = {
        "question": f"{case_id} {EVIL}", "answer": EVIL, "reference": EVIL, EVIL: EVIL,
        "url": "javascript:window.pwned=1",
        "citations": [{"claim_id": ids[0], "document_id": EVIL, "span": EVIL}],
        "retrieved": [passage, passage | {"text": ids[1]}], "claims": {claim: f"{claim} {EVIL}" for claim in ids},
    }  # fmt: skip
    fields = (
        "family", "system_revision", "source", "stratum", "rationale", "role", "pair_id", "requirement_set_version",
        "rubric_version", "evidence_version",
    )  # fmt: skip
    return {
        "case_id": f"{case_id} {EVIL}", "required_claim_ids": ids, "supported_claim_ids": ids[:supported],
        "generation": {"model": EVIL, EVIL: EVIL}, "evidence": evidence, EVIL: EVIL,
        **dict.fromkeys(fields, EVIL), **more,
    }  # fmt: skip


POLICY = room.POLICY.replace('"the council"', json.dumps(EVIL)).replace('"made up"', json.dumps(EVIL)) + (
    f"[slices.{json.dumps(EVIL)}]\nminimum = 0.75\n"
)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that evalkit writes about hostile rows, and what it said meanwhile in ``said.json``."""
    here = tmp_path_factory.mktemp("hostile")
    said: list[Said] = []
    rows = [evil_row(f"r{n}", n) for n in range(5)] + [evil_row("s", 2, slice=EVIL), evil_row("t", 4, slice=EVIL)]
    rows += [evil_row("unknown", 2, supported_claim_ids=[EVIL]), evil_row("type", 2, supported_claim_ids=EVIL)]
    rows += [evil_row("r0", 1), {"case_id": EVIL, "evidence": {EVIL: EVIL}, "slice": 5}, {EVIL: EVIL}]
    older = [row | {"supported_claim_ids": row["required_claim_ids"][:1]} for row in rows[:7]]
    older[0] = older[0] | {"evidence": rows[0]["evidence"] | {"answer": f"old {EVIL}", "retrieved": []}}
    room.write_policy(here / "policy.toml", POLICY)
    policy = ("--policy", here / "policy.toml", "--as-of", "2026-12-01")
    for name, found in (("run", rows), ("older", older)):
        room.write_lines(here / f"{name}.jsonl", found)
        leave = ("--run", here / name, "--json", here / f"{name}.json")
        more = ("--junit", here / f"{name}.xml", "--summary", here / f"{name}.md")
        said.append(evalkit("gate", "evidence_coverage", here / f"{name}.jsonl", *policy, *leave, *more))
    label = {"reviewer": f"r1 {EVIL[:40]}", "label": "fail", "reason": EVIL, "rubric_version": EVIL}
    labels = [{"case_id": row["case_id"], **label} for row in rows[:5]]
    room.write_lines(here / "labels.jsonl", labels)
    labelled = ("evidence_coverage", here / "run.jsonl", "--labels", here / "labels.jsonl")
    trace = dict.fromkeys(("question", "answer"), EVIL) | {"error": None, "reference": f"{EVIL}. {EVIL}"}
    trace |= {"retrieved": [{"text": EVIL, "document_id": EVIL}], "generation": {"contexts": [EVIL]}}
    traces = [trace | {"trace_id": f"{n} {EVIL}"} for n in range(3)]
    room.write_lines(here / "traces.jsonl", traces)
    unquoted = EVIL.replace('"', "")
    (here / "sheet.csv").write_text(f'Trace,Label,"A{unquoted}"\n"{unquoted}",x,y\n')
    made_for = 'case_id = "Trace"\nlabel = "Label"\nreviewer = { value = "r" }\nselection = "random"\n'
    (here / "map.toml").write_text(made_for)
    commands: list[tuple[object, ...]] = [
        ("gate", "evidence_coverage", here / "run.jsonl", *policy, "--baseline", here / "older"),
        ("score", "evidence_coverage", here / "run.jsonl", "--run", here / "scored"),
        ("explain", here / "run", "--json", here / "e.json", "--markdown", here / "e.md"),
        ("explain", here / "run", here / "older", "--json", here / "e2.json", "--markdown", here / "e2.md"),
        ("compare", here / "older", here / "run", here / "run.jsonl", "--markdown", here / "c.md", *policy),
        ("calibrate", *labelled), ("estimate", *labelled, "--threshold", "0.5"), ("next-labels", *labelled),
        ("flips", *labelled, "--from", "0.5", "--to", "0.9"),
        ("partition", here / "run.jsonl", "--out", here / "split"),
        ("adapt", "plain", here / "traces.jsonl", "--out", here / "cases"), ("audit", "plain", here / "traces.jsonl"),
        ("claims", "draft", here / "traces.jsonl", "--out", here / "draft.csv"),
        ("labels", "import", here / "sheet.csv", "--map", here / "map.toml", "--out", here / "labels2.jsonl"),
        ("ballot", here / "run", "--out", here / "ballot.html"),
        ("gate", f"no-such-{EVIL.replace(chr(0), '')}", here / "run.jsonl", *policy),
        ("gate", "evidence_coverage", here / f"no {EVIL[:30]} \x1b[2J", *policy), ("new", f"x{EVIL[-40:-1]}"),
    ]  # fmt: skip
    said += [evalkit(*command) for command in commands]
    review = room.opened(here, rows=rows, policy=POLICY, folder=review_folder(here / "run"),
                         thresholds={"default": 0.75, EVIL: 0.75}, agenda=AgendaOptions(n=9, far=0))  # fmt: skip
    for case_id in review.agenda.rows:
        review.cast("anna", case_id, "ship", EVIL)
        review.cast("<b>bo</b>", case_id, "hold", EVIL)
    review.decide({"default": 0.8, EVIL: 0.75}, Approved(
        approved_by=EVIL, rationale=EVIL, expires_on=room.date(2027, 2, 1), decided_on=room.DAY, basis="by_definition",
        dissent=EVIL, attendees=(EVIL,), actions=(Action(EVIL, EVIL, room.DAY),),
    ))  # fmt: skip
    leave = ("--out", here / "packet.html", "--minutes", here / "minutes.md")
    said.append(evalkit("packet", here / "run", "--policy", here / "decided.toml", *leave))
    assert said[-1].code == 0, said[-1]
    cards = "".join(card_html(row_parts(record)) for record in open_run(here / "run").records())
    (here / "cards.html").write_text(f"<!doctype html><meta charset=utf-8><title>t</title>{cards}", encoding="utf-8")
    (here / "said.json").write_text(json.dumps([said_.out + said_.err for said_ in said]))
    return here


PAGES = ("run/report.html", "older/report.html", "ballot.html", "packet.html", "cards.html")
TEXTS = ("run.md", "e.md", "e2.md", "c.md", "minutes.md", "run.xml", "run/summary.md")


def test_no_screen_passes_on_what_a_terminal_would_obey_or_hide(here: Path) -> None:
    said = json.loads((here / "said.json").read_text())
    assert sum(len(text) > 200 for text in said) > 10
    for text in said:
        assert HIDDEN.search(text) is None, text[max(0, HIDDEN.search(text).start() - 200) :][:400]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [*PAGES, *TEXTS])
def test_no_file_that_people_open_holds_a_control_or_bidi_character(here: Path, name: str) -> None:
    text = (here / name).read_text(encoding="utf-8")
    found = HIDDEN.search(text.replace("\r\n", "\n"))
    assert found is None, text[max(0, found.start() - 200) :][:400]


@pytest.mark.parametrize("name", ["run.md", "e.md", "e2.md", "c.md", "minutes.md", "run/summary.md"])
def test_markdown_holds_no_markup_of_a_row(here: Path, name: str) -> None:
    text = (here / name).read_text(encoding="utf-8")
    assert not re.search(r"(?<!\\)<(script|svg|img|/style|/title|/textarea)", text, re.IGNORECASE)
    assert not re.search(r"(?<!\\)\]\(javascript:", text)


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None or find_spec("playwright") is None:
        pytest.skip("needs Debian's chromium and playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_inert_however_it_is_used(here: Path, browser: Any, name: str) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.goto((here / name).as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    # Whoever reads the page moves over everything, and through it with the keyboard.
    page.evaluate(
        "document.querySelectorAll('*').forEach(e => ['mouseover', 'mouseenter', 'focus', 'load', 'error', 'click'"
        "].forEach(kind => { if (e.tagName !== 'A' && e.tagName !== 'BUTTON') e.dispatchEvent(new Event(kind)); }))"
    )
    for _ in range(30):
        page.keyboard.press("Tab")
    assert page.evaluate("window.pwned") is None
    assert page.locator("img:not([src^='data:']), iframe, object, embed").count() == 0
    links = page.eval_on_selector_all("a[href], [src], [action]", "all => all.map(e => e.href || e.src || e.action)")
    assert [link for link in links if re.match(r"\s*(javascript|data:text)", str(link), re.IGNORECASE)] == []
    handlers = page.evaluate(
        "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(name => name.startsWith('on'))"
    )
    assert handlers == []
    assert "</script>" in page.inner_text("body"), "the hostile text itself must be readable"
    assert [url for url in asked if not url.startswith("file:")] == []
    assert complaints == []
    page.close()
