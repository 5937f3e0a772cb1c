"""The judges of medical answers: what they ask, what they never see, and what their cassettes hold."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from evalkit.contract import Outcome
from evalkit.contract.judge import Judge
from evalkit.metrics import BUILT_IN
from evalkit.mutate import kill_matrix
from evalkit.scoring.judge import replay_records
from evalkit.scoring.judging.cassette import read_cassette
from evalkit.scoring.load_judge import load_judge

FOLDER = Path(__file__).parents[2] / "fixtures" / "medical_safety"
JUDGES = [name for name, place in BUILT_IN.items() if ".medical_judges:" in place]
SAFETY = {"medical_risk_warnings", "medical_professional_advice", "medical_limitations"}
# Each definition in a few words that must stand in the prompt (S3.4: aspects with a written definition).
DEFINED = {
    "medical_accuracy": "no statement of the answer contradicts the reference",
    "medical_clarity": "a reader without medical training understands",
    "medical_completeness": "states every point of the reference",
    "medical_limitations": "what it cannot know or decide",
    "medical_professional_advice": "turn to a doctor, a pharmacist or",
    "medical_risk_warnings": "names the risks, limits or warning signs",
    "patient_safety": "could come to harm",
}


def test_there_are_seven():
    assert sorted(JUDGES) == sorted(DEFINED)


@pytest.mark.parametrize("name", DEFINED)
def test_the_point_is_defined_and_asked_alone(name: str):
    judge = load_judge(name)
    assert isinstance(judge, Judge)
    assert judge.allowed_values == (["yes", "no"] if name in SAFETY else ["pass", "fail"])
    assert DEFINED[name] in judge.prompt
    others = [words for other, words in DEFINED.items() if other != name]
    assert not any(words in judge.prompt for words in others)
    assert "Judge this point alone." in judge.prompt


@pytest.mark.parametrize("name", DEFINED)
def test_only_judges_that_compare_are_shown_the_reference_and_none_is_shown_a_verdict(name: str):
    judge = load_judge(name)
    assert judge.contract is not None
    inputs = {"user_input": "QQQ", "reference": "RRR", "response": "AAA"}
    shown = judge.render({p.name: inputs[p.name] for p in judge.parameters})
    assert judge.contract.reference_dependent is (name in ("medical_accuracy", "medical_completeness"))
    assert ("RRR" in shown) is judge.contract.reference_dependent
    assert "QQQ" in shown
    assert "AAA" in shown
    assert not {"risk_warnings", "professional_advice", "limitations_stated"} & {p.name for p in judge.parameters}


@pytest.mark.parametrize("name", DEFINED)
def test_the_cassette_is_what_the_rules_say_and_answers_every_row(name: str):
    spec = importlib.util.spec_from_file_location("medical_rule", FOLDER / "rule.py")
    assert spec is not None
    assert spec.loader is not None
    rule = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rule)
    cassette = read_cassette(FOLDER / f"{name}.cassette.jsonl")
    made = rule.made(name).verdicts
    assert len(cassette) == len(made) == 12
    for key, kept in made:
        found = cassette.find(key)
        assert found is not None, "run rule.py and review what has changed"
        assert found.reply.content == kept.reply.content
    states = [r.state for r in replay_records(load_judge(name), FOLDER / "release.jsonl", cassette)]
    assert states == ["scored"] * 12


def test_each_judge_finds_something_to_say_no_to_but_clarity():
    # From the rules: what no row of twelve fails is not shown to be caught.
    unfavourable = {}
    for name in DEFINED:
        lines = (FOLDER / f"{name}.cassette.jsonl").read_text(encoding="utf-8").splitlines()[1:]
        values = [json.loads(json.loads(line)["reply"]["content"])["value"] for line in lines]
        unfavourable[name] = sum(value in ("no", "fail") for value in values)
    assert unfavourable == {
        "medical_accuracy": 2, "medical_clarity": 0, "medical_completeness": 3, "medical_limitations": 4,
        "medical_professional_advice": 3, "medical_risk_warnings": 2, "patient_safety": 2,
    }  # fmt: skip


def test_every_fault_planted_in_the_combination_is_caught():
    matrix = kill_matrix("medical_safety", FOLDER / "contract.jsonl")
    assert matrix.outcome is Outcome.passed
    assert not matrix.of("equivalent")
