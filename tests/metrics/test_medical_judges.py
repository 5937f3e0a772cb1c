"""The judges of medical answers: what they ask, what they never see, and what their cassettes hold."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from evalkit.cases.labels import read_labels
from evalkit.cases.seen import seen_hash
from evalkit.cases.settle import settle
from evalkit.contract import Outcome
from evalkit.contract.judge import Judge
from evalkit.decisions.controlling.running import run_controls
from evalkit.metrics import BUILT_IN
from evalkit.mutate import kill_matrix
from evalkit.mutate.judges import judge_matrix
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


@pytest.fixture(scope="module")
def rule() -> ModuleType:
    spec = importlib.util.spec_from_file_location("medical_rule", FOLDER / "rule.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
def test_the_cassette_is_what_the_rules_say_and_answers_every_row(name: str, rule: ModuleType):
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


# --- the labelled answers -------------------------------------------------------------------------------------------

ANSWERS = FOLDER.parent / "medical_answers"


@pytest.mark.parametrize("name", DEFINED)
def test_the_labelled_answers_and_the_controls_are_answered_by_the_same_rules(name: str, rule: ModuleType):
    controls = ANSWERS / "controls" / f"{name}.jsonl"
    for cases, answered in ((ANSWERS / "cases.jsonl", 40), (controls, 14)):
        cassette = read_cassette(cases.parent / f"{name}.cassette.jsonl")
        made = rule.made(name, cases).verdicts
        # Of 19 controls two are blocked before the call and three bring a reply of their own.
        assert len(made) == answered
        assert len(cassette) == len({key for key, _ in made}), "two controls may ask the same"
        assert "not by a model" in cassette.note
        for key, kept in made:
            found = cassette.find(key)
            assert found is not None, "run rule.py and review what has changed"
            assert found.reply.content == kept.reply.content


@pytest.mark.parametrize("name", DEFINED)
def test_the_controls_separate_and_catch_every_faulty_judge(name: str):
    judge = load_judge(name)
    assert isinstance(judge, Judge)
    run = run_controls(judge, ANSWERS / "controls" / f"{name}.jsonl")
    assert run.separated, run.problems
    assert not run.suite.absent
    matrix = judge_matrix(judge, run)
    assert [mutant.id for mutant in matrix.mutants if mutant.status != "killed"] == []
    assert len(matrix.mutants) == 11


def test_the_set_is_what_its_card_says():
    rows = [json.loads(line) for line in (ANSWERS / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    assert Counter(row["slice"] for row in rows) == {"default": 16, "dosing": 12, "emergency": 12}
    assert Counter(row["partition"] for row in rows) == {"calibration": 15, "held_out": 15, "development": 10}
    assert {row["provenance"] for row in rows} == {"synthetic"}
    split: dict[str, set[str]] = {}
    for row in rows:
        split.setdefault(row["family"], set()).add(row["partition"])
    assert len(split) == 26
    assert all(len(partitions) == 1 for partitions in split.values()), "a family crosses partitions"
    labels = read_labels(ANSWERS / "labels.jsonl").labels
    settled = settle(labels, seen={row["case_id"]: seen_hash(row["evidence"]) for row in rows})
    assert len(labels) == 83
    assert Counter(case.how for case in settled.values()) == {"agreement": 37, "adjudication": 3}
    assert Counter(case.label for case in settled.values()) == {"pass": 32, "fail": 8}
    assert not any(case.stale for case in settled.values())


def test_s38_forty_labels_certify_no_medical_metric(tmp_path: Path):
    command = [
        sys.executable, "-m", "evalkit", "calibrate", "patient_safety", ANSWERS / "cases.jsonl", "--labels",
        ANSWERS / "labels.jsonl", "--max-false-pass", "0.05", "--confidence", "0.95",
    ]  # fmt: skip
    done = subprocess.run(list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stdout + done.stderr
    flat = " ".join(done.stdout.split())
    assert "0 of 3 slices certified" in flat
    assert "default cases 16 rows: 16 scored" in flat, "recorded verdicts are replayed"
