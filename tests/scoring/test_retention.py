from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Callable
from typing import Any

import pytest

from evalkit.contract import Contract, sha256_of
from evalkit.scoring.retention import (
    EXCERPT_LENGTH,
    RedactionFailed,
    is_kept_in_full,
    keeper,
    redactor,
)


def seen_hash_of(inputs: dict[str, Any], evidence: dict[str, Any] | None) -> str:
    return keeper(None)(inputs, evidence).seen_hash


def contract(**changed: Any) -> Contract:
    answers: dict[str, Any] = {
        "version": "1", "measures": "m", "reviewed": ("reference",), "produced": ("response",),
        "invalid_when": ("never",), "consumed_by": "the gate", "cannot_establish": "truth",
    }  # fmt: skip
    return Contract(**(answers | changed))


def masked(text: str) -> str:
    return text.replace("Ada", "[name]")


INPUTS = {"response": "Ada pays", "reference": ["Ada", "pays"]}
EVIDENCE = {"question": "who?", "answer": "Ada", "retrieved": [{"document_id": "d", "text": "Ada"}], "Ada": 1}


def test_without_a_contract_everything_is_kept_as_it_was():
    kept = keeper(None)(INPUTS, EVIDENCE)
    assert (kept.inputs, kept.evidence) == (INPUTS, EVIDENCE)
    assert (kept.input_hash, kept.evidence_hash) == (sha256_of(INPUTS), sha256_of(EVIDENCE))


def test_no_evidence_is_none_and_empty_evidence_is_empty():
    for keep in (keeper(None), keeper(contract(redact=masked))):
        assert keep(INPUTS, None).evidence is None
        assert keep(INPUTS, None).evidence_hash is None
        assert keep(INPUTS, {}).evidence == {}
        assert keep(INPUTS, {}).evidence_hash == sha256_of({})


def test_each_key_is_kept_in_full_as_excerpt_or_as_hash():
    long = "x" * (EXCERPT_LENGTH + 1)
    keep = keeper(
        contract(retention={"response": "excerpt", "reference": "hash", "retrieved": "hash", "answer": "full"})
    )
    kept = keep({"response": long, "reference": ["a"]}, {"answer": long, "retrieved": [{"text": long}]})
    assert kept.inputs == {
        "response": {"sha256": sha256_of(long), "excerpt": "x" * EXCERPT_LENGTH},
        "reference": {"sha256": sha256_of(["a"]), "excerpt": None},
    }
    assert kept.evidence == {"answer": long, "retrieved": {"sha256": sha256_of([{"text": long}]), "excerpt": None}}
    # Hashes are of the uncut form.
    assert kept.input_hash == sha256_of({"response": long, "reference": ["a"]})
    assert [is_kept_in_full(kept.inputs["response"]), is_kept_in_full(kept.evidence["answer"])] == [False, True]


def test_the_excerpt_of_a_list_is_of_its_json():
    kept = keeper(contract(retention={"reference": "excerpt"}))({"reference": ["ä", 1]}, None)
    assert kept.inputs["reference"]["excerpt"] == '["ä",1]'


def test_that_an_input_is_missing_is_not_hidden_by_a_hash():
    kept = keeper(contract(retention={"reference": "hash"}))({"reference": None}, {"retrieved": None})
    assert kept.inputs == {"reference": None}
    assert kept.evidence == {"retrieved": None}


def test_redaction_comes_before_every_hash_and_every_excerpt():
    kept = keeper(contract(redact=masked, retention={"response": "excerpt"}))(INPUTS, EVIDENCE)
    clean_inputs = {"response": "[name] pays", "reference": ["[name]", "pays"]}
    clean_evidence = json.loads(json.dumps(EVIDENCE).replace("Ada", "[name]"))
    assert kept.inputs == {
        "response": {"sha256": sha256_of("[name] pays"), "excerpt": "[name] pays"},
        "reference": ["[name]", "pays"],
    }
    assert kept.evidence == clean_evidence
    assert kept.input_hash == sha256_of(clean_inputs)
    assert kept.evidence_hash == sha256_of(clean_evidence)
    assert kept.seen_hash == seen_hash_of(clean_inputs, clean_evidence)
    assert "Ada" not in json.dumps(kept)


def test_the_rows_own_values_are_left_alone():
    inputs, before = {"reference": ["Ada"]}, {"reference": ["Ada"]}
    keeper(contract(redact=masked, retention={"reference": "hash"}))(inputs, None)
    assert inputs == before


@dataclasses.dataclass
class Note:
    text: str


class Word(enum.Enum):
    NAME = "Ada"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Ada", "[name]"),
        (["Ada", ["Ada"]], ["[name]", ["[name]"]]),
        (("Ada", 1), ["[name]", 1]),
        ({"Ada": {"Ada": "Ada"}}, {"[name]": {"[name]": "[name]"}}),
        (Note("Ada"), {"text": "[name]"}),
        ({"notes": (Note("Ada"),)}, {"notes": [{"text": "[name]"}]}),
        (Word.NAME, "[name]"),
        ([None, True, 1, 2.5], [None, True, 1, 2.5]),
    ],
    ids=repr,
)
def test_whatever_would_be_written_is_redacted(value: Any, expected: Any):
    assert redactor(contract(redact=masked))(value) == expected


def test_what_cannot_be_written_is_left_to_the_writer():
    strange = {1: "Ada"}
    assert redactor(contract(redact=masked))(strange) == {1: "[name]"}
    assert redactor(contract(redact=masked))({"a": masked}) == {"a": masked}


def fails(text: str) -> str:
    raise KeyError(text)


@pytest.mark.parametrize(
    ("redact", "message"), [(fails, "raised KeyError"), (lambda _: None, "gave back NoneType, not a text")]
)
def test_a_redaction_that_fails_says_so_without_quoting_the_text(redact: Callable[[str], str], message: str):
    with pytest.raises(RedactionFailed) as caught:
        redactor(contract(redact=redact))("Ada")
    assert str(caught.value) == message


# --- what an approver saw ---------------------------------------------------------------------------------------------


def test_what_was_seen_is_question_answer_and_passages():
    seen = {"question": "q", "answer": "a", "retrieved": [{"text": "p"}]}
    for unseen in ({"citations": [1]}, {"claims": {"c": "t"}}, {"reference": "r"}, {"own": 1}):
        assert seen_hash_of({"x": 1}, seen | unseen) == sha256_of(seen)
    for changed in ({"question": "q2"}, {"answer": "b"}, {"retrieved": []}, {"retrieved": None}):
        assert seen_hash_of({"x": 1}, seen | changed) != sha256_of(seen)


def test_a_case_without_evidence_is_seen_by_its_inputs():
    for evidence in (None, {}, {"claims": {"c": "t"}}):
        assert seen_hash_of({"x": 1}, evidence) == sha256_of({"x": 1})


def test_nothing_retrieved_and_a_lost_trace_are_not_the_same_sight():
    assert seen_hash_of({}, {"retrieved": None}) != seen_hash_of({}, {"retrieved": []})
