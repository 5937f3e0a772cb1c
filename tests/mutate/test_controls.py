"""Untouched controls: a trace that arrives as another, or as something else, is no valid control."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases.adapters.apply import Mapper
from evalkit.cases.adapters.case import CaseMaker
from evalkit.cases.adapters.checks import Pair
from evalkit.cases.adapters.observed import happened_in, witnessed_by
from evalkit.cases.adapters.profile import MEANINGS
from evalkit.cases.adapters.shipped import SHIPPED
from evalkit.cases.traces import Trace
from evalkit.contract import Metric, Outcome
from evalkit.mutate.controls import ControlRoom
from evalkit.mutate.traces import AuditOptions, audit
from evalkit.scoring.load import load_metric

METRICS = Path(__file__).with_name("adapter_metrics.py")
TRACES = Path(__file__).parents[2] / "fixtures/adapters/plain.jsonl"
PLAIN = SHIPPED["plain"]
DATA = {"trace_id": "t", "question": "q", "answer": "alpha beta", "retrieved": ["alpha"], "reference": "alpha"}


@pytest.fixture(scope="module")
def grounded() -> Metric:
    return load_metric(f"{METRICS}:grounded")


def pair(**changes: Any) -> Pair:
    assert PLAIN.observed is not None
    trace = Trace(1, "line 1", {**DATA, **changes})
    adapted = Mapper(PLAIN).adapted(trace)
    happened = happened_in(trace, adapted.trace_id, PLAIN.observed)
    return Pair(adapted, happened, frozenset(MEANINGS), witnessed_by(PLAIN.observed))


def room(metrics: list[Metric], amend: Callable[[dict[str, Any]], dict[str, Any]] = lambda case: case) -> ControlRoom:
    names = [parameter.name for metric in metrics for parameter in metric.parameters]
    return ControlRoom(CaseMaker(PLAIN, names), metrics, amend)


def test_an_untouched_trace_reaches_scoring(grounded: Metric) -> None:
    assert room([grounded]).states(pair()) == {"grounded": "scored"}
    assert room([]).states(pair()) == {}


@pytest.mark.parametrize(
    ("amend", "told"),
    [
        (lambda case: {**case, "case_id": "other"}, "it arrived as 'other'"),
        (lambda case: {**case, "case_id": " "}, "case_id must be a non-blank text"),
        (lambda case: {**case, "slice": 5}, "slice must be a non-blank text"),
        (lambda case: {**case, "response": None}, "grounded calls it invalid: response is null"),
        (lambda case: {**case, "retrieved_contexts": "['alpha']"}, "grounded calls it invalid: retrieved_contexts"),
        (
            lambda case: {**case, "unfit": {"reason": "lost", "owner": "adapter"}},
            "grounded calls it invalid: lost",
        ),
    ],
)
def test_what_arrives_as_something_else_is_no_control(
    amend: Callable[[dict[str, Any]], dict[str, Any]], told: str, grounded: Metric
) -> None:
    states = room([grounded], amend).states(pair())
    assert isinstance(states, str)
    assert states.startswith(told)


def test_an_unfit_row_reaches_nothing_even_where_no_metric_was_named() -> None:
    assert room([]).states(pair(error="down")) == "it is unfit: the application failed: down"


def test_rejecting_everything_is_not_passing(grounded: Metric) -> None:
    options = AuditOptions(amend=lambda case: {**case, "unfit": {"reason": "no", "owner": "adapter"}})
    found = audit(PLAIN, TRACES, [grounded], options=options)
    assert not found.matrix.of("survived")  # every fault is caught ...
    assert not any(control.ok for control in found.controls)  # ... because nothing passes
    assert found.outcome is Outcome.incomplete
    assert found.controls[0].sentence == "no untouched trace reached scoring: grounded calls it invalid: no"


def test_a_metric_is_asked_whether_it_tells_the_rows_apart(grounded: Metric) -> None:
    one = room([grounded])
    one.look("contexts_dropped", pair(), pair(retrieved=["nothing"]))
    one.look("wrong_revision", pair(), pair())
    assert one.sights["grounded"] == {"contexts_dropped": (1, 1), "wrong_revision": (0, 1)}
    assert one.blind_to("grounded") == ["wrong_revision"]
    for _ in range(9):
        one.look("wrong_revision", pair(), pair())
    assert one.sights["grounded"]["wrong_revision"].rows == 5
