from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from evalkit.pages import report as report_module
from evalkit.pages.publish import score_to_run
from evalkit.pages.report import render_report
from evalkit.scoring.counted import Counted
from evalkit.scoring.run import Run

Row = Callable[..., dict[str, Any]]
TEMPLATES = Path(report_module.__file__).parent / "templates"

HOSTILE = (
    "<script>window.pwned=1</script></script><svg onload=alert(1)><img src=x onerror=alert(1)>"
    '<a href="javascript:alert(1)">l</a>\' onmouseover=\'x" style="x {{ 7 * 7 }} &lt; \u202eRLO\u2066 \x1b[31mred\x07 '
    "\u2028\u2029</style></title><!-- --> <meta http-equiv=refresh content=0>"
)


class Page(HTMLParser):
    """Tags with attributes, and the text outside of script and style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag if tag in self.raw else ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.raw[self._inside].append(data)
        else:
            self.text += data

    def named(self, tag: str, cls: str = "") -> list[dict[str, str | None]]:
        found = [attrs for name, attrs in self.tags if name == tag]
        return [attrs for attrs in found if not cls or cls in str(attrs.get("class")).split()]


def hostile_row(case_id: str, **more: Any) -> dict[str, Any]:
    evil = HOSTILE
    evidence = {
        "question": evil, "answer": f"so {evil} it is",
        "citations": [{"claim_id": evil, "document_id": evil, "span": evil}],
        "retrieved": [{"document_id": evil, "revision": evil, "passage_id": evil, "text": f"{evil} and {evil}"}],
        "claims": {evil: evil}, "reference": evil, evil: {evil: [evil]},
    }  # fmt: skip
    row = {"case_id": case_id, "required_claim_ids": [evil, "b"], "supported_claim_ids": ["b"], "slice": "default"}
    return row | {"evidence": evidence, "system_revision": evil, "requirement_set_version": evil} | more


def test_one_offline_page_that_only_its_own_script_and_style_may_touch(
    gated: Callable[..., Any], coverage_row: Row
) -> None:
    page = Page(gated([coverage_row("good", 4), coverage_row("bad", 1)]).html)
    for _, attrs in page.tags:
        assert not {"src", "srcset", "action", "formaction", "style", "data"} & attrs.keys()
        assert not any(name.startswith("on") for name in attrs)
        assert str(attrs.get("href", "#")).startswith("#")
    assert [tag for tag, _ in page.tags if tag in ("link", "iframe", "object", "embed", "base", "img", "form")] == []
    (policy,) = [a["content"] for a in page.named("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert str(policy).startswith("default-src 'none'; ")
    assert "unsafe" not in str(policy)
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        (content,) = page.raw[tag]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in str(policy)
    assert not re.search(r"https?:|@import|url\((?!#)", (TEMPLATES / "report.css").read_text("utf-8"))


def test_hostile_text_is_shown_and_stays_inert_everywhere(gated: Callable[..., Any], policy_text: str) -> None:
    rows = [hostile_row(HOSTILE), hostile_row("x", slice=HOSTILE), hostile_row("y", family=HOSTILE, blocking=False)]
    policy = policy_text.replace('rationale = "made up"', f"rationale = '''{_toml(HOSTILE)}'''")
    html = gated([*rows, f'"{HOSTILE}"'], policy=policy).html
    page = Page(html)
    assert len(page.named("script")) == 1
    assert page.raw["script"] == [(TEMPLATES / "report.js").read_text("utf-8")]
    assert len(page.named("meta")) == 4
    assert {tag for tag, _ in page.tags} <= {
        "html", "head", "meta", "title", "style", "body", "header", "p", "div", "h1", "nav", "a", "section", "h2", "h3",
        "h4", "strong", "table", "thead", "tbody", "tr", "th", "td", "span", "svg", "line", "text", "rect", "defs",
        "pattern", "circle", "details", "summary", "dl", "dt", "dd", "ul", "li", "label", "select", "option", "input",
        "button", "br", "code", "mark", "script",
    }  # fmt: skip
    for _, attrs in page.tags:
        assert not any(name.startswith("on") or name == "style" for name in attrs), attrs
        assert str(attrs.get("href", "#")).startswith("#")
    assert all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp") for c in html)
    assert "<script>window.pwned=1</script></script><svg onload=alert(1)>" in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert "[U+202E]RLO[U+2066] \\x1b[31mred\\x07" in page.text


def _toml(text: str) -> str:
    """Leave out what a TOML literal cannot hold."""
    return "".join(c for c in text.replace("'", "") if c == "\t" or unicodedata.category(c) != "Cc")


def test_the_page_tells_outcome_policy_contract_counts_and_blockers(
    gated: Callable[..., Any], coverage_row: Row
) -> None:
    html = gated([coverage_row("good", 4), coverage_row("bad", 2), "not json"]).html
    page = Page(html)
    text = re.sub(r"\s+", " ", page.text)
    assert "Incomplete: this run cannot be judged, for 1 reason" in text
    assert (
        "1 of 2 scored rows pass, 1 of 2 fail; 1 of 3 rows invalid; mean 0.75 over 2 of 3 rows" in text
    )  # (1 + 0.5) / 2
    for told in (
        "release 7",
        "the council, on 2026-11-01",
        "2027-02-28 (89 days after this run was judged)",
        "made up",
    ):
        assert told in text
    assert "a row passes at 0.75 or more; from 0.65 up to that, a person decides" in text
    for question in ("What one property does evidence_coverage measure?", "When is a row invalid rather than bad?",
                     "Which inputs are reviewed, which produced?", "Who reads the score?"):  # fmt: skip
        assert question in text
    assert "1 of 3 blocking rows are invalid, the policy allows 0" in text
    assert "owner test-data" in text
    assert "0.75 on 4 claims = 3 of 4 (2 of 2 rows)" in text
    assert "0.5 < 0.75" in text
    assert {"href": "#row-2"} in page.named("a")
    assert [row["id"] for row in page.named("details", "row")] == ["row-2", "row-3", "row-1"]


def test_evidence_of_a_row_leads_to_what_is_missing(gated: Callable[..., Any]) -> None:
    row = {
        "case_id": "lamp", "required_claim_ids": ["window", "method"], "supported_claim_ids": ["window"],
        "evidence": {
            "question": "How long?", "answer": "You have 30 days.",
            "citations": [{"claim_id": "window", "document_id": "policy-v2", "span": "30 days"},
                          {"claim_id": "method", "document_id": "policy-v1", "span": "to your card"}],
            "retrieved": [{"document_id": "policy-v2", "passage_id": "p#1", "revision": "r9", "text": "30 days."}],
            "claims": {"window": "30 days.", "method": "To the card."},
        },
    }  # fmt: skip
    html = gated([row]).html
    assert '<mark>30 days</mark><span class="by">window</span>' in html
    text = re.sub(r"\s+", " ", Page(html).text)
    assert "method✗ missingTo the card.cited from policy-v1" in text
    assert "cited but not found word for word in the answer: method" in text
    assert "p#1 · policy-v2 · revision r9" in text
    for word in ("input_hash", "seen_hash", "Owner"):
        assert word in text


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ({"retrieved": None}, "null: the trace was lost"),
        ({"retrieved": []}, "[]: nothing was retrieved"),
        ({"question": "q"}, "not recorded in this case"),
    ],
)
def test_lost_and_empty_retrieval_are_different_facts(
    gated: Callable[..., Any], coverage_row: Row, evidence: dict[str, Any], said: str
) -> None:
    assert said in gated([coverage_row("x", 4, evidence=evidence)]).html


def test_knife_edges_and_report_mode_are_on_the_page(gated: Callable[..., Any], policy_text: str) -> None:
    from evalkit.contract import make_metric

    def given(score: float) -> float:
        return score

    policy = policy_text.replace('"evidence_coverage"', '"given"').replace('version = "1"', 'version = "0"')
    rows = [{"case_id": "edge", "score": 0.75 - 1e-10}]
    html = gated(rows, policy=f'mode = "report"\n{policy}', metric=make_metric(given, (0.0, 1.0))).html
    assert "edge: 0.7499999999 against 0.75 differs by less than 1e-09" in html
    assert "0.7499999999 &lt; 0.75" in html
    assert "Report mode: the policy shows the outcome (quality_failed) without enforcing it" in html
    assert "given has no contract. Nobody has answered:" in html


def test_labels_get_a_table_instead_of_an_axis(gated: Callable[..., Any], policy_text: str) -> None:
    from evalkit.contract import make_metric

    def verdict(label: str) -> str:
        return label

    policy = policy_text.replace('"evidence_coverage"', '"verdict"').replace('version = "1"', 'version = "0"')
    policy = policy.replace("minimum = 0.75\nreview_band = 0.1", 'require = ["pass"]').replace(
        "minimum = 0.75", 'require = ["pass"]'
    )
    rows = [{"case_id": f"r{n}", "label": label} for n, label in enumerate(["pass", "pass", "fail"])]
    text = re.sub(
        r"\s+", " ", Page(gated(rows, policy=policy, metric=make_metric(verdict, ["pass", "fail"])).html).text
    )
    assert "failfail1 of 3 rows" in text
    assert "passpass2 of 3 rows" in text


def test_a_run_that_was_only_scored(tmp_path: Path) -> None:
    from evalkit.metrics.evidence_coverage import evidence_coverage

    cases = tmp_path / "c.jsonl"
    cases.write_text(
        '{"case_id": "a", "required_claim_ids": ["x", "y"], "supported_claim_ids": ["x"]}\n{bad\n', "utf-8"
    )
    run = score_to_run(evidence_coverage, cases, tmp_path / "run").run
    text = re.sub(r"\s+", " ", Page((run.folder / "report.html").read_text("utf-8")).text)
    assert "Scored, not judged: no policy was given" in text
    assert "1 of 2 rows scored; 1 of 2 rows invalid; mean 0.5 over 1 of 2 rows" in text
    assert "1 of 2 rows were not scored; they come first" in text
    assert "What blocks" not in text


def test_200_passing_rows_at_most_the_failing_ones_first_and_the_rest_accounted_for(
    gated: Callable[..., Any], coverage_row: Row
) -> None:
    rows = [coverage_row(f"good-{n}", 4) for n in range(2_100)] + [coverage_row("bad", 1)]
    html = gated(rows).html
    shown = re.findall(r'<details class="row" id="(row-\d+)"', html)
    # the one that fails, and 200 of the 2,100 that pass
    assert len(shown) == 201
    assert shown[0] == "row-2101"
    assert "This page shows 201 of 2101 rows; all are in records.jsonl beside it." in html
    assert "1 of 2101 rows did not plainly pass" in html


def test_rendering_is_quick(gated: Callable[..., Any]) -> None:
    small = gated([_full_row(n) for n in range(30)])
    large = gated([_full_row(n) for n in range(2_000)])
    # Processor time, best of three: 0.03 s and 0.8 s on a quiet core; another test on the machine does not count.
    assert _seconds(small) < 0.1
    assert _seconds(large) < 1.5


def _full_row(n: int) -> dict[str, Any]:
    passages = [
        {"document_id": f"d{i}", "passage_id": f"d{i}#1", "text": "A passage of the usual length. " * 8}
        for i in range(4)
    ]
    evidence = {"question": "Why?", "answer": "Because. " * 30, "retrieved": passages, "claims": {"a": "A.", "b": "B."}}
    return {
        "case_id": f"r{n}",
        "required_claim_ids": ["a", "b"],
        "supported_claim_ids": ["a", "b"][: n % 3],
        "evidence": evidence,
    }


def _seconds(made: Any) -> float:
    def once() -> float:
        start = time.process_time()
        render_report(made.run, made.facts, Counted(made.result.ledger, made.result.places))
        return time.process_time() - start

    return min(once() for _ in range(3))


def test_the_report_needs_no_heavy_library() -> None:
    code = (
        "import sys, evalkit.pages.report, evalkit.pages.summary, evalkit.pages.screen, evalkit.pages.junit\n"
        "print(sorted({'pandas', 'numpy', 'altair', 'scipy', 'ragas', 'ipywidgets'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_older_outcome_file_with_fewer_words_still_renders(gated: Callable[..., Any], coverage_row: Row) -> None:
    made = gated([coverage_row("bad", 1)])
    facts = made.facts | {"policy": {"name": "release", "version": "7"}}
    facts.pop("labelled")
    facts["blockers"] = [
        b | {"rows": [{k: v for k, v in row.items() if k != "sentence"} for row in b["rows"]]}
        for b in facts["blockers"]
    ]
    manifest = {key: made.run.manifest[key] for key in ("metric", "ledger", "policy")}
    assert "Quality failed" in render_report(
        Run(made.run.folder, manifest), facts, Counted(made.result.ledger, made.result.places)
    )


def test_decisions_beside_labels_stand_in_a_table_whose_columns_say_something(
    gated: Callable[..., Any], coverage_row: Row
) -> None:
    made = gated([coverage_row("bad", 1), coverage_row("good", 4)])
    one = {
        "slice": "default", "partition": None, "counts": True, "open": True, "eligible": 2, "completed": 2,
        "errored": 0, "invalid": 0, "unrun": 0, "n": 2, "random": 2, "synthetic": 0, "people_fail": 1, "people_pass": 1,
        "false_passes": [], "false_fails": ["bad"], "overridden": [], "caused": {}, "false_pass_interval": [0.0, 0.975],
        "false_fail_interval": [0.025, 1.0], "weighted": None, "unlabelled": ["x"], "conflicts": [], "unknown": [],
    }  # fmt: skip
    counted = Counted(made.result.ledger, made.result.places)

    def page(*found: dict[str, Any]) -> str:
        html = render_report(made.run, made.facts | {"labelled": list(found), "labels_total": None}, counted)
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))

    alone = page(one)
    assert "slice eligible completed errored reviewed bad rows that pass good rows that fail" in alone
    assert "default 2 2 0 2 0 of 1 (0-98 %) 1 of 1 (2-100 %): bad without a label that fits: 1 (x)" in alone
    split = re.sub(
        r"\s+", " ", page(one | {"partition": "development", "counts": False}, one | {"partition": "held_out"})
    )
    assert split.index("default held_out") < split.index("These decide nothing: default development")
