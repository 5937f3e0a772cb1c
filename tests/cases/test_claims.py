"""Proposed claims: drafted from the reference, decided by people, never gold as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalkit.cases.claims import CLAIM_INPUTS, Claim, ReviewedClaims, claims_table, draft_claims, read_claims, sentences
from evalkit.cases.seen import seen_hash
from evalkit.contract import EvalkitError
from evalkit.metrics.evidence_coverage import evidence_coverage

EVIDENCE: dict[str, Any] = {
    "question": "What does a card cost?",
    "answer": "A card costs 24 euros a year.",
    "reference": "A card costs 24 euros a year. It is free below the age of 18.",
    "retrieved": [
        {"document_id": "fees", "revision": "7", "passage_id": "p1", "text": "A card costs 24 euros a year."}
    ],
}


def decided(proposed: Claim, /, **changes: str) -> Claim:
    return proposed._replace(**{"decision": "approve", "supported": "yes", "reviewer": "r1", **changes})


def case(**evidence: Any) -> dict[str, Any]:
    return {"case_id": "t", "evidence": {**EVIDENCE, **evidence}}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("It costs 0.20 euros. At most 8.50.", ["It costs 0.20 euros.", "At most 8.50."]),
        ("See e.g. the fees. Ask Dr. Who.", ["See e.g. the fees.", "Ask Dr. Who."]),
        ("line one\nline two", ["line one", "line two"]),
        ("返金は可能。期限は30日。", ["返金は可能。", "期限は30日。"]),
        ("  ", []),
    ],
)
def test_a_reference_is_split_into_sentences(text: str, parts: list[str]) -> None:
    assert sentences(text) == parts


def test_a_draft_says_where_the_words_stand_and_decides_nothing() -> None:
    first, second = draft_claims(EVIDENCE, "t")
    # card, costs, 24, euros, year: "a" says nothing; all five are in the answer.
    assert (first.claim_id, first.answer_says, first.answer_words) == ("c01", "found", "5 of 5 words")
    assert (first.passage_says, first.passage) == ("found", "fees / 7 / p1")
    assert (second.answer_says, second.answer_words) == ("absent", "0 of 4 words, lacks 18")
    assert all(claim.is_open and not claim.supported and not claim.decision for claim in (first, second))
    assert draft_claims({**EVIDENCE, "reference": None}, "t") == []
    assert draft_claims({**EVIDENCE, "answer": None}, "t")[0].answer_says == "no answer"


def test_undecided_claims_make_a_row_unfit() -> None:
    first, second = draft_claims(EVIDENCE, "t")
    for claims, told in (
        ([], "no claims were reviewed for this case"),
        ([first, second], "2 of 2 claims are not approved: c01, c02"),
        ([decided(first), second], "1 of 2 claims are not approved: c02"),
        ([decided(first), decided(second, supported="")], "1 of 2 claims are not approved: c02"),
    ):
        amended = ReviewedClaims(claims).amend(case())
        assert amended["unfit"] == {"reason": told, "owner": "test-data", "inputs": list(CLAIM_INPUTS)}
        assert CLAIM_INPUTS[0] not in amended


def test_approved_claims_become_the_inputs_of_a_coverage_metric() -> None:
    first, second = draft_claims(EVIDENCE, "t")
    added = Claim("t", "c03", "The year starts on the day of issue.")
    claims = [
        decided(first),
        decided(second, decision="change", changed_claim="It is free for minors.", supported="no"),
        decided(added, decision="reject", supported=""),
    ]
    amended = ReviewedClaims(claims).amend(case())
    assert "unfit" not in amended
    assert amended["required_claim_ids"] == ["c01", "c02"]
    assert amended["supported_claim_ids"] == ["c01"]
    assert amended["evidence"]["claims"] == {"c01": first.claim, "c02": "It is free for minors."}
    result = evidence_coverage.score(**{name: amended[name] for name in CLAIM_INPUTS})
    assert (result.value, result.reason) == (0.5, "supported=1; required=2; missing=c02")


def test_another_required_set_is_another_version() -> None:
    first, second = draft_claims(EVIDENCE, "t")
    both = ReviewedClaims([decided(first), decided(second)]).amend(case())
    one = ReviewedClaims([decided(first), decided(second, decision="reject")]).amend(case())
    weaker = ReviewedClaims([decided(first), decided(second, supported="no")]).amend(case())
    assert both["requirement_set_version"] != one["requirement_set_version"]
    assert both["requirement_set_version"] == weaker["requirement_set_version"]  # support is not what is required


def test_support_that_was_decided_for_another_answer_does_not_count() -> None:
    claims = [decided(claim) for claim in draft_claims(EVIDENCE, "t")]
    amended = ReviewedClaims(claims).amend(case(answer="It costs 30 euros."))
    assert amended["unfit"]["reason"].startswith("support of c01, c02 was decided for another answer")
    # A line that people added has no hash of its own: it was decided with the others.
    assert "unfit" not in ReviewedClaims([*claims, decided(Claim("t", "c03", "More."))]).amend(case())


def test_an_earlier_unfitness_stays() -> None:
    unfit = {"reason": "the application failed", "owner": "answer"}
    assert ReviewedClaims([]).amend(case() | {"unfit": unfit})["unfit"] == unfit


def test_a_redraft_keeps_the_claims_and_forgets_support_of_another_answer() -> None:
    kept = [decided(claim) for claim in draft_claims(EVIDENCE, "t")]
    same = draft_claims(EVIDENCE, "t", kept)
    assert [claim.supported for claim in same] == ["yes", "yes"]
    changed = {**EVIDENCE, "answer": "Free below 18."}
    redrafted = draft_claims(changed, "t", kept)
    assert [(claim.decision, claim.supported) for claim in redrafted] == [("approve", ""), ("approve", "")]
    assert {claim.seen_hash for claim in redrafted} == {seen_hash(changed)}


def test_the_sheet_comes_back_as_it_was_written(tmp_path: Path) -> None:
    formula = decided(draft_claims(EVIDENCE, "t")[0], note="=HYPERLINK(1)", claim="-5 euros,\nat once")
    path = tmp_path / "claims.csv"
    path.write_bytes(claims_table([formula]))
    assert read_claims(path).by_case == {"t": [formula]}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"decision": "maybe"}, "decision must be approve, change, reject or blank; got 'maybe'"),
        ({"supported": "partly"}, "supported must be yes, no or blank; got 'partly'"),
        ({"decision": "change"}, "a change needs its text in changed_claim"),
        ({"reviewer": " "}, "a decision needs its reviewer"),
        ({"claim_id": ""}, "case_id or claim_id is blank"),
    ],
)
def test_a_sheet_with_a_mistake_is_refused_with_its_line(tmp_path: Path, change: dict[str, str], told: str) -> None:
    path = tmp_path / "claims.csv"
    path.write_bytes(claims_table([decided(draft_claims(EVIDENCE, "t")[0], **change)]))
    with pytest.raises(EvalkitError, match=f"line 2: {told}"):
        read_claims(path)


def test_one_claim_id_twice_is_refused_naming_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    first, second = draft_claims(EVIDENCE, "t")
    path.write_bytes(claims_table([first, second._replace(claim_id="c01")]))
    with pytest.raises(EvalkitError, match="line 3: t / c01 stands on line 2 already"):
        read_claims(path)


def test_another_table_is_no_sheet(tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    path.write_text("case_id,claim\nt,x\n")
    with pytest.raises(EvalkitError, match="lacks the columns claim_id, decision, supported"):
        read_claims(path)
