from __future__ import annotations

import asyncio
import copy
import pickle
from typing import Any

import pytest

from evalkit.contract import (
    Contract,
    ContractError,
    EvalkitError,
    Metric,
    MetricResult,
    attach,
    discrete_metric,
    make_metric,
    numeric_metric,
    ranking_metric,
)

CONTRACT = Contract(
    version="3", measures="overlap", reviewed=("wanted",), produced=("found",), invalid_when=("nothing is wanted",),
    consumed_by="the gate", cannot_establish="truth",
)  # fmt: skip


@numeric_metric()
def share(wanted: list[str], found: list[str] | None = None) -> MetricResult:
    """Share of what is wanted that was found."""
    hits = set(wanted) & set(found or [])
    return MetricResult(len(hits) / len(wanted), f"{len(hits)} of {len(wanted)}")


def plain_share(wanted: list[str], found: list[str]) -> float:
    return len(set(wanted) & set(found)) / len(wanted)


attached = attach(share, CONTRACT)
renamed = make_metric(plain_share, (0.0, 1.0), name="other_name", contract=CONTRACT)


# --- decorators -----------------------------------------------------------------------------------------------------


def test_the_decorators_have_ragas_defaults():
    @discrete_metric()
    def verdict(x: str) -> str:
        return "pass"

    @ranking_metric()
    def order(x: str) -> list[str]:
        return ["a", "b"]

    assert (share.kind, share.allowed_values) == ("numeric", (0.0, 1.0))
    assert (verdict.kind, verdict.allowed_values) == ("discrete", ["pass", "fail"])
    assert (order.kind, order.allowed_values) == ("ranking", 2)


def test_a_metric_keeps_its_functions_name_and_words_and_can_be_called_like_it():
    assert (share.name, share.__doc__) == ("share", "Share of what is wanted that was found.")
    assert share(["a"], ["a"]) == MetricResult(1.0, "1 of 1")


def test_without_a_contract_the_version_is_0_and_the_questions_are_open():
    assert (share.version, len(share.unanswered())) == ("0", 4)
    assert (attached.version, attached.unanswered()) == ("3", [])


def test_a_declaration_is_plain_json():
    @numeric_metric(allowed_values=range(1, 6))
    def grade(x: str) -> int:
        return 3

    assert share.declaration() == {"name": "share", "kind": "numeric", "allowed_values": [0.0, 1.0]}
    assert grade.declaration()["allowed_values"] == [1, 6, 1]


# --- score ----------------------------------------------------------------------------------------------------------


def test_score_takes_named_arguments_and_gives_a_result():
    assert share.score(wanted=["a", "b"], found=["a"]) == MetricResult(0.5, "1 of 2")
    assert share.score(wanted=["a"]) == MetricResult(0.0, "0 of 1")
    assert asyncio.run(share.ascore(wanted=["a", "b"], found=["a"])) == MetricResult(0.5, "1 of 2")


@pytest.mark.parametrize(
    ("args", "call"),
    [
        ((["a"],), "share.score(wanted=['a'], found=...)"),
        ((["a"], ["b"]), "share.score(wanted=['a'], found=['b'])"),
    ],
)
def test_a_positional_call_is_refused_with_the_right_one_spelt_out(args: tuple[Any, ...], call: str):
    with pytest.raises(TypeError) as refused:
        share.score(*args)
    assert str(refused.value) == f"share.score() takes named arguments only; write {call}"


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "share.score(): wanted is absent: the metric cannot be computed without it"),
        (
            {"wanted": None},
            "share.score(): wanted is null (lost or never recorded): the contract does not allow it to be",
        ),
        ({"wanted": "a"}, "share.score(): wanted: input should be a valid list; got str 'a'"),
        ({"wanted": ["a"], "fuond": []}, "share.score() got unknown arguments: fuond; it takes wanted, found"),
    ],
    ids=repr,
)
def test_a_wrong_call_is_a_type_error(inputs: dict[str, Any], message: str):
    with pytest.raises(TypeError) as refused:
        share.score(**inputs)
    assert str(refused.value).startswith(message)


def test_a_row_without_a_score_is_a_result_of_none_with_its_reason():
    result = share.score(wanted=[])
    assert result.value is None
    assert result.reason.startswith("ZeroDivisionError: division by zero (test_metric.py, line ")


# --- attach ---------------------------------------------------------------------------------------------------------


def test_attach_gives_a_contract_without_touching_the_metric():
    assert share.contract is None
    assert attached.contract is CONTRACT
    assert attached.measure({"wanted": ["a"], "found": []}).state == "invalid"  # [] is not declared in it
    assert share.measure({"wanted": ["a"], "found": []}).value == 0.0


def test_attach_lints_the_contract_and_refuses_what_is_no_metric():
    wrong = Contract(**(CONTRACT.facts() | {"produced": ("fuond",), "redact": None}))
    with pytest.raises(ContractError, match="'found' of share stands in no role"):
        attach(share, wrong)
    with pytest.raises(EvalkitError, match="plain_share is a plain function"):
        attach(plain_share, CONTRACT)


# --- pickle ---------------------------------------------------------------------------------------------------------


def test_a_metric_of_a_module_is_pickled_by_its_name(monkeypatch: pytest.MonkeyPatch):
    from evalkit.metrics.evidence_coverage import evidence_coverage

    assert evidence_coverage.measure({}).state == "invalid"  # what was compiled is no obstacle
    assert pickle.loads(pickle.dumps(evidence_coverage)) is evidence_coverage
    assert copy.deepcopy(evidence_coverage) is evidence_coverage


@pytest.fixture
def as_a_module(monkeypatch: pytest.MonkeyPatch):
    """Make this file importable by name, as a user's module is (pytest's importlib mode does not)."""
    import sys
    from types import ModuleType

    module = ModuleType(__name__)
    vars(module).update(globals())
    monkeypatch.setitem(sys.modules, __name__, module)


@pytest.mark.parametrize("metric", [attached, renamed], ids=lambda metric: metric.name)
def test_a_metric_with_another_contract_or_name_is_pickled_with_it(metric: Metric, as_a_module: None):
    again = pickle.loads(pickle.dumps(metric))
    assert (again.name, again.contract, again.allowed_values) == (metric.name, CONTRACT, (0.0, 1.0))
    assert again.fingerprint == metric.fingerprint
    assert again.measure({"wanted": ["a", "b"], "found": ["a"]}).value == 0.5


def test_a_metric_that_no_module_holds_cannot_be_pickled(as_a_module: None):
    @numeric_metric()
    def local(x: str) -> float:
        return 1.0

    with pytest.raises(
        pickle.PicklingError, match=r"local cannot be pickled: .* has no .*local.* that holds its function"
    ):
        pickle.dumps(local)
