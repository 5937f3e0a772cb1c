"""One slice beside its labels: counts, exact intervals, partitions, words that nobody knows, weights."""

from __future__ import annotations

import json
from typing import Any

import pytest
from labelled_rows import WORD, label, record

from evalkit.cases.settle import settle
from evalkit.decisions.certifying.against import compare_rows, disagreement_drafts, reading_of, total_of
from evalkit.decisions.policy import SliceLimits
from evalkit.scoring.records import Record

LIMITS = SliceLimits(require=("pass",), review=("unsure",), max_false_passes=0)


def row(case_id: str, value: str, **more: Any) -> Record:
    decision = {"pass": "pass", "fail": "fail", "unsure": "review"}[value]
    return record(case_id, value, decision=decision, **more)


def compared(rows: list[tuple[Record, str | None]], **more: Any) -> Any:
    settled = settle([label(r, word, i, **more) for i, (r, word) in enumerate(rows) if word])
    return compare_rows("s", [r for r, _ in rows], settled, LIMITS, WORD)


def test_counts_come_with_every_state_and_rates_with_their_exact_interval() -> None:
    rows: list[tuple[Record, str | None]] = [(row(f"b{i}", "fail"), "fail") for i in range(9)]
    rows += [(row("fp", "pass"), "fail"), (row("ff", "fail"), "pass"), (row("g", "pass"), "pass")]
    rows += [(record("e", None, state="error"), "pass"), (row("u", "pass"), None)]
    (found,) = compared(rows)
    facts = found.facts()
    # 14 rows, one of them an error; 12 of the 13 scored ones are labelled, 10 of those bad and one of the 10 passes.
    assert [facts[k] for k in ("eligible", "completed", "errored", "n", "people_fail")] == [14, 13, 1, 12, 10]
    assert (facts["false_passes"], facts["false_fails"], facts["unlabelled"]) == (["fp"], ["ff"], ["u"])
    # Clopper-Pearson of 1 of 10: 1 - 0.975**(1/10) = 0.00253 and 0.445 (Johnson, Kotz: tables of the beta).
    assert facts["false_pass_interval"] == pytest.approx([0.00253, 0.44502], abs=1e-5)
    assert facts["random"] == 12


def test_rates_over_nothing_are_not_numbers() -> None:
    (found,) = compared([(row("g", "pass"), "pass")])
    assert found.facts()["false_pass_interval"] is None


def test_where_cases_are_split_only_held_out_rows_count() -> None:
    rows = [
        (row("d", "pass", partition="development"), "fail"),
        (row("c", "pass", partition="calibration"), "pass"),
        (row("h", "fail", partition="held_out"), "fail"),
        (row("n", "fail"), "fail"),
    ]
    found = compared(rows)
    assert [(one.partition, one.counts, one.n) for one in found] == [
        (None, False, 1), ("development", False, 1), ("calibration", False, 1), ("held_out", True, 1),
    ]  # fmt: skip
    assert total_of(found)["n"] == 1


def test_labels_stay_words_and_are_read_as_the_policy_reads_verdicts() -> None:
    assert [reading_of(word, LIMITS, WORD) for word in ("pass", "fail", "unsure", "maybe")] == [
        "pass", "fail", "review", None,
    ]  # fmt: skip
    ranked = SliceLimits(require=("unsure",), max_false_passes=0)
    # A label of the metric that the policy does not require is a fail, "pass" itself included.
    assert [reading_of(word, ranked, WORD) for word in ("unsure", "pass")] == ["pass", "fail"]


def test_a_word_that_is_no_label_is_counted_apart() -> None:
    (found,) = compared([(row("x", "pass"), "garbage")])
    assert (found.facts()["unknown"], found.n) == (["x"], 0)


def test_rows_that_are_not_blocking_or_of_another_slice_are_not_compared() -> None:
    (found,) = compared([(row("x", "pass", blocking=False), "fail"), (row("y", "pass", slice="t"), "fail")])
    assert (found.eligible, found.n) == (0, 0)


def test_oversampled_strata_are_marked_and_rates_weighted_to_production() -> None:
    rare = {"stratum": "refusals", "prevalence_weight": 1.0}
    common = {"stratum": "web", "prevalence_weight": 9.0}
    rows = [(row("a", "pass", lineage=rare), "fail"), (row("b", "fail", lineage=common), "fail")]
    (found,) = compared(rows)
    weighted = found.facts()["weighted"]
    # One of two bad rows passes as sampled; the one that passes stands for 1 of 10 production rows.
    assert weighted["false_pass_rate"] == pytest.approx(0.1)
    assert weighted["strata"]["refusals"]["is_oversampled"]
    assert not weighted["strata"]["web"]["is_oversampled"]


def test_synthetic_labels_and_rows_are_counted() -> None:
    (found,) = compared([(row("a", "pass"), "pass")], provenance="synthetic")
    (mine,) = compared([(row("a", "pass", lineage={"provenance": "synthetic"}), "pass")])
    assert (found.synthetic, mine.synthetic) == (1, 1)


def test_drafts_name_every_open_disagreement_false_passes_first() -> None:
    found = compared([(row("ff", "fail"), "pass"), (row("fp", "pass"), "fail"), (row("g", "pass"), "pass")])
    lines = [json.loads(line) for line in disagreement_drafts(found).splitlines()]
    assert [(line["case_id"], line["verdict"], line["label"], line["cause"]) for line in lines] == [
        ("fp", "pass", "fail", None), ("ff", "fail", "pass", None),
    ]  # fmt: skip


def test_the_total_stands_beside_what_a_constant_answer_would_get() -> None:
    # J03: 95 of 100 rows are good; the judge errs on five of each hundred: agreement 0.95, kappa 0.26.
    rows = [(row(f"g{i}", "pass"), "pass") for i in range(94)] + [(row("ff", "fail"), "pass")]
    rows += [(row(f"b{i}", "pass"), "fail") for i in range(4)] + [(row("tf", "fail"), "fail")]
    total = total_of(compared(rows))
    assert (total["agree"], total["n"], round(total["kappa"], 2)) == (95, 100, 0.26)
    assert total["constant_baseline"]["agree"] == 95
