"""An explanation on a screen and in a pull request: named alike, 80 columns, and nothing a row says acts."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalkit import open_run
from evalkit.decisions.explain import explain
from evalkit.pages.compare_text import compare_markdown, compare_screen
from evalkit.pages.explain_run import compare_metrics, explain_runs
from evalkit.pages.explain_text import EXAMPLES, explain_markdown, explain_screen, moved
from evalkit.pages.gate_run import GateOutputs, run_gate

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"
INCIDENTS = sorted(path.name for path in (FIXTURES / "incidents").iterdir() if path.is_dir())


def gate(
    cases: Path, folder: Path, *, metric: str = "evidence_coverage", policy: Path = FIXTURES / "policy.toml"
) -> Path:
    run_gate(metric, cases, policy, {"as_of": date(2026, 12, 1)}, GateOutputs(run=folder, format="none"))
    return folder


def incident_runs(name: str, tmp_path: Path) -> tuple[Path, Path]:
    folder = FIXTURES / "incidents" / name
    runs = []
    for side in ("new", "old"):
        metric, policy = folder / f"{side}_metric.py", folder / f"{side}_policy.toml"
        spec = f"{metric}:evidence_coverage" if metric.exists() else "evidence_coverage"
        limits = policy if policy.exists() else FIXTURES / "policy.toml"
        runs.append(gate(folder / f"{side}.jsonl", tmp_path / side, metric=spec, policy=limits))
    return runs[0], runs[1]


@pytest.mark.parametrize("name", INCIDENTS)
def test_screen_and_markdown_name_every_incident_alike(name: str, tmp_path: Path) -> None:
    expected = json.loads((FIXTURES / "incidents" / name / "expected.json").read_text())
    new, old = incident_runs(name, tmp_path)
    done = explain_runs(new, old, None, tmp_path / "pr.md")
    assert f"{expected['owner']}: {expected['first_divergence']}, 1 row\n  {expected['case_id']} (line" in done.screen
    assert f"by owner: {expected['owner']} 1 (of 1 row)" in done.screen
    markdown = (tmp_path / "pr.md").read_text()
    row = f"| {expected['owner']} | {expected['first_divergence']} | {expected['case_id']} |"
    assert row in markdown
    assert "| went from pass to " in markdown
    assert max(map(len, done.screen.splitlines())) <= 80


def test_the_screen_of_the_parser_incident(tmp_path: Path) -> None:
    new, old = incident_runs("document_ids_changed", tmp_path)
    screen = explain_runs(new, old, None).screen
    body = screen[screen.index("1 of 6 rows") : screen.index("by owner")]
    assert body == (
        "1 of 6 rows changed state, value or decision, appeared or vanished; 5 did not (1\n"
        "  of these have other inputs or evidence now)\n"
        "\n"
        "attribution: document_identity, 1 row\n"
        "  waiver-asked-by-mail (line 3): pass 1.0 >= 1.0 -> fail 0.6667 < 1.0\n"
        "    went from pass to fail: the passage that holds fee-waiver is unchanged, but\n"
        "    is now called fees-2026-07 (was fee-schedule-v3); the citation still names\n"
        "    fee-schedule-v3\n"
        "    old evidence.retrieved: fee-schedule-v3 fee-schedule-v3#waiver revision\n"
        "      2026-07-10\n"
        "    new evidence.retrieved: fees-2026-07 fees-2026-07#waiver revision 2026-07-10\n"
        "    differs as well, further down: supported_set\n"
        "    the row would pass with fee-waiver in supported_claim_ids\n"
        "\n"
    )


def facts(**row: Any) -> dict[str, Any]:
    standing = {"line": 3, "state": "scored", "value": 0.5, "decision": "fail", "minimum": 0.75, "reason": "missing=a"}
    one = {
        "case_id": "a", "change": "decision", "first_divergence": "answer", "owner": "answer",
        "old": standing | {"value": 1.0, "decision": "pass"}, "new": standing, "sentence": "it changed",
        "evidence": None, "also": [], "findings": [], "would_flip": None,
    }  # fmt: skip
    return {
        "run_id": "new-run", "older_run_id": "old-run", "metric": {"name": "m", "contract_version": "1"}, "total": 9,
        "rows": [one | row], "by_owner": {"answer": 1}, "unchanged": 8, "unchanged_with_other_evidence": 2,
        "runs_differ_in": [], "runs_agree_in": ["metric"], "notes": [],
    }  # fmt: skip


HOSTILE = {
    "case_id": "a\x1b[2K\rPASSED",
    "sentence": "| <img src=x> `code` [link](https://x.example) \u202e @team #1",
    "evidence": {"what": "evidence.answer", "old": "first\nline", "new": "# not a heading\n\n| a | b |"},
}


def test_what_rows_hold_is_shown_and_does_nothing() -> None:
    screen, markdown = explain_screen(facts(**HOSTILE)), explain_markdown(facts(**HOSTILE))
    for text in (screen, markdown):
        assert "\x1b" not in text
        assert "\r" not in text
        assert "\u202e" not in text
        assert "x1b[2K" in text.replace("\\", "")
    assert "[U+202E]" in screen
    table = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len(table) == 3  # header, rule, one row: no text of the row opened another
    assert not re.search(r"(?<!\\)<img", markdown)
    assert "\n# not" not in markdown
    assert "](https://" not in markdown


def test_more_rows_than_fit_are_counted_not_lost() -> None:
    many = facts()
    many["rows"] = [many["rows"][0] | {"case_id": f"row-{i}"} for i in range(60)]
    many |= {"by_owner": {"answer": 60}, "total": 60, "unchanged": 0}
    screen = explain_screen(many)
    assert screen.count("(line 3)") == EXAMPLES
    assert "and 55 more (60 in all; --json FILE keeps them)" in screen
    assert "40 more of 60 rows are in the JSON file." in explain_markdown(many)


def test_groups_come_largest_first() -> None:
    some = facts()
    row = some["rows"][0]
    some["rows"] = [row | {"owner": None, "first_divergence": "none"}, row, row]
    lines = explain_screen(some).splitlines()
    heads = [line for line in lines if line.endswith((" row", " rows")) and not line.startswith(" ")]
    assert heads == ["answer: answer, 2 rows", "no owner: none, 1 row"]
    assert explain_markdown(some).startswith("## 3 rows to explain: answer (answer) 2, others 1\n")


@pytest.mark.parametrize(
    ("change", "old", "new", "words"),
    [
        ("decision", (1.0, "pass"), (2 / 3, "fail"), "pass 1.0 >= 0.75 -> fail 0.6667 < 0.75"),
        ("appeared", None, (0.5, "fail"), "new, fail 0.5 < 0.75"),
        ("vanished", (1.0, "pass"), None, "gone, was pass 1.0 >= 0.75"),
        ("fail", None, (0.5, "fail"), "fail 0.5 < 0.75"),
        ("state", (1.0, "pass"), (None, None), "pass 1.0 >= 0.75 -> invalid"),
    ],
)
def test_figures_of_a_row(change: str, old: Any, new: Any, words: str) -> None:
    def side(given: Any) -> Any:
        if given is None:
            return None
        return {"value": given[0], "decision": given[1], "minimum": 0.75, "state": "invalid"}

    assert moved({"change": change, "old": side(old), "new": side(new)}) == words


def test_nothing_to_explain_is_said(tmp_path: Path) -> None:
    run = gate(FIXTURES / "incidents" / "metric_edited" / "old.jsonl", tmp_path / "run")
    found = explain(open_run(run), open_run(run)).facts()
    assert "0 of 6 rows changed state, value or decision, appeared or vanished; 6 did not" in explain_screen(found)
    assert "the runs differ in: nothing that a manifest records" in explain_screen(found)
    assert explain_markdown(found).startswith("## Nothing to explain\n")


def test_one_run_shows_the_closest_passage_and_its_words(tmp_path: Path) -> None:
    run = gate(FIXTURES / "incidents" / "retrieval_broke" / "new.jsonl", tmp_path / "run")
    screen = explain_runs(run, None, None).screen
    assert "1 of 6 rows need an explanation, 5 do not" in screen
    assert "digital-refund: its passage was never retrieved (as far as words tell;" in screen
    assert "closest passage for digital-refund (refund-policy-v2, 1 of 7 words): We" in screen
    assert "the runs differ in" not in screen


def compared(tmp_path: Path) -> dict[str, Any]:
    edited = FIXTURES / "incidents" / "metric_edited"
    specs = (f"{edited}/old_metric.py:evidence_coverage", f"{edited}/new_metric.py:evidence_coverage")
    done = compare_metrics(
        specs,
        FIXTURES / "incident.jsonl",
        FIXTURES / "policy.toml",
        as_of=date(2026, 12, 1),
        markdown=tmp_path / "c.md",
    )
    assert (tmp_path / "c.md").read_text() == compare_markdown(done.facts)
    assert done.screen == compare_screen(done.facts)
    return done.facts


def test_a_comparison_shows_the_matrix_the_rows_and_what_they_prove(tmp_path: Path) -> None:
    found = compared(tmp_path)
    screen = compare_screen(found)
    assert {"transitions", "rows", "equivalent_within"} <= found.keys()
    assert all({"case_id", "old", "new", "attributed_to"} <= row.keys() for row in found["rows"])
    assert sum(n for row in found["transitions"].values() for n in row.values()) == found["rows_compared"] == 32
    assert "old / new      pass    review      fail\n" in screen
    assert "4 of 32 rows disagree; 32 of 32 were scored by both" in screen
    assert "not equivalent on these rows" in screen
    assert max(map(len, screen.splitlines())) <= 80
    assert "| return-start-to-finish | decision |" in compare_markdown(found)


def test_rows_of_one_side_only_are_shown_with_their_reason() -> None:
    standing = {"line": 1, "state": "scored", "value": 1.0, "decision": None, "minimum": None, "reason": ""}
    bad = standing | {"state": "invalid", "value": None, "reason": "unknown IDs: c"}
    side = {"name": "m", "contract_version": "1", "fingerprint": "sha256:0", "run_id": None}
    found = {
        "old": side, "new": side, "rows_compared": 2, "scored_by_both": 0,
        "transitions": {"scored": {"invalid": 1}, "absent": {"scored": 1}},
        "rows": [
            {"case_id": "a", "kind": "state", "old": standing, "new": bad, "attributed_to": "metric"},
            {"case_id": "b", "kind": "state", "old": None, "new": standing, "attributed_to": "dataset"},
        ],
        "equivalent_within": None, "largest_difference": None, "disagree_at_most": 1.0, "confidence": 0.95,
        "notes": ["n"],
    }  # fmt: skip
    screen = compare_screen(found)
    assert "a: scored 1.0 -> invalid; attributed to metric" in screen
    assert "new: unknown IDs: c" in screen
    assert "b: new, scored 1.0; attributed to dataset" in screen
    assert "state: 2 of 2 rows" in screen
    assert "note: n" in screen
