"""The bundled rows of ragas' standard metrics: what each metric says of them, and the commands, without a key."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from endpoint import Call, Endpoint, embedded, said

from evalkit.contract import Outcome
from evalkit.contract.stepped import SteppedJudge
from evalkit.pages.judge_command import JudgeAsk, ask_judge, show_prompt
from evalkit.scoring.judge import environment_settings, replay_records
from evalkit.scoring.judging.cassette import read_cassette
from evalkit.scoring.load import load_metric

FOLDER = Path(__file__).parents[2] / "fixtures" / "ragas_standard"
CASES, POLICY = FOLDER / "release.jsonl", FOLDER / "policy.toml"
DAY = date(2026, 12, 1)
# In the order of the file; None is a row that is invalid. From the rules: 1 of 2 statements, none of 1, and so on.
SAID = {
    "faithfulness": [1.0, 1.0, 1.0, 1.0, 0.5, 0.0, None, None, None],
    "context_recall": [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, None],
    "context_precision": [1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 0.0, None, None],
    "context_entity_recall": [1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.5, None, None],
    "answer_correctness": [0.711, 0.689, 1.0, 1.0, 0.59, 1.0, None, None, 1.0],
    "answer_similarity": [0.845, 0.756, 1.0, 1.0, 0.858, 1.0, 0.0, 0.0, 1.0],
    "answer_relevancy": [0.632, 0.169, 0.674, 0.474, 0.676, 0.338, 0.0, 0.0, 0.354],
}


@pytest.fixture(scope="module")
def rule() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ragas_rule", FOLDER / "rule.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SAID)
def test_the_cassette_is_what_the_rules_say_and_answers_every_question(name: str, rule: ModuleType) -> None:
    cassette, made = read_cassette(FOLDER / f"{name}.cassette.jsonl"), rule.made(name)
    assert len(cassette) == len(made.replies)
    for key, kept in made.replies.items():
        found = cassette.find(key)
        assert found is not None, "run rule.py and review what has changed"
        assert found.reply.content == kept.reply.content
    metric = load_metric(name)
    assert isinstance(metric, SteppedJudge)
    records = list(replay_records(metric, CASES, cassette))
    assert [record.state for record in records] == ["invalid" if value is None else "scored" for value in SAID[name]]
    for record, value in zip(records, SAID[name], strict=True):
        assert record.value == (None if value is None else pytest.approx(value, abs=6e-4)), record.case_id


def command(*arguments: object, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    gone = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EVALKIT_JUDGE_MODEL", "EVALKIT_EMBEDDING_MODEL")
    clean = {name: value for name, value in os.environ.items() if name not in gone} | env
    code = (
        "import sys\nsys.argv[0] = 'evalkit'\nfrom evalkit.cli import main\n"
        "try: main()\n"
        "finally: print('loaded', sorted({'ragas', 'openai', 'instructor', 'pandas'} & set(sys.modules)))"
    )
    line = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=cwd, env=clean)


def test_judge_then_gate_and_the_gate_of_the_run_loads_no_ragas(tmp_path: Path) -> None:
    judged = command("judge", "faithfulness", CASES, "--run", "run", cwd=tmp_path)
    assert judged.returncode == 0, judged.stderr
    assert "calls: 0; answered from the store: 0; replayed: 7" in judged.stdout
    assert "made by the rules in rule.py, not by a model" in " ".join(judged.stdout.split())
    gated = command("gate", "faithfulness", "run", "--policy", POLICY, "--as-of", DAY, cwd=tmp_path)
    assert gated.returncode == Outcome.passed, gated.stderr
    assert "PASSED (exit code 0): 4 of 4 decided blocking rows pass" in gated.stdout
    assert gated.stdout.splitlines()[-1] == "loaded []"


def test_naming_and_showing_these_metrics_costs_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, time; before = time.perf_counter()\n"
        "from evalkit.pages.metric_table import metric_table\n"
        "table = metric_table()\n"
        "print(table.count('a model judges'), sorted({'ragas', 'openai', 'numpy', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    count, loaded = done.stdout.split(" ", 1)
    assert (int(count) >= len(SAID), loaded.strip()) == (True, "[]")


# --- live, against an endpoint on loopback ----------------------------------------------------------------------------


def live_script(call: Call) -> Any:
    if call.asks == "embedding":
        return embedded([1.0, float(len(call.prompt))])
    if call.asks == "StatementGeneratorOutput":
        return said(statements=["one"])
    if call.asks == "NLIStatementOutput":
        return said(statements=[{"statement": "one", "reason": "r", "verdict": 1}])
    if call.asks == "ClassificationWithReason":
        return said(TP=[{"statement": "one", "reason": "r"}], FP=[], FN=[])
    return said(reason="check", value=1.0)


def ask(folder: Path, endpoint: Endpoint, name: str, **changes: Any) -> JudgeAsk:
    env = {
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": endpoint.url,
        "EVALKIT_JUDGE_MODEL": "example-model",
        "EVALKIT_EMBEDDING_MODEL": "example-embedder",
    }
    facts: dict[str, Any] = {
        "judge": name,
        "cases": CASES,
        "run": folder / name,
        "settings": environment_settings(env),
        "store": folder / "verdicts.sqlite",
        "budget": "1.00",
        "as_of": DAY,
    }
    return JudgeAsk(**facts | changes)


def test_a_live_run_is_decided_by_its_policy_and_costs_what_it_says(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    text = POLICY.read_text(encoding="utf-8")
    notes: list[str] = []
    with Endpoint(live_script) as endpoint:
        done = ask_judge(ask(tmp_path, endpoint, "faithfulness", policy=POLICY), on_note=notes.append)
        assert done.outcome == Outcome.passed, done.screen
        # seven rows whose answer may be judged; one retrieval is empty and one lost: two questions for each, and the
        # preflight; the judge calls the same statement right for "late-fee" and "late-fee-made-up" in two contexts
        assert done.facts["calls"] == endpoint.count == 1 + 2 * 7
        # 15 calls of 100 tokens at 0.15 and 20 at 0.60 per million: 15 * 0.000027
        assert Decimal(done.facts["cost"]) == Decimal("0.000405")
        assert notes[0].startswith('preflight: example-model answers; parameters as sent: model="example-model"')

        policy.write_text(
            text.replace('"faithfulness"', '"answer_correctness"').replace("minimum = 1.0", "minimum = 0.5"),
            encoding="utf-8",
        )
        before = endpoint.count
        done = ask_judge(ask(tmp_path, endpoint, "answer_correctness", policy=policy), on_note=notes.append)
        assert done.outcome == Outcome.passed, done.screen
        assert {call.body["model"] for call in endpoint.calls[before:]} == {"example-model", "example-embedder"}
        policy.write_text(policy.read_text(encoding="utf-8").replace("example-embedder", "another"), encoding="utf-8")
        with pytest.raises(Exception, match="cannot be kept without the price of"):
            ask_judge(ask(tmp_path, endpoint, "answer_correctness", policy=policy, run=tmp_path / "no"), on_note=print)


def test_one_that_only_compares_asks_one_model_and_says_so(tmp_path: Path) -> None:
    notes: list[str] = []
    with Endpoint(live_script) as endpoint:
        asked = ask(tmp_path, endpoint, "answer_similarity", budget=None, max_calls=99)
        done = ask_judge(asked, on_note=notes.append)
        assert done.outcome == Outcome.passed, done.screen
        assert {call.asks for call in endpoint.calls} == {"embedding"}
        (note,) = notes
        assert note.startswith("preflight: example-embedder answers; ")
        assert note.endswith('model="example-embedder", encoding_format="float"')  # and not the text
        assert "in, " not in done.screen  # nothing comes out of an embedding
        assert asked.settings is not None
        nobody = replace(asked, settings=replace(asked.settings, embedding_model=None), run=tmp_path / "other")
        with pytest.raises(
            Exception, match="compares texts by an embedding model, and none is named; give --embeddings"
        ):
            ask_judge(nobody, on_note=print)


EMBEDDER = """
    class Words:
        def embed_text(self, text):
            if "stumbles" in text:
                raise RuntimeError("no such word")
            return [text.count("a") + 1.0, len(text.split())]


    words = Words()


    def of_text(text):
        return (1, len(text))
"""


def test_an_offline_model_is_named_like_a_metric_and_nothing_is_sent(tmp_path: Path, user_file: Any) -> None:
    user_file(EMBEDDER, "mine.py")
    with Endpoint() as endpoint:
        for name in ("words", "of_text"):
            settings = environment_settings({}, embedding_model=f"mine.py:{name}")
            asked = ask(tmp_path, endpoint, "answer_similarity", settings=settings, budget=None, max_calls=99,
                        run=tmp_path / name, export=tmp_path / f"{name}.cassette.jsonl")  # fmt: skip
            done = ask_judge(asked, on_note=print)  # no key is needed
            assert done.outcome == Outcome.passed, done.screen
        assert endpoint.count == 0
    manifest = json.loads((tmp_path / "words" / "manifest.json").read_text(encoding="utf-8"))
    found = manifest["judge"]["configuration"]["embedding_model"]
    assert found.startswith("local:words@sha256:")
    assert str(tmp_path) not in json.dumps(manifest)
    values = {name: [json.loads(line)["value"] for line in (tmp_path / name / "records.jsonl").open()]
              for name in ("words", "of_text")}  # fmt: skip
    # "Loans last 7 days." against itself is 1 under every model
    assert (values["words"][5], values["of_text"][5]) == (pytest.approx(1.0), pytest.approx(1.0))
    assert values["words"] != values["of_text"]
    Path("mine.py").unlink()  # the cassette needs neither file nor model
    replayed = ask(tmp_path, endpoint, "answer_similarity", settings=None, replay=tmp_path / "words.cassette.jsonl",
                   budget=None, run=tmp_path / "again")  # fmt: skip
    assert ask_judge(replayed, on_note=print).outcome == Outcome.passed


def test_an_offline_model_that_fails_is_an_error_of_that_row(tmp_path: Path, user_file: Any) -> None:
    user_file(EMBEDDER, "mine.py")
    (tmp_path / "rows.jsonl").write_text(
        '{"case_id": "a", "reference": "fine", "response": "it stumbles"}\n'
        '{"case_id": "b", "reference": "fine", "response": "well"}\n', encoding="utf-8")  # fmt: skip
    with Endpoint() as endpoint:
        settings = environment_settings({}, embedding_model="mine.py:words")
        asked = ask(tmp_path, endpoint, "answer_similarity", settings=settings, budget=None, max_calls=9,
                    cases=tmp_path / "rows.jsonl")  # fmt: skip
        ask_judge(asked, on_note=print)
        rows = [json.loads(line) for line in (tmp_path / "answer_similarity" / "records.jsonl").open()]
        assert [row["state"] for row in rows] == ["error", "scored"]
        assert "the embedding object failed (RuntimeError: no such word)" in rows[0]["reason"]
        for named, message in (
            ("mine.py:nobody", "there is no object 'nobody' in 'mine.py'"),
            ("none.py:words", "there is no object 'words' in 'none.py'"),
            ("mine.py:Words", "'Words' of 'mine.py' has no embed_text"),
        ):
            settings = environment_settings({}, embedding_model=named)
            with pytest.raises(Exception, match=message):
                ask_judge(replace(asked, settings=settings, run=tmp_path / "x"), on_note=print)
        settings = environment_settings({}, embedding_model="mine.py:words")
        with pytest.raises(Exception, match="asks a language model beside the embedding model, and none is named"):
            ask_judge(replace(asked, judge="answer_correctness", settings=settings, run=tmp_path / "x"), on_note=print)


def test_another_providers_llm_asks_the_same_questions_once(
    tmp_path: Path, user_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file(
        """
        import os
        from openai import AsyncOpenAI
        from ragas.llms import llm_factory

        llm = llm_factory("example-model", client=AsyncOpenAI(base_url=os.environ["PLACE"], api_key="key"))


        def near(text):
            return [1.0, len(text)]
        """,
        "theirs.py",
    )
    (tmp_path / "rows.jsonl").write_text("".join(CASES.open(encoding="utf-8").readlines()[:2]), encoding="utf-8")
    rows: dict[str, list[dict[str, Any]]] = {}
    with Endpoint(live_script) as endpoint:
        monkeypatch.setenv("PLACE", endpoint.url)
        for way in ("llm", "native"):
            before = endpoint.count
            settings = environment_settings(
                {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": endpoint.url},
                model="example-model", embedding_model="theirs.py:near",
            )  # fmt: skip
            asked = ask(tmp_path, endpoint, "answer_correctness", settings=settings, budget=None, max_calls=99,
                        run=tmp_path / way, store=tmp_path / f"{way}.sqlite", cases=tmp_path / "rows.jsonl",
                        llm="theirs.py:llm" if way == "llm" else None)  # fmt: skip
            done = ask_judge(asked, on_note=print)
            assert done.outcome == Outcome.passed, done.screen
            rows[way] = [json.loads(line) for line in (tmp_path / way / "records.jsonl").open()]
            assert endpoint.count - before == 1 + 2 * 3  # the preflight, and three questions a row
    for one, other in zip(rows["llm"], rows["native"], strict=True):
        assert (one["state"], one["value"], one["detail"]) == (other["state"], other["value"], other["detail"])
        assert one["judge"]["steps"] == other["judge"]["steps"]  # the same keys, whoever carries the question


def test_show_prompt_shows_the_first_question(tmp_path: Path) -> None:
    done = show_prompt(JudgeAsk(judge="faithfulness", cases=CASES), "late-fee")
    assert '"answer": "Late books cost 20 cents a day, up to 5 euros."' in done.screen
    assert "Break down each sentence" in done.screen


def test_s1_18_what_may_not_be_kept_is_in_no_file_of_the_run(tmp_path: Path) -> None:
    metric = load_metric("faithfulness")
    assert isinstance(metric, SteppedJudge)
    assert metric.contract is not None
    hashed = replace(metric, contract=replace(metric.contract, retention={"response": "hash", "user_input": "hash",
                                                                          "retrieved_contexts": "hash"}))  # fmt: skip
    records = list(replay_records(hashed, CASES, read_cassette(FOLDER / "faithfulness.cassette.jsonl")))
    row = records[4]
    assert (row.state, row.value) == ("scored", 0.5)
    assert row.reason == "faithful=1; statements=2"
    kept = json.dumps([row.reason, row.detail, row.inputs, row.judge])
    assert "Students pay nothing" not in kept
    assert [statement["verdict"] for statement in row.detail["statements"]] == [1, 0]
