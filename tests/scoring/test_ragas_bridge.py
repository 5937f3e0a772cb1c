from __future__ import annotations

import asyncio
import inspect
import pickle
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NamedTuple, Optional

import numpy as np
import pytest
from pydantic import Field

import evalkit.scoring.ragas_bridge as bridge
from evalkit.contract import Contract, ContractError, EvalkitError, Metric, MetricResult, attach, make_metric
from evalkit.contract.judge import Judge
from evalkit.scoring.load import as_metric, load_metric
from evalkit.scoring.ragas_bridge import from_ragas, import_ragas, is_decorator_metric, is_of_ragas, to_ragas


@pytest.fixture(scope="module")
def ragas() -> ModuleType:
    return import_ragas()


def overlap(wanted: list[str], found: list[str] | None = None) -> float:
    """Share of what is wanted that was found."""
    return len(set(wanted) & set(found or [])) / len(wanted)


async def async_overlap(wanted: list[str], found: list[str]) -> float:
    await asyncio.sleep(0)
    return len(set(wanted) & set(found)) / len(wanted)


ROW = {"wanted": ["a", "b"], "found": ["a"]}


# --- the table of differences ---------------------------------------------------------------------------------------

NONE = "None"
REFUSED = "TypeError"


class Difference(NamedTuple):
    """What the same function comes to on each of three ways: a value, ``NONE`` or ``REFUSED``."""

    annotation: Any
    call: dict[str, Any]
    ragas: Any
    evalkit: Any
    to_ragas: Any
    returns: Any = 1.0
    allowed: Any = (0.0, 1.0)


NAN = float("nan")
ONE_OR_MORE = Annotated[float, Field(ge=1)]
DIFFERENCES = {
    "bool as number": Difference(float, {"x": True}, 1.0, REFUSED, 1.0),
    "text as number": Difference(float, {"x": "0.9"}, 1.0, REFUSED, 1.0),
    "number as flag": Difference(bool, {"x": 1}, 1.0, REFUSED, 1.0),
    "float as int": Difference(int, {"x": 1.0}, 1.0, REFUSED, 1.0),
    "tuple or set as list": Difference(list[str], {"x": ("a",)}, 1.0, REFUSED, 1.0),
    "bytes as text": Difference(str, {"x": b"a"}, 1.0, REFUSED, 1.0),
    "NaN as input": Difference(float, {"x": NAN}, 1.0, REFUSED, NONE),
    "unknown argument": Difference(str, {"x": "a", "y": 1}, 1.0, REFUSED, 1.0),
    "``Optional`` unstated": Difference(Optional[str], {}, 1.0, REFUSED, REFUSED),  # noqa: UP045 - the spelling matters
    "constraint": Difference(ONE_OR_MORE, {"x": 0.0}, 1.0, REFUSED, NONE),
    "numpy scalar as value": Difference(str, {"x": "a"}, NONE, 0.5, 0.5, returns=np.float32(0.5)),
    "bool as value": Difference(str, {"x": "a"}, True, NONE, NONE, returns=True),
    "whole float in a range": Difference(str, {"x": "a"}, 3.0, 3, 3, returns=3.0, allowed=range(5)),
    "integer in an interval": Difference(str, {"x": "a"}, 1, 1.0, 1.0, returns=1),
    "NaN in a ranking": Difference(str, {"x": "a"}, [NAN, "a"], NONE, NONE, returns=[NAN, "a"], allowed=2),
}  # fmt: skip
TOLD_BELOW = {"unannotated parameter", "undeclared null or []", "SystemExit", "detail"}


def test_the_table_of_differences_is_that_of_the_docstring():
    assert bridge.__doc__ is not None
    rows = bridge.__doc__.split("\n===")[2].splitlines()[1:]  # between the second ruler and the third
    assert sorted(re.split(r"\s{2,}", row)[0] for row in rows) == sorted([*DIFFERENCES, *TOLD_BELOW])


def outcome(score: Callable[..., Any], call: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            result = score(**call)
        except TypeError:
            return REFUSED
    return NONE if result.value is None else result.value


@pytest.mark.parametrize("name", DIFFERENCES)
def test_difference(name: str, ragas: ModuleType):
    case = DIFFERENCES[name]

    def metric(x):
        return case.returns

    metric.__annotations__ = {"x": case.annotation}
    decorator = ragas.ranking_metric if isinstance(case.allowed, int) else ragas.numeric_metric
    theirs, ours = decorator(allowed_values=case.allowed)(metric), make_metric(metric, case.allowed)
    for score, expected in (
        (theirs.score, case.ragas),
        (ours.score, case.evalkit),
        (to_ragas(ours).score, case.to_ragas),
    ):
        came = outcome(score, case.call)
        assert repr(came) == repr(expected)
        assert type(came) is type(expected)


def test_difference_unannotated_parameter(ragas: ModuleType):
    def metric(x):
        return 1.0

    assert ragas.numeric_metric()(metric).score(x=object()).value == 1.0
    with pytest.raises(ContractError, match="parameter 'x' of metric has no annotation"):
        from_ragas(ragas.numeric_metric()(metric))


@pytest.mark.parametrize("missing", [None, []], ids=repr)
def test_difference_undeclared_null_or_empty_list(missing: Any, ragas: ModuleType):
    contract = Contract(
        version="1", measures="overlap", reviewed=("wanted",), produced=("found",), invalid_when=("nothing is wanted",),
        consumed_by="the gate", cannot_establish="truth",
    )  # fmt: skip
    theirs = ragas.numeric_metric()(overlap)
    ours = attach(theirs, contract)
    row = {"wanted": ["a"], "found": missing}
    assert theirs.score(**row).value == 0.0
    assert from_ragas(theirs).measure(row).value == 0.0
    assert ours.measure(row).state == "invalid"
    result = to_ragas(ours).score(**row)
    assert result.value is None
    assert ours.measure(row).reason in result.reason


def test_difference_system_exit(ragas: ModuleType):
    def metric(x: str) -> float:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        ragas.numeric_metric()(metric).score(x="a")
    ours = make_metric(metric, (0.0, 1.0))
    assert ours.measure({"x": "a"}).state == "error"
    assert "SystemExit: 3" in to_ragas(ours).score(x="a").reason


def test_difference_detail():
    def metric(x: str) -> MetricResult:
        return MetricResult(0.5, "half", {"missing": ["b"]})

    ours = make_metric(metric, (0.0, 1.0))
    theirs = to_ragas(ours).score(x="a")
    assert ours.score(x="a").detail == {"missing": ["b"]}
    assert (theirs.value, theirs.reason, hasattr(theirs, "detail")) == (0.5, "half", False)


# --- to_ragas -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "value"), [((0.0, 1.0), 0.5), (range(1, 6), 3), (["pass", "fail"], "pass"), (2, ["a", "b"])], ids=repr
)
def test_each_kind_becomes_an_object_of_ragas_own_decorator(allowed: Any, value: Any, ragas: ModuleType):
    def metric(x: str, y: float = 0.5) -> Any:
        """Say what it measures."""
        return MetricResult(value, "because")

    made = to_ragas(make_metric(metric, allowed, name="mine"))
    assert is_decorator_metric(made)
    assert isinstance(made, ragas.base.SimpleBaseMetric)
    assert (made.name, made.allowed_values, made.__doc__) == ("mine", allowed, "Say what it measures.")
    result = made.score(x="a")
    assert type(result) is ragas.MetricResult
    assert (result.value, result.reason) == (value, "because")


def test_its_signature_is_the_metrics():
    signature = inspect.signature(to_ragas(make_metric(overlap, (0.0, 1.0)))._func)
    assert list(signature.parameters) == ["wanted", "found"]
    assert signature.parameters["found"].annotation == list[str] | None
    assert signature.parameters["found"].default is None
    assert signature.parameters["wanted"].default is inspect.Parameter.empty


def test_ragas_refuses_a_positional_call_and_a_missing_argument():
    made = to_ragas(make_metric(overlap, (0.0, 1.0)))
    with pytest.raises(TypeError, match="requires keyword arguments"):
        made.score(["a"])
    with pytest.raises(TypeError, match="wanted: Field required"):
        made.score(found=["a"])


def test_an_async_metric_stays_async():
    made = to_ragas(make_metric(async_overlap, (0.0, 1.0)))
    assert made.score(**ROW).value == 0.5
    assert asyncio.run(made.ascore(**ROW)).value == 0.5


# --- from_ragas -----------------------------------------------------------------------------------------------------


def test_a_metric_written_only_against_ragas_is_brought_unchanged(ragas: ModuleType):
    theirs = ragas.numeric_metric(name="their_overlap", allowed_values=(0.0, 1.0))(overlap)
    ours = as_metric(theirs)
    assert (ours.name, ours.kind, ours.allowed_values, ours.version) == ("their_overlap", "numeric", (0.0, 1.0), "0")
    assert (ours.function, ours.origin, ours.original) == (overlap, "ragas", theirs)
    assert len(ours.unanswered()) == 4
    assert ours.measure(ROW).value == theirs.score(**ROW).value == 0.5


def test_ragas_defaults_are_kept(ragas: ModuleType):
    def metric(x: str) -> Any:
        return "pass"

    assert from_ragas(ragas.numeric_metric()(metric)).allowed_values == (0.0, 1.0)
    assert from_ragas(ragas.discrete_metric()(metric)).allowed_values == ["pass", "fail"]
    assert from_ragas(ragas.ranking_metric()(metric)).allowed_values == 2


def test_labels_changed_afterwards_are_not_ours(ragas: ModuleType):
    def metric(x: str) -> str:
        return "pass"

    theirs = ragas.discrete_metric(allowed_values=["pass", "fail"])(metric)
    ours = from_ragas(theirs)
    theirs.allowed_values.append("maybe")
    assert ours.allowed_values == ["pass", "fail"]


def test_there_and_back_is_the_same_metric():
    ours = make_metric(overlap, (0.0, 1.0))
    assert from_ragas(to_ragas(ours)) is ours


def test_a10_ragas_results_are_unwrapped_and_its_none_is_an_error(ragas: ModuleType):
    def metric(x: float) -> Any:
        return ragas.MetricResult(x or None, "their reason")

    ours = from_ragas(ragas.numeric_metric()(metric))
    assert ours.measure({"x": 0.5})[:5] == ("scored", 0.5, "their reason", {}, None)
    assert ours.measure({"x": 0.0})[:3] == ("error", None, "metric returned None (NoneType), not a number")
    assert type(ours.score(x=0.5)) is MetricResult


def test_g01_a_signature_that_loses_arguments_is_refused(ragas: ModuleType):
    def metric(response: str, **kwargs: str) -> float:
        return 1.0

    with pytest.raises(ContractError, match="'kwargs' of metric collects whatever it is given"):
        from_ragas(ragas.numeric_metric()(metric))


def test_a09_one_bad_row_takes_no_other_with_it(ragas: ModuleType):
    def metric(response: str) -> float:
        return 1.0

    theirs = ragas.numeric_metric()(metric)
    rows = [{"response": "a"}, {"response": None}, {"response": "c"}]
    with pytest.raises(TypeError):
        theirs.batch_score(rows)
    assert [from_ragas(theirs).measure(row).state for row in rows] == ["scored", "invalid", "scored"]


def test_b08_rows_that_overlap_in_a_brought_metric_do_not_mix(ragas: ModuleType):
    both_inside = threading.Barrier(2, timeout=20)

    def metric(x: str) -> Any:
        both_inside.wait()
        if x == "bad":
            raise RuntimeError(x)
        return ragas.MetricResult(0.25, f"reason of {x}")

    ours = from_ragas(ragas.numeric_metric()(metric))
    with ThreadPoolExecutor(2) as pool:
        bad, good = pool.map(lambda x: ours.measure({"x": x}), ["bad", "good"])
    assert bad.reason.startswith("RuntimeError: bad")
    assert good[:5] == ("scored", 0.25, "reason of good", {}, None)


def test_h01_scoring_a_brought_async_metric_leaves_asyncio_run_as_it_was(ragas: ModuleType):
    ours = from_ragas(ragas.numeric_metric()(async_overlap))

    async def cells() -> list[float | None]:
        loop, before = asyncio.get_running_loop(), asyncio.run
        values = [ours.score(**ROW).value, (await ours.ascore(**ROW)).value]
        assert (asyncio.run, asyncio.get_running_loop()) == (before, loop)
        return values

    before = asyncio.run
    assert asyncio.run(cells()) == [0.5, 0.5]
    assert asyncio.run is before


# --- what is not a decorator metric ---------------------------------------------------------------------------------


def test_what_is_no_metric_is_refused_in_plain_words(ragas: ModuleType):
    with pytest.raises(EvalkitError, match=r"'MetricResult' \(of class MetricResult\) is not a metric"):
        as_metric(ragas.MetricResult(1.0))
    with pytest.raises(EvalkitError, match="got the class DiscreteMetric; make an object of it"):
        as_metric(ragas.DiscreteMetric)


def test_a_ragas_metric_with_a_prompt_is_brought_as_a_judge(ragas: ModuleType):
    judge = as_metric(ragas.NumericMetric(name="rated", prompt="Rate {x}"))
    assert isinstance(judge, Judge)
    assert (judge.kind, judge.origin, [p.name for p in judge.parameters]) == ("numeric", "ragas", ["x"])


def test_detection_goes_by_the_classes_modules(ragas: ModuleType):
    theirs = ragas.numeric_metric()(overlap)
    assert (is_of_ragas(theirs), is_decorator_metric(theirs)) == (True, True)
    assert (is_of_ragas(ragas.MetricResult(1.0)), is_decorator_metric(ragas.MetricResult(1.0))) == (True, False)
    assert (is_of_ragas(overlap), is_of_ragas(ragas)) == (False, False)


# --- a file that knows only ragas -----------------------------------------------------------------------------------

THEIRS = """
    from ragas.metrics import MetricResult, discrete_metric, numeric_metric

    @numeric_metric(name="their_overlap", allowed_values=(0.0, 1.0))
    def their_overlap(wanted: list[str], found: list[str]) -> MetricResult:
        hits = sorted(set(wanted) & set(found))
        return MetricResult(value=len(hits) / len(wanted), reason=f"hits={','.join(hits)}")

    @discrete_metric(allowed_values=["pass", "fail"])
    async def their_verdict(answer: str) -> str:
        return "pass" if answer else "fail"
"""


def test_a_file_written_only_against_ragas_is_loaded_and_scored(user_file: Callable[..., Path], ragas: ModuleType):
    user_file(THEIRS)
    numeric, discrete = load_metric("mine.py:their_overlap"), load_metric("mine.py:their_verdict")
    assert numeric.measure(ROW)[:5] == ("scored", 0.5, "hits=a", {}, None)
    assert [discrete.measure({"answer": answer}).value for answer in ("yes", "")] == ["pass", "fail"]
    with pytest.raises(EvalkitError) as fault:
        load_metric("mine.py:their_overlp")
    assert fault.value.do == "its metrics are their_overlap, their_verdict"


def test_a_brought_metric_pickles_and_has_the_fingerprint_of_its_source(
    user_file: Callable[..., Path], ragas: ModuleType
):
    user_file(THEIRS)
    metric = load_metric("mine.py:their_overlap")
    again: Metric = pickle.loads(pickle.dumps(metric))
    assert (again.name, again.origin, again.fingerprint) == (metric.name, "ragas", metric.fingerprint)
    assert again.original is metric.original
    user_file(THEIRS.replace("len(hits) / len(wanted)", "len(hits) / len(found)"))
    assert load_metric("mine.py:their_overlap").fingerprint != metric.fingerprint


def test_l01_the_real_ragas_without_the_module_it_needs(user_file: Callable[..., Path]):
    user_file(THEIRS)
    code = """
import sys
class NewerCommunity:
    def find_spec(name, path=None, target=None):
        if name == "langchain_community.chat_models.vertexai":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NewerCommunity)
from evalkit.contract import EvalkitError
from evalkit.scoring.load import load_metric
from evalkit.scoring.ragas_bridge import to_ragas
for bring in (lambda: load_metric("mine.py:their_overlap"), lambda: to_ragas(load_metric("evidence_coverage"))):
    try:
        bring()
    except EvalkitError as fault:
        print(fault)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, made = ran.stdout.splitlines()
    said = (
        "ragas cannot be imported (ModuleNotFoundError: No module named 'langchain_community.chat_models.vertexai'); "
        'mend the environment: pip install "ragas==0.4.3" "langchain-community<0.4.2" (requirements.lock pins both)'
    )
    assert (loaded, made) == (f"mine.py, line 2: {said}", said)
