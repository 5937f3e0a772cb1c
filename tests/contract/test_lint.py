from __future__ import annotations

import math
import sys
import typing  # noqa: F401 - annotations given as text are looked up here
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest

from evalkit.contract import Contract, ContractError, EvalkitError, Metric, make_metric
from evalkit.contract.lint import kind_of, parameters_of


class Passage(TypedDict):
    text: str


class Settings(pydantic.BaseModel):
    cutoff: float


def annotated(annotation: object) -> Callable[..., float]:
    def metric(x):
        return 1.0

    metric.__annotations__ = {"x": annotation}
    return metric


def contract(**changed: Any) -> Contract:
    answers: dict[str, Any] = {
        "version": "1", "measures": "overlap", "reviewed": ("wanted",), "produced": ("found",),
        "invalid_when": ("nothing is wanted",), "consumed_by": "the gate", "cannot_establish": "truth",
    }  # fmt: skip
    return Contract(**(answers | changed))


def overlap(wanted: list[str], found: list[str]) -> float:
    return len(set(wanted) & set(found)) / len(wanted)


# --- signatures: field case G01 -------------------------------------------------------------------------------------


def test_g01_an_unannotated_default_of_none_is_refused():
    def metric(response, reference=None):
        return 1.0

    with pytest.raises(ContractError, match=r"parameter 'response' of metric has no annotation.*response: str"):
        make_metric(metric, (0.0, 1.0))


def test_g01_an_unannotated_default_is_not_read_as_a_type():
    def metric(response: str, cutoff=1):
        return 1.0

    with pytest.raises(ContractError, match="parameter 'cutoff' of metric has no annotation"):
        make_metric(metric, (0.0, 1.0))


def test_g01_or_none_without_a_default_is_a_required_input_that_may_be_null():
    def metric(response: str, reference: str | None) -> float:
        return 0.0 if reference is None else 1.0

    made = make_metric(metric, (0.0, 1.0))
    assert [(p.name, p.required, p.is_optional) for p in made.parameters] == [
        ("response", True, False),
        ("reference", True, True),
    ]
    assert made.measure({"response": "r", "reference": None}).value == 0.0
    assert made.measure({"response": "r"}).reason == "reference is absent: the metric cannot be computed without it"


def test_g01_double_star_arguments_are_refused():
    def metric(response: str, **kwargs: str) -> float:
        return 1.0

    with pytest.raises(ContractError, match="parameter 'kwargs' of metric collects whatever it is given"):
        make_metric(metric, (0.0, 1.0))


def test_g01_a_private_parameter_is_refused():
    def metric(response: str, _w: float = 0.5) -> float:
        return 1.0

    with pytest.raises(ContractError, match="parameter '_w' of metric is private"):
        make_metric(metric, (0.0, 1.0))


def test_g01_a_pydantic_model_as_annotation_is_refused():
    def metric(response: str, settings: Settings) -> float:
        return 1.0

    with pytest.raises(
        ContractError, match="'settings' of metric is annotated Settings, which is not a plain JSON type"
    ):
        make_metric(metric, (0.0, 1.0))


def test_g01_an_annotation_that_names_a_local_class_is_refused():
    class Local(TypedDict):
        text: str

    def metric(passage: Local) -> float:
        return 1.0

    with pytest.raises(ContractError, match=r"an annotation of metric cannot be read .*'Local' is not defined"):
        make_metric(metric, (0.0, 1.0))


def test_star_arguments_are_refused():
    def metric(*responses: str) -> float:
        return 1.0

    with pytest.raises(ContractError, match="'responses' of metric collects whatever it is given"):
        make_metric(metric, (0.0, 1.0))


def test_positional_only_parameters_are_refused():
    def metric(response: str, /) -> float:
        return 1.0

    with pytest.raises(ContractError, match="'response' of metric is positional-only"):
        make_metric(metric, (0.0, 1.0))


def test_a_metric_without_inputs_is_refused():
    def metric() -> float:
        return 1.0

    with pytest.raises(ContractError, match="metric takes no input"):
        make_metric(metric, (0.0, 1.0))


@pytest.mark.parametrize(
    "annotation",
    [
        str, int, float, bool, list, dict, list[str], list[list[int]], dict[str, Any], dict[str, list[float]],
        str | None, list[str] | None, Literal["a", "b"], Passage, list[Passage], Annotated[float, pydantic.Field(ge=0)],
        "typing.List", "typing.Dict", "typing.List[str]", "typing.Dict[str, float]", "typing.Optional[str]",
    ],
    ids=str,
)  # fmt: skip
def test_plain_json_types_are_accepted(annotation: object):
    assert parameters_of("metric", annotated(annotation))[0].name == "x"


@pytest.mark.parametrize(
    "annotation",
    [
        Any,
        object,
        set[str],
        tuple[str, ...],
        bytes,
        dict[int, str],
        list[bytes],
        Settings,
        list[Settings],
        complex,
        "Ghost",
    ],
    ids=str,
)
def test_other_types_are_refused(annotation: object):
    with pytest.raises(ContractError):
        parameters_of("metric", annotated(annotation))


def test_a_constraint_in_an_annotation_is_enforced_not_dropped():
    metric = make_metric(annotated(Annotated[float, pydantic.Field(ge=0)]), (0.0, 1.0))
    assert metric.measure({"x": 0.0}).state == "scored"
    assert metric.measure({"x": -1.0}).state == "invalid"


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two words", "class", "é", "a-b", "1st", "x" * 65, "../up"])
def test_a_name_must_be_a_safe_identifier(name: str):
    with pytest.raises(ContractError, match="a metric's name must be an ASCII identifier of at most 64 characters"):
        make_metric(overlap, (0.0, 1.0), name=name)


@pytest.mark.parametrize("name", ["case_id", "state", "value", "reason", "slice", "decision", "oracle"])
def test_a_name_must_not_be_a_field_of_cases_or_records(name: str):
    with pytest.raises(ContractError, match=f"a metric may not be named {name!r}"):
        make_metric(overlap, (0.0, 1.0), name=name)


def test_a_lambda_has_no_name_to_go_by():
    with pytest.raises(ContractError, match="got '<lambda>'"):
        make_metric(lambda x: x, (0.0, 1.0))


# --- allowed values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "kind"),
    [
        ((0.0, 1.0), "numeric"), ((-1, 1), "numeric"), (range(1, 6), "numeric"), (["pass", "fail"], "discrete"),
        (1, "ranking"), (3, "ranking"),
    ],
)  # fmt: skip
def test_allowed_values_declare_the_kind(allowed: Any, kind: str):
    assert kind_of("metric", allowed) == kind


@pytest.mark.parametrize(
    "allowed",
    [
        (1.0, 0.0), (0.5, 0.5), (0.0, math.inf), (-math.inf, 0.0), (math.nan, 1.0), (False, True), (0.0,), (0, 1, 2),
        ("0", "1"), (0, 10**400), range(0), range(1), [], ["pass"], ["pass", "PASS"], ["pass", "pass"], ["pass", ""],
        ["pass", " fail"], ["pass", 1], ["STRASSE", "straße"], 0, -1, True, None, {"pass"}, "pass", 0.5,
    ],
    ids=repr,
)  # fmt: skip
def test_allowed_values_that_cannot_be_enforced_are_refused(allowed: Any):
    with pytest.raises(ContractError, match="allowed_values of metric must be a finite, ordered pair"):
        kind_of("metric", allowed)


def test_the_widest_range_of_floats_is_finite():
    largest = sys.float_info.max
    assert kind_of("metric", (-largest, largest)) == "numeric"


# --- contract and signature -----------------------------------------------------------------------------------------


def with_contract(**changed: Any) -> Metric:
    return make_metric(overlap, (0.0, 1.0), contract=contract(**changed))


def test_each_parameter_stands_in_exactly_one_role():
    assert with_contract().contract is not None
    with pytest.raises(ContractError, match="parameter 'found' of overlap stands in no role in its contract"):
        with_contract(produced=())
    with pytest.raises(ContractError, match="parameter 'found' of overlap stands more than once in its contract"):
        with_contract(reviewed=("wanted", "found"))
    with pytest.raises(
        ContractError, match=r"gives a role to 'fuond', which it does not take; its parameters are wanted"
    ):
        with_contract(produced=("found", "fuond"))


def test_allowed_missing_inputs_must_be_possible():
    assert with_contract(allows_missing={"found": {"[]": "nothing was found"}}).contract is not None
    with pytest.raises(ContractError, match="allows_missing of overlap names 'fuond', which is not a parameter"):
        with_contract(allows_missing={"fuond": {"[]": "nothing"}})
    with pytest.raises(ContractError, match="accepts null for 'found', but its annotation does not"):
        with_contract(allows_missing={"found": {"null": "lost"}})

    def text(wanted: list[str], found: str) -> float:
        return 1.0

    with pytest.raises(ContractError, match=r"accepts \[\] for 'found', which is not a list"):
        make_metric(text, (0.0, 1.0), contract=contract(allows_missing={"found": {"[]": "nothing"}}))


def test_a_refusal_is_a_plain_message_and_a_value_error():
    with pytest.raises(EvalkitError) as refused:
        make_metric(lambda x: x, (0.0, 1.0))
    assert isinstance(refused.value, ValueError)
    assert refused.value.do == "rename it, for example 'evidence_coverage'"
