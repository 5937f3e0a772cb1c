"""The smallest change that would flip a row, found by asking the metric: any deterministic metric with lists."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit import Case, Contract, Metric, Record, evidence_coverage, numeric_metric, score_cases
from evalkit.contract import Decision
from evalkit.decisions.counterfactual import Counterfactual, counterfactual


def at_least(minimum: float, maximum: float = 9.0) -> Any:
    def decide(record: Record) -> Decision | None:
        if record.state != "scored" or not isinstance(record.value, int | float):
            return None
        return "pass" if minimum <= record.value <= maximum else "fail"

    return decide


def row(metric: Metric, **inputs: Any) -> Record:
    return next(iter(score_cases(metric, [Case(1, "a", "default", True, inputs)])))


def items(found: Counterfactual) -> list[list[tuple[str, str]]]:
    return [[(edit.verb, edit.item) for edit in option] for option in found.options]


def test_which_missing_ids_suffice() -> None:
    record = row(evidence_coverage, required_claim_ids=["a", "b", "c", "d"], supported_claim_ids=["a"])
    # 1 of 4; 0.75 needs 3 of 4, so any two of b, c, d: 3 ways.
    found = counterfactual(evidence_coverage, record, at_least(0.75))
    assert items(found) == [
        [("add", "b"), ("add", "c")],
        [("add", "b"), ("add", "d")],
        [("add", "c"), ("add", "d")],
    ]
    assert (found.n_options, found.gave_up) == (3, False)
    assert found.sentence.startswith("the row would pass with any one of 3 changes: b in supported_claim_ids and c in")


def test_what_would_make_a_passing_row_fail() -> None:
    record = row(evidence_coverage, required_claim_ids=["a", "b"], supported_claim_ids=["a", "b"])
    found = counterfactual(evidence_coverage, record, at_least(0.75), target="fail")
    assert items(found) == [[("remove", "a")], [("remove", "b")]]
    assert "a taken out of supported_claim_ids" in found.sentence


@numeric_metric(
    allowed_values=(0.0, 10.0),
    contract=Contract(
        version="1",
        measures="how many labels are not allowed",
        reviewed=("allowed",),
        produced=("given", "extra"),
        invalid_when=("never",),
        consumed_by="c",
        cannot_establish="e",
        better="lower",
        allows_missing={"given": {"[]": "none"}, "extra": {"[]": "none"}, "allowed": {"[]": "none"}},
    ),
)
def strangers(allowed: list[str], given: list[str], extra: list[str]) -> float:
    """Count what is given or extra and not allowed: a metric that knows nothing of claims."""
    return float(len((set(given) | set(extra)) - set(allowed)))


def test_it_works_for_a_metric_it_knows_nothing_of() -> None:
    record = row(strangers, allowed=["a"], given=["a", "x"], extra=["x", "y"])
    # x and y are strangers, x in both lists: to have none, x leaves both and y leaves one, three edits in one way.
    found = counterfactual(strangers, record, at_least(0.0, 0.0))
    assert [[tuple(edit) for edit in option] for option in found.options] == [
        [("remove", "given", "x"), ("remove", "extra", "x"), ("remove", "extra", "y")]
    ]


def test_it_is_bounded_and_says_when_it_gave_up() -> None:
    required = [f"c{i}" for i in range(30)]
    record = row(evidence_coverage, required_claim_ids=required, supported_claim_ids=[])
    # All 30 are wanted: 30 + 435 sets of one and two are tried, then the bound ends the search.
    found = counterfactual(evidence_coverage, record, at_least(1.0), most_calls=500)
    assert (found.calls, found.gave_up, found.options) == (500, True, ())
    assert found.sentence == "nothing was found in 500 tries: gave up; a larger change may do"


def test_ways_found_before_the_bound_are_kept() -> None:
    record = row(evidence_coverage, required_claim_ids=[f"c{i}" for i in range(30)], supported_claim_ids=[])
    found = counterfactual(evidence_coverage, record, at_least(1 / 30), most_calls=12)
    assert (found.n_options, len(found.options), found.gave_up) == (12, 10, True)
    assert found.sentence.endswith("(and 2 more ways); the search ended after 12 tries, there may be more")


def test_where_no_edit_of_the_lists_is_enough() -> None:
    record = row(evidence_coverage, required_claim_ids=["a"], supported_claim_ids=[])
    found = counterfactual(evidence_coverage, record, at_least(2.0))
    assert found.sentence == "no change of supported_claim_ids alone makes it pass"
    assert not found.gave_up


@numeric_metric()
def bare(given: list[str]) -> float:
    """A metric without a contract."""
    return 0.0 if given else 1.0


@pytest.mark.parametrize(
    ("metric", "change", "fragment"),
    [
        (evidence_coverage, {"state": "invalid", "value": None}, "the row was not scored"),
        (evidence_coverage, {"inputs": None}, "the row was not scored"),
        (
            evidence_coverage,
            {"inputs": {"required_claim_ids": ["a"], "supported_claim_ids": {"sha256": "sha256:0", "excerpt": None}}},
            "supported_claim_ids was not kept in full",
        ),
        (evidence_coverage, {"value": 0.25}, "the kept inputs do not give the recorded value again"),
    ],
)
def test_what_cannot_be_asked_is_said(metric: Metric, change: dict[str, Any], fragment: str) -> None:
    record = row(evidence_coverage, required_claim_ids=["a", "b"], supported_claim_ids=["a"])._replace(**change)
    found = counterfactual(metric, record, at_least(1.0))
    assert found.sentence.startswith(f"not decidable here: {fragment}")
    assert (found.calls, found.options) == (0, ())


def test_a_metric_without_a_contract_is_not_asked() -> None:
    found = counterfactual(bare, row(bare, given=["a"]), at_least(1.0))
    assert "has no contract that says which inputs the system produced" in found.sentence


def test_facts_are_plain() -> None:
    record = row(evidence_coverage, required_claim_ids=["a", "b"], supported_claim_ids=["a"])
    facts = counterfactual(evidence_coverage, record, at_least(1.0)).facts()
    assert facts["options"] == [[{"verb": "add", "input": "supported_claim_ids", "item": "b"}]]
    assert (facts["target"], facts["calls"], facts["gave_up"]) == ("pass", 2, False)
