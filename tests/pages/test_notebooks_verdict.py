"""Field case I01 without a kernel: made-up pages and outcome files, and what is concluded from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat.v4 as nbf
import pytest

from evalkit.contract import Outcome
from evalkit.pages.notebooks.execute import Executed, Job
from evalkit.pages.notebooks.verdict import Verdict, verdict_of

FACTS: dict[str, Any] = {
    "schema": 1, "run_id": "r1", "outcome": "passed", "exit_code": 0, "mode": "block", "cells_total": 3,
    "cells_run": 3, "blockers": [], "figures": {"mean": 0.5},
}  # fmt: skip
BEGUN = {"papermill": {"start_time": "then", "status": "completed"}}

Judge = Callable[..., Verdict]


def page_of(*counts: int | None, last: str | None = None) -> Any:
    cells = [
        nbf.new_code_cell(f"step({i})", execution_count=count, metadata=BEGUN if count else {})
        for i, count in enumerate(counts, start=1)
    ]
    if last:
        cells[-1].outputs = [nbf.new_output("error", ename=last, evalue="why\nmore", traceback=[])]
    return nbf.new_notebook(cells=[nbf.new_markdown_cell("words"), *cells])


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    def run(page: Any, facts: Any = FACTS, fault: str | None = None, total: int = 3) -> Verdict:
        path = tmp_path / "outcome.json"
        if facts is not None:
            path.write_text(facts if isinstance(facts, str) else json.dumps(facts))
        job = Job("page", nbf.new_notebook(), {}, "r1", path, total)
        return verdict_of(Executed(job, page, fault, 1.0))

    return run


def test_a_page_that_ran_whole_is_what_its_outcome_file_says(judge: Judge) -> None:
    for outcome in Outcome:
        verdict = judge(page_of(1, 2, 3), FACTS | {"outcome": outcome.name, "exit_code": int(outcome)})
        assert (verdict.outcome, verdict.exit_code) == (outcome, int(outcome))
        assert verdict.facts is not None


def test_the_last_cell_may_raise_the_outcome(judge: Judge) -> None:
    facts = FACTS | {"outcome": "quality_failed", "exit_code": 1, "blockers": [{"sentence": "2 of 9 rows fail"}]}
    verdict = judge(page_of(1, 2, 3, last="NotPassed"), facts)
    assert verdict.exit_code == 1
    assert verdict.checks[-1].sentence == "2 of 9 rows fail"


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (None, "no outcome file was written: the last cell must call page.finish(...)"),
        ("{", "the outcome file cannot be read"),
        ("[]", "the outcome file cannot be read"),
        (FACTS | {"run_id": "r0"}, "the outcome file is of run 'r0'; this is run 'r1'"),
        (FACTS | {"schema": 2}, "the outcome file has schema 2"),
        (FACTS | {"outcome": []}, "the outcome file has schema 1 and outcome []"),
        (FACTS | {"outcome": "fine"}, "and outcome 'fine'"),
        (FACTS | {"cells_run": 2}, "the outcome was written after 2 of 3 code cells"),
        (FACTS | {"cells_total": 2, "cells_run": 2}, "the outcome was written after 2 of 3 code cells"),
        (FACTS | {"outcome": "quality_failed"}, "contradicts itself: quality_failed with exit code 0"),
        (FACTS | {"exit_code": 1}, "contradicts itself: passed with exit code 1"),
        (FACTS | {"figures": None}, "contradicts itself"),
    ],
)
def test_i01_a_file_that_is_not_this_run_s_is_incomplete(judge: Judge, facts: Any, said: str) -> None:
    verdict = judge(page_of(1, 2, 3), facts)
    assert (verdict.outcome, verdict.exit_code, verdict.facts) == (Outcome.incomplete, 2, None)
    assert said in verdict.checks[-1].sentence


@pytest.mark.parametrize(
    ("page", "fault", "said"),
    [
        (page_of(1, 2, None), None, "2 of 3 code cells ran in code cell 2 (step(2)) of 3"),
        (page_of(1, 3, 2), None, "3 of 3 code cells ran"),
        (page_of(1, 2), None, "2 of 3 code cells ran"),
        (page_of(1, 2, 3, last="KeyError"), None, "code cell 3 (step(3)) ended the notebook: KeyError: why"),
        (page_of(1, 2, last="NotPassed"), None, "2 of 3 code cells ran"),
        (page_of(1, 2, None), "the kernel died", "the kernel died in code cell 2 (step(2)) of 3"),
        (None, "the kernel never started", "the kernel never started"),
        (None, None, "the notebook did not start"),
    ],
)
def test_i01_a_page_that_did_not_run_whole_is_incomplete_whatever_its_file_says(
    judge: Judge, page: Any, fault: str | None, said: str
) -> None:
    verdict = judge(page, FACTS, fault)
    assert (verdict.outcome, verdict.facts) == (Outcome.incomplete, None)
    assert said in verdict.checks[0].sentence


def test_a_cell_that_raised_further_up_is_named_even_where_all_cells_ran(judge: Judge) -> None:
    page = page_of(1, 2, 3)
    page.cells[2].outputs = [nbf.new_output("error", ename="NotPassed", evalue="", traceback=[])]
    assert "code cell 2 (step(2)) ended the notebook: NotPassed" in judge(page).checks[0].sentence


def test_a_policy_that_only_reports_shows_the_outcome_and_keeps_the_exit_code_at_0(judge: Judge) -> None:
    facts = FACTS | {"outcome": "quality_failed", "mode": "report"}
    verdict = judge(page_of(1, 2, 3), facts)
    assert (verdict.outcome.name, verdict.exit_code) == ("quality_failed", 0)
    assert "the policy only reports" in verdict.checks[-1].sentence


def test_at_most_five_blockers_are_named_and_the_rest_counted(judge: Judge) -> None:
    blockers = [{"sentence": f"s{i}"} for i in range(8)]
    facts = FACTS | {"outcome": "quality_failed", "exit_code": 1, "blockers": blockers}
    assert judge(page_of(1, 2, 3), facts).checks[-1].sentence == "s0; s1; s2; s3; s4 (and 3 more)"
