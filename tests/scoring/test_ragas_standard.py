"""ragas' standard metrics as judges of several questions: ragas' values, and a state where it has none (S3.1)."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from types import ModuleType
from typing import Any

import pytest
from endpoint import Answer, Call, Endpoint, embedded, reply, said, status
from judges import Home

from evalkit.contract.stepped import SteppedJudge
from evalkit.scoring.judge import Budget, replay_records
from evalkit.scoring.judging.budget import Price, price_of
from evalkit.scoring.judging.cassette import read_cassette
from evalkit.scoring.load import load_metric
from evalkit.scoring.ragas_bridge import import_ragas
from evalkit.scoring.ragas_bridge.judge_request import difference

NAMES = [
    "answer_correctness",
    "answer_relevancy",
    "answer_similarity",
    "context_entity_recall",
    "context_precision",
    "context_recall",
    "faithfulness",
]
ROW = {
    "case_id": "r0",
    "user_input": "How long does a refund take?",
    "response": "A refund takes five days. It is free.",
    "reference": "Refunds take five days.",
    "retrieved_contexts": ["Refunds take five days.", "Shops open at nine.", "Refunds are free."],
}


def metric(name: str) -> SteppedJudge:
    found = load_metric(name)
    assert isinstance(found, SteppedJudge)
    return found


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def verdicts(*values: Any) -> Answer:
    rows = [{"statement": f"s{n}", "reason": f"because {n}", "verdict": v} for n, v in enumerate(values)]
    return said(statements=rows)


def attributed(*values: Any) -> Answer:
    rows = [{"statement": f"s{n}", "reason": "r", "attributed": v} for n, v in enumerate(values)]
    return said(classifications=rows)


def classified(**counts: int) -> Answer:
    kinds = {kind: counts.get(kind, 0) for kind in ("TP", "FP", "FN")}
    return said(**{kind: [{"statement": f"{kind}{n}", "reason": "r"} for n in range(k)] for kind, k in kinds.items()})


class Script:
    """Answers each kind of question from its own list, the last answer again when it is used up."""

    def __init__(self, **answers: Answer | list[Answer] | Callable[[Call], Answer]) -> None:
        self.answers = answers
        self.met: Counter[str] = Counter()

    def __call__(self, call: Call) -> Answer:
        found = self.answers.get(call.asks) or DEFAULTS[call.asks]
        if callable(found):
            return found(call)
        several = found if isinstance(found, list) else [found]
        self.met[call.asks] += 1
        return several[min(self.met[call.asks], len(several)) - 1]


def by_length(call: Call) -> Answer:
    """Give a vector that depends on the text; ragas sends several texts at a time."""
    texts = call.body["input"]
    if isinstance(texts, str):
        return embedded(vector(texts))
    data = [{"object": "embedding", "index": n, "embedding": vector(t)} for n, t in enumerate(texts)]
    body = {"object": "list", "data": data, "model": "e", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    return Answer(body=json.dumps(body).encode())


def vector(text: str) -> list[float]:
    return [math.sin(len(text)), math.cos(len(text)), 0.25 * (len(text) % 7)]


DEFAULTS: dict[str, Any] = {
    "StatementGeneratorOutput": said(statements=["A refund takes five days.", "It is free."]),
    "NLIStatementOutput": verdicts(1, 0),
    "AnswerRelevanceOutput": said(question="How long does it take?", noncommittal=0),
    "ContextPrecisionOutput": said(reason="r", verdict=1),
    "ContextRecallOutput": attributed(1, 1, 0),
    "EntitiesList": [said(entities=["Berlin", "1945"]), said(entities=["Berlin"])],
    "ClassificationWithReason": classified(TP=1, FP=1, FN=1),
    "embedding": by_length,
}


@pytest.fixture(scope="module")
def ragas() -> ModuleType:
    return import_ragas()


def judged(home: Home, name: str, *rows: dict[str, Any], script: Script | None = None, **changes: Any) -> list[Any]:
    """Judge rows, and return their records."""
    home.write(lines(*(rows or (ROW,))))
    assert home.endpoint is not None
    home.endpoint.script = script or Script()
    settings = changes.pop("settings", None) or home.settings(embedding_model="embedder")
    run = changes.pop("run", "run")
    home.run(run, metric(name), settings=settings, **changes)
    return home.records(run)


# --- the value is ragas' own ------------------------------------------------------------------------------------------


def of_ragas(name: str, endpoint: Endpoint, row: dict[str, Any]) -> float:
    """Score a row by ragas' own object, through its own clients."""
    from openai import AsyncOpenAI, OpenAI
    from ragas.embeddings import OpenAIEmbeddings
    from ragas.llms import llm_factory
    from ragas.metrics import collections

    judge = metric(name)
    made = getattr(collections, judge.target.partition(":")[2])

    async def score() -> Any:
        async with AsyncOpenAI(api_key="k", base_url=endpoint.url, max_retries=0) as client:
            parts: dict[str, Any] = {"llm": llm_factory("m", client=client, max_retries=0)} if judge.asks else {}
            if judge.embeds:
                sync = OpenAI(api_key="k", base_url=endpoint.url, max_retries=0)
                parts["embeddings"] = OpenAIEmbeddings(client if judge.asks else sync, model="e")
            inputs = {p.name: row[p.name] for p in judge.parameters}
            return await made(**parts, **judge.settings).ascore(**inputs)

    return float(asyncio.run(score()).value)


def some_replies(name: str, rng: random.Random) -> Script:
    """Make replies that a metric can count on, at random."""
    n, m = rng.randint(1, 5), rng.randint(1, 4)
    tp = rng.randint(0, n)
    flags = [rng.randint(0, 1) for _ in range(max(n, 3))]
    names = [f"name {k}" for k in range(6)]
    return Script(
        StatementGeneratorOutput=[
            said(statements=[f"s{k}" for k in range(n)]),
            said(statements=[f"r{k}" for k in range(m)]),
        ],
        NLIStatementOutput=verdicts(*flags[:n]),
        AnswerRelevanceOutput=[
            said(question="q" * rng.randint(1, 40), noncommittal=rng.randint(0, 1)) for _ in range(3)
        ],
        ContextPrecisionOutput=[said(reason="r", verdict=flag) for flag in flags],
        ContextRecallOutput=attributed(*flags[:n]),
        EntitiesList=[said(entities=rng.sample(names, n)), said(entities=rng.sample(names, m))],
        ClassificationWithReason=classified(TP=tp, FP=n - tp, FN=rng.randint(0, m)),
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_value_is_that_of_the_ragas_object_for_the_same_replies(home: Home, ragas: ModuleType, name: str) -> None:
    for seed in range(8):
        changes = {"case_id": f"r{seed}", "response": "Five days" + "." * seed, "reference": "Five" + "!" * seed}
        row = ROW | changes | {"retrieved_contexts": [*ROW["retrieved_contexts"], f"passage {seed}"][-3:]}
        (record,) = judged(home, name, row, script=some_replies(name, random.Random(seed)), run=f"run{seed}")
        assert home.endpoint is not None
        home.endpoint.script = some_replies(name, random.Random(seed))
        assert record["state"] == "scored", record["reason"]
        assert record["value"] == pytest.approx(of_ragas(name, home.endpoint, row), abs=1e-12), seed


@pytest.mark.parametrize("mode", ["json_object", "json_schema", "tools"])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "answer_similarity"])
def test_each_question_is_sent_as_ragas_sends_it(home: Home, ragas: ModuleType, name: str, mode: str) -> None:
    from evalkit.scoring.judging.steps import StepMaker

    maker = StepMaker(
        metric(name), home.settings(embedding_model="e", mode=mode, parameters={"top_p": None, "seed": 3})
    )
    assert difference(metric(name), maker) is None
    maker.facts["parameters"]["seed"] = 4
    assert difference(metric(name), maker) == "seed would be 3 instead of 4"


# --- what each reply said is kept -------------------------------------------------------------------------------------


def test_faithfulness_keeps_each_statement_with_its_verdict(home: Home, ragas: ModuleType) -> None:
    (record,) = judged(home, "faithfulness")
    assert (record["state"], record["value"]) == ("scored", 0.5)  # one of two statements
    assert record["reason"] == "faithful=1; statements=2 | not inferred: 's1'"
    assert record["detail"] == {
        "statements": [
            {"statement": "s0", "verdict": 1, "reason": "because 0"},
            {"statement": "s1", "verdict": 0, "reason": "because 1"},
        ]
    }
    judge = record["judge"]
    assert [step["asks"] for step in judge["steps"]] == ["StatementGeneratorOutput", "NLIStatementOutput"]
    assert (len(judge["attempts"]), judge["cache"], judge["finish_reason"]) == (2, "miss", "stop")
    assert judge["usage"] == {"prompt_tokens": 200, "completion_tokens": 40, "total_tokens": 240}


def test_the_others_keep_theirs(home: Home, ragas: ModuleType) -> None:
    (record,) = judged(home, "answer_relevancy", run="a")
    assert [set(question) for question in record["detail"]["questions"]] == [{"question", "noncommittal", "cosine"}] * 3
    mean = sum(question["cosine"] for question in record["detail"]["questions"]) / 3
    assert record["value"] == pytest.approx(mean)

    script = Script(ContextPrecisionOutput=[said(reason=f"r{n}", verdict=v) for n, v in enumerate((0, 1, 1))])
    (record,) = judged(home, "context_precision", run="b", script=script)
    assert record["detail"]["contexts"][1] == {"position": 2, "verdict": 1, "reason": "r1"}
    # precision at 2 is 1/2, at 3 it is 2/3: (0.5 + 0.6667) / 2
    assert (record["reason"], round(record["value"], 6)) == ("useful=2,3; passages=3", 0.583333)

    (record,) = judged(home, "context_recall", run="c")
    assert record["reason"] == "attributed=2; statements=3 | missing: 's2'"
    (record,) = judged(home, "context_entity_recall", run="d")
    assert record["detail"]["missing"] == ["1945"]
    (record,) = judged(home, "answer_correctness", run="e")
    assert [len(record["detail"][kind]) for kind in ("TP", "FP", "FN")] == [1, 1, 1]
    # F1 of one right, one wrong, one missing is 0.5
    assert record["value"] == pytest.approx(0.75 * 0.5 + 0.25 * record["detail"]["similarity"])


# --- what is no score -------------------------------------------------------------------------------------------------

NONE = said(statements=[])
BAD: dict[str, tuple[str, Script, str, str, str]] = {
    "no statement in the answer": (
        "faithfulness", Script(StatementGeneratorOutput=NONE), "invalid", "no_statements", "no statement in the ans"),
    "a verdict too few": (
        "faithfulness", Script(NLIStatementOutput=verdicts(1)), "error", "incomplete_reply", "2 statements were to be"),
    "a verdict that is neither": (
        "faithfulness", Script(NLIStatementOutput=verdicts(1, 2)), "error", "out_of_range", "verdict 2 must be 0 or 1"),
    "a verdict as text": (
        "faithfulness", Script(NLIStatementOutput=verdicts("1", 1)), "error", "wrong_shape", "statements.0.verdict"),
    "a verdict as truth": (
        "faithfulness", Script(NLIStatementOutput=verdicts(True, 1)), "error", "wrong_shape", "statements.0.verdict"),
    "prose": ("faithfulness", Script(NLIStatementOutput=reply("Both are right.")), "error", "prose", "prose"),
    "refused": (
        "faithfulness", Script(StatementGeneratorOutput=reply(None, refusal="no")), "error", "refused", "refused"),
    "cut off": (
        "context_recall", Script(ContextRecallOutput=reply("{}", finish="length")), "error", "truncated", "max_tokens"),
    "a field is missing": ("context_recall", Script(ContextRecallOutput=said()), "error", "wrong_shape", "classifica"),
    "a field twice": (
        "context_recall", Script(ContextRecallOutput=reply('{"a": 1, "a": 2}')), "error", "duplicate_key", "twice"),
    "nothing in the reference": (
        "context_recall", Script(ContextRecallOutput=attributed()), "error", "incomplete_reply", "no statement out of"),
    "an attribution of 7": (
        "context_recall", Script(ContextRecallOutput=attributed(7)), "error", "out_of_range", "attributed 1 must be"),
    "no entity in the reference": (
        "context_entity_recall", Script(EntitiesList=said(entities=[])), "invalid", "no_entities", "no name"),
    "a passage of verdict -1": (
        "context_precision", Script(ContextPrecisionOutput=said(reason="r", verdict=-1)), "error", "out_of_range",
        "the verdict on passage 1"),
    "a blank question": (
        "answer_relevancy", Script(AnswerRelevanceOutput=said(question=" ", noncommittal=0)), "error",
        "incomplete_reply", "wrote none"),
    "no statement, which ragas calls a perfect match": (
        "answer_correctness", Script(StatementGeneratorOutput=NONE), "invalid", "no_statements", "in the answer"),
    "none in the reference": (
        "answer_correctness", Script(StatementGeneratorOutput=[said(statements=["a"]), NONE]), "invalid",
        "no_statements", "in the reference"),
    "sorted one too few": (
        "answer_correctness", Script(ClassificationWithReason=classified(TP=1)), "error", "incomplete_reply", "TP=1"),
    "a vector of nothing, which ragas scores NaN": (
        "answer_similarity", Script(embedding=embedded([0.0, 0.0])), "error", "not_finite", "not a finite number"),
    "a vector of text": (
        "answer_similarity", Script(embedding=reply("{}")), "error", "bad_body", "no list of choices"),
    "no vector": ("answer_similarity", Script(embedding=embedded([])), "error", "wrong_shape", "no list of finite"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_c09_a02_what_cannot_be_counted_on_is_no_score(home: Home, ragas: ModuleType, what: str) -> None:
    name, script, state, kind, fragment = BAD[what]
    (record,) = judged(home, name, script=script)
    assert (record["state"], record["value"], record["error_kind"]) == (state, None, kind)
    assert fragment in record["reason"]
    assert record["owner"] == ("test-data" if state == "invalid" else "provider" if kind == "bad_body" else "judge")
    assert home.endpoint is not None
    count = home.endpoint.count
    assert len(record["judge"]["attempts"]) == count  # every paid call is on the record, and none was asked again
    home.run("again", metric(name), settings=home.settings(embedding_model="embedder"))
    again = home.records("again")[0]
    if kind != "bad_body":  # a provider's fault is tried in the next run, an unfavourable reply is a result
        assert (again["state"], again["error_kind"], home.endpoint.count) == (state, kind, count)


MISSING = {
    "lost": ({"retrieved_contexts": None}, "retrieved_contexts is null"),
    "a blank passage": ({"retrieved_contexts": ["a", " "]}, "retrieved_contexts is blank"),
    "a text for a list": ({"retrieved_contexts": "['a']"}, "must be a list of texts"),
    "a blank reference": ({"reference": " "}, "reference is blank"),
}


@pytest.mark.parametrize("what", MISSING)
def test_c09_a_row_out_of_order_is_invalid_and_nobody_is_asked(home: Home, ragas: ModuleType, what: str) -> None:
    change, fragment = MISSING[what]
    for name in ("context_recall", "context_precision", "context_entity_recall"):
        (record,) = judged(home, name, ROW | change, run=name)
        assert (record["state"], record["owner"]) == ("invalid", "test-data")
        assert fragment in record["reason"]
    assert home.endpoint is not None
    assert home.endpoint.count == 0


def test_c09_what_an_empty_retrieval_means_is_declared_by_each_metric(home: Home, ragas: ModuleType) -> None:
    empty = ROW | {"retrieved_contexts": []}
    came = {
        name: judged(home, name, empty, run=name)[0] for name in NAMES if "context" in name or name == "faithfulness"
    }
    assert {name: (record["state"], record["value"]) for name, record in came.items()} == {
        "context_entity_recall": ("invalid", None),
        "context_precision": ("invalid", None),
        "context_recall": ("scored", 0.0),
        "faithfulness": ("invalid", None),
    }
    assert "nothing was retrieved" in came["context_recall"]["reason"]
    assert home.endpoint is not None
    assert home.endpoint.count == 0
    for name, record in came.items():
        contract = metric(name).contract
        assert contract is not None
        declared = "[]" in contract.allows_missing.get("retrieved_contexts", {})
        assert declared is (record["state"] == "scored")
        assert declared or any("[]" in sentence for sentence in contract.invalid_when)


def test_cosines_may_be_negative_and_rounding_is_no_error(home: Home, ragas: ModuleType) -> None:
    opposite = Script(embedding=[embedded([1.0, 0.0]), embedded([-1.0, 0.0])])
    assert judged(home, "answer_similarity", script=opposite)[0]["value"] == -1.0
    vector = [0.6, 0.9, 0.5]  # its cosine with itself is 1.0000000000000002 in doubles
    same = ROW | {"response": "x", "reference": "y"}
    rounded = judged(home, "answer_similarity", same, script=Script(embedding=embedded(vector)), run="b")
    assert rounded[0]["value"] == 1.0


# --- calls, keys, budget ----------------------------------------------------------------------------------------------


def test_e05_each_question_has_a_key_of_its_own_and_costs_once(home: Home, ragas: ModuleType) -> None:
    judged(home, "answer_relevancy")
    assert home.endpoint is not None
    # three times the same question (never answered by one reply), then two texts that differ
    assert Counter(call.asks for call in home.endpoint.calls) == {"AnswerRelevanceOutput": 3, "embedding": 2}
    judged(home, "answer_relevancy", run="b")
    assert home.endpoint.count == 5
    judged(home, "answer_relevancy", run="c", settings=home.settings(embedding_model="another"))
    assert home.endpoint.count == 10
    judged(home, "answer_relevancy", run="d", settings=home.settings(embedding_model="embedder", model="another"))
    assert home.endpoint.count == 15


def test_rows_that_ask_the_same_ask_once(home: Home, ragas: ModuleType) -> None:
    twins = [ROW | {"case_id": f"r{n}"} for n in range(4)]
    other = ROW | {"case_id": "other", "retrieved_contexts": ["Refunds are free."]}
    records = judged(home, "faithfulness", *twins, other)
    assert home.endpoint is not None
    # one answer is taken apart once; it is judged against two retrievals
    assert Counter(call.asks for call in home.endpoint.calls) == {
        "StatementGeneratorOutput": 1,
        "NLIStatementOutput": 2,
    }
    assert [record["state"] for record in records] == ["scored"] * 5
    assert [record["judge"]["cache"] for record in records[:4]] == ["miss", "hit", "hit", "hit"]


def test_asking_anew_asks_each_question_once_more_and_not_more_often(home: Home, ragas: ModuleType) -> None:
    other = ROW | {"case_id": "other", "retrieved_contexts": ["Refunds are free."]}
    one = home.settings(concurrency=1)
    judged(home, "faithfulness", ROW, other, settings=one)
    assert home.endpoint is not None
    assert home.endpoint.count == 3  # the answer is taken apart once for both rows
    judged(home, "faithfulness", ROW, other, settings=one, is_fresh=True, run="fresh")
    assert home.endpoint.count == 6


def test_a_provider_that_fails_half_way_is_an_error_with_every_attempt(home: Home, ragas: ModuleType) -> None:
    script = Script(NLIStatementOutput=[status(503), status(503)])
    (record,) = judged(home, "faithfulness", script=script, settings=home.settings(attempts=2))
    assert (record["state"], record["error_kind"], record["owner"]) == ("error", "server_error", "provider")
    assert [attempt["status"] for attempt in record["judge"]["attempts"]] == [200, 503, 503]


def test_a_wrong_key_stops_the_run_at_once(home: Home, ragas: ModuleType) -> None:
    rows = [ROW | {"case_id": f"r{n}", "response": f"answer {n}"} for n in range(9)]
    script = Script(StatementGeneratorOutput=status(401))
    records = judged(home, "faithfulness", *rows, script=script, settings=home.settings(concurrency=1))
    assert home.endpoint is not None
    assert home.endpoint.count == 1
    assert Counter(record["state"] for record in records) == {"error": 1, "unrun": 8}


def test_the_budget_ends_in_the_middle_of_a_row_and_a_later_run_pays_for_nothing_twice(
    home: Home, ragas: ModuleType
) -> None:
    rows = [ROW | {"case_id": f"r{n}", "response": f"a {n}", "retrieved_contexts": [f"c {n}"]} for n in range(3)]
    one = home.settings(concurrency=1)
    records = judged(home, "faithfulness", *rows, settings=one, budget=Budget(calls=3))
    assert [record["state"] for record in records] == ["scored", "unrun", "unrun"]
    assert records[1]["error_kind"] == "budget"
    assert len(records[1]["judge"]["attempts"]) == 1  # what was paid for before the end is not lost
    assert home.endpoint is not None
    assert home.endpoint.count == 3
    records = judged(home, "faithfulness", *rows, settings=one, run="again")
    assert [record["state"] for record in records] == ["scored"] * 3
    assert home.endpoint.count == 6


def test_what_embeddings_cost_is_counted_at_their_own_price(home: Home, ragas: ModuleType) -> None:
    price = Price(Decimal("1.00"), Decimal("2.00"), "USD", Decimal("0.10"))
    (record,) = judged(home, "answer_correctness", price=price, budget=Budget(cost=Decimal(1)),
                       script=Script(embedding=lambda call: embedded(vector(call.prompt))))  # fmt: skip
    # three questions of 100 tokens in and 20 out, two embeddings of 8: 3 * 0.00014 + 2 * 0.0000008
    assert Decimal(record["judge"]["cost"]) == Decimal("0.0004216")


def test_a_price_names_both_models_or_is_none() -> None:
    prices = {"m": {"input": "1", "output": "2"}, "e": {"input": "0.1"}}
    found = price_of(prices, "m", "USD", embedding_model="e")
    assert found is not None
    assert found.facts() == {"input": "1", "output": "2", "embedding": "0.1", "per": "1000000", "currency": "USD"}
    assert price_of(prices, "m", "USD", embedding_model="unlisted") is None
    assert price_of(prices, "e", "USD", embedding_model="e") == Price(Decimal("0.1"), Decimal(0), "USD", Decimal("0.1"))


# --- replay -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_cassette_gives_the_same_records_and_asks_nobody(home: Home, ragas: ModuleType, name: str) -> None:
    rows = [ROW | {"case_id": f"r{n}", "response": f"answer {n}", "reference": f"reference {n}"} for n in range(3)]
    cassette = home.folder / "said.jsonl"
    live = judged(home, name, *rows, export=cassette, settings=home.settings(embedding_model="e", concurrency=1))
    assert home.endpoint is not None
    count = home.endpoint.count
    home.run("replayed", metric(name), replay=cassette)
    replayed = home.records("replayed")
    for one, other in zip(live, replayed, strict=True):
        assert one["state"] == "scored"
        assert {k: v for k, v in one.items() if k != "judge"} == {k: v for k, v in other.items() if k != "judge"}
        assert other["judge"]["cache"] == "replay"
    home.write(lines(rows[0], rows[1] | {"response": "another", "reference": "another", "user_input": "another"}))
    states = [record.state for record in replay_records(metric(name), home.cases, read_cassette(cassette))]
    assert states == ["scored", "unrun"]
    assert home.endpoint.count == count


def test_a_run_that_was_interrupted_goes_on_without_asking_twice(home: Home, ragas: ModuleType) -> None:
    rows = [ROW | {"case_id": f"r{n}", "response": f"a {n}", "retrieved_contexts": [f"c {n}"]} for n in range(4)]

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    assert home.endpoint is not None
    with pytest.raises(KeyboardInterrupt):
        judged(home, "faithfulness", *rows, before_manifest=die)
    assert home.endpoint.count == 8
    home.store.unlink()  # what a row has on its record is enough, also where the store is gone
    home.run("run", metric("faithfulness"), settings=home.settings(embedding_model="embedder"))
    assert home.endpoint.count == 8
    assert [record["state"] for record in home.records()] == ["scored"] * 4
    assert [record["judge"]["cache"] for record in home.records()] == ["miss"] * 4  # this run has paid for them
