from __future__ import annotations

from typing import Any

import pytest

from evalkit.cases.read import Case
from evalkit.contract import Contract, InvalidRow, numeric_metric
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.pages.row_view import ANY, NONE, choices, matching, reading_order, row_parts, row_text, rows_frame
from evalkit.scoring.records import Record, Ruling
from evalkit.scoring.score import Scorer


def record(line: int, supported: int = 1, required: int = 1, decision: Any = "pass", **more: Any) -> Record:
    ids = [f"claim-{i}" for i in range(required)]
    fields = {"required_claim_ids": ids, "supported_claim_ids": ids[:supported], **more}
    case = Case(
        line,
        fields.pop("case_id", f"case-{line}"),
        fields.pop("slice", "default"),
        fields.pop("blocking", True),
        fields,
    )
    scored = Scorer(evidence_coverage).record(case)
    owner = None if decision == "pass" else "answer"
    return scored.ruled(Ruling(decision, 0.75, "7", owner)) if scored.state == "scored" else scored


ROWS = [
    record(1),
    record(2, 0, 4, "fail", blocking=False),
    record(3, 1, 4, "fail"),
    record(4, 0, 0),  # nothing is required: invalid
    record(5, 3, 4, "pass"),
    record(6, 2, 3, "review", slice="doubtful"),
]


def test_what_needs_reading_comes_first_and_the_rest_from_its_worst_value() -> None:
    # Invalid, then blocking before other failures, then review, then passes: 0.75 before 1.0.
    assert [row.line for row in reading_order(ROWS)] == [4, 3, 2, 6, 5, 1]


def test_where_lower_is_better_the_highest_value_comes_first() -> None:
    passing = [row for row in ROWS if row.decision == "pass"]
    assert [row.line for row in reading_order(passing, "lower")] == [1, 5]


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        ({}, [1, 2, 3, 4, 5, 6]),
        ({"state": "invalid"}, [4]),
        ({"decision": "fail"}, [2, 3]),
        ({"decision": NONE}, [4]),
        ({"slice_name": "doubtful"}, [6]),
        ({"decision": "fail", "slice_name": "doubtful"}, []),
        ({"text": "CASE-3"}, [3]),
        ({"text": " claim-3 "}, [2, 3, 5]),  # in the reasons: missing=claim-3
        ({"state": ANY, "decision": ANY, "slice_name": ANY, "text": "  "}, [1, 2, 3, 4, 5, 6]),
    ],
)
def test_filters_combine(wanted: dict[str, str], lines: list[int]) -> None:
    assert [ROWS[position].line for position in matching(ROWS, **wanted)] == lines  # type: ignore[arg-type]


def test_a_slice_called_any_or_none_is_a_slice() -> None:
    rows = [record(1, slice="any"), record(2, slice="none")]
    assert [rows[i].line for i in matching(rows, slice_name="any")] == [1]
    assert choices(rows, "slice") == [("any (2)", ANY), ("any (1)", "any"), ("none (1)", "none")]


def test_choices_count_their_rows() -> None:
    assert choices(ROWS, "decision") == [
        ("any (6)", ANY), ("fail (2)", "fail"), ("none (1)", NONE), ("pass (2)", "pass"), ("review (1)", "review"),
    ]  # fmt: skip


# --- as a frame ------------------------------------------------------------------------------------------------------


def test_the_frame_holds_every_row_and_makes_up_no_number() -> None:
    frame = rows_frame(ROWS)
    assert list(frame.index) == [1, 2, 3, 4, 5, 6]
    assert frame.loc[4, "state"] == "invalid"
    assert frame["value"].isna().tolist() == [False, False, False, True, False, False]
    assert frame["decision"].isna().tolist() == [False, False, False, True, False, False]
    assert frame.loc[3, "missing"] == "claim-1, claim-2, claim-3"
    # (1.0 + 0.0 + 0.25 + 0.75 + 2/3) / 5, over the five that were scored
    assert frame["value"].mean() == pytest.approx((1 + 0 + 0.25 + 0.75 + 2 / 3) / 5)


def test_labels_and_rankings_stay_text() -> None:
    labels = [ROWS[0]._replace(value="pass"), ROWS[1]._replace(value=["b", "a"]), ROWS[3]]
    frame = rows_frame(labels)
    assert frame["value"].tolist()[:2] == ["pass", "['b', 'a']"]
    assert frame["value"].isna().tolist() == [False, False, True]


def test_the_first_rows_only_and_none_at_all() -> None:
    assert list(rows_frame(ROWS, most=2).index) == [1, 2]
    assert list(rows_frame([]).columns) == list(rows_frame(ROWS).columns)


# --- one row ---------------------------------------------------------------------------------------------------------

EVIDENCE = {
    "question": "How long?",
    "answer": "It takes\ntwo days.",
    "citations": [{"claim_id": "claim-0", "document_id": "d1", "span": "two days"}],
    "retrieved": [{"document_id": "d1", "text": "It takes two days."}],
    "claims": {"claim-0": "It takes two days.", "claim-1": "A fee is due."},
    "note": {"kept": True},
}


def said(row: Record, contract: Contract | None = evidence_coverage.contract) -> dict[str, str]:
    return {part.title: part.text for part in row_parts(row, contract)}


def test_a_failing_row_leads_from_the_number_to_the_missing_evidence_and_its_owner() -> None:
    parts = said(record(7, 1, 2, "fail", evidence=EVIDENCE))
    assert parts["Row"] == "case-7 · line 7 · slice default · blocking"
    assert parts["Verdict"] == "fail: 0.5 against 0.75 (policy 7)"
    assert parts["Reason"] == "supported=1; required=2; missing=claim-1"
    assert parts["Missing"] == "claim-1: A fee is due."
    assert "claim-1" in parts["What happened"]
    assert parts["Owner"] == "answer"
    assert parts["Input supported_claim_ids"] == "- claim-0"
    assert parts["Answer"] == "It takes\ntwo days."
    assert parts["Citations"] == "- claim_id: claim-0 · document_id: d1 · span: two days"
    assert parts["note"] == "kept: true"
    assert list(parts)[:6] == ["Row", "Verdict", "Reason", "Missing", "What happened", "Owner"]


def test_a_row_without_a_score_has_no_number() -> None:
    parts = said(ROWS[3])
    assert parts["Verdict"] == "invalid (contract): no value, and none is made up"
    assert "required_claim_ids must not be empty" in parts["Reason"]
    assert "What happened" not in parts
    assert (parts["Owner"], parts["Evidence"]) == ("test-data", "none in this row")


def test_a_row_that_passes_has_nothing_to_mend() -> None:
    parts = said(ROWS[0])
    assert parts["Owner"] == "nobody: nothing to mend"
    assert "Missing" not in parts
    assert "What happened" not in parts


@pytest.mark.parametrize(
    ("retrieved", "text"), [(None, "null: the trace was lost"), ([], "[]: the system retrieved nothing")]
)
def test_lost_and_nothing_are_told_apart(retrieved: Any, text: str) -> None:
    assert said(record(1, evidence={"retrieved": retrieved}))["Retrieved passages"].startswith(text)


def test_digits_never_contradict_the_decision() -> None:
    row = record(1, 1, 2, "fail")._replace(value=0.7499999999)
    assert said(row)["Verdict"] == "fail: 0.7499999999 against 0.75 (policy 7)"


def test_hidden_characters_of_a_row_are_visible() -> None:
    row = record(1, case_id="a\u202eb\x1b[2K", evidence={"answer": "x\x07\ny"})
    assert said(row)["Row"].startswith("a[U+202E]b\\x1b[2K · line 1")
    assert said(row)["Answer"] == "x\\x07\ny"


def test_s1_18_what_the_contract_does_not_keep_is_not_shown() -> None:
    contract = Contract(
        version="1", measures="m", reviewed=("wanted",), produced=("secret", "long"), invalid_when=("never",),
        consumed_by="tests", cannot_establish="much", retention={"secret": "hash", "long": "excerpt"},
    )  # fmt: skip

    @numeric_metric(contract=contract)
    def kept(wanted: str, secret: str, long: str) -> float:
        return 1.0

    fields = {"wanted": "w", "secret": "the password", "long": "l" * 500}
    parts = said(Scorer(kept).record(Case(1, "a", "default", True, fields)), contract)
    assert parts["Input wanted"] == "w"
    assert parts["Input secret"].startswith("kept as a hash only: sha256:")
    assert parts["Input long"] == "kept as an excerpt only: " + "l" * 200
    assert "the password" not in row_text(Scorer(kept).record(Case(1, "a", "default", True, fields)))


def test_a_very_long_text_is_cut_and_says_how_much_is_left() -> None:
    row = record(1, evidence={"answer": "x" * 7_000})
    assert said(row)["Answer"].endswith("x … (1,000 more characters)")
    assert max(len(line) for line in row_text(row).splitlines()) < 410


def test_a_metric_s_own_detail_may_be_anything() -> None:
    @numeric_metric()
    def odd(x: int) -> float:
        if x == 0:
            msg = "x is 0"
            raise InvalidRow(msg)
        return 0.5

    row = Scorer(odd).record(Case(1, "a", "default", True, {"x": 3}))
    assert (
        said(row._replace(detail={"missing": "not a list"}), None)["Verdict"]
        == "0.5, not decided: no policy covers the row"
    )
