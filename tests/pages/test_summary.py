from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from evalkit.pages.plain import plain
from evalkit.pages.summary import EXAMPLES, markdown_text, render_summary

Row = Callable[..., dict[str, Any]]
MARKDOWN = MarkdownIt("gfm-like", {"html": True})


class _Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in ("td", "th", "p"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def test_outcome_first_then_blockers_with_owner_and_what_to_do(gated: Callable[..., Any], coverage_row: Row) -> None:
    facts = gated([coverage_row("good", 4), coverage_row("bad", 1)]).facts
    text = render_summary(facts)
    assert text.startswith("## Quality failed: 1 of 2 decided blocking rows fail\n")
    assert "| outcome | owner | what | do |" in text
    assert "| quality_failed | answer | 1 of 2 decided blocking rows fail in default |" in text
    assert "| bad | 2 | default | 0.25 \\< 0.75 | supported=1; required=4; missing=b,c,d" in text
    assert f"outcome hash `{facts['outcome_hash']}`" in text
    assert "| default | 2 | 2 of 2 | 1 of 2 | 1 of 2 |" in text


def test_five_examples_of_each_blocker(gated: Callable[..., Any], coverage_row: Row) -> None:
    rows = [coverage_row(f"bad-{n}", 1) for n in range(8)] + [coverage_row(f"broken-{n}", 0, 0) for n in range(2)]
    text = render_summary(gated(rows).facts)
    assert sum(f"| bad-{n} |" in text for n in range(8)) == EXAMPLES
    assert sum(f"| broken-{n} |" in text for n in range(2)) == 2
    assert "3 more of 8 rows (failed) are in the outcome file." in text


def test_report_mode_baseline_and_warnings_are_said(
    gated: Callable[..., Any], coverage_row: Row, policy_text: str
) -> None:
    old = gated([coverage_row("was-bad", 1), coverage_row("stays-bad", 1), coverage_row("gets-bad", 4)])
    rows = [coverage_row("was-bad", 4), coverage_row("stays-bad", 1), coverage_row("gets-bad", 1)]
    facts = gated(rows, policy=f'mode = "report"\n{policy_text}', baseline=old.run.folder).facts
    text = render_summary(facts)
    assert "- Report mode: " in text
    # One row each way: p = 2 * P(X <= 1 | n = 2, 1/2) capped at 1.
    assert "exact McNemar test p = 1.0: of 3 rows decided in both runs, 2 changed sides" in text
    assert "- new failures: 1 (gets-bad)" in text
    assert "- known failures (failed in the baseline too): 1 (stays-bad)" in text
    assert "- fixed: 1 (was-bad)" in text


@pytest.mark.parametrize(
    "hostile",
    [
        "a|b", "`code`", "```", "<script>alert(1)</script>", "[x](javascript:alert(1))", "![x](http://x.example/p.png)",
        "https://evil.example/", "www.evil.example", "HTTPS://evil.example", "# heading", "- item", "1. item", "+ item",
        "> quote", "---", "a\nb", "| a |\n| --- |", "**bold** _em_ ~~s~~", "&lt;b&gt;", "\\",
        "a\\|b", "$x$", "@someone",
        "a\x1b[31m\u202eb", "<!-- comment", "mail@x.example", "    indented",
    ],
)  # fmt: skip
def test_hostile_text_stays_one_inert_cell(hostile: str) -> None:
    table = f"| a | b |\n| --- | --- |\n| {markdown_text(hostile)} | after |\n"
    page = _Page(MARKDOWN.render(table))
    assert page.tags == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    assert page.cells[2].strip() == plain(hostile).strip()
    assert page.cells[3].strip() == "after"
    item = _Page(MARKDOWN.render(f"- {markdown_text(hostile)}\n"))
    assert item.tags == ["ul", "li"]


@given(st.text(min_size=1))
def test_any_text_survives_a_table_cell(text: str) -> None:
    page = _Page(MARKDOWN.render(f"| a | b |\n| --- | --- |\n| x{markdown_text(text)}x | after |\n"))
    assert page.tags == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    assert page.cells[3].strip() == "after"


def test_a_hostile_run_has_no_markup_but_the_summarys_own(gated: Callable[..., Any], coverage_row: Row) -> None:
    evil = "x|y`z</td><img src=x onerror=alert(1)>[l](javascript:1)"
    rows = [coverage_row(evil, 1), {"case_id": "b", "required_claim_ids": [evil], "supported_claim_ids": []}]
    page = _Page(MARKDOWN.render(render_summary(gated(rows).facts)))
    assert set(page.tags) <= {"h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "code"}
    assert plain(evil) in [cell.strip() for cell in page.cells]


def test_long_texts_are_cut_and_say_so() -> None:
    assert markdown_text("x" * 310) == "x" * 300 + "… (10 more characters)"


def test_a07_an_empty_file_says_what_was_found(gated: Callable[..., Any]) -> None:
    text = render_summary(gated(["", ""]).facts)
    assert text.startswith("## Incomplete")
    assert "nothing was evaluated: 2 lines, 2 of them blank, 0 cases" in text
