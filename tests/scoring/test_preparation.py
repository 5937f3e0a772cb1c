"""S3.5, S4.7 in records and runs: both forms kept under the contract's retention, the hook named, its faults owned."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from evalkit import open_run, score_all
from evalkit.cases.read import Case
from evalkit.contract import Contract, Metric, numeric_metric, sha256_of, sha256_text
from evalkit.metrics.medical_judges import patient_safety
from evalkit.pages.publish import score_to_run
from evalkit.scoring.judge import replay_records
from evalkit.scoring.judging.cassette import read_cassette
from evalkit.scoring.preparation import forms_of
from evalkit.scoring.score import score_cases

FIXTURES = Path(__file__).parents[2] / "fixtures"


def contract(**changed: Any) -> Contract:
    answers: dict[str, Any] = {
        "version": "1", "measures": "length", "reviewed": (), "produced": ("answer",), "invalid_when": ("never",),
        "consumed_by": "the gate", "cannot_establish": "truth",
    }  # fmt: skip
    return Contract(**(answers | changed))


def metric(**changed: Any) -> Metric:
    @numeric_metric(contract=contract(**changed), allowed_values=(0.0, 100.0))
    def length(answer: str) -> float:
        return len(answer)

    return length


def without_mark(answer: str) -> str:
    if answer == "spoilt":
        msg = "cannot be prepared"
        raise ValueError(msg)
    return answer.lstrip("# ")


def case(answer: Any, line: int = 1) -> Case:
    return Case(line, f"c{line}", "default", True, {"case_id": f"c{line}", "answer": answer})


def test_s35_a_record_keeps_both_forms_and_says_which_one_the_metric_received():
    (record,) = score_cases(metric().prepared(answer=without_mark), [case("## abc")])
    assert (record.value, record.inputs) == (3, {"answer": "## abc"})
    assert record.lineage["prepared"] == {
        "answer": {"hook": "without_mark", "received": "prepared", "form": "abc", "sha256": sha256_of("abc")}
    }
    assert record.input_hash == sha256_of({"answer": "## abc"})


def test_s35_an_input_that_no_hook_was_called_on_is_received_raw():
    (record,) = score_cases(metric().prepared(answer=without_mark), [case(5)])
    assert (record.state, record.owner) == ("invalid", "test-data")
    assert record.lineage["prepared"] == {"answer": {"hook": "without_mark", "received": "raw"}}


def test_s35_a_hook_that_raises_is_an_error_of_the_adapter_and_no_row_is_lost():
    found = list(score_cases(metric().prepared(answer=without_mark), [case("spoilt"), case("ok", 2)]))
    assert [(r.state, r.value, r.owner, r.error_kind) for r in found] == [
        ("error", None, "adapter", "preparation"), ("scored", 2, None, None),
    ]  # fmt: skip
    assert found[0].reason == "without_mark(answer) raised ValueError: cannot be prepared"
    assert found[0].lineage["prepared"]["answer"] == {"hook": "without_mark", "received": "nothing"}


@pytest.mark.parametrize(("choice", "kept"), [("hash", None), ("excerpt", "abc")])
def test_s35_the_prepared_form_is_kept_as_the_contract_keeps_the_input(choice: Any, kept: str | None):
    hooked = metric(retention={"answer": choice}).prepared(answer=without_mark)
    (record,) = score_cases(hooked, [case("# abc")])
    entry = record.lineage["prepared"]["answer"]
    assert (entry["form"], entry["sha256"]) == ({"sha256": sha256_of("abc"), "excerpt": kept}, sha256_of("abc"))


def test_s35_the_prepared_form_is_redacted_too():
    hooked = metric(redact=_hide).prepared(answer=without_mark)
    (record,) = score_cases(hooked, [case("# Ann came")])
    assert record.lineage["prepared"]["answer"]["form"] == "[name] came"
    assert "Ann" not in record.to_json().decode()
    assert record.value == len("Ann came")


def _hide(text: str) -> str:
    return text.replace("Ann", "[name]")


def test_s35_a_row_that_never_came_to_the_metric_has_no_prepared_form():
    row = case("# abc")
    other = row._replace(fields=row.fields | {"contract_version": "9"})
    (record,) = score_cases(metric().prepared(answer=without_mark), [other])
    assert (record.state, "prepared" in record.lineage) == ("invalid", False)


def test_s35_a_metric_without_hooks_writes_the_record_it_always_wrote():
    (record,) = score_cases(metric(), [case("# abc")])
    assert record.lineage == {}
    assert list(forms_of(record)) == []


def test_s35_the_manifest_names_the_hook_and_the_hash_of_its_source(tmp_path: Path):
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({"case_id": "a", "answer": "# abc"}) + "\n", encoding="utf-8")
    plain = metric()
    hooked = plain.prepared(answer=without_mark)
    scored = score_to_run(hooked, cases, tmp_path / "run")
    found = open_run(tmp_path / "run").manifest["metric"]
    assert found["fingerprint"] == hooked.fingerprint
    assert found["preparation"]["fingerprint_without"] == plain.fingerprint
    assert found["preparation"]["hooks"]["answer"]["hook"] == "without_mark"
    assert found["preparation"]["hooks"]["answer"]["sha256"].startswith("sha256:")
    assert any("prepared before the metric sees it: answer by without_mark" in said for said in scored.findings)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "answer, prepared by without_mark" in page


def test_s35_hooks_work_beside_other_metrics_in_one_pass(tmp_path: Path):
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({"case_id": "a", "answer": "# abc"}) + "\n", encoding="utf-8")

    @numeric_metric(allowed_values=(0.0, 100.0))
    def raw(answer: str) -> float:
        return len(answer)

    scored = score_all([raw, metric().prepared(answer=without_mark)], cases)
    assert scored.frame[["raw", "length"]].to_dict("records") == [{"raw": 5.0, "length": 3.0}]


def test_s35_what_a_judge_is_shown_is_the_form_that_is_recorded_even_of_a_hook_that_is_never_the_same():
    tick = itertools.count()

    def numbered(response: str) -> str:
        return f"{next(tick)} {response}"

    folder = FIXTURES / "medical_safety"
    cassette = read_cassette(folder / "patient_safety.cassette.jsonl")
    judge = patient_safety.prepared(response=numbered)
    for record in replay_records(judge, folder / "release.jsonl", cassette):
        form = record.lineage["prepared"]["response"]["form"]
        shown = judge.render({**(record.inputs or {}), "response": form})
        assert (record.judge or {})["prompt_sha256"] == sha256_text(shown)


def shout(response: str) -> str:
    return response.upper()


def same(response: str) -> str:
    return response


def test_s35_a_judge_is_asked_about_the_prepared_form():
    folder = FIXTURES / "medical_safety"
    cassette = read_cassette(folder / "patient_safety.cassette.jsonl")
    cases = folder / "release.jsonl"
    # The prompt decides the key: what is prepared into the same text is found again, what is not is another question.
    kept = list(replay_records(patient_safety.prepared(response=same), cases, cassette))
    other = list(replay_records(patient_safety.prepared(response=shout), cases, cassette))
    assert {record.state for record in kept} == {"scored"}
    assert {record.state for record in other} == {"unrun"}
    assert all(record.lineage["prepared"]["response"]["form"].isupper() for record in other)
    prompts = {record.case_id: (record.judge or {})["prompt_sha256"] for record in kept}
    assert all((record.judge or {})["prompt_sha256"] != prompts[record.case_id] for record in other)
