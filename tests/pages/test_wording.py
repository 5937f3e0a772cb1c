from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from evalkit.contract import InvalidRow, Metric, make_metric
from evalkit.pages.wording import (
    baseline_lines,
    counts_sentence,
    headline,
    knife_edges,
    ledger_rows,
    limit_words,
    ordered_blockers,
    policy_notes,
    relation,
)

COVERS = """
schema = 1
name = "p"
version = "1"
metric = "covers"
contract_version = "0"
mode = "report"
[slices.default]
minimum = 0.5
"""


def covers(response: str, reference: str | None) -> float:
    """Tell whether the reference occurs in the response."""
    if reference is None:
        msg = "reference is null"
        raise InvalidRow(msg)
    return float(reference in response)


def covers_metric() -> Metric:
    return make_metric(covers, (0.0, 1.0))


def test_a01_invalid_rows_stand_beside_the_pass_count_and_the_mean(gated: Callable[..., Any]) -> None:
    rows = [
        {"case_id": "r1", "response": "blue", "reference": "blue"},
        {"case_id": "r2", "response": "red", "reference": None},
        {"case_id": "r3", "response": "green", "reference": "teal"},
    ]
    facts = gated(rows, policy=COVERS, metric=covers_metric()).facts
    total = ledger_rows(facts["ledger"])[0]
    sentence = counts_sentence(total, is_judged=True)
    assert sentence.startswith("1 of 2 scored rows pass")
    assert "1 of 3 rows invalid" in sentence
    assert sentence.endswith("mean 0.5 over 2 of 3 rows")
    assert headline(facts) == "Incomplete: this run cannot be judged, for 1 reason"


def test_a02_an_unmeasured_row_is_an_error_and_not_a_failing_row(gated: Callable[..., Any]) -> None:
    def given(score: str) -> float:
        return float(score)

    metric = make_metric(given, (0.0, 1.0))
    policy = COVERS.replace("covers", "given")
    rows = [{"case_id": "r1", "score": "0.9"}, {"case_id": "r2", "score": "nan"}]
    facts = gated(rows, policy=policy, metric=metric).facts
    sentence = counts_sentence(ledger_rows(facts["ledger"])[0], is_judged=True)
    # Pass rate 1 of 1, coverage 1 of 2, and not one failing row.
    assert sentence == "1 of 1 scored rows pass; 1 of 2 rows error; mean 0.9 over 1 of 2 rows"


def test_a07_nothing_evaluated_is_not_green(gated: Callable[..., Any]) -> None:
    facts = gated([]).facts
    assert headline(facts).startswith("Incomplete")
    assert counts_sentence(ledger_rows(facts["ledger"])[0], is_judged=True) == "0 of 0 rows scored"


def test_headlines_say_the_outcome_and_the_count(
    gated: Callable[..., Any], coverage_row: Callable[..., dict[str, Any]]
) -> None:
    good, bad = coverage_row("good", 4), coverage_row("bad", 1)
    doubtful = coverage_row("doubt", 7, 10, slice="doubtful")  # 0.7 lies in [0.65, 0.75)
    assert headline(gated([good]).facts) == "Passed: 1 of 1 decided blocking rows pass"
    assert headline(gated([good, bad]).facts) == "Quality failed: 1 of 2 decided blocking rows fail"
    assert headline(gated([good, doubtful]).facts) == "Review required: 1 of 2 decided blocking rows need a person"
    assert headline(None) == "Scored, not judged: no policy was given"


def test_a_pass_with_excused_failures_does_not_claim_that_all_pass(
    gated: Callable[..., Any], coverage_row: Callable[..., dict[str, Any]], policy_text: str
) -> None:
    policy = policy_text.replace("minimum = 0.75\n[", "minimum = 0.75\nmax_failures = 1\n[", 1)
    facts = gated([coverage_row("good", 4), coverage_row("bad", 1)], policy=policy).facts
    assert headline(facts) == "Passed: 1 of 2 decided blocking rows pass; the policy excuses the others"


def test_report_mode_and_a_provisional_bound_are_always_said(
    gated: Callable[..., Any], coverage_row: Callable[..., dict[str, Any]], policy_text: str
) -> None:
    report = gated([coverage_row("bad", 1)], policy=f'mode = "report"\n{policy_text}').facts
    assert policy_notes(report) == [
        "Report mode: the policy shows the outcome (quality_failed) without enforcing it; the exit code is 0."
    ]
    provisional = gated([coverage_row("good", 4)], policy=f'basis = "provisional"\n{policy_text}').facts
    # Approved on 1 November; 60 days later is 31 December, before the policy's own 28 February.
    assert "it holds until 2026-12-31" in policy_notes(provisional)[0]


def test_rows_that_no_limit_covers_are_called_undecided(
    gated: Callable[..., Any], coverage_row: Callable[..., dict[str, Any]]
) -> None:
    facts = gated([coverage_row("good", 4), coverage_row("lost", 4, slice="unknown")]).facts
    total = ledger_rows(facts["ledger"])[0]
    assert (total.scored, total.passed, total.undecided) == (2, 1, 1)
    assert counts_sentence(total, is_judged=True).startswith("1 of 2 scored rows pass, 1 of 2 undecided")


def test_what_cannot_be_judged_comes_before_what_is_bad_and_that_before_what_needs_a_person() -> None:
    blockers = [{"outcome": name} for name in ("review_required", "quality_failed", "incomplete")]
    assert [b["outcome"] for b in ordered_blockers({"blockers": blockers})] == [
        "incomplete", "quality_failed", "review_required",
    ]  # fmt: skip
    assert ordered_blockers(None) == []


def test_a_contract_nobody_wrote_is_named_with_its_questions(gated: Callable[..., Any]) -> None:
    rows = [{"case_id": "r1", "response": "blue", "reference": "blue"}]
    warnings = gated(rows, policy=COVERS, metric=covers_metric()).facts["warnings"]
    assert any("unanswered" in warning and "what it measures" in warning for warning in warnings)


def test_expiry_is_announced_14_days_ahead(
    gated: Callable[..., Any], coverage_row: Callable[..., dict[str, Any]]
) -> None:
    rows = [coverage_row("good", 4)]

    def expiry(day: date) -> list[str]:
        return [warning for warning in gated(rows, as_of=day).facts["warnings"] if "expires" in warning]

    assert expiry(date(2027, 2, 13)) == []
    assert expiry(date(2027, 2, 14)) == ["the policy expires on 2027-02-28, in 14 days"]


def test_knife_edges_show_both_numbers_in_full() -> None:
    value = 0.85 - 1e-10
    row = {"case_id": "edge", "value": value, "minimum": 0.85}
    (sentence,) = knife_edges([{"rows": [row, {"case_id": "far", "value": 0.8, "minimum": 0.85}]}])
    assert sentence.startswith(f"edge: {value!r} against 0.85")
    assert relation(value, 0.85) == "0.8499999999 < 0.85"
    assert knife_edges([{"rows": [{"case_id": "label", "value": "refused", "minimum": None}]}]) == []
    told = knife_edges([{"rows": [row] * 13}, {"rows": [row] * 10}])
    assert (told[0], len(told), told[-1]) == (sentence, 21, "and 3 more rows")


def test_baseline_lines_give_counts_the_test_and_what_it_rests_on() -> None:
    compared = {
        "run_id": "old", "new": ["n1", "n2"], "known": [], "fixed": ["f"], "unjudged": [], "vanished": ["v"],
        "appeared": 3, "pairs": 40, "only_old": 1, "only_new": 2, "p_value": 1.0,
    }  # fmt: skip
    lines = baseline_lines(compared)
    assert lines[0] == (
        "against baseline old: exact McNemar test p = 1.0: of 40 rows decided in both runs, 3 changed sides "
        "(2 began to fail, 1 stopped)"
    )
    assert "new failures: 2 (n1, n2)" in lines
    assert "known failures (failed in the baseline too): 0" in lines
    assert "failed before, not in the file now (not fixed): 1 (v)" in lines
    same = compared | {"only_old": 0, "only_new": 0, "p_value": None}
    assert baseline_lines(same)[0].endswith("no row changed sides among the 40 decided in both runs")


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"minimum": 0.85}, "a row passes at 0.85 or more"),
        ({"maximum": 0.2, "review_band": 0.1}, "a row passes at 0.2 or less; above that, up to 0.3, a person decides"),
        ({"require": ["pass"], "review": ["unsure"]}, "a row passes with pass; unsure goes to a person"),
        ({"minimum": 0.5, "max_failures": 1}, "a row passes at 0.5 or more; at most 1 blocking row may fail"),
        ({"decide": "review"}, "not certified: people decide every row"),
        (
            {"minimum": 0.5, "min_pass_rate": 0.95},
            "a row passes at 0.5 or more; the pass rate must be 0.95 or more (95 % exact interval)",
        ),
        (
            {"minimum": 0.5, "max_false_passes": 0},
            "a row passes at 0.5 or more; at most 0 bad rows that pass, by the labels",
        ),
    ],
)
def test_limits_in_words(limits: dict[str, Any], words: str) -> None:
    assert limit_words(limits) == words
