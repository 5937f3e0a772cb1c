"""The explorer without a browser: observers fire without a front end, and all that is chosen stands in traits."""

from __future__ import annotations

import time
from html.parser import HTMLParser
from typing import Any

import pytest

from evalkit.cases.read import Case
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.pages.row_view import ANY, NONE, Part, row_parts
from evalkit.pages.widgets import PAGE_SIZE, RowExplorer, card_html
from evalkit.scoring.records import Record, Ruling
from evalkit.scoring.score import Scorer

EVIL = '<img src=x onerror="alert(1)"></pre></script><script>alert(1)</script>" onmouseover="alert(1)'


def record(line: int, supported: int, decision: Any, **more: Any) -> Record:
    ids = ["a", "b", "c", "d"]
    fields = {
        "required_claim_ids": ids if supported >= 0 else [],
        "supported_claim_ids": ids[: max(supported, 0)],
        **more,
    }
    case = Case(line, more.get("case_id", f"case-{line}"), more.get("slice", "default"), True, fields)
    scored = Scorer(evidence_coverage).record(case)
    return scored.ruled(Ruling(decision, 0.75, "7", "answer")) if supported >= 0 else scored


def rows() -> list[Record]:
    return [
        record(1, -1, None),
        record(2, 1, "fail"),
        record(3, 2, "fail", slice="refunds"),
        record(4, 4, "pass", slice="refunds"),
        record(5, 3, "pass"),
    ]


@pytest.fixture
def explorer() -> RowExplorer:
    return RowExplorer(rows(), evidence_coverage.contract)


def listed(explorer: RowExplorer) -> list[int]:
    return [explorer.rows[position].line for _, position in explorer.row_list.options]


def test_it_opens_on_the_first_row_with_every_row_listed(explorer: RowExplorer) -> None:
    assert listed(explorer) == [1, 2, 3, 4, 5]
    assert explorer.chosen == 0
    assert "required_claim_ids must not be empty" in explorer.card.value
    assert "5 of 5 rows match" in explorer.count.value


@pytest.mark.parametrize(
    ("control", "value", "lines"),
    [
        ("state_filter", "invalid", [1]),
        ("decision_filter", "fail", [2, 3]),
        ("decision_filter", NONE, [1]),
        ("slice_filter", "refunds", [3, 4]),
        ("text_filter", "case-4", [4]),
        ("text_filter", "nowhere", []),
    ],
)
def test_each_control_filters(explorer: RowExplorer, control: str, value: str, lines: list[int]) -> None:
    getattr(explorer, control).value = value
    assert listed(explorer) == lines
    assert explorer.found == len(lines)
    assert f"{len(lines)} of 5 rows match" in explorer.count.value


def test_filters_combine_and_are_undone(explorer: RowExplorer) -> None:
    explorer.slice_filter.value = "refunds"
    explorer.decision_filter.value = "fail"
    assert listed(explorer) == [3]
    assert explorer.chosen == 2
    explorer.slice_filter.value = explorer.decision_filter.value = ANY
    assert listed(explorer) == [1, 2, 3, 4, 5]


def test_traits_and_controls_follow_each_other(explorer: RowExplorer) -> None:
    explorer.by_state = "scored"
    assert explorer.state_filter.value == "scored"
    explorer.state_filter.value = ANY
    assert explorer.by_state == ANY


def test_choosing_a_row_shows_inputs_missing_ids_reason_and_owner(explorer: RowExplorer) -> None:
    explorer.row_list.value = 1
    assert explorer.chosen == 1
    for text in (
        "supported=1; required=4; missing=b,c,d",
        "<h4>Owner</h4><pre>answer</pre>",
        "<pre>- a\n- b\n- c\n- d</pre>",
    ):
        assert text in explorer.card.value
    assert "fail: 0.25 against 0.75" in explorer.card.value


def test_nothing_that_matches_is_said_and_no_old_row_stays(explorer: RowExplorer) -> None:
    explorer.text_filter.value = "nowhere"
    assert explorer.chosen is None
    assert "No row matches" in explorer.card.value
    explorer.text_filter.value = ""
    assert explorer.chosen == 0
    assert "case-1" in explorer.card.value


def test_no_rows_at_all() -> None:
    explorer = RowExplorer([])
    assert (explorer.found, explorer.chosen) == (0, None)
    assert "0 of 0 rows match" in explorer.count.value


def test_the_list_turns_pages_and_a_filter_turns_back_to_the_first() -> None:
    explorer = RowExplorer([record(line, 4, "pass") for line in range(1, 251)])
    assert listed(explorer) == list(range(1, PAGE_SIZE + 1))
    assert (explorer.back.disabled, explorer.forward.disabled) == (True, False)
    explorer.forward.click()
    explorer.forward.click()
    assert listed(explorer) == list(range(201, 251))
    assert "250 of 250 rows match, listed are 201 to 250" in explorer.count.value
    assert (explorer.back.disabled, explorer.forward.disabled) == (False, True)
    assert explorer.chosen == 200
    explorer.forward.click()
    assert explorer.page == 2, "there is no page behind the last"
    explorer.text_filter.value = "case-24"
    assert explorer.page == 0
    assert listed(explorer) == [24, 240, 241, 242, 243, 244, 245, 246, 247, 248, 249]


def test_fifty_thousand_rows_are_filtered_at_once_and_listed_in_pages() -> None:
    one = record(1, 4, "pass")
    explorer = RowExplorer([one._replace(line=line, case_id=f"case-{line}") for line in range(50_000)])
    assert len(explorer.row_list.options) == PAGE_SIZE
    since = time.monotonic()
    explorer.text_filter.value = "case-49999"
    assert time.monotonic() - since < 2.0, "typing must not wait"
    assert explorer.found == 1


class Markup(HTMLParser):
    """Collects what a browser would take for markup."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_hostile_text_of_a_row_is_inert() -> None:
    evidence = {"question": EVIL, "answer": EVIL, "claims": {EVIL: EVIL}, EVIL: EVIL}
    explorer = RowExplorer([record(1, 2, "fail", case_id=EVIL, slice=EVIL, evidence=evidence)])
    for html in (explorer.card.value, explorer.count.value):
        found = Markup(html)
        assert found.tags <= {"div", "h4", "pre", "details", "summary", "span"}
        assert found.attributes <= {"class", "tabindex", "role", "aria-label", "open"}
    assert "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;" in explorer.card.value
    # Options of a list are set as text by the front end, so they are not escaped; descriptions are never from a row.
    assert EVIL in explorer.slice_filter.options[1][0]


def test_the_card_is_reachable_by_keyboard_and_named_for_a_screen_reader() -> None:
    html = card_html(row_parts(rows()[1]))
    assert 'tabindex="0" role="region" aria-label="The chosen row"' in html
    explorer = RowExplorer(rows())
    assert [c.description for c in (explorer.state_filter, explorer.decision_filter, explorer.slice_filter)] == [
        "State", "Decision", "Slice",
    ]  # fmt: skip
    assert 'role="status"' in explorer.count.value


def test_a_long_part_can_be_folded_away() -> None:
    assert (
        card_html([Part("T", "x", is_long=True)]).count("<details open><summary>T</summary><pre>x</pre></details>") == 1
    )
