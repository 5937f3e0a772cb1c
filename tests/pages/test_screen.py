from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.pages.publish import score_to_run
from evalkit.pages.screen import COLUMNS, EXAMPLES, gate_screen, score_screen

Row = Callable[..., dict[str, Any]]
HOSTILE = "x\x1b[2J\x1b[32mPASSED\x07\u202e\u2066\rok\nPASSED (exit code 0)"


def test_counts_blockers_outcome_and_report_in_80_columns(gated: Callable[..., Any], coverage_row: Row) -> None:
    rows = [coverage_row("good", 4), coverage_row("one-claim-short-of-what-everybody-expected", 2)]
    facts = gated(rows).facts
    lines = gate_screen(facts, report=Path("runs/demo/report.html")).splitlines()
    assert max(map(len, lines)) <= COLUMNS
    text = "\n".join(lines)
    assert "2 lines, 0 blank, 2 rows" in text
    assert "[1] quality_failed, owner answer: 1 of 2 decided blocking rows fail in default" in text
    assert "one-claim-short-of-what-everybody-expected (line 2): 0.5 < 0.75" in text
    assert "supported=2; required=4; missing=c,d" in text
    assert lines[-3] == "QUALITY FAILED (exit code 1): 1 of 2 decided blocking rows fail"
    assert lines[-2] == f"outcome {facts['outcome_hash']}"
    assert lines[-1] == "report runs/demo/report.html"


def test_five_rows_a_blocker_and_the_number_of_the_others(gated: Callable[..., Any], coverage_row: Row) -> None:
    facts = gated([coverage_row(f"bad-{n}", 1) for n in range(8)]).facts
    text = gate_screen(facts)
    assert sum(f"bad-{n} (line" in text for n in range(8)) == EXAMPLES
    assert "and 3 more (--json FILE or --run DIR keeps all 8)" in text


def test_a_hostile_row_cannot_repaint_the_screen_nor_forge_an_outcome(
    gated: Callable[..., Any], coverage_row: Row
) -> None:
    rows = [
        coverage_row(HOSTILE, 1, slice="default"),
        {"case_id": "b", "required_claim_ids": [HOSTILE], "supported_claim_ids": []},
    ]
    text = gate_screen(gated(rows).facts)
    assert all(c == "\n" or unicodedata.category(c)[0] != "C" for c in text)
    assert not any(line.startswith("PASSED") for line in text.splitlines())
    assert "\\x1b[2J" in text
    assert "[U+202E]" in text


def test_shown_digits_never_contradict_the_decision(gated: Callable[..., Any], policy_text: str) -> None:
    # 0.85 - 1e-10 fails a minimum of 0.85; with four digits the screen would read 0.85 < 0.85.
    metric = _given_metric()
    policy = (
        policy_text.replace('"evidence_coverage"', '"given"')
        .replace("0.75", "0.85")
        .replace('version = "1"', 'version = "0"')
    )
    rows = [{"case_id": "edge", "score": 0.85 - 1e-10}]
    text = gate_screen(gated(rows, policy=policy, metric=metric).facts)
    assert "edge (line 1): 0.8499999999 < 0.85" in text
    assert "knife edge: edge: 0.8499999999 against 0.85" in text


def _given_metric() -> Any:
    from evalkit.contract import make_metric

    def given(score: float) -> float:
        return score

    return make_metric(given, (0.0, 1.0))


def test_a_line_without_a_case_id_is_still_named(gated: Callable[..., Any], coverage_row: Row) -> None:
    text = gate_screen(gated(["not json", coverage_row("good", 4)]).facts)
    assert "(no case id) (line 1): no score" in text
    assert "INCOMPLETE (exit code 2)" in text


def test_scoring_without_a_policy_gives_counts_only(gated: Callable[..., Any], coverage_row: Row) -> None:
    ledger = gated([coverage_row("good", 4), coverage_row("bad", 1)]).facts["ledger"]
    text = score_screen("evidence_coverage", ledger, findings=["ids look alike"])
    assert "2 of 2 rows scored; mean 0.625 over 2 of 2 rows" in text  # (1.0 + 0.25) / 2
    assert "warning: ids look alike" in text
    assert " pass" not in text


def test_where_no_row_was_scored_the_first_reason_is_said(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"case_id": "a", "required_claim_ids": ["x"]}\n')
    scored = score_to_run(evidence_coverage, cases, tmp_path / "run")
    text = " ".join(score_screen("evidence_coverage", scored.ledger.facts(), run=scored.run).split())
    assert "no row was scored; line 1 is invalid: supported_claim_ids is absent" in text
    cases.write_text('{"case_id": "a", "required_claim_ids": ["x"], "supported_claim_ids": []}\n')
    scored = score_to_run(evidence_coverage, cases, tmp_path / "again")
    assert "no row" not in score_screen("evidence_coverage", scored.ledger.facts(), run=scored.run)
