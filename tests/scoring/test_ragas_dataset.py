"""Records as ragas' samples and experiment rows, and its datasets as cases (the import of ragas is shared)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from labelled_rows import record

from evalkit.cases.read import Case, read_cases
from evalkit.contract import EvalkitError
from evalkit.metrics.medical import medical_citation_accuracy
from evalkit.scoring.ragas_bridge.dataset import cases_of_dataset, dataset_of_records, experiment_rows
from evalkit.scoring.score import score_cases

ROWS = Path(__file__).parents[2] / "fixtures" / "medical_citation_accuracy" / "release.jsonl"


def scored():
    return list(score_cases(medical_citation_accuracy, ROWS))


def test_each_record_becomes_one_sample_in_order():
    records = scored()
    dataset = dataset_of_records(records, name="release")
    assert len(dataset) == len(records) == 14
    assert type(dataset).__module__ == "ragas.dataset_schema"
    for sample, found in zip(dataset, records, strict=True):
        assert sample.response == found.inputs["response"]
        assert sample.retrieved_contexts == found.inputs["retrieved_contexts"]
        assert sample.user_input == found.evidence["question"]
    assert dataset[7].retrieved_contexts == []  # nothing was retrieved, which is not None


def test_a_dataset_of_ragas_is_scored_as_the_rows_it_was_made_from(tmp_path: Path):
    records = scored()
    path = tmp_path / "cases.jsonl"
    cases = cases_of_dataset(dataset_of_records(records))
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    assert all(isinstance(item, Case) for item in read_cases(path))
    again = list(score_cases(medical_citation_accuracy, path))
    assert [row.value for row in again] == [row.value for row in records]
    assert [row.reason for row in again] == [row.reason for row in records]
    assert [row.case_id for row in again][:2] == ["row-1", "row-2"]


def test_experiment_rows_keep_id_state_and_reason_and_come_back_with_their_ids(tmp_path: Path):
    import pandas as pd

    records = [*scored()[:2], record("lost", None, reason="response is absent", evidence=None, inputs={})]
    rows = experiment_rows(records, "medical_citation_accuracy")
    assert (rows[0]["case_id"], rows[0]["medical_citation_accuracy"]) == ("fever-when-to-call", 1.0)
    assert rows[2]["medical_citation_accuracy"] is None
    assert rows[2]["medical_citation_accuracy_state"] == "invalid"
    assert rows[2]["medical_citation_accuracy_reason"] == "response is absent"
    assert [case["case_id"] for case in cases_of_dataset(rows)] == ["fever-when-to-call", "sprain-first-day", "lost"]
    assert pd.DataFrame(rows)["medical_citation_accuracy_state"].tolist() == ["scored", "scored", "invalid"]


def test_a_lost_retrieval_and_an_empty_one_stay_apart():
    lost = record("a", 1.0, evidence={"question": "q", "answer": "a", "retrieved": None})
    empty = record("b", 1.0, evidence={"question": "q", "answer": "a", "retrieved": []})
    dataset = dataset_of_records([lost, empty])
    assert [sample.retrieved_contexts for sample in dataset] == [None, []]
    cases = cases_of_dataset(dataset)
    assert [case["retrieved_contexts"] for case in cases] == [None, []]
    assert [case["evidence"]["retrieved"] for case in cases] == [None, []]


def test_what_was_kept_as_a_hash_is_not_handed_on_as_if_it_were_text():
    hashed = record("a", 1.0, inputs={"response": {"sha256": "sha256:0", "excerpt": "Yes"}})
    with pytest.raises(EvalkitError, match="response of case 'a' was kept as a hash only"):
        dataset_of_records([hashed])


def test_a_conversation_is_not_cut_by_guess():
    from ragas.dataset_schema import EvaluationDataset, MultiTurnSample
    from ragas.messages import AIMessage, HumanMessage

    turns = [HumanMessage(content="Hello"), AIMessage(content="Hello")]
    dataset = EvaluationDataset(samples=[MultiTurnSample(user_input=turns)])
    with pytest.raises(EvalkitError, match=r"sample 1 is a conversation.*evalkit adapt ragas"):
        cases_of_dataset(dataset)


def test_no_record_is_no_dataset():
    with pytest.raises(EvalkitError, match="needs at least one sample; there is no record"):
        dataset_of_records([])


def test_a_finished_run_is_handed_on_in_each_form(tmp_path: Path):
    from evalkit.pages.publish import score_to_run
    from evalkit.scoring.exchange import read_records_csv
    from evalkit.scoring.run import open_run

    score_to_run(medical_citation_accuracy, ROWS, tmp_path / "run")
    run = open_run(tmp_path / "run")
    assert run.frame()["value"].tolist() == [row.value for row in scored()]
    run.to_csv(tmp_path / "rows.csv")
    assert read_records_csv(tmp_path / "rows.csv") == list(run.records())
    dataset = run.to_ragas()
    assert (len(dataset), dataset.name) == (14, "medical_citation_accuracy")
    assert run.experiment_rows()[0]["medical_citation_accuracy"] == 1.0
