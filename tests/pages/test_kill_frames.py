"""The grid of a kill matrix, its chart, and what notebook 02 does with them."""

from __future__ import annotations

import json

import pytest

from evalkit.mutate.matrix import Kill, KillMatrix, Mutant
from evalkit.pages.kill_chart import kill_chart
from evalkit.pages.kill_frames import MOST_CASES, MOST_MUTANTS, kill_grid, mutants_frame
from evalkit.pages.notebooks.mutation import add_case, break_metric, case_counts, concluded, layers_frame
from evalkit.scoring.load import load_metric


def mutant(number: int, *cases: str, **fields: object) -> Mutant:
    kills = tuple(Kill(case, "value") for case in cases)
    status = fields.pop("status", "killed" if kills else "survived")
    return Mutant(id=str(number), operator="number", where="share", line=7, diff="- a\n+ b", status=status, kills=kills,
                  **fields)  # fmt: skip


def matrix(*mutants: Mutant, cases: tuple[str, ...] = ("half", "all")) -> KillMatrix:
    return KillMatrix(subject="share", cases=cases, mutants=mutants, full=True)


def test_a_mark_for_each_case_and_mutant_and_an_axis_for_those_without():
    grid = kill_grid(matrix(mutant(1, "half", "all"), mutant(2), mutant(3, status="equivalent")))
    assert grid.frame[["case", "mutant", "by"]].to_numpy().tolist() == [
        ["half", "number 7", "value"],
        ["all", "number 7", "value"],
    ]
    assert grid.mutants == ["number 7", "number 7 (2)"]  # the survivor's column is there, and empty
    assert grid.cases == ["half", "all"]
    assert grid.note == "2 of 2 mutants, 2 of 2 cases"


def test_more_than_a_page_keeps_the_mutants_that_fewest_cases_kill():
    names = tuple(f"case-{n}" for n in range(MOST_CASES + 5))
    mutants = [mutant(n, *names[:2]) for n in range(MOST_MUTANTS)] + [mutant(10_000), mutant(10_001, "case-0")]
    grid = kill_grid(matrix(*mutants, cases=names))
    assert len(grid.mutants) == MOST_MUTANTS
    assert grid.mutants[-1] == f"number 7 ({MOST_MUTANTS})"
    assert (
        len(grid.frame) == 2 * (MOST_MUTANTS - 2) + 1
    )  # two of the easy ones gave way to the survivor and the hard one
    assert grid.note == f"{MOST_MUTANTS} of {MOST_MUTANTS + 2} mutants, {MOST_CASES} of {MOST_CASES + 5} cases"


def test_the_chart_draws_what_the_grid_holds():
    chart = kill_chart(kill_grid(matrix(mutant(1, "half"), mutant(2)))).to_dict()
    assert chart["encoding"]["x"]["scale"]["domain"] == ["number 7", "number 7 (2)"]
    assert chart["encoding"]["color"]["scale"]["domain"] == ["value"]
    assert len(next(iter(chart["datasets"].values()))) == 1


def test_an_empty_grid_can_be_drawn():
    assert kill_chart(kill_grid(matrix(mutant(1)))).to_dict()["title"]["subtitle"] == "1 of 1 mutants, 2 of 2 cases"


def test_mutants_of_one_status_as_a_frame():
    found = mutants_frame(matrix(mutant(1, "half"), mutant(2), mutant(3)), "survived", most=1)
    assert found.to_numpy().tolist() == [["number", "share", 7, "- a | + b"]]
    noted = mutants_frame(matrix(mutant(3, status="equivalent", note="why")), "equivalent")
    assert list(noted["note"]) == ["why"]


# --- notebook 02 ----------------------------------------------------------------------------------------------------

METRIC = """
from evalkit.contract import InvalidRow, numeric_metric


@numeric_metric()
def share(n: int) -> float:
    if n < 0:
        raise InvalidRow("negative")
    return n / 4
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fixtures")
    (folder / "metric.py").write_text(METRIC)
    cases = [
        {"case_id": "none", "role": "boundary", "n": 0, "oracle": {"value": 0.0}},
        {"case_id": "third", "role": "boundary", "n": 1, "oracle": {"value": 0.25}},
        {"case_id": "seventh", "n": 4, "oracle": {"value": 1.0}},
        {"case_id": "negative", "role": "guard", "n": -1, "oracle": {"invalid": "negative"}},
    ]
    (folder / "contract.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    return break_metric(load_metric(f"{folder / 'metric.py'}:share"), str(folder))


def test_the_fewest_cases_that_reach_every_line(broken):
    assert broken.covering == ("none", "negative")
    assert (broken.reached, broken.lines) == (3, 3)
    assert broken.tempting.cases == broken.covering
    assert case_counts(broken) == {"boundary": 2, "guard": 1, "none given": 1}


def test_covered_lines_let_faults_through_and_one_case_stops_some(broken):
    before = {mutant.id for mutant in broken.tempting.of("survived")}
    assert len(before) > len(broken.full.of("survived"))
    mended = add_case(broken)
    assert mended.case["oracle"]["value"] == mended.case["n"] / 4
    assert {mutant.id for mutant in mended.killed} <= before
    assert len(mended.matrix.of("survived")) == len(before) - len(mended.killed)


def test_nothing_is_added_where_nothing_can_be(broken):
    done = broken._replace(tempting=matrix(mutant(1, "half"), mutant(2)))
    assert add_case(done) == ({}, (), done.tempting)


def test_the_page_comes_to_what_the_whole_suite_comes_to(broken):
    found = concluded(broken)
    assert found.outcome.name == "quality_failed"  # the clamp: no equivalent.toml here
    assert [sentence.split(" survives: ")[0] for sentence in found.sentences] == [
        mutant.id for mutant in broken.full.of("survived")
    ]
    assert found.figures["killed"] + found.figures["survived"] == broken.full.denominator
    assert layers_frame(broken).loc["metric"].tolist() == [found.figures["killed"], broken.full.denominator]
