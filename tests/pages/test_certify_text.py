"""Decisions beside labels on a screen and in a list: counts first, mistakes with their ids, the total last."""

from __future__ import annotations

from typing import Any

from labelled_rows import WORD, label, record

from evalkit.cases.settle import settle
from evalkit.decisions.certifying.against import compare_rows, total_of
from evalkit.decisions.policy import SliceLimits
from evalkit.pages.certify_text import label_screen, label_table, labelled_lines
from evalkit.scoring.records import Record

LIMITS = SliceLimits(require=("pass",), max_false_passes=0)


def facts_of(*rows: tuple[Record, str | None], **more: Any) -> dict[str, Any]:
    settled = settle([label(r, word, i, **more) for i, (r, word) in enumerate(rows) if word])
    found = compare_rows("s", [r for r, _ in rows], settled, LIMITS, WORD)
    return {"labelled": [one.facts() for one in found], "labels_total": total_of(found)}


def row(case_id: str, value: str, **more: Any) -> Record:
    return record(case_id, value, decision=value, **more)


GOOD, BAD = (row("g", "pass"), "pass"), (row("b", "fail"), "fail")
FALSE_PASS = (row("fp", "pass"), "fail")


def test_nothing_is_said_where_no_labels_were_asked_for() -> None:
    assert list(label_screen({"labelled": [], "labels_total": None})) == []
    assert labelled_lines({}) == []


def test_the_screen_gives_counts_before_rates_and_false_passes_before_false_fails() -> None:
    lines = list(label_screen(facts_of(GOOD, BAD, FALSE_PASS, (record("e", None, state="error"), None))))
    assert lines[0] == "against people's labels"
    assert lines[1].split() == ["rows", "eligible", "completed", "errored", "reviewed"]
    assert lines[2].split() == ["s", "4", "3", "1", "3"]
    assert lines[3].startswith("bad rows that pass")
    assert lines[4].strip() == "s                           1 of 2 (1-99 %): fp"
    assert lines[5].startswith("good rows that fail")
    assert lines[6].strip() == "s                           0 of 1 (0-98 %)"
    assert lines[-1].startswith("all of them together: 2 of 3 decisions are people's (67 %), kappa 0.400")
    assert lines[-1].endswith("always saying fail would agree on 2")


def test_rates_over_nothing_have_no_range() -> None:
    assert "  s                           0 of 0" in list(label_screen(facts_of(GOOD)))


def test_synthetic_labels_and_rows_not_drawn_at_random_are_told_before_any_rate() -> None:
    lines = list(label_screen(facts_of(GOOD, provenance="synthetic", selection="targeted")))
    assert lines[1] == "SYNTHETIC LABELS (1 of 1 rows): this certifies nothing outside the example."
    assert lines[2].startswith("0 of 1 labelled rows were drawn at random; the others describe themselves")


def test_what_is_open_is_named() -> None:
    lines = list(label_screen(facts_of(GOOD, (row("u", "pass"), None), (row("x", "pass"), "garbage"))))
    assert "without a label that fits, s: 1 (u)" in lines
    assert "an unknown label, s: 1 (x)" in lines


def test_partitions_that_decide_nothing_stand_beside_in_one_sentence() -> None:
    held = (row("h", "pass", partition="held_out"), "pass")
    lines = list(label_screen(facts_of(held, (row("d", "pass", partition="development"), "fail"))))
    assert lines[1].startswith("held-out rows, which decide")
    beside = "development, which decides nothing: bad rows that pass 1 of 1 (d), good rows that fail 0 of 0"
    assert lines[-2] == beside


def test_rows_that_were_not_opened_show_no_error() -> None:
    facts = facts_of((row("h", "pass", partition="held_out"), "fail"))
    closed = {key: value for key, value in facts["labelled"][0].items() if "false" not in key} | {"open": False}
    text = "\n".join(label_screen({"labelled": [closed], "labels_total": None}))
    assert text.count("not opened: something else stands in the way") == 2
    assert "h" not in text.split()


def test_a_cause_and_an_override_stand_beside_the_case() -> None:
    facts = facts_of(FALSE_PASS)
    facts["labelled"][0] |= {"caused": {"fp": "prompt_gap"}, "overridden": ["fp"]}
    assert any("fp (prompt_gap, under an override)" in line for line in label_screen(facts))


def test_a_list_has_a_sentence_for_each_slice_and_partition() -> None:
    (sentence, total) = labelled_lines(facts_of(GOOD, BAD, FALSE_PASS))
    assert sentence == (
        "s: 3 eligible, 3 completed, 0 errored, 3 reviewed; bad rows that pass: 1 of 2 (1-99 %): fp; "
        "good rows that fail: 0 of 1 (0-98 %)"
    )
    assert total.startswith("all of them together")


def test_oversampled_strata_are_marked() -> None:
    rare, common = ({"stratum": name, "prevalence_weight": w} for name, w in (("refusals", 1.0), ("web", 9.0)))
    facts = facts_of((row("a", "pass", lineage=rare), "fail"), (row("b", "fail", lineage=common), "fail"))
    assert "weighted to production, s: 10 % of bad rows pass (oversampled: refusals; no interval)" in list(
        label_screen(facts)
    )


def test_on_a_page_the_rows_that_decide_come_first_with_what_must_be_known_of_them() -> None:
    facts = facts_of(GOOD, BAD, FALSE_PASS)
    one = facts["labelled"][0]
    aside = one | {"slice": "aside", "partition": "development", "counts": False}
    facts["labelled"] = [aside, one | {"conflicts": ["x"]}]
    table = label_table(facts)
    assert table is not None
    assert [(row.slice, row.decides) for row in table.rows] == [(one["slice"], True), ("aside", False)]
    assert table.heads[-2:] == ["bad rows that pass", "good rows that fail"]
    # one bad row passes of two; the one good row passes
    assert table.rows[0].mistakes[0].startswith("1 of 2 (")
    assert table.rows[0].mistakes[1].startswith("0 of 1 (")
    assert table.rows[0].notes == ["reviewers disagree: 1 (x)"]
    assert label_table({}) is None
