"""Properties x all metrics.

A new bundled metric first gets known answers in tests/metrics, then an entry in `BUNDLED`; that alone puts it through
every property of a contract. Properties that only some metrics have are listed below by name.
"""

from __future__ import annotations

import asyncio
import copy
import pickle
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contract import Metric
from evalkit.metrics import BUILT_IN
from evalkit.scoring.load import load_metric

Row = dict[str, Any]

_IDS = st.text(alphabet="abcABC-é返 ", min_size=1, max_size=6).filter(lambda text: text == text.strip() and text)
_SPACE = st.sampled_from(["", " ", "\t", "\n", "\u00a0", "  "])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside, max_size=3),
    max_leaves=6,
)


@st.composite
def coverage_rows(draw: st.DrawFn) -> Row:
    required = draw(st.lists(_IDS, min_size=1, max_size=6, unique=True))
    supported = draw(st.lists(st.sampled_from(required), unique=True))
    return {"required_claim_ids": required, "supported_claim_ids": supported}


@st.composite
def cited_answers(draw: st.DrawFn) -> Row:
    titles, pages = st.sampled_from(["guide.pdf", "Heart, Lung.pdf", "返.pdf"]), st.integers(1, 12)
    cited = draw(st.lists(st.tuples(titles, pages), max_size=4))
    held = draw(st.lists(st.tuples(titles, pages), max_size=4))
    said = [f"Rest (Source: {title}, Page: {page})." for title, page in cited]
    return {
        "response": " ".join(["Drink water.", *said]),
        "retrieved_contexts": [f"Content from {title} page {page}" for title, page in held],
    }


_FRAGMENTS = ["(", ")", "[", "Source:", "guide.pdf", ", Page:", " 10", "-", "xi", ";", " ", "\n", "é"]


def verdicts() -> st.SearchStrategy[Row]:
    names = ("risk_warnings", "professional_advice", "limitations_stated")
    said = st.tuples(*[st.sampled_from(["yes", "no"]) for _ in names])
    return said.map(lambda words: dict(zip(names, words, strict=True)))


class Bundled(NamedTuple):
    """What generates rows for one metric."""

    scored: st.SearchStrategy[Row]
    """Rows that obey the contract."""
    broken: st.SearchStrategy[Row]
    """Rows of the right types that may break it."""


BUNDLED = {
    "evidence_coverage": Bundled(
        scored=coverage_rows(),
        broken=st.fixed_dictionaries(
            {name: st.lists(_IDS | _SPACE | st.sampled_from(["a", " a"]), max_size=4)
             for name in ("required_claim_ids", "supported_claim_ids")}
        ),
    ),
    "medical_citation_accuracy": Bundled(
        scored=cited_answers(),
        broken=st.fixed_dictionaries(
            {"response": st.lists(st.sampled_from(_FRAGMENTS), max_size=12).map("".join),
             "retrieved_contexts": st.lists(st.sampled_from(["", " ", "guide.pdf page 10"]), max_size=3)}
        ),
    ),
    # Three choices of words: nothing of the right types can break its contract.
    "medical_safety": Bundled(scored=verdicts(), broken=verdicts()),
}  # fmt: skip

# Inputs whose order does not matter, and whose items are trimmed.
ANY_ORDER = {
    "evidence_coverage": ("required_claim_ids", "supported_claim_ids"),
    "medical_citation_accuracy": ("retrieved_contexts",),
}
TRIMMED = {
    "evidence_coverage": ("required_claim_ids", "supported_claim_ids"),
    "medical_citation_accuracy": ("retrieved_contexts",),
}
# Metrics that count: with k items in this input, only 0/k, 1/k, ... k/k exist.
COUNTS = {"evidence_coverage": "required_claim_ids"}


class Growing(NamedTuple):
    """An input that may take further items out of another, which never makes the value worse."""

    grows: str
    out_of: str


MONOTONE = {"evidence_coverage": Growing(grows="supported_claim_ids", out_of="required_claim_ids")}

# Judges are metrics too, but a model gives their values: what they promise has tests of its own.
COMPUTED = sorted(name for name in BUILT_IN if type(load_metric(name)) is Metric)

every_metric = pytest.mark.parametrize("name", COMPUTED)


def metric_of(name: str) -> Metric:
    return load_metric(name)


def test_every_bundled_metric_is_in_the_table():
    assert sorted(BUNDLED) == COMPUTED
    for table in (ANY_ORDER, TRIMMED, COUNTS, MONOTONE):
        assert set(table) <= set(BUNDLED)


# --- the contract ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_contract_answers_every_question(name: str):
    metric = metric_of(name)
    assert metric.contract is not None
    assert metric.unanswered() == []
    roles = [*metric.contract.reviewed, *metric.contract.produced]
    assert sorted(roles) == sorted(parameter.name for parameter in metric.parameters)
    assert orjson.loads(orjson.dumps(metric.contract.facts())) == metric.contract.facts()


@every_metric
def test_its_words_teach(name: str):
    words = metric_of(name).__doc__ or ""
    for part in ("When it misleads:", "Parameters\n", "Returns\n", "Raises\n", "Examples\n"):
        assert part in words


@every_metric
def test_it_has_one_name_and_one_fingerprint(name: str):
    metric = metric_of(name)
    assert metric.name == name
    assert metric.fingerprint == load_metric(name).fingerprint
    assert pickle.loads(pickle.dumps(metric)) is metric


# --- rows it scores -------------------------------------------------------------------------------------------------


@every_metric
@given(data=st.data())
def test_a_good_row_is_scored_inside_the_range_with_a_reason(name: str, data: st.DataObject):
    metric = metric_of(name)
    result = metric.measure(data.draw(BUNDLED[name].scored))
    assert result.state == "scored"
    assert result.error_kind is None
    assert result.reason.strip()
    assert orjson.loads(orjson.dumps(result.detail)) == result.detail
    if isinstance(metric.allowed_values, tuple):
        low, high = metric.allowed_values
        assert type(result.value) is float
        assert low <= result.value <= high


@every_metric
@given(data=st.data())
def test_scoring_again_gives_the_same_and_leaves_the_row_alone(name: str, data: st.DataObject):
    metric, row = metric_of(name), data.draw(BUNDLED[name].scored)
    before = copy.deepcopy(row)
    first = metric.measure(row)
    assert row == before
    assert metric.measure(row) == first
    assert metric.measure(dict(reversed(row.items()))) == first


@every_metric
@given(data=st.data())
def test_score_and_ascore_say_what_measure_says(name: str, data: st.DataObject):
    metric, row = metric_of(name), data.draw(BUNDLED[name].scored | BUNDLED[name].broken)
    measured, result = metric.measure(row), metric.score(**row)
    assert (result.value, result.reason, result.detail) == (measured.value, measured.reason, measured.detail)
    assert asyncio.run(metric.ascore(**row)) == result


# --- rows it does not score -----------------------------------------------------------------------------------------


@every_metric
@given(data=st.data())
def test_a_row_is_scored_or_invalid_and_never_the_metrics_error(name: str, data: st.DataObject):
    metric = metric_of(name)
    parameters = {parameter.name: _JSON for parameter in metric.parameters}
    rows = BUNDLED[name].broken | st.fixed_dictionaries({}, optional=parameters)
    result = metric.measure(data.draw(rows))
    assert result.state in ("scored", "invalid")
    assert (result.value is None) == (result.state == "invalid")
    assert (result.error_kind is None) == (result.state == "scored")
    assert result.reason.strip()


@every_metric
@given(data=st.data())
def test_a_missing_input_is_named(name: str, data: st.DataObject):
    metric, row = metric_of(name), data.draw(BUNDLED[name].scored)
    for parameter in metric.parameters:
        absent = {key: value for key, value in row.items() if key != parameter.name}
        if parameter.required:
            assert metric.measure(absent)[:2] == ("invalid", None)
            assert metric.measure(absent).reason.startswith(f"{parameter.name} is absent")
            with pytest.raises(TypeError, match=f"{parameter.name} is absent"):
                metric.score(**absent)
        assert metric.contract is not None
        if "null" not in metric.contract.allows_missing.get(parameter.name, {}):
            assert metric.measure(row | {parameter.name: None}).reason.startswith(f"{parameter.name} is null")


@every_metric
@given(data=st.data())
def test_an_empty_list_counts_only_where_the_contract_says_what_it_means(name: str, data: st.DataObject):
    metric, row = metric_of(name), data.draw(BUNDLED[name].scored)
    assert metric.contract is not None
    for parameter in metric.parameters:
        if parameter.is_list and "[]" not in metric.contract.allows_missing.get(parameter.name, {}):
            assert metric.measure(row | {parameter.name: []}).state == "invalid"


@every_metric
@given(data=st.data())
def test_c08_a_list_that_arrives_as_text_is_invalid(name: str, data: st.DataObject):
    metric, row = metric_of(name), data.draw(BUNDLED[name].scored)
    for parameter in metric.parameters:
        if parameter.is_list:
            result = metric.measure(row | {parameter.name: str(row[parameter.name])})
            assert (result.state, result.error_kind) == ("invalid", "wrong_type")


@every_metric
@given(data=st.data())
def test_calls_are_named_and_known(name: str, data: st.DataObject):
    metric, row = metric_of(name), data.draw(BUNDLED[name].scored)
    assert metric.measure(row | {"another_key": 1}) == metric.measure(row)
    with pytest.raises(TypeError, match="got unknown arguments: another_key"):
        metric.score(**row, another_key=1)
    with pytest.raises(TypeError) as refused:
        metric.score(*row.values())
    spelt_out = ", ".join(f"{key}={value!r}" for key, value in row.items())
    assert str(refused.value).endswith(f"write {name}.score({spelt_out})")


# --- properties of some metrics -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(ANY_ORDER))
@given(data=st.data())
def test_the_order_of_items_does_not_matter(name: str, data: st.DataObject):
    metric, row = metric_of(name), data.draw(BUNDLED[name].scored | BUNDLED[name].broken)
    shuffled = row | {key: data.draw(st.permutations(row[key])) for key in ANY_ORDER[name]}
    assert metric.measure(shuffled) == metric.measure(row)


@pytest.mark.parametrize("name", sorted(TRIMMED))
@given(data=st.data())
def test_space_around_an_item_does_not_matter(name: str, data: st.DataObject):
    metric, row = metric_of(name), data.draw(BUNDLED[name].scored)
    padded = row | {key: [data.draw(_SPACE) + item + data.draw(_SPACE) for item in row[key]] for key in TRIMMED[name]}
    assert metric.measure(padded) == metric.measure(row)


@pytest.mark.parametrize("name", sorted(COUNTS))
@given(data=st.data())
def test_with_k_items_only_k_plus_1_values_exist(name: str, data: st.DataObject):
    row = data.draw(BUNDLED[name].scored)
    k = len(row[COUNTS[name]])
    assert metric_of(name).measure(row).value in [n / k for n in range(k + 1)]


@pytest.mark.parametrize("name", sorted(MONOTONE))
@given(data=st.data())
def test_a_further_item_never_lowers_the_value(name: str, data: st.DataObject):
    metric, row, (grows, out_of) = metric_of(name), data.draw(BUNDLED[name].scored), MONOTONE[name]
    values = [metric.measure(row).value]
    for item in row[out_of]:
        if item not in row[grows]:
            row = row | {grows: [*row[grows], item]}
            values.append(metric.measure(row).value)
    assert values == sorted(values)  # type: ignore[type-var]
