"""A file written only against ragas, of every kind it has: brought without an edit, or refused in plain words."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from endpoint import Call, Endpoint, said
from judges import Home

from evalkit.cli import main
from evalkit.contract import Contract, EvalkitError, Outcome, attach
from evalkit.contract.stepped import SteppedJudge
from evalkit.mutate import kill_matrix
from evalkit.scoring.load import as_metric, load_metric
from evalkit.scoring.ragas_bridge import import_ragas

THEIRS = Path(__file__).parents[1] / "brought" / "their_metrics.py"
COMPUTED = ("decorated", "decorated_async", "class_sync", "class_async", "legacy")
ROW = {"response": "refund in 5 days", "reference": "The refund takes 5 days."}


@pytest.fixture(scope="module")
def ragas() -> ModuleType:
    return import_ragas()


def theirs(name: str) -> Any:
    return load_metric(f"{THEIRS}:{name}")


def evalkit(*arguments: object, cwd: Path) -> tuple[int, str]:
    """Run a command in this process, so that ragas is imported once."""
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", ["evalkit", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
    assert "a fault inside evalkit" not in err.getvalue()
    return int(str(end.value.code)), out.getvalue() + err.getvalue()


# --- metrics that compute ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMPUTED)
def test_a_metric_of_each_kind_scores_what_ragas_scores(ragas: ModuleType, name: str) -> None:
    metric = theirs(name)
    assert (metric.name, metric.origin, metric.version) == (name, "ragas", "0")
    assert sorted(p.name for p in metric.parameters) == ["reference", "response"]
    # of the four words refund, takes, 5, days three are there
    assert metric.measure(ROW)[:2] == ("scored", "pass" if name == "decorated_async" else 0.75)
    refused = metric.measure(ROW | {"reference": "the"})
    assert refused[:3] == ("invalid", None, "the reference has no words")
    assert metric.measure({"response": "a"})[:2] == ("invalid", None)
    assert metric.measure(ROW | {"response": 7})[4] == "wrong_type"


def test_the_older_style_agrees_with_ragas_own_call(ragas: ModuleType) -> None:
    from ragas.dataset_schema import SingleTurnSample

    metric = theirs("legacy")
    for response in ("", "refund", "the refund takes 5 days", "5 5 5"):
        row = ROW | {"response": response}
        expected = asyncio.run(metric.original.single_turn_ascore(SingleTurnSample(**row)))
        assert metric.measure(row).value == expected


def test_b08_what_a_metric_notes_on_itself_does_not_reach_the_next_row(ragas: ModuleType) -> None:
    metric = theirs("class_async")
    assert metric.measure(ROW).value == 0.75
    assert metric.measure(ROW | {"response": "hello"}).value == 0.0  # the first row's answer would give 0.75 again
    assert metric.original.last == ""


def test_ragas_own_metrics_that_ask_nobody_are_brought_too(ragas: ModuleType) -> None:
    from ragas.metrics import collections

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        older = as_metric(ragas.ExactMatch())
    for metric in (as_metric(collections.ExactMatch()), older):
        assert metric.measure({"response": "a", "reference": "a"}).value == 1.0
        assert metric.measure({"response": "a", "reference": "b"}).value == 0.0


def test_a_name_that_is_no_word_becomes_one_and_is_kept(ragas: ModuleType) -> None:
    def metric(x: str) -> float:
        return 1.0

    found = as_metric(ragas.numeric_metric(name="Answer tone (höflich), v2")(metric))
    assert (found.name, found.display_name) == ("Answer_tone_hoflich_v2", "Answer tone (höflich), v2")
    assert as_metric(ragas.DiscreteMetric(name="2nd try", prompt="{x}")).name == "metric_2nd_try"
    assert theirs("legacy").display_name == "legacy"


def test_the_fingerprint_is_that_of_class_helpers_and_settings(user_file: Any, ragas: ModuleType) -> None:
    source = THEIRS.read_text(encoding="utf-8")

    def fingerprint(name: str, *change: str) -> str:
        user_file(source.replace(*change) if change else source)
        return load_metric(f"mine.py:{name}").fingerprint

    for name in ("class_sync", "class_async", "legacy"):
        own = fingerprint(name)
        assert fingerprint(name) == own
        assert fingerprint(name, "len(words_of(response) & wanted)", "len(wanted & words_of(response))") != own
        assert fingerprint(name, '"""The older style', '"""An older style') == own
    made = 'Overlap(name="class_sync"'
    assert fingerprint("class_sync", made, f"{made}, least=2") != fingerprint("class_sync")
    assert fingerprint("class_judge", "Is it polite?", "Is it kind?") != fingerprint("class_judge")


# --- through the command line, from another folder --------------------------------------------------------------------


def write(path: Path, *rows: dict[str, Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


POLICY = """\
schema = 1
name = "theirs"
version = "1"
mode = "block"
metric = "{name}"
contract_version = "0"
scope = ["tests"]
approved_by = "tests"
approved_on = 2026-11-30
expires_on = 2027-02-28
rationale = "tests"
basis = "by_definition"

[consequences]
false_pass = "none"
false_fail = "none"

[slices.default]
{limit}
max_failures = 0
"""


@pytest.mark.parametrize("name", COMPUTED)
def test_each_kind_is_scored_gated_and_calibrated_from_another_folder(
    tmp_path: Path, ragas: ModuleType, name: str
) -> None:
    spec, is_discrete = f"{THEIRS}:{name}", name == "decorated_async"
    rows = [
        {"case_id": f"r{n}", "family": f"f{n}", "partition": "calibration", "reference": "refund now"}
        for n in range(40)
    ]
    rows = [row | {"response": "refund now" if n % 2 else "hello"} for n, row in enumerate(rows)]
    write(tmp_path / "cases.jsonl", *rows)
    code, said_ = evalkit("score", spec, "cases.jsonl", "--run", "run", cwd=tmp_path)
    assert (code, "40 of 40 rows scored" in said_) == (0, True)

    limit = 'require = ["pass"]' if is_discrete else "minimum = 0.9"
    (tmp_path / "policy.toml").write_text(POLICY.format(name=name, limit=limit), encoding="utf-8")
    for cases in ("cases.jsonl", "run"):
        code, said_ = evalkit("gate", spec, cases, "--policy", "policy.toml", "--as-of", "2026-12-01", cwd=tmp_path)
        assert code == Outcome.quality_failed, said_
        assert "20 of 40 decided blocking rows fail" in " ".join(said_.split())
        assert f"{name} has no contract" in " ".join(said_.split())  # every summary names what is unanswered

    labels = [
        {"case_id": f"r{n}", "criterion": name, "reviewer": "ann", "label": "pass" if n % 2 else "fail", "reason": "r",
         "rubric_version": "1", "labelled_on": "2026-11-01", "blind": True, "selection": "random",
         "provenance": "production"}
        for n in range(40)
    ]  # fmt: skip
    write(tmp_path / "labels.jsonl", *labels)
    options = ("--max-false-pass", "0.2", "--confidence", "0.9", "--as-of", "2026-12-01", "--json", "out.json")
    code, said_ = evalkit("calibrate", spec, "cases.jsonl", "--labels", "labels.jsonl", *options, cwd=tmp_path)
    assert code in (Outcome.passed, Outcome.review_required), said_
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["slices"]["default"]
    assert (found["n"], found["n_fail_labels"]) == (40, 20)


CASES = [
    {"case_id": "three of four", **ROW, "oracle": {"value": 0.75}},
    {"case_id": "none", "response": "hello", "reference": "refund", "oracle": {"value": 0.0}},
    {"case_id": "all", "response": "Refund", "reference": "refund.", "oracle": {"value": 1.0}},
    {"case_id": "no words", "response": "hello", "reference": "the", "oracle": {"invalid": "has no words"}},
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("class_sync", "Overlap.score"),
        ("class_async", "AsyncOverlap.ascore"),
        ("legacy", "LegacyOverlap._single_turn_ascore"),
    ],
)
def test_the_method_and_its_helpers_are_mutated_where_they_stand(tmp_path: Path, name: str, method: str) -> None:
    write(tmp_path / "contract.jsonl", *CASES)
    matrix = kill_matrix(f"{THEIRS}:{name}", tmp_path / "contract.jsonl")
    killed = {mutant.where for mutant in matrix.of("killed")}
    assert {method, "overlap_of", "words_of"} <= killed
    by = {case for mutant in matrix.of("killed") for case in mutant.killed_by}
    assert {"three of four", "no words"} <= by


# --- metrics that ask a model -----------------------------------------------------------------------------------------


def words(call: Call) -> Any:
    """Answer ToneJudge's two questions: the words, then whether each of them is polite."""
    if call.prompt.startswith("List the words of: "):
        return said(grounded=True, words=call.prompt.removeprefix("List the words of: ").split())
    return said(grounded="please" in call.prompt, words=[])


def run(home: Home, name: str, **changes: Any) -> list[dict[str, Any]]:
    write(home.cases, {"case_id": "a", "response": "wait please please now"}, {"case_id": "b", "response": "please"})
    home.run(name, theirs(name), **changes)
    return home.records(name)


def test_a_class_with_a_model_becomes_a_judge_whose_every_call_is_kept(home: Home, ragas: ModuleType) -> None:
    judge = theirs("class_judge")
    assert isinstance(judge, SteppedJudge)
    assert home.endpoint is not None
    home.endpoint.script = words
    first, second = run(home, "class_judge")
    # two of the four words are polite; "please" is asked twice in one row: two calls; the other row has both kept
    assert (first["value"], second["value"]) == (0.5, 1.0)
    assert first["reason"] == "questions=5; embeddings=0 | by word"
    assert first["detail"]["replies"][0]["reply"]["words"] == ["wait", "please", "please", "now"]
    assert home.endpoint.count == 5 + 1
    assert judge.original.llm is None  # the object itself is left alone
    home.run("again", judge)
    assert home.endpoint.count == 6


def test_the_older_style_with_a_model_is_asked_through_the_same_path(home: Home, ragas: ModuleType) -> None:
    assert home.endpoint is not None
    home.endpoint.script = lambda call: said(grounded="wait" in call.prompt, words=[])
    first, second = run(home, "legacy_judge")
    assert (first["value"], second["value"]) == (1.0, 0.0)
    assert [step["asks"] for step in first["judge"]["steps"]] == ["Verdict"]


def test_no_handler_in_the_metric_makes_a_score_of_an_unreadable_reply(
    home: Home, ragas: ModuleType, user_file: Any
) -> None:
    user_file(
        """
        from ragas.metrics.collections.base import BaseMetric
        from ragas.metrics.result import MetricResult
        from pydantic import BaseModel


        class Yes(BaseModel):
            yes: bool


        class Careless(BaseMetric):
            llm = None

            def _validate_llm(self):
                pass

            async def ascore(self, response: str) -> MetricResult:
                try:
                    found = await self.llm.agenerate(f"Fine? {response}", Yes)
                except BaseException:
                    return MetricResult(value=1.0)
                return MetricResult(value=float(found.yes))


        careless = Careless(name="careless")
        """
    )
    assert home.endpoint is not None
    home.endpoint.script = lambda _: said(yes="perhaps")
    write(home.cases, {"case_id": "a", "response": "x"})
    home.run("careless", load_metric("mine.py:careless"))
    (record,) = home.records("careless")
    assert (record["state"], record["value"], record["error_kind"]) == ("error", None, "wrong_shape")


def test_a_model_that_is_called_synchronously_is_fetched_first(home: Home, ragas: ModuleType, user_file: Any) -> None:
    user_file(
        """
        from ragas.metrics.base import SimpleBaseMetric
        from ragas.metrics.result import MetricResult
        from pydantic import BaseModel


        class Yes(BaseModel):
            yes: bool


        class Sync(SimpleBaseMetric):
            llm = None

            def score(self, response: str) -> MetricResult:
                found = [self.llm.generate(f"Fine? {response} {n}", Yes).yes for n in range(3)]
                return MetricResult(value=sum(found) / 3)

            async def ascore(self, **kwargs) -> MetricResult:
                return self.score(**kwargs)


        sync = Sync(name="sync", allowed_values=(0.0, 1.0))
        """
    )
    assert home.endpoint is not None
    home.endpoint.script = lambda call: said(yes=call.prompt.endswith("2"))
    write(home.cases, {"case_id": "a", "response": "x"})
    home.run("sync", load_metric("mine.py:sync"))
    (record,) = home.records("sync")
    assert (record["state"], home.endpoint.count) == ("scored", 3)
    assert record["value"] == pytest.approx(1 / 3)


def test_a_standard_metric_made_by_a_team_is_read_as_closely_as_the_bundled_one(
    home: Home, ragas: ModuleType, endpoint: Endpoint
) -> None:
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory
    from ragas.metrics.collections import Faithfulness

    llm = llm_factory("their-model", client=AsyncOpenAI(api_key="k", base_url="http://127.0.0.1:9/v1"))
    judge = as_metric(Faithfulness(llm=llm, name="our_faithfulness"))
    endpoint.script = lambda _: said(statements=[])
    write(home.cases, {"case_id": "a", "user_input": "q", "response": "x", "retrieved_contexts": ["c"]})
    home.run("ours", judge)
    (record,) = home.records("ours")
    assert (record["state"], record["error_kind"]) == ("invalid", "no_statements")
    assert endpoint.calls[0].body["model"] == "judge-a"  # evalkit's settings, not the object's own client


def test_a_contract_is_attached_without_touching_the_file(ragas: ModuleType) -> None:
    contract = Contract(
        version="3", measures="politeness", reviewed=(), produced=("response",), invalid_when=("it is blank",),
        consumed_by="tests", cannot_establish="anything else",
    )  # fmt: skip
    for name in ("class_judge", "legacy_judge"):
        found = attach(theirs(name).original, contract)
        assert (found.name, found.version, found.unanswered()) == (name, "3", [])


# --- what cannot be done is said --------------------------------------------------------------------------------------

REFUSED = {
    "conversation": "scores whole conversations; a case of evalkit is one turn",
    "anything": "collects whatever it is given",
    "hidden": "asks a model through its attribute 'inner', whose calls would not be kept or counted",
    "Overlap": "got the class Overlap; make an object of it at the end of its file, and name that: my_metric =",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_brought_is_refused_with_the_mend(ragas: ModuleType, name: str) -> None:
    with pytest.raises(EvalkitError) as refused:
        theirs(name)
    assert REFUSED[name] in str(refused.value)
    assert refused.value.do


def test_other_kinds_that_cannot_be_brought(ragas: ModuleType, user_file: Any) -> None:
    user_file(
        """
        from dataclasses import dataclass, field

        from ragas.metrics import MetricResult, MetricType, SingleTurnMetric
        from ragas.metrics.base import MetricWithEmbeddings
        from ragas.metrics.collections.base import BaseMetric


        @dataclass
        class Silent(SingleTurnMetric):
            name: str = "silent"

            def init(self, run_config): ...

            async def _single_turn_ascore(self, sample, callbacks): return 1.0


        @dataclass
        class Rubrics(Silent):
            name: str = "rubrics"
            _required_columns: dict = field(default_factory=lambda: {MetricType.SINGLE_TURN: {"rubrics"}})


        @dataclass
        class Near(MetricWithEmbeddings, Silent):
            name: str = "near"


        class Typed(BaseMetric):
            llm = None

            def _validate_llm(self): ...

            async def ascore(self, score: float) -> MetricResult: return MetricResult(value=score)


        silent, rubrics, near, typed = Silent(), Rubrics(), Near(), Typed(name="typed")
        """
    )
    for name, message in {
        "silent": "declares no required columns, so nothing says which inputs it reads",
        "rubrics": "needs the column 'rubrics', which is no text and no list of texts",
        "near": "uses ragas' older embeddings, which evalkit cannot keep under a complete key",
        "typed": "the input 'score' of 'typed' (of class Typed) is neither a text nor a list of texts",
    }.items():
        with pytest.raises(EvalkitError) as refused:
            load_metric(f"mine.py:{name}")
        assert message in str(refused.value)


@pytest.mark.parametrize("name", ["prompted", "class_judge", "legacy_judge"])
def test_a_judge_has_no_source_to_mutate_and_says_so(tmp_path: Path, ragas: ModuleType, name: str) -> None:
    from evalkit.mutate.blueprint import blueprint_of

    with pytest.raises(EvalkitError, match=f"a model gives the values of {name}: there is no source to plant faults"):
        blueprint_of(theirs(name))
    write(tmp_path / "cases.jsonl", {"case_id": "a", "response": "x"})
    code, said_ = evalkit("score", f"{THEIRS}:{name}", "cases.jsonl", "--run", "run", cwd=tmp_path)
    assert code == Outcome.incomplete
    assert f"{name} is a judge, and nobody was asked" in " ".join(said_.split())
