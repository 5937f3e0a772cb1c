"""Two ways to the same number: `metric.measure` and the ragas object from `to_ragas`, for every bundled metric.

The rows are those of the metric's fixtures and generated ones, of right and wrong types. What JSON cannot tell apart
under ragas' lax types (a bool for a number, text for a number) is left to the table of differences in the docstring of
`evalkit.scoring.ragas_bridge`, tested in test_ragas_bridge.py.
"""

from __future__ import annotations

import functools
import json
import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit.contract import Metric
from evalkit.metrics import BUILT_IN
from evalkit.scoring.load import load_metric
from evalkit.scoring.ragas_bridge import to_ragas

FIXTURES = Path(__file__).parents[2] / "fixtures"
# A judge has no value to compare: ragas asks the same model.
every_metric = pytest.mark.parametrize("name", [name for name in sorted(BUILT_IN) if type(load_metric(name)) is Metric])


@functools.cache
def object_of_ragas(name: str) -> Any:
    return to_ragas(load_metric(name))


def assert_same(metric: Metric, inputs: dict[str, Any]) -> None:
    measured = metric.measure(inputs)
    try:
        result = object_of_ragas(metric.name).score(**inputs)
    except TypeError:
        result = None
    if result is None:
        assert measured.state == "invalid"
        assert measured.error_kind in ("missing_input", "wrong_type")
        return
    assert result.value == measured.value
    assert type(result.value) is type(measured.value)
    assert (result.value is None) == (measured.state in ("invalid", "error"))
    assert measured.reason in result.reason


# --- fixtures -------------------------------------------------------------------------------------------------------


def rows_of(metric: Metric, file: str) -> list[dict[str, Any]]:
    names = {parameter.name for parameter in metric.parameters}
    lines = (FIXTURES / metric.name / file).read_text(encoding="utf-8").splitlines()
    return [{key: value for key, value in json.loads(line).items() if key in names} for line in lines if line.strip()]


@every_metric
@pytest.mark.parametrize("file", ["contract.jsonl", "release.jsonl"])
def test_every_fixture_row_comes_to_the_same(name: str, file: str):
    metric = load_metric(name)
    rows = rows_of(metric, file)
    assert rows
    for row in rows:
        assert_same(metric, row)


# --- generated rows -------------------------------------------------------------------------------------------------

_WORDS = st.sampled_from(["a", "b", "c", " a", "b ", "A", "é", "", " "])
_SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-2, 2) | _WORDS
_ANYTHING = _SCALARS | st.lists(_SCALARS, max_size=3) | st.dictionaries(_WORDS, _SCALARS, max_size=2)


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Return values of an annotated type, over a small alphabet so that items meet; lists now and then distinct."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is str:
        return _WORDS
    if annotation in (int, float, bool, type(None)):
        return {int: st.integers(-2, 5), float: st.floats(-2, 2), bool: st.booleans()}.get(annotation, st.none())
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is list:
        items = values_of(arguments[0])
        return st.lists(items, max_size=4) | st.lists(items, max_size=4, unique_by=repr)
    if arguments and origin is not dict:
        return st.one_of([values_of(argument) for argument in arguments])
    return st.dictionaries(_WORDS, _SCALARS, max_size=3)


def good_rows(metric: Metric) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({p.name: values_of(p.annotation) for p in metric.parameters})


def bad_rows(metric: Metric) -> st.SearchStrategy[dict[str, Any]]:
    """Return rows that lack an input or hold one of another type, but none that ragas' lax types would convert."""
    return st.fixed_dictionaries(
        {}, optional={p.name: values_of(p.annotation) | _strangers(p.annotation) for p in metric.parameters}
    )


def _strangers(annotation: Any) -> st.SearchStrategy[Any]:
    if set(_leaves(annotation)) <= {str, type(None)}:
        return _ANYTHING
    return st.none() | st.dictionaries(_WORDS, _SCALARS, max_size=2)


def _leaves(annotation: Any) -> list[Any]:
    arguments = typing.get_args(annotation)
    return [leaf for argument in arguments for leaf in _leaves(argument)] if arguments else [annotation]


@every_metric
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_generated_row_of_the_right_types_comes_to_the_same(name: str, data: st.DataObject):
    metric = load_metric(name)
    assert_same(metric, data.draw(good_rows(metric)))


@every_metric
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_generated_row_of_wrong_types_or_missing_inputs_comes_to_the_same(name: str, data: st.DataObject):
    metric = load_metric(name)
    assert_same(metric, data.draw(bad_rows(metric)))


@every_metric
def test_the_generated_rows_reach_every_way_out(name: str):
    """A comparison of rows that are all refused would prove nothing."""
    seen: set[str | None] = set()
    metric = load_metric(name)

    @settings(max_examples=300, database=None)
    @given(row=good_rows(metric) | bad_rows(metric))
    def look(row: dict[str, Any]) -> None:
        seen.add(metric.measure(row).error_kind)

    look()
    # Where each input is a choice of words, its type says all there is to say: no row gets as far as the contract.
    is_closed = all(typing.get_origin(p.annotation) is typing.Literal for p in metric.parameters)
    assert {None, "missing_input", "wrong_type"} | (set() if is_closed else {"contract"}) <= seen
