from __future__ import annotations

from typing import Any

import pytest

from evalkit.cases.shape import NearKeys, shape_problem


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"case_id": None}, "case_id must be a non-blank text; got NoneType None"),
        ({"case_id": 7}, "case_id must be a non-blank text; got int 7"),
        ({"case_id": ""}, "case_id must be a non-blank text; got str ''"),
        ({"case_id": " \t\u00a0"}, "case_id must be a non-blank text; got str ' \\t\\xa0'"),
        ({"case_id": "\u200b\u2060"}, "case_id must be a non-blank text; got str '\\u200b\\u2060'"),
        ({"case_id": ["a"]}, "case_id must be a non-blank text; got list ['a']"),
        ({"slice": ""}, "slice must be a non-blank text (leave it out for 'default'); got str ''"),
        ({"slice": None}, "slice must be a non-blank text (leave it out for 'default'); got NoneType None"),
        ({"blocking": "true"}, "blocking must be true or false; got str 'true'"),
        ({"blocking": 1}, "blocking must be true or false; got int 1"),
        ({"blocking": None}, "blocking must be true or false; got NoneType None"),
        ({"partition": "test"}, "partition must be one of development, calibration, held_out; got str 'test'"),
        ({"partition": [1]}, "partition must be one of development, calibration, held_out; got list [1]"),
        ({"provenance": "real"}, "provenance must be production or synthetic; got str 'real'"),
        ({"contract_version": 1}, 'contract_version must be a non-blank text, for example "1"; got int 1'),
        ({"prevalence_weight": 0}, "prevalence_weight must be a number above 0; got int 0"),
        ({"prevalence_weight": True}, "prevalence_weight must be a number above 0; got bool True"),
        ({"generation": "gpt"}, "generation must be an object; got str 'gpt'"),
        ({"oracle": 1.0}, 'oracle must be an object such as {"value": 1.0, "reason": "…"}; got float 1.0'),
        ({"rationale": 1}, "rationale must be a text; got int 1"),
        ({"evidence": None}, "evidence must be an object; got NoneType None"),
        ({"evidence": {"question": 1}}, "evidence.question must be a text or null; got int 1"),
        ({"evidence": {"answer": ["a"]}}, "evidence.answer must be a text or null; got list ['a']"),
        ({"evidence": {"citations": {}}}, "evidence.citations must be a list of objects or null; got dict {}"),
        ({"evidence": {"retrieved": ["p"]}}, "evidence.retrieved must be a list of objects or null; got list ['p']"),
        ({"evidence": {"claims": {"a": 1}}}, "evidence.claims must map claim ids to texts; got dict {'a': 1}"),
        ({"evidence": {"claims": []}}, "evidence.claims must map claim ids to texts; got list []"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_reserved_key_of_the_wrong_shape_is_named(changed: dict[str, Any], problem: str):
    assert shape_problem({"case_id": "a"} | changed) == problem


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"slice": "s", "blocking": False, "family": "f", "partition": "held_out", "prevalence_weight": 0.5},
        {"provenance": "production", "generation": {}, "oracle": {"invalid": "x"}, "rationale": "", "source": [1]},
        {"evidence": {}},
        {"evidence": {"retrieved": None, "citations": None, "claims": None, "question": None, "own": 3}},
        {"evidence": {"retrieved": [], "citations": [{}], "claims": {}, "answer": ""}},
    ],
    ids=repr,
)
def test_what_is_well_formed_has_no_problem(fields: dict[str, Any]):
    assert shape_problem({"case_id": "a"} | fields) is None


@pytest.mark.parametrize("name", ["caseid", "case-id", "Case_Id", "case id", "csae_id", "_case_id", "case_ids"])
def test_a_misspelt_case_id_is_recognised(name: str):
    assert shape_problem({name: "a"}) == f"case_id is absent; {name!r} is one slip away: rename it"


def test_no_case_id_and_nothing_like_it():
    assert shape_problem({"id": "a"}) == "case_id is absent"


def test_a_long_value_is_shown_shortened():
    problem = shape_problem({"case_id": "a", "slice": ["x" * 500]})
    assert problem is not None
    assert len(problem) < 150


# --- keys one slip away -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["refrence", "References", "reference ", "referecne", "re-ference", "Reference"])
def test_b06_one_slip_beside_an_absent_required_key_is_invalid(key: str):
    problem = NearKeys(("reference",), ()).problem({"case_id": "a", key: "x"})
    assert problem == f"reference is absent, but the unknown key {key!r} is one slip away from it: rename it"


def test_b06_beside_an_optional_key_it_is_a_finding_that_counts_its_rows():
    near = NearKeys((), ("reference",))
    for _ in range(3):
        assert near.problem({"case_id": "a", "refrence": "x", "blockin": True}) is None
    assert near.findings() == [
        "the unknown key 'blockin' is one slip away from 'blocking', which is absent (3 rows)",
        "the unknown key 'refrence' is one slip away from 'reference', which is absent (3 rows)",
    ]


@pytest.mark.parametrize(
    "fields",
    [{"reference": "r", "refrence": "x"}, {"reference": "r", "notes": 1}, {"reference": "r", "ids": 1}],
    ids=repr,
)
def test_b06_nothing_is_said_where_the_key_itself_is_there_or_nothing_is_near(fields: dict[str, Any]):
    near = NearKeys(("reference",), ())
    assert near.problem({"case_id": "a"} | fields) is None
    assert near.findings() == []


def test_short_names_have_no_neighbours():
    assert NearKeys(("ids",), ()).problem({"case_id": "a", "idx": 1}) is None


def test_b06_the_absent_one_of_two_near_keys_is_meant():
    near = NearKeys(("claim_a", "claim_b"), ())
    assert near.problem({"case_id": "1", "claim_a": 1, "claim_c": 1}) == (
        "claim_b is absent, but the unknown key 'claim_c' is one slip away from it: rename it"
    )
    # And the other way round: what was learnt from the first row does not blind the second.
    assert near.problem({"case_id": "2", "claim_b": 1, "claim_c": 1}) == (
        "claim_a is absent, but the unknown key 'claim_c' is one slip away from it: rename it"
    )


def test_of_two_misspellings_the_first_in_the_line_is_named_in_every_process():
    fields = {"case_id": "a", "refrence": 1, "respons": 1}
    backwards = dict(reversed(fields.items()))
    near = NearKeys(("reference", "response"), ())
    assert "'refrence'" in str(near.problem(fields))
    assert "'respons'" in str(near.problem(backwards))
