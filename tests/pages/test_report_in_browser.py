from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evalkit.pages.report import render_report
from evalkit.scoring.counted import Counted

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        CHROMIUM is None or importlib.util.find_spec("playwright") is None,
        reason="needs Debian's chromium and playwright",
    ),
]

EVIL = '<img src=x onerror="window.pwned=1"></script><script>window.pwned=1</script>" onmouseover="window.pwned=1'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def rows(coverage_row: Callable[..., dict[str, Any]]) -> list[dict[str, Any] | str]:
    evidence = {
        "question": EVIL,
        "answer": EVIL,
        "retrieved": [{"document_id": EVIL, "text": EVIL}],
        "claims": {"d": EVIL},
    }
    return [
        coverage_row("good", 4),
        coverage_row(EVIL, 1, evidence=evidence),
        coverage_row("doubt", 7, 10, slice="doubtful", evidence={"answer": "a pale green teapot"}),
        "not json",
    ]


def test_the_page_is_inert_filters_and_asks_nothing_of_the_network(
    gated: Callable[..., Any], coverage_row: Callable[..., dict[str, Any]], browser: Any
) -> None:
    made = gated(rows(coverage_row))
    page = browser.new_page(viewport={"width": 1024, "height": 800})
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((made.run.folder / "report.html").as_uri())
    page.locator("#fold").click()
    assert page.evaluate("document.querySelectorAll('details.row[open]').length") == 4
    assert page.evaluate("window.pwned") is None

    def shown() -> list[str]:
        ids: list[str] = page.eval_on_selector_all("details.row", "rows => rows.filter(r => !r.hidden).map(r => r.id)")
        return ids

    assert page.locator("#status").inner_text() == "4 of 4 rows on this page"
    page.select_option("#by-decision", "review")
    assert shown() == ["row-3"]
    page.locator("#reset").click()
    page.fill("#by-text", "TEAPOT")  # in the evidence, not in the summary line
    assert shown() == ["row-3"]
    page.fill("#by-text", "")
    page.select_option("#by-state", "invalid")
    assert shown() == ["row-4"]
    # A link from a blocker shows its row although the filter hides it.
    page.locator("#blockers a[href='#row-2']").click()
    page.wait_for_function("document.getElementById('row-2').open && !document.getElementById('row-2').hidden")
    assert [url for url in asked if not url.startswith("file:")] == []
    assert len(asked) == 1
    assert complaints == []
    page.close()


@pytest.mark.parametrize("width", [1024, 512])
def test_nothing_runs_out_of_the_page_at_1024_px_nor_at_200_percent(
    gated: Callable[..., Any], coverage_row: Callable[..., dict[str, Any]], browser: Any, width: int
) -> None:
    long = "without-any-place-to-break-" * 12
    made = gated([*rows(coverage_row), coverage_row(long, 1, slice=long.replace("-", ""))])
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto((made.run.folder / "report.html").as_uri())
    page.locator("#fold").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_the_longest_page_answers_a_filter_at_once(
    gated: Callable[..., Any], coverage_row: Callable[..., dict[str, Any]], browser: Any
) -> None:
    made = gated([coverage_row(f"row-{n}", n % 5) for n in range(2_000)])
    page = browser.new_page()
    page.set_content(render_report(made.run, made.facts, Counted(made.result.ledger, made.result.places)))
    spent = page.evaluate(
        "() => { const start = performance.now(); const text = document.getElementById('by-text');"
        " text.value = 'missing=d'; text.dispatchEvent(new Event('input')); return performance.now() - start; }"
    )
    assert spent < 1_000
    # n % 5 in (3, 4) passes: 1,200 rows fail, and of the 800 that pass the first 200 are shown. n % 5 == 3 leaves
    # exactly the claim d missing: half of those 200.
    assert page.locator("#status").inner_text() == "100 of 1400 rows on this page"
    page.close()
