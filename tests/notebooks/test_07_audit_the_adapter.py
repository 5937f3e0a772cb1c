"""Notebook 07: the number that got better, the swap behind it, the audit, the untouched controls."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.contract import EvalkitError, Outcome
from evalkit.pages.notebooks.auditing import Audited, concluded, controls_frame, faults_frame, open_audit
from evalkit.pages.notebooks.command import NotebookOptions, run_notebooks

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "fixtures/adapters"
METRICS = FOLDER / "metrics.py"


def opened(fault: str, metric: str = "passage_recall", adapter: str = "plain") -> Audited:
    return open_audit(adapter, str(FOLDER / "plain.jsonl"), f"{METRICS}:{metric}", fault)


def test_headless_it_passes_with_the_expected_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = run_notebooks(["07"], NotebookOptions(out=tmp_path))
    (verdict,) = done.verdicts
    assert verdict.outcome is Outcome.passed, verdict.checks
    assert verdict.checks[-1].sentence.endswith("as expected")


def test_the_score_gets_better_and_no_schema_minds() -> None:
    found = opened("reference_as_retrieved")
    # 22 rows are scored: 18 with all their reference passages, t09 and t20 with one of two, t10 and t14 with none.
    values = [row.before.value for row in found.rows if row.before.state == "scored"]
    assert len(values) == 22
    assert found.means() == {"mapping": 19 / 22, "faulty": 1.0}
    assert found.states().loc["scored"].tolist() == [22, 22]
    assert found.better()["case_id"].tolist() == ["t10", "t14", "t09", "t20"]
    assert found.findings()["check"].tolist() == ["retrieved_not_gold"]


def test_an_answer_taken_from_the_reference_makes_every_word_count() -> None:
    found = opened("answer_from_reference", metric="reference_words")
    means = found.means()
    assert means["mapping"] is not None
    assert means["mapping"] < 0.7
    assert means["faulty"] == 1.0
    assert "answer_not_reference" in found.findings()["check"].tolist()


def test_one_row_is_shown_three_times() -> None:
    frame = opened("reference_as_retrieved").shown("t10")
    assert list(frame.columns) == ["the trace kept", "the mapping gives", "the faulty one gives"]
    passages = frame.loc["passages given to generation"]
    assert passages.iloc[0] == passages.iloc[1] != passages.iloc[2]
    assert passages.iloc[2] == frame.loc["reference passages"].iloc[0]


def test_every_fault_and_every_control_is_on_the_page() -> None:
    found = opened("reference_as_retrieved")
    assert len(faults_frame(found, most=99)) == 19
    frame = controls_frame(found)
    assert frame["ok"].all()
    assert sum(len(faults.split(", ")) for faults in frame["stands beside"]) == 19


def test_a_mapping_that_fails_its_audit_ends_the_page_incomplete(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from dataclasses import replace\nfrom evalkit.cases.adapters.shipped import SHIPPED\n"
        'MINE = replace(SHIPPED["plain"], name="mine", answer="reference")\n'
    )
    ended = concluded(opened("reference_as_retrieved", adapter=f"{mine}:MINE"), "t.jsonl")
    assert ended.outcome is Outcome.incomplete
    assert any(sentence.startswith("answer_not_reference fails on") for sentence in ended.sentences)
    assert ended.facts["traces"] == "t.jsonl"


def test_a_fault_that_nobody_plants_is_named_with_those_that_are() -> None:
    with pytest.raises(EvalkitError, match="there is no planted fault 'gold'; one of reference_as_retrieved"):
        opened("gold")
