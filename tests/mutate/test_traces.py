"""The audit of an adapter: every corruption caught on every shipped mapping, every valid control scored.

Field case D01 is here, and "removing any one check lets a named corruption live".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases.adapters import Adapter, At, Observed, PassagesAt
from evalkit.cases.adapters.apply import Mapper
from evalkit.cases.adapters.checks import CHECKS, Pair
from evalkit.cases.adapters.feeding import FEED_CHECKS
from evalkit.cases.adapters.observed import happened_in, witnessed_by
from evalkit.cases.adapters.profile import FILE_CHECKS, MEANINGS
from evalkit.cases.adapters.shipped import SHIPPED
from evalkit.cases.traces import READERS
from evalkit.contract import Metric, Outcome
from evalkit.metrics.refund_answer import refund_answer
from evalkit.mutate.audited import Audit
from evalkit.mutate.corruptions import CORRUPTIONS
from evalkit.mutate.file_corruptions import FEED_CORRUPTIONS, FILE_CORRUPTIONS
from evalkit.mutate.traces import AuditOptions, audit
from evalkit.scoring.load import load_metric

FIXTURES = Path(__file__).parents[2] / "fixtures" / "adapters"
METRICS = Path(__file__).with_name("adapter_metrics.py")
SHAPES = {
    "plain": "plain.jsonl",
    "ragas": "ragas_new.jsonl",
    "ragas-old": "ragas_old.jsonl",
    "csv": "traces.csv",
    "openinference": "openinference.jsonl",
    "otel-genai": "otel_genai.jsonl",
}
PLAIN = SHIPPED["plain"]


@pytest.fixture(scope="module")
def metrics() -> list[Metric]:
    return [load_metric(f"{METRICS}:{name}") for name in ("grounded", "exact")]


def named(found: Audit) -> dict[str, int]:
    return {check.name: check.failed for check in found.failed}


# --- the shipped mappings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_every_corruption_is_caught_on_every_shipped_mapping(shape: str, metrics: list[Metric]) -> None:
    found = audit(SHIPPED[shape.removesuffix("-old")], FIXTURES / SHAPES[shape], metrics)
    assert {mutant.id: mutant.status for mutant in found.matrix.mutants} == dict.fromkeys(
        (*CORRUPTIONS, *FILE_CORRUPTIONS, *FEED_CORRUPTIONS), "killed"
    )
    # Each by the check that is there for it, on every row it was planted into.
    wanted = {c.name: c.check for table in (CORRUPTIONS, FILE_CORRUPTIONS, FEED_CORRUPTIONS) for c in table.values()}
    assert {mutant.id: mutant.where for mutant in found.matrix.mutants} == wanted
    assert (found.outcome, named(found)) == (Outcome.passed, {})


@pytest.mark.parametrize("shape", SHAPES)
def test_beside_each_corruption_an_untouched_trace_reaches_scoring_as_itself(shape: str, metrics: list[Metric]) -> None:
    found = audit(SHIPPED[shape.removesuffix("-old")], FIXTURES / SHAPES[shape], metrics)
    assert [control.corruption for control in found.controls] == list(CORRUPTIONS)
    assert all(control.ok for control in found.controls)
    assert all(control.states == {"grounded": "scored", "exact": "scored"} for control in found.controls)
    # A trace whose application failed, or whose passages were lost, cannot be scored: another stands beside those.
    others = {control.corruption for control in found.controls if not control.is_same_trace}
    assert others == {"error_as_answer", "failure_filled_from_gold", "lost_as_empty", "lost_filled"}


def test_the_shipped_shapes_say_the_same_of_the_same_traces(metrics: list[Metric]) -> None:
    told: dict[str, list[Any]] = {}
    for shape, file in SHAPES.items():
        cases: list[dict[str, Any]] = []
        audit(SHIPPED[shape.removesuffix("-old")], FIXTURES / file, metrics, options=AuditOptions(sink=cases.append))
        keys = ("response", "retrieved_contexts", "reference")
        told[shape] = [{key: case.get(key) for key in keys} for case in cases]
    assert all(rows == told["plain"] for rows in told.values())
    assert len(told["plain"]) == 24


def test_a_judge_is_sent_to_the_door_and_never_asked() -> None:
    found = audit(PLAIN, FIXTURES / "plain.jsonl", [refund_answer])
    assert {state for control in found.controls for state in control.states.values()} == {"unrun"}
    assert found.sights == {"refund_answer": {}}


# --- removing one check at a time ---------------------------------------------------------------------------------


def without(name: str) -> AuditOptions:
    def rest(table: Mapping[str, Any]) -> dict[str, Any]:
        return {key: check for key, check in table.items() if key != name}

    return AuditOptions(checks=rest(CHECKS), file_checks=rest(FILE_CHECKS), feed_checks=rest(FEED_CHECKS))


@pytest.mark.parametrize("name", [*CHECKS, *FILE_CHECKS, *FEED_CHECKS])
def test_removing_any_one_check_lets_a_named_corruption_live(name: str, metrics: list[Metric]) -> None:
    found = audit(PLAIN, FIXTURES / "plain.jsonl", metrics, options=without(name))
    survivors = {mutant.id for mutant in found.matrix.of("survived")}
    tables = (CORRUPTIONS, FILE_CORRUPTIONS, FEED_CORRUPTIONS)
    assert survivors == {c.name for table in tables for c in table.values() if c.check == name}
    assert survivors
    assert found.outcome is Outcome.quality_failed


@pytest.mark.parametrize("name", CHECKS)
def test_what_a_removed_check_named_no_other_check_names(name: str) -> None:
    """The corruption lives in the strong sense: nothing at all is said of the rows it was planted into."""
    silent = {key: check for key, check in CHECKS.items() if key != name}
    pairs = plain_pairs()
    for corruption in (c for c in CORRUPTIONS.values() if c.check == name):
        for at, pair in enumerate(pairs):
            planted = corruption.plant(pair, pairs[(at + 1) % len(pairs)])
            if planted is not None:
                assert [key for key, check in silent.items() if check.find(planted)] == []


def plain_pairs() -> list[Pair]:
    mapper, found = Mapper(PLAIN), []
    assert PLAIN.observed is not None
    for trace in READERS["jsonl"](FIXTURES / "plain.jsonl"):
        adapted = mapper.adapted(trace)
        happened = happened_in(trace, adapted.trace_id, PLAIN.observed)
        found.append(Pair(adapted, happened, frozenset(MEANINGS), witnessed_by(PLAIN.observed)))
    return found


# --- real faults of a mapping ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("faulty", "checks"),
    [
        (
            replace(PLAIN, retrieved=PassagesAt(path="reference_contexts")),
            {"retrieved_not_gold", "retrieved_differs_from_reference"},
        ),
        (replace(PLAIN, answer="reference"), {"answer_not_reference"}),
        (replace(PLAIN, answer="reference", error=None), {"answer_not_reference", "failure_not_filled"}),
        (replace(PLAIN, answer="reference", reference="answer"), {"answer_not_swapped"}),
        (replace(PLAIN, retrieved=PassagesAt(path="retrieved", revision="rev")), {"passages_identity"}),
        (replace(PLAIN, question="turns[-1]"), {"question_of_turn"}),
        (replace(PLAIN, error=None, answer=("answer", "error")), {"error_is_not_answer"}),
        (replace(PLAIN, error=None, answer=("answer", "reference")), {"failure_not_filled"}),
        (replace(PLAIN, retrieved=PassagesAt(path=("retrieved", "reference_contexts"))), {"lost_not_filled"}),
        (replace(PLAIN, retrieved=PassagesAt(path="generation.model")), {"field_types"}),
        (replace(PLAIN, question="generation.model"), {"question_of_turn", "no_constant_field"}),
        (replace(PLAIN, question="input.text"), {"question_of_turn", "no_absent_field"}),
        (replace(PLAIN, reference="answer"), {"reference_is_reviewed"}),
        (replace(PLAIN, reference_contexts=PassagesAt(path="retrieved")), {"gold_is_reviewed"}),
    ],
    ids=lambda value: "" if isinstance(value, Adapter) else "+".join(sorted(value)),
)
def test_a_mapping_with_that_fault_is_stopped_and_named(faulty: Adapter, checks: set[str]) -> None:
    found = audit(faulty, FIXTURES / "plain.jsonl")
    assert checks <= set(named(found))
    assert found.outcome is Outcome.incomplete


def write(tmp_path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def d01_trace(number: int) -> dict[str, Any]:
    return {
        "id": f"t{number}",
        "input": f"question {number}?",
        "output": f"answer {number}",
        "gold_docs": [f"gold {number}"],
        "retriever": {"output": [f"found {number}"]},
    }


D01 = Adapter(
    name="d01",
    revision="1",
    trace_id="id",
    question="input",
    answer="output",
    retrieved="gold_docs",
    reference_contexts="gold_docs",
)


def test_d01_gold_documents_mapped_as_retrieved_are_named_where_the_trace_kept_the_retrievers_output(
    tmp_path: Path,
) -> None:
    adapter = replace(D01, observed=Observed(answer="output", given="retriever.output", reference_contexts="gold_docs"))
    found = audit(adapter, write(tmp_path, [d01_trace(1)]))
    assert named(found) == {"retrieved_not_gold": 1}  # one trace is enough
    assert found.outcome is Outcome.incomplete


def test_d01_without_any_record_twenty_rows_that_equal_their_reference_stop_the_run(tmp_path: Path) -> None:
    found = audit(D01, write(tmp_path, map(d01_trace, range(20))))
    assert named(found) == {"retrieved_differs_from_reference": 1}
    assert found.outcome is Outcome.incomplete
    few = audit(D01, write(tmp_path, map(d01_trace, range(19))))
    assert named(few) == {}
    assert few.outcome is Outcome.review_required  # nothing to hold it against: a person must confirm it
    assert few.unseen == ("answer", "retrieved")


def test_d01_a_metric_whose_score_does_not_depend_on_what_was_retrieved_is_told(user_file: Any) -> None:
    user_file(
        """
        from evalkit import numeric_metric

        @numeric_metric()
        def length(response: str, retrieved_contexts: list) -> float:
            return min(1.0, len(response) / 100)
        """
    )
    found = audit(PLAIN, FIXTURES / "plain.jsonl", [load_metric("mine.py:length")])
    blind = found.blind()["length"]
    assert {"reference_as_retrieved", "neighbour_passages", "contexts_dropped"} <= set(blind)
    assert "neighbour_answer" not in blind


# --- what an audit says besides ---------------------------------------------------------------------------------------


def test_an_empty_file_shows_nothing_and_is_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text("\n")
    assert audit(PLAIN, path).outcome is Outcome.incomplete


def test_a_one_row_file_is_audited_and_not_stopped_by_its_size(tmp_path: Path) -> None:
    row = {"trace_id": "a", "question": "q", "answer": "x", "retrieved": ["gold"], "reference_contexts": ["gold"]}
    found = audit(PLAIN, write(tmp_path, [row]))
    assert named(found) == {}
    assert found.outcome is Outcome.passed


def test_a_line_that_cannot_be_read_stops_the_audit_and_is_written_all_the_same(tmp_path: Path) -> None:
    path = write(tmp_path, [{"trace_id": f"t{i}", "question": f"q{i}", "answer": f"a{i}"} for i in range(3)])
    path.write_text(path.read_text() + "{cut\n")
    cases: list[dict[str, Any]] = []
    found = audit(PLAIN, path, options=AuditOptions(sink=cases.append))
    assert named(found) == {"field_types": 1}
    assert [case["case_id"] for case in cases] == ["t0", "t1", "t2", "line-000004"]
    assert cases[-1]["unfit"]["owner"] == "adapter"


def test_s4_2_a_metric_that_cannot_do_without_passages_needs_some_row_that_has_them(
    tmp_path: Path, metrics: list[Metric]
) -> None:
    path = write(tmp_path, [{"trace_id": f"t{i}", "question": f"q{i}", "answer": f"a{i}"} for i in range(3)])
    assert named(audit(PLAIN, path)) == {}
    assert named(audit(PLAIN, path, metrics[:1])) == {"no_absent_field": 1}


def test_a_metric_that_nothing_feeds_is_named(tmp_path: Path) -> None:
    adapter = Adapter(name="a", revision="1", answer="out", trace_id="id", observed=Observed(answer="out"))
    path = write(tmp_path, [{"id": "1", "out": "x"}, {"id": "2", "out": "y"}])
    found = audit(adapter, path, [load_metric("evidence_coverage")])
    assert [example.sentence for check in found.failed for example in check.examples] == [
        "nothing feeds required_claim_ids of evidence_coverage",
        "nothing feeds supported_claim_ids of evidence_coverage",
    ]


def test_a_transformation_that_was_declared_is_no_fault(tmp_path: Path) -> None:
    adapter = replace(PLAIN, answer=At(path="answer", transform=str.strip), retrieved="retrieved")
    path = write(
        tmp_path,
        [{"trace_id": f"t{i}", "question": f"q{i}", "answer": f" a{i} ", "retrieved": [f"p{i}"]} for i in range(3)],
    )
    assert named(audit(adapter, path)) == {}


def test_each_finding_has_its_case_its_line_and_its_sentence() -> None:
    found = audit(replace(PLAIN, question="turns[-1]"), FIXTURES / "plain.jsonl")
    (check,) = [check for check in found.failed if check.name == "question_of_turn"]
    of_turn = next(example for example in check.examples if example.case_id == "t16")
    assert of_turn.where == "line 16"
    assert of_turn.sentence == "the question is that of turn 3 of 3; turn 2 is evaluated"
    facts = found.facts()
    assert {"fields", "checks", "mutants", "controls"} <= facts.keys()
    assert facts["exit_code"] == 2
    json.dumps(facts)


def test_a_passage_of_ten_megabytes_is_audited_like_any_other(tmp_path: Path) -> None:
    big = "word " * 2_000_000
    rows = [
        {
            "trace_id": f"t{i}",
            "question": f"q{i}",
            "answer": f"a{i}",
            "retrieved": [{"text": f"{i} {big}", "revision": "1"}],
        }
        for i in range(2)
    ]
    found = audit(PLAIN, write(tmp_path, rows))
    assert found.outcome is Outcome.passed
    assert max(len(kill.seen) for mutant in found.matrix.mutants for kill in mutant.kills) < 400
