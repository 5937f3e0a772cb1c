from __future__ import annotations

import orjson
import pytest

from evalkit.contract import EvalkitError, Outcome
from evalkit.mutate.matrix import Kill, KillMatrix, Mutant

CAUGHT = Mutant(
    id="a", operator="number", line=3, diff="- x\n+ y", status="killed", kills=(Kill("half", "value", "0.4"),)
)
LEFT = Mutant(id="b", operator="string", suggested_case={"case_id": "kills-b", "n": 1})
SAME = Mutant(id="c", operator="clamp", status="equivalent", note="never outside")
ABSENT = Mutant(id="d", operator="label", status="not_applicable", note="no label")


def matrix(*mutants: Mutant) -> KillMatrix:
    return KillMatrix(subject="share", cases=("half", "all"), mutants=mutants)


def test_the_score_leaves_equivalent_and_not_applicable_out_of_the_denominator():
    # killed / (all - equivalent - not applicable) = 1 / (4 - 1 - 1)
    found = matrix(CAUGHT, LEFT, SAME, ABSENT)
    assert (found.score, found.denominator) == (0.5, 2)
    assert found.in_words() == "killed 1 of 2 (4 in all, without 1 equivalent and 1 not applicable)"


@pytest.mark.parametrize(
    ("mutants", "outcome"),
    [
        ((CAUGHT,), Outcome.passed),
        ((CAUGHT, SAME), Outcome.passed),
        ((CAUGHT, LEFT), Outcome.quality_failed),
        ((SAME, ABSENT), Outcome.incomplete),
        ((), Outcome.incomplete),
    ],
)
def test_outcome(mutants, outcome):
    assert matrix(*mutants).outcome is outcome


def test_nothing_planted_is_no_score_of_one():
    assert matrix(ABSENT).score is None


def test_json_has_the_fields_of_the_interface_and_comes_back_equal():
    found = matrix(CAUGHT, LEFT, SAME, ABSENT)
    plain = orjson.loads(orjson.dumps(found.to_json()))
    assert {name: plain[name] for name in ("score", "killed", "survived", "equivalent", "not_applicable")} == {
        "score": 0.5,
        "killed": 1,
        "survived": 1,
        "equivalent": 1,
        "not_applicable": 1,
    }
    first = plain["mutants"][0]
    assert {"id", "operator", "line", "diff", "status", "killed_by", "suggested_case"} <= set(first)
    assert first["killed_by"] == ["half"]
    assert KillMatrix.from_json(plain).to_json() == found.to_json()


def test_json_of_something_else_is_refused():
    with pytest.raises(EvalkitError, match="not a kill matrix as evalkit writes it"):
        KillMatrix.from_json({"mutants": []})


def test_killed_means_at_least_one_case():
    with pytest.raises(ValueError, match="'a' is killed with 0 kills"):
        Mutant(id="a", operator="number", status="killed")
    with pytest.raises(ValueError, match="'a' is survived with 1 kills"):
        Mutant(id="a", operator="number", kills=(Kill("half", "value"),))


def test_an_unknown_status_is_refused():
    with pytest.raises(ValueError, match="got 'dead'"):
        Mutant(id="a", operator="number", status="dead")


def test_two_mutants_of_one_id_are_refused():
    with pytest.raises(ValueError, match="two mutants have the id 'b'"):
        matrix(LEFT, LEFT)


def test_layers_come_together_and_are_told_apart():
    gate = Mutant(id="g", operator="expired", layer="gate")
    other = KillMatrix(subject="gate", cases=("all", "late"), mutants=(gate,), facts={"policy": "release"})
    both = matrix(CAUGHT).together(other)
    assert both.cases == ("half", "all", "late")
    assert both.of("survived", "gate") == [gate]
    assert both.of("survived", "metric") == []
    assert both.facts == {"policy": "release", "suites": {"metric": ["half", "all"], "gate": ["all", "late"]}}
    assert (both.part("gate").cases, both.part("gate").mutants) == (("all", "late"), (gate,))
    assert both.part("metric").cases == ("half", "all")
