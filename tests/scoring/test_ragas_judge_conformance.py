"""evalkit's judge beside plain ragas: the same prompt, schema and verdict on good replies; one call on bad ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from endpoint import Call, cut, hang, reply, status, tool_call, verdict
from judges import CONTRACT, JUDGE, Home

from evalkit.contract import EvalkitError, Outcome
from evalkit.contract.judge import Judge
from evalkit.metrics.refund_answer import refund_answer, refund_answer_review
from evalkit.pages.judge_command import JudgeAsk, ask_judge
from evalkit.scoring.judge import JudgeSettings, request_maker, run_judge
from evalkit.scoring.judging import preflight
from evalkit.scoring.judging.request import RequestMaker, sent_parameters
from evalkit.scoring.judging.rows import JudgeRows
from evalkit.scoring.judging.verdicts import VerdictStore
from evalkit.scoring.load_judge import as_judge, load_judge
from evalkit.scoring.ragas_bridge import import_ragas
from evalkit.scoring.ragas_bridge.judge_llm import RagasSender, settings_of
from evalkit.scoring.ragas_bridge.judge_request import MODES, difference, judge_from_ragas, judge_to_ragas

import_ragas()

import instructor  # noqa: E402 - ragas first, so that it does not report usage
from openai import AsyncOpenAI  # noqa: E402
from ragas.llms import llm_factory  # noqa: E402
from ragas.metrics import DiscreteMetric, NumericMetric, RankingMetric  # noqa: E402

ROW = {"reference": 'Berlin {is} the "capital".\n<b>', "response": "answer 0"}
NUMERIC = replace(JUDGE, name="score", allowed_values=(0.0, 1.0))
STEPS = replace(JUDGE, name="steps", allowed_values=range(1, 6))
STRICT = replace(JUDGE, system_prompt="You are strict {and} fair.")
RANKING = Judge(name="best", prompt="Rank {candidates}", allowed_values=2, lists=("candidates",))
GERMAN = Judge(name="deutsch", prompt="Prüfe {response}", allowed_values=["bestanden", "ungenügend: „schlecht“"])
JUDGES = [JUDGE, STRICT, NUMERIC, STEPS, RANKING, GERMAN, refund_answer, refund_answer_review]


def inputs_of(judge: Judge) -> dict[str, Any]:
    return {p.name: ["one", "two {x}"] if p.is_list else ROW.get(p.name, "text } {") for p in judge.parameters}


def ragas_llm(home: Home, settings: JudgeSettings, judge: Judge = JUDGE) -> Any:
    client = AsyncOpenAI(base_url=home.endpoint.url, api_key="key", max_retries=0, timeout=settings.timeout)
    chosen = dict(settings.parameters)
    llm = llm_factory(settings.model, client=client, max_retries=0, system_prompt=judge.system_prompt, **chosen)
    llm.client = instructor.from_openai(client, mode=getattr(instructor.Mode, MODES[settings.mode]))
    return llm


def good_value(judge: Judge) -> Any:
    allowed = judge.allowed_values
    return ["2", "1"] if isinstance(allowed, int) else list(allowed)[-1]


def good_answer(judge: Judge) -> Callable[[Call], Any]:
    name = f"{judge.kind.capitalize()}ResponseModel"
    return lambda call: (tool_call if "tools" in call.body else verdict)(
        good_value(judge), **({"name": name} if "tools" in call.body else {})
    )


def test_the_metrics_come_from_ragas_metrics() -> None:
    assert DiscreteMetric.__module__ == "ragas.metrics.discrete"
    for judge, made in ((JUDGE, DiscreteMetric), (NUMERIC, NumericMetric), (RANKING, RankingMetric)):
        assert type(judge_to_ragas(judge)) is made
        assert judge_to_ragas(judge).allowed_values == judge.allowed_values


@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.name)
def test_ragas_renders_the_same_prompt(judge: Judge) -> None:
    inputs = inputs_of(judge)
    assert judge_to_ragas(judge).prompt.format(**judge.arguments(inputs)) == judge.render(inputs)


@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.name)
def test_ragas_sends_the_same_body_and_reads_the_same_verdict(home: Home, judge: Judge, mode: Any) -> None:
    home.endpoint.script = good_answer(judge)
    inputs = inputs_of(judge)
    settings = home.settings(mode=mode)
    plain = judge_to_ragas(judge).ascore(llm=ragas_llm(home, settings, judge), **judge.arguments(inputs))
    result = asyncio.run(plain)
    home.write(json.dumps({"case_id": "a", **inputs}) + "\n")
    home.run(judge=judge, settings=settings)
    theirs, ours = home.endpoint.calls
    assert ours.body == theirs.body
    (record,) = home.records()
    assert (record["state"], record["value"], record["reason"]) == ("scored", result.value, result.reason)


@pytest.mark.parametrize(
    "model",
    ["judge", "gpt-4o", "o1", "o1-mini", "o3", "O3-mini", "o9_x", "o10", "o1x", "gpt-5", "gpt-5-nano", "gpt-19",
     "gpt-20", "gpt-4", "gpt-5o", "codex-mini", "codex-mini-2"],
)  # fmt: skip
@pytest.mark.parametrize(
    "parameters", [{}, {"temperature": 0.7, "max_tokens": 9, "seed": 3}], ids=["defaults", "chosen"]
)
def test_parameters_are_mapped_as_ragas_maps_them(home: Home, model: str, parameters: dict[str, Any]) -> None:
    settings = home.settings(model=model, parameters=parameters)
    theirs = ragas_llm(home, settings)._map_provider_params()
    assert sent_parameters(settings) == {name: value for name, value in theirs.items() if name != "max_retries"}


# --- the check before the first paid call -----------------------------------------------------------------------------


def test_a_request_that_ragas_would_not_send_is_refused_before_anything_is(home: Home) -> None:
    maker = RequestMaker(JUDGE, home.settings())
    assert difference(JUDGE, maker) is None
    maker.messages[0]["content"] += " And be quick."
    assert "messages would be" in str(difference(JUDGE, maker))
    rows = JudgeRows(JUDGE, maker)
    with VerdictStore(home.store) as store:
        with pytest.raises(EvalkitError, match="the installed ragas would ask differently: messages"):
            asyncio.run(preflight.check_shape(rows, store))
        assert not store.conforms(preflight.shape_of(rows))


def test_a_shape_is_compared_once_and_remembered(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = JudgeRows(JUDGE, request_maker(JUDGE, home.settings(), None))
    with VerdictStore(home.store) as store:
        assert asyncio.run(preflight.check_shape(rows, store)) == []
        monkeypatch.setattr("evalkit.scoring.ragas_bridge.judge_request.difference", lambda *_: "asked twice")
        assert asyncio.run(preflight.check_shape(rows, store)) == []
        other = JudgeRows(STRICT, request_maker(STRICT, home.settings(), None))
        with pytest.raises(EvalkitError, match="asked twice"):
            asyncio.run(preflight.check_shape(other, store))


# --- one bad reply, one call ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content", ["PASS.", '{"value": "pass"}', '{"reason": "r", "value": "Pass"}', "```json\n{}\n```"]
)
def test_e01_where_ragas_pays_four_times_evalkit_pays_once(home: Home, content: str) -> None:
    home.endpoint.script = lambda _: reply(content)
    client = AsyncOpenAI(base_url=home.endpoint.url, api_key="key", max_retries=0)
    llm = llm_factory("judge", client=client)
    with pytest.raises(Exception, match=r".+"):
        asyncio.run(judge_to_ragas(JUDGE).ascore(llm=llm, **JUDGE.arguments(ROW)))
    assert home.endpoint.count == 4
    home.endpoint.calls.clear()
    home.write(json.dumps({"case_id": "a", **ROW}) + "\n")
    home.run()
    assert (home.endpoint.count, home.records()[0]["state"]) == (1, "error")


# --- through ragas' own llm -------------------------------------------------------------------------------------------

GOOD = json.dumps({"reason": "r", "value": "pass"})
ANSWERS = {
    None: verdict("fail"),
    "prose": reply("It should pass."),
    "truncated": reply(GOOD, finish="length"),
    "refused": reply(None, refusal="I cannot."),
    "filtered": reply(GOOD, finish="content_filter"),
    "duplicate_key": reply('{"reason": "r", "value": "fail", "value": "pass"}'),
    "missing_reason": reply('{"value": "pass"}'),
    "unlisted_label": verdict("Pass."),
    "rate_limited": status(429),
    "server_error": status(503),
    "refused_request": status(400, "unknown parameter"),
    "connection": cut(0.5),
    "timeout": hang(30),
}


@pytest.mark.parametrize("kind", list(ANSWERS), ids=str)
def test_another_providers_client_gives_the_same_states_for_one_call(home: Home, kind: str | None) -> None:
    home.endpoint.script = lambda _: ANSWERS[kind]
    home.write(1)
    llm = llm_factory("judge-a", client=AsyncOpenAI(base_url=home.endpoint.url, api_key="key"))
    settings = settings_of(llm, JUDGE, timeout=1.0, attempts=1)
    home.run("ragas", settings=settings, sender=RagasSender(llm, JUDGE, settings))
    assert home.endpoint.count == 1  # also the client's own two retries are off
    home.run("native", settings=home.settings(timeout=1.0), is_fresh=True)
    ours, native = home.records("ragas")[0], home.records("native")[0]
    assert ours["error_kind"] == native["error_kind"] == kind
    assert (ours["state"], ours["value"], ours["owner"]) == (native["state"], native["value"], native["owner"])
    assert ours["judge"]["key"] == native["judge"]["key"]  # the same question, whoever carries it


def test_b08_replies_through_the_shared_client_stay_with_their_rows(home: Home) -> None:
    home.endpoint.script = lambda call: verdict(
        "pass", reason=call.prompt.split("answer ")[1].split("\n")[0], delay=0.02
    )
    home.write(12)
    llm = llm_factory("judge-a", client=AsyncOpenAI(base_url=home.endpoint.url, api_key="key"))
    settings = settings_of(llm, JUDGE, concurrency=6)
    home.run(settings=settings, sender=RagasSender(llm, JUDGE, settings))
    assert [record["reason"] for record in home.records()] == [str(i) for i in range(12)]


def test_an_llm_that_would_answer_for_another_judge_is_refused(home: Home) -> None:
    client = AsyncOpenAI(base_url=home.endpoint.url, api_key="key")
    cached = llm_factory("judge-a", client=client)
    cached.cache = object()
    with pytest.raises(EvalkitError, match="has a ragas cache, whose key leaves out the model"):
        settings_of(cached, JUDGE)
    with pytest.raises(EvalkitError, match="a system prompt that right does not declare"):
        settings_of(llm_factory("judge-a", client=client, system_prompt="Be kind."), JUDGE)
    with pytest.raises(EvalkitError, match=r"an object made by ragas\.llms\.llm_factory was expected; got str"):
        settings_of("judge-a", JUDGE)


def test_an_llm_is_named_like_a_metric(
    home: Home, user_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file(
        """
        import os
        from openai import AsyncOpenAI
        from ragas.llms import llm_factory
        llm = llm_factory("judge-a", client=AsyncOpenAI(base_url=os.environ["PLACE"], api_key="key"))
        """,
        "theirs.py",
    )
    monkeypatch.setenv("PLACE", home.endpoint.url)
    home.write('{"case_id": "a", "user_input": "q", "reference": "r", "response": "s"}\n')
    ask = JudgeAsk(
        judge="refund_answer",
        cases=home.cases,
        run=home.folder / "run",
        llm="theirs.py:llm",
        store=home.store,
        max_calls=5,
    )
    done = ask_judge(ask, on_note=home.notes.append)
    assert (done.outcome, home.endpoint.count) == (Outcome.passed, 2)  # the preflight and the row
    assert home.records()[0]["judge"]["model"] == "judge-a"


# --- judges written only against ragas --------------------------------------------------------------------------------


def test_a_ragas_metric_with_a_prompt_is_run_unchanged(home: Home, user_file: Callable[..., Path]) -> None:
    user_file(
        """
        from ragas.metrics import DiscreteMetric
        polite = DiscreteMetric(name="polite", prompt="Is {response} polite? Reply {{}}.", allowed_values=["yes", "no"])
        """,
        "theirs.py",
    )
    judge = load_judge("theirs.py:polite")
    assert (judge.origin, judge.version, judge.fenced) == ("ragas", "0", False)
    assert judge.render({"response": "Hi"}) == "Is Hi polite? Reply {}."
    home.endpoint.script = lambda _: verdict("yes")
    home.write('{"case_id": "a", "response": "Hi"}\n')
    home.run(judge=judge)
    assert home.records()[0]["value"] == "yes"
    assert home.endpoint.calls[0].prompt == "Is Hi polite? Reply {}."


def test_few_shot_examples_are_refused_rather_than_dropped() -> None:
    metric = DiscreteMetric(name="polite", prompt="Is {response} polite?")
    metric.prompt.add_example({"response": "Hi"}, {"value": "pass"})
    with pytest.raises(EvalkitError, match="few-shot examples"):
        judge_from_ragas(metric)


def test_a_metric_that_asks_nobody_is_no_judge() -> None:
    with pytest.raises(EvalkitError, match="evidence_coverage computes its value and asks no model"):
        load_judge("evidence_coverage")
    with pytest.raises(EvalkitError, match="there is no built-in metric 'refund_anser', did you mean 'refund_answer'"):
        load_judge("refund_anser")
    assert as_judge(JUDGE) is JUDGE


def test_a_live_run_needs_no_ragas_once_the_shape_is_known(home: Home) -> None:
    # The first run compares the request with ragas' own; what it found is kept beside the verdicts.
    home.write(1)
    options = replace(home.options(), store=home.folder / "new.sqlite")
    asyncio.run(run_judge(JUDGE, home.cases, home.folder / "run", options))
    with VerdictStore(home.folder / "new.sqlite") as store:
        assert store.conforms(preflight.shape_of(JudgeRows(JUDGE, request_maker(JUDGE, home.settings(), None))))


def test_the_contract_of_the_bundled_judge_names_its_inputs() -> None:
    assert CONTRACT.version == "1"
    assert [p.name for p in refund_answer.parameters] == ["user_input", "reference", "response"]
