"""S3.5 between two runs: a changed hook is the adapter's, where it moved the row, and not the metric's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalkit import Run, load_metric
from evalkit.decisions.compare import compare
from evalkit.decisions.explain import explain
from evalkit.decisions.explaining.dual_run import dual_run
from evalkit.decisions.explaining.explanation import Explanation
from evalkit.pages.publish import score_to_run

METRICS = """
from evalkit import Contract, numeric_metric

CONTRACT = Contract(version="1", measures="length", reviewed=(), produced=("answer",), invalid_when=("never",),
    consumed_by="the gate", cannot_establish="truth")

@numeric_metric(contract=CONTRACT, allowed_values=(0.0, 100.0))
def length(answer: str) -> float:
    return len(answer) + {extra}

def trimmed(answer: str) -> str:
    {body}

hooked = length.prepared(answer=trimmed)
"""
ROWS = {"marked": "# abc", "plain": "abc", "trap": "# boom"}
STRIP, TWO = 'return answer.lstrip("# ")', 'return answer.lstrip("#")'
RAISE = 'return answer.lstrip("# ") if "boom" not in answer else 1 / 0'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("cases.jsonl", ROWS)
    return tmp_path


def write(name: str, rows: dict[str, str]) -> None:
    lines = (json.dumps({"case_id": case_id, "answer": answer}) for case_id, answer in rows.items())
    Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def run(name: str, body: str = STRIP, *, extra: int = 0, spec: str = "hooked", cases: str = "cases.jsonl") -> Run:
    Path(f"{name}.py").write_text(METRICS.format(body=body, extra=extra), encoding="utf-8")
    return score_to_run(load_metric(f"{name}.py:{spec}"), Path(cases), Path(f"runs/{name}")).run


def found(explanation: Explanation) -> list[tuple[str | None, str, str | None]]:
    return [(row.case_id, row.first_divergence, row.owner) for row in explanation.rows]


def test_a_hook_that_is_new_is_named_on_the_rows_it_moved_alone(home: Path):
    explained = explain(run("new"), run("old", spec="length"))
    assert found(explained) == [("marked", "adapter", "adapter"), ("trap", "adapter", "adapter")]
    assert "the preparation of answer changed, so the metric received something else; the case says the same" in (
        explained.rows[0].sentence
    )
    assert {fact.what for fact in explained.differ} == {"preparation"}
    assert "metric source" in explained.same


def test_a_hook_whose_source_changed_is_named(home: Path):
    explained = explain(run("new", TWO), run("old", STRIP))
    assert found(explained) == [("marked", "adapter", "adapter"), ("trap", "adapter", "adapter")]


def test_a_hook_that_fails_now_is_named_with_what_it_said(home: Path):
    explained = explain(run("new", RAISE), run("old", STRIP))
    assert found(explained) == [("trap", "adapter", "adapter")]
    assert "trimmed(answer) raised ZeroDivisionError: division by zero" in explained.rows[0].sentence


def test_an_edited_metric_under_one_hook_is_still_the_metrics(home: Path):
    explained = explain(run("new", extra=1), run("old"))
    assert {row[1:] for row in found(explained)} == {("metric", "metric")}
    assert "preparation" in explained.same


def test_an_answer_that_changed_under_one_hook_is_still_the_answers(home: Path):
    write("later.jsonl", ROWS | {"plain": "abcd"})
    explained = explain(run("new", cases="later.jsonl"), run("old"))
    assert found(explained) == [("plain", "answer", "answer")]


def test_a_row_that_the_changed_hook_leaves_alone_is_explained_by_what_changed_in_it(home: Path):
    write("later.jsonl", ROWS | {"plain": "abcd"})
    explained = explain(run("new", TWO, cases="later.jsonl"), run("old", STRIP))
    assert found(explained) == [
        ("marked", "adapter", "adapter"), ("plain", "answer", "answer"), ("trap", "adapter", "adapter"),
    ]  # fmt: skip


def test_compare_shows_row_by_row_what_a_hook_does(home: Path):
    Path("m.py").write_text(METRICS.format(body=STRIP, extra=0), encoding="utf-8")
    compared = compare(dual_run(load_metric("m.py:length"), load_metric("m.py:hooked"), Path("cases.jsonl")))
    moved = [(row.case_id, row.attributed_to) for row in compared.disagreements]
    assert moved == [("marked", "adapter"), ("trap", "adapter")]
