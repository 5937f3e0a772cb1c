"""Notebook 06 from inside: the dashboard's number, every look-alike named, and what makes the page stop."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evalkit import Outcome
from evalkit.pages.explain_chart import dashboard_chart
from evalkit.pages.notebooks import explaining

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"
INCIDENTS = FIXTURES / "incidents"
POLICY = str(FIXTURES / "policy.toml")
DAY = "2026-12-01"


@pytest.fixture(scope="module")
def runs() -> explaining.TwoRuns:
    folder = INCIDENTS / "document_ids_changed"
    return explaining.two_runs(str(folder / "old.jsonl"), str(folder / "new.jsonl"), "evidence_coverage", POLICY, DAY)


@pytest.fixture(scope="module")
def look_alikes() -> list[explaining.LookAlike]:
    return explaining.look_alikes(str(INCIDENTS), "evidence_coverage", POLICY, DAY)


def test_the_notebook_names_every_incident(look_alikes: list[explaining.LookAlike]) -> None:
    named = {one.name: [(r.case_id, r.first_divergence, r.owner) for r in one.found.rows] for one in look_alikes}
    expected = {path.parent.name: json.loads(path.read_text()) for path in INCIDENTS.glob("*/expected.json")}
    assert named == {name: [tuple(facts.values())] for name, facts in expected.items()}
    assert all(one.is_named for one in look_alikes)


def test_look_alikes_look_alike(look_alikes: list[explaining.LookAlike]) -> None:
    # Green before and one red row after, in each of them: the dashboard cannot tell them apart.
    assert {one.red for one in look_alikes} == {(0, 1)}
    frame = explaining.look_alikes_frame(look_alikes)
    assert len(frame) == len(look_alikes) == 7
    assert frame["owner"].nunique() == 6  # test-data twice


def test_the_dashboard_shows_means_with_what_they_are_over(runs: explaining.TwoRuns) -> None:
    frame = explaining.dashboard_frame(runs)
    by_side = {(row.slice, row.run): (row.mean, row.mean_of) for row in frame.itertuples()}
    # Of three billing-critical rows, one fell from 3/3 to 2/3: (1 + 1 + 2/3) / 3.
    assert by_side["billing-critical", "old"] == (1.0, 3)
    assert by_side["billing-critical", "new"] == (pytest.approx((2 + 2 / 3) / 3), 3)
    assert dashboard_chart(frame).to_dict()["title"] == "The mean of each slice"


def test_passages_are_counted_in_both_runs(runs: explaining.TwoRuns) -> None:
    frame = explaining.passage_counts(runs)
    assert frame.to_numpy().tolist() == [["old", 6, 6, 13, 10], ["new", 6, 6, 13, 10]]


def test_finished_runs_can_be_explained_too(runs: explaining.TwoRuns) -> None:
    again = explaining.two_runs(str(runs.old.folder), str(runs.new.folder), "evidence_coverage", POLICY, DAY)
    assert again.facts() == runs.facts()
    assert again.is_comparable


def test_the_page_passes_where_every_row_has_an_owner(
    runs: explaining.TwoRuns, look_alikes: list[explaining.LookAlike]
) -> None:
    candidate = f"{INCIDENTS / 'metric_edited' / 'new_metric.py'}:evidence_coverage"
    rehearsal = explaining.rehearse("evidence_coverage", candidate, str(FIXTURES / "incident.jsonl"), POLICY)
    found = explaining.concluded(runs, look_alikes, rehearsal)
    assert (found.outcome, found.sentences) == (Outcome.passed, ())
    assert found.figures["look_alikes.named"] == 7
    assert found.figures["owner.attribution"] == 1
    assert found.figures["dual.disagree"] == 4


def test_a_misnamed_look_alike_fails_the_page(runs: explaining.TwoRuns, tmp_path: Path) -> None:
    shutil.copytree(INCIDENTS / "retrieval_broke", tmp_path / "retrieval_broke")
    expected = {"case_id": "unopened-game-download", "first_divergence": "answer", "owner": "answer"}
    (tmp_path / "retrieval_broke" / "expected.json").write_text(json.dumps(expected))
    found = explaining.look_alikes(str(tmp_path), "evidence_coverage", POLICY, DAY)
    rehearsal = explaining.rehearse("evidence_coverage", "evidence_coverage", str(FIXTURES / "release.jsonl"), POLICY)
    concluded = explaining.concluded(runs, found, rehearsal)
    assert concluded.outcome is Outcome.quality_failed
    assert concluded.sentences == ("named otherwise than expected.json says: retrieval_broke",)
    assert explaining.look_alikes("", "evidence_coverage", POLICY, DAY) == []


def test_a_row_that_nobody_owns_goes_to_a_person(tmp_path: Path) -> None:
    # A metric that answers the same row differently from call to call: nothing that was kept differs.
    (tmp_path / "moody.py").write_text(
        "from evalkit import numeric_metric\n"
        "calls = []\n"
        "@numeric_metric()\n"
        "def moody(n: int) -> float:\n"
        "    calls.append(n)\n"
        "    return 1.0 if len(calls) % 2 else 0.0\n"
    )
    (tmp_path / "rows.jsonl").write_text('{"case_id": "a", "n": 1}\n')
    (tmp_path / "policy.toml").write_text(
        'schema = 1\nname = "p"\nversion = "1"\nmode = "report"\nmetric = "moody"\ncontract_version = "0"\n'
        "[slices.default]\nminimum = 0.5\n"
    )
    rows, policy = str(tmp_path / "rows.jsonl"), str(tmp_path / "policy.toml")
    runs = explaining.two_runs(rows, rows, f"{tmp_path}/moody.py:moody", policy, DAY)
    rehearsal = explaining.rehearse("evidence_coverage", "evidence_coverage", str(FIXTURES / "release.jsonl"), POLICY)
    concluded = explaining.concluded(runs, [], rehearsal)
    assert concluded.outcome is Outcome.review_required
    assert concluded.sentences == ("1 rows changed and nothing that was kept says why: a",)
