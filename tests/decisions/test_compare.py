"""A migration rehearsed: same stored inputs, every disagreement by row, attributed, with what agreement proves."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalkit import (
    EvalkitError,
    Metric,
    Outcome,
    Run,
    discrete_metric,
    evidence_coverage,
    load_metric,
    open_run,
    read_policy,
)
from evalkit.decisions.compare import Comparison, check_observation, compare
from evalkit.decisions.explaining.dual_run import dual_run
from evalkit.decisions.policy import Policy

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"
EDITED = FIXTURES / "incidents" / "metric_edited"

Gated = Callable[..., Run]


def policy() -> Policy:
    found = read_policy(FIXTURES / "policy.toml").policy
    assert found is not None
    return found


def edited(side: str) -> Metric:
    return load_metric(f"{EDITED / f'{side}_metric.py'}:evidence_coverage")


def cases(tmp_path: Path, rows: list[Any]) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def case(case_id: str, required: list[str], supported: list[str], **more: Any) -> dict[str, Any]:
    return {"case_id": case_id, "required_claim_ids": required, "supported_claim_ids": supported, **more}


def between(old: Metric | Run, new: Metric | Run, path: Path, **options: Any) -> Comparison:
    return compare(dual_run(old, new, path, **options))


def test_the_same_metric_agrees_with_itself(tmp_path: Path) -> None:
    found = between(evidence_coverage, evidence_coverage, FIXTURES / "release.jsonl", policy=policy())
    assert (found.n, found.n_scored, found.disagreements, found.outcome) == (32, 32, (), Outcome.passed)
    assert found.equivalent_within == 0.0
    # No disagreement in 32: the exact 95 % bound is 1 - 0.05 ** (1 / 32) = 0.0894
    assert found.rate_at_most == pytest.approx(1 - 0.05 ** (1 / 32), abs=1e-9)


def test_every_disagreement_is_listed_invalid_rows_first(tmp_path: Path) -> None:
    path = cases(
        tmp_path,
        [
            case("value", ["refund-a", "b", "c", "d", "e"], ["refund-a", "b", "c", "d"]),
            case("decision", ["refund-a", "b", "c", "d"], ["b", "c", "d"]),
            case("same", ["a"], ["a"]),
            case("bad", ["a"], ["b"]),
        ],
    )
    new = edited("new")
    found = between(edited("old"), new, path, policy=policy())
    # value: 4/5 = 0.8 -> 5/6, both pass at 0.75; decision: 3/4 passes, 3/5 = 0.6 fails; bad is invalid for both.
    assert [(one.case_id, one.kind, one.attributed_to) for one in found.disagreements] == [
        ("decision", "decision", "metric"),
        ("value", "value", "metric"),
    ]
    assert dict(found.transitions) == {("pass", "pass"): 2, ("pass", "fail"): 1, ("invalid", "invalid"): 1}
    assert found.largest_difference == pytest.approx(0.15)  # 0.75 - 0.6
    assert found.equivalent_within is None  # a decision moved
    assert (found.n, found.n_scored, found.outcome) == (4, 3, Outcome.quality_failed)


def lenient(tmp_path: Path) -> Metric:
    source = (EDITED / "old_metric.py").read_text()
    path = tmp_path / "lenient.py"
    path.write_text(source.replace("if unknown := sorted(supported - required):", "if unknown := []:"))
    return load_metric(f"{path}:evidence_coverage")


def test_rows_that_only_one_side_scores_come_first(tmp_path: Path) -> None:
    path = cases(tmp_path, [case("moved", ["a", "b"], ["a"]), case("bad", ["a", "b"], ["a", "c", "d", "e"])])
    found = between(edited("old"), lenient(tmp_path), path)
    # bad: an unknown id is invalid for the old metric; the lenient one divides 4 by 2: out of range, an error.
    assert [(one.case_id, one.kind) for one in found.disagreements] == [("bad", "state")]
    assert dict(found.transitions) == {("scored", "scored"): 1, ("invalid", "error"): 1}


def test_a_tolerance_is_a_statement_about_values_only(tmp_path: Path) -> None:
    path = cases(tmp_path, [case("value", ["refund-a", "b", "c", "d", "e"], ["refund-a", "b", "c", "d"])])
    pairs = dual_run(edited("old"), edited("new"), path, policy=policy())
    assert len(compare(pairs, within=0.03).disagreements) == 1
    found = compare(pairs, within=0.04)  # 5/6 - 4/5 = 0.0333
    assert (found.disagreements, found.outcome) == ((), Outcome.passed)
    assert found.equivalent_within == pytest.approx(1 / 30)


def test_s2_17_rows_of_the_old_contract_are_read_by_the_new_metric(tmp_path: Path) -> None:
    source = (EDITED / "old_metric.py").read_text().replace('version="1"', 'version="2"')
    (tmp_path / "two.py").write_text(source)
    two = load_metric(f"{tmp_path}/two.py:evidence_coverage")
    rows = [case("a", ["x"], ["x"], contract_version="1"), case("other", ["x"], ["x"], contract_version="7")]
    found = between(edited("old"), two, cases(tmp_path, rows))
    # A rehearsal that called every old row invalid would rehearse nothing; a row of a third contract stays invalid.
    assert dict(found.transitions) == {("scored", "scored"): 1, ("invalid", "invalid"): 1}
    assert found.notes == ("1 rows name one of the contract versions 1 and 2; both sides read them as they are",)


def test_stored_inputs_of_a_run_are_scored_again(gated: Gated) -> None:
    run = gated("run", FIXTURES / "release.jsonl")
    found = between(edited("old"), edited("new"), run.folder, policy=policy())
    same = between(edited("old"), edited("new"), FIXTURES / "release.jsonl", policy=policy())
    assert found.transitions == same.transitions
    assert [one.case_id for one in found.disagreements] == [one.case_id for one in same.disagreements]


def test_a_run_that_did_not_keep_its_inputs_is_refused(gated: Gated, tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(
        "from dataclasses import replace\n"
        "from evalkit import attach, evidence_coverage\n"
        "contract = replace(evidence_coverage.contract, retention={'supported_claim_ids': 'hash'})\n"
        "cut = attach(evidence_coverage, contract)\n"
    )
    run = gated("run", [case("a", ["x"], ["x"])], metric=f"{tmp_path}/kept.py:cut")
    with pytest.raises(EvalkitError, match="case 'a': the run did not keep 'supported_claim_ids' in full"):
        between(evidence_coverage, evidence_coverage, run.folder)


# --- attribution: runs of judges, made by hand ----------------------------------------------------------------------

JUDGE = {"prompt": "p1", "model": "m1", "parser": "1", "ragas_version": "0.4.3", "settings": {"temperature": 0}}


def judged_run(gated: Gated, name: str, value: float, *, judge: dict[str, Any], manifest: dict[str, Any]) -> Run:
    """Return a run whose one record was given another value and judge, as a judge's run would have them."""
    run = gated(name, [case("a", ["x", "y"], ["x"])])
    record = json.loads(run.records_path.read_text()) | {"value": value, "judge": judge}
    run.records_path.write_text(json.dumps(record) + "\n")
    found = json.loads((run.folder / "manifest.json").read_text()) | manifest
    found.pop("records_sha256")
    (run.folder / "manifest.json").write_text(json.dumps(found))
    return open_run(run.folder)


@pytest.mark.parametrize(
    ("word", "judge", "manifest"),
    [
        ("prompt", {"prompt": "p2"}, {}),
        ("judge_model", {"model": "m2"}, {}),
        ("parser", {"parser": "2"}, {}),
        ("provider_settings", {"settings": {"temperature": 1}}, {}),
        ("ragas_version", {"ragas_version": "0.5.0"}, {}),
        ("metric", {}, {"metric": {"name": "evidence_coverage", "contract_version": "1", "fingerprint": "sha256:0"}}),
        ("none", {}, {}),
    ],
)
def test_a_disagreement_between_runs_is_attributed(
    gated: Gated, word: str, judge: dict[str, Any], manifest: dict[str, Any]
) -> None:
    both = {"judge": {"configuration_hash": "sha256:j"}}
    old = judged_run(gated, "old", 0.5, judge=JUDGE, manifest=both)
    new = judged_run(gated, "new", 0.6, judge=JUDGE | judge, manifest=both | manifest)
    (one,) = between(old, new, old.folder).disagreements
    assert (one.kind, one.attributed_to) == ("value", word)


def test_a_moved_policy_and_other_stored_rows_are_attributed_to_them(gated: Gated) -> None:
    incident = FIXTURES / "incidents" / "threshold_moved"
    old, new = (
        gated(side, incident / f"{side}.jsonl", policy=incident / f"{side}_policy.toml") for side in ("old", "new")
    )
    (one,) = between(old, new, old.folder).disagreements
    assert (one.kind, one.attributed_to) == ("decision", "policy")
    # Under one policy for both sides there is nothing left to disagree about.
    assert between(old, new, old.folder, policy=policy()).disagreements == ()

    first = gated("first", [case("a", ["x", "y"], ["x"]), case("only-here", ["x"], ["x"])])
    second = gated("second", [case("a", ["x", "y"], ["x", "y"])])
    found = between(first, second, first.folder)
    assert [(one.case_id, one.kind, one.attributed_to) for one in found.disagreements] == [
        ("only-here", "state", "dataset"),
        ("a", "decision", "dataset"),
    ]


def test_a_run_stands_for_the_metric_that_made_it(gated: Gated) -> None:
    run = gated("run", FIXTURES / "release.jsonl", metric=f"{EDITED / 'old_metric.py'}:evidence_coverage")
    found = between(run, edited("new"), FIXTURES / "release.jsonl", policy=policy())
    same = between(edited("old"), edited("new"), FIXTURES / "release.jsonl", policy=policy())
    assert found.transitions == same.transitions
    assert {one.attributed_to for one in found.disagreements} == {"metric"}


# --- bad input ------------------------------------------------------------------------------------------------------


def test_nothing_in_common_is_incomplete(tmp_path: Path) -> None:
    found = between(evidence_coverage, evidence_coverage, cases(tmp_path, []))
    assert (found.n, found.outcome, found.rate_at_most, found.equivalent_within) == (0, Outcome.incomplete, None, None)
    found = between(evidence_coverage, evidence_coverage, cases(tmp_path, ["not JSON"]))
    assert (found.n, found.n_scored, found.outcome) == (1, 0, Outcome.incomplete)


@discrete_metric(allowed_values=["pass", "fail"])
def label(required_claim_ids: list[str]) -> str:
    """A metric whose values are no numbers."""
    return "pass" if required_claim_ids else "fail"


def test_a_policy_that_does_not_fit_one_of_the_metrics_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvalkitError, match=r"slices\.default has a numeric bound, but label gives discrete values"):
        dual_run(evidence_coverage, label, tmp_path, policy=policy())


def test_a_label_against_a_number_is_a_difference_without_a_distance(tmp_path: Path) -> None:
    found = between(evidence_coverage, label, cases(tmp_path, [case("a", ["x"], ["x"])]))
    assert [(one.kind, one.attributed_to) for one in found.disagreements] == [("value", "metric")]
    assert found.largest_difference is None


# --- the observation window -----------------------------------------------------------------------------------------


def observing(until: str) -> Policy:
    facts = policy().facts() | {"observation": {"old_metric": "old_metric.py:evidence_coverage", "until": until}}
    return Policy.model_validate_json(json.dumps(facts))


def test_s1_15_the_old_metric_is_refused_once_its_window_is_over() -> None:
    names = ("evidence_coverage", "a/old_metric.py:evidence_coverage", "old_metric.py:evidence_coverage")
    window = observing("2026-12-31")
    assert check_observation(window, names, date(2026, 12, 1)) == [
        "the observation window of 'old_metric.py:evidence_coverage' ends on 2026-12-31, in 30 days"
    ]
    assert check_observation(window, names, date(2026, 12, 31))[0].endswith("in 0 days")
    with pytest.raises(EvalkitError, match="ended on 2026-12-31: it is refused now"):
        check_observation(window, names, date(2027, 1, 1))
    assert check_observation(window, ("another",), date(2027, 1, 1)) == []
    assert check_observation(policy(), names, date(2027, 1, 1)) == []
    assert check_observation(None, names, date(2027, 1, 1)) == []
