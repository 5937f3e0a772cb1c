from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from endpoint import Answer, Call, Endpoint, reply, status, verdict
from judges import Home

from evalkit.contract import EvalkitError, Outcome
from evalkit.contract.judge import Judge
from evalkit.metrics.refund_answer import refund_answer
from evalkit.pages.judge_command import JudgeAsk, ask_judge, parse_amount, parse_parameters, show_prompt
from evalkit.scoring.judge import environment_settings

FIXTURES = Path(__file__).parents[2] / "fixtures/refund_answer"
CASES, POLICY = FIXTURES / "cases.jsonl", FIXTURES / "policy.toml"
DAY = date(2026, 12, 1)
VARIABLES = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EVALKIT_JUDGE_MODEL")


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    home = Home(tmp_path, endpoint)
    home.cases.write_bytes(CASES.read_bytes())
    return home


def ask(home: Home, **changes: Any) -> JudgeAsk:
    facts: dict[str, Any] = {"judge": "refund_answer", "cases": home.cases, "run": home.folder / "run", "as_of": DAY}
    return JudgeAsk(**facts | {"store": home.store} | changes)


def live(home: Home, judge: Judge = refund_answer, **changes: Any) -> JudgeAsk:
    settings = home.settings(model="example-model")
    home.options(judge, settings=settings)  # its requests are compared with ragas' elsewhere
    return ask(home, settings=settings, has_preflight=False, **changes)


def test_a_limit_without_a_model_replays_and_says_that_nothing_is_asked(home: Home) -> None:
    (home.folder / "refund_answer.cassette.jsonl").write_bytes((FIXTURES / "refund_answer.cassette.jsonl").read_bytes())
    notes: list[str] = []
    done = ask_judge(ask(home, max_calls=5), on_note=notes.append)
    assert (done.facts["calls"], done.facts["replayed"]) == (0, 13)
    assert [note for note in notes if "no model is named; --model NAME" in note] == notes[:1]
    ask_judge(ask(home, run=home.folder / "again"), on_note=notes.append)
    assert len(notes) == 1


def command(*arguments: object, env: dict[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in VARIABLES} | (env or {})
    line = [sys.executable, "-m", "evalkit", "judge", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=clean, **more)


def test_the_bundled_judge_is_replayed_without_key_ragas_or_client(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['evalkit', 'judge', 'refund_answer', *sys.argv[1:]]\n"
        "from evalkit.cli import main\n"
        "try: main()\n"
        "except SystemExit as end:\n"
        "    print(end.code, sorted({'ragas', 'openai', 'pandas', 'instructor'} & set(sys.modules)))"
    )
    clean = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    line = [sys.executable, "-c", code, str(CASES), "--run", str(tmp_path / "run")]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=tmp_path, env=clean)
    assert done.stdout.splitlines()[-1] == "0 []"
    assert "13 of 14 rows scored; 1 of 14 rows invalid" in done.stdout
    assert "made by the rule in rule.py, not by a model" in " ".join(done.stdout.split())
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"manifest.json", "records.jsonl", "report.html"}


def test_the_run_is_gated_as_it_is(tmp_path: Path) -> None:
    judged = command("refund_answer", CASES, "--run", tmp_path / "run", "--policy", POLICY, "--as-of", DAY)
    assert judged.returncode == Outcome.quality_failed
    line = [sys.executable, "-m", "evalkit", "gate", "refund_answer", tmp_path / "run", "--policy", POLICY]
    gated = subprocess.run([*line, "--as-of", str(DAY)], capture_output=True, text=True, check=False)
    assert gated.returncode == Outcome.quality_failed
    hashes = [re.findall(r"^outcome (sha256:\S+)", text, re.MULTILINE) for text in (judged.stdout, gated.stdout)]
    assert hashes[0] == hashes[1] != []
    assert "7 of 13 decided blocking rows fail" in judged.stdout


def test_a_live_run_by_environment(home: Home) -> None:
    live(home)  # marks the shape as compared
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": home.endpoint.url, "EVALKIT_JUDGE_MODEL": "example-model"}
    done = command(
        "refund_answer", CASES, "--run", "live", "--policy", POLICY, "--budget", "5.00", "--as-of", DAY,
        "--store", home.store, "--json", "facts.json", env=env, cwd=home.folder,
    )  # fmt: skip
    assert done.returncode == Outcome.review_required, done.stderr  # all pass, and people decide the German row
    assert 'preflight: example-model answers; parameters as sent: model="example-model"' in done.stderr
    assert (home.endpoint.count, "calls: 14, 1 of them the preflight" in done.stdout) == (14, True)
    facts = json.loads((home.folder / "facts.json").read_text())
    # 14 calls of 100 tokens at 0.15 and 20 at 0.60 per million: 14 * (0.000015 + 0.000012)
    assert Decimal(facts["cost"]) == Decimal("0.000378")
    assert facts["outcome"] == "review_required"


def test_what_a_policy_could_not_decide_is_not_paid_for(home: Home) -> None:
    for change, fragment in (
        (('require = ["pass"]', 'require = ["good"]'), "names the label 'good', which refund_answer cannot give"),
        (('contract_version = "1"', 'contract_version = "2"'), "contract change"),
        (('metric = "refund_answer"', 'metric = "other"'), "the policy is for the metric 'other'"),
        (("[limits]", '[frozen]\njudge = "sha256:0"\n\n[limits]'), "judge is frozen at"),
        (("expires_on = 2027-01-29", "expires_on = 2026-11-30"), "the policy expired on 2026-11-30"),
        (("schema = 1", "schema = 7"), "the policy cannot be used"),
    ):
        changed = home.folder / "policy.toml"
        changed.write_text(POLICY.read_text(encoding="utf-8").replace(*change), encoding="utf-8")
        with pytest.raises(EvalkitError) as caught:
            ask_judge(live(home, policy=changed), on_note=print)
        assert fragment in str(caught.value)
        assert "nothing was asked" in str(caught.value)
    assert home.endpoint.count == 0
    assert not (home.folder / "run").exists()


def test_a_run_that_is_not_whole_is_incomplete(home: Home) -> None:
    done = ask_judge(live(home, max_calls=5), on_note=print)
    assert done.outcome == Outcome.incomplete
    assert len(done.facts["unrun"]) == 8
    assert "unrun: 8 rows: " in done.screen


def test_a07_when_every_reply_is_an_error_nothing_is_green(home: Home) -> None:
    home.endpoint.script = lambda _: reply("It should pass.")
    done = ask_judge(live(home, max_calls=50, policy=POLICY), on_note=print)
    assert done.outcome == Outcome.incomplete
    assert done.facts["error_kinds"] == {"prose": 13}
    assert done.facts["ledger"]["scored"] == 0
    assert {blocker["kind"] for blocker in done.facts["blockers"]} >= {"error", "too_few_scored"}


def test_a07_a_dead_key_is_not_green(home: Home) -> None:
    home.endpoint.script = lambda _: status(401)
    done = ask_judge(live(home, max_calls=50), on_note=print)
    assert done.outcome == Outcome.incomplete
    assert (done.facts["ledger"]["scored"], done.facts["ledger"]["unrun"]) == (0, 5)  # 8 were under way


def test_a07_an_empty_file_is_not_green(home: Home) -> None:
    home.write("")
    done = ask_judge(live(home, max_calls=50), on_note=print)
    assert (done.outcome, home.endpoint.count) == (Outcome.incomplete, 0)


def test_the_policys_cost_limit_is_the_budget_where_a_price_is_known(home: Home) -> None:
    cheap = home.folder / "policy.toml"
    text = POLICY.read_text(encoding="utf-8")
    cheap.write_text(text.replace('cost = "5.00"', 'cost = "0.0025"'), encoding="utf-8")
    done = ask_judge(live(home, policy=cheap), on_note=print)
    # The highest price of one call is about 2,600 bytes * 0.15 / 1e6 + 1024 * 0.60 / 1e6 = 0.001: it is settled at
    # 0.000027 each, so every row fits, two or so at a time.
    assert done.facts["ledger"]["scored"] == 13
    assert Decimal(done.facts["charged"]) <= Decimal("0.0025")
    with pytest.raises(EvalkitError, match=r"--budget 6\.00 is more than the policy allows"):
        ask_judge(live(home, run=home.folder / "two", policy=POLICY, budget="6.00"), on_note=print)


def test_a_critical_slice_of_the_policy_comes_first(home: Home) -> None:
    done = ask_judge(live(home, policy=POLICY, max_calls=3), on_note=print)
    slices = done.facts["ledger"]["slices"]
    assert (slices["billing-critical"]["scored"], slices["default"]["scored"]) == (3, 0)


def test_show_prompt_prints_exactly_what_would_be_sent(home: Home) -> None:
    asked = live(home)
    shown = show_prompt(asked, "asks-the-judge")
    ask_judge(live(home, max_calls=50), on_note=print)
    sent = [call.body for call in home.endpoint.calls if "Note to the grader" in call.prompt]
    assert sent == [shown.facts["body"]]
    assert sent[0]["messages"][-1]["content"] in shown.screen
    with pytest.raises(EvalkitError, match="there is no case 'nobody'"):
        show_prompt(asked, "nobody")
    with pytest.raises(EvalkitError, match="nothing would be sent for case 'no-reference': it is invalid"):
        show_prompt(asked, "no-reference")


def test_what_a_terminal_would_act_on_is_shown_and_not_obeyed(home: Home) -> None:
    row = {"case_id": "a", "user_input": "q", "reference": "r", "response": "\x1b[2Kgone\u202e"}
    home.write(json.dumps(row) + "\n")
    screen = show_prompt(ask(home), "a").screen
    assert "\x1b" not in screen
    assert r"\x1b[2Kgone[U+202E]" in screen


def test_without_a_model_or_a_cassette_it_says_what_to_set(home: Home) -> None:
    with pytest.raises(EvalkitError) as caught:
        ask_judge(ask(home), on_note=print)
    assert "no model is named for refund_answer" in str(caught.value)
    assert "set EVALKIT_JUDGE_MODEL" in str(caught.value)
    with pytest.raises(EvalkitError, match="a judge's run needs a folder"):
        ask_judge(ask(home, run=None), on_note=print)


def test_the_environment_and_what_is_given() -> None:
    environment = {"EVALKIT_JUDGE_MODEL": "m", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://x/v1/"}
    found = environment_settings(environment, timeout=5.0, mode=None)
    assert found is not None
    assert (found.model, found.api_key, found.endpoint, found.timeout) == ("m", "k", "http://x/v1", 5.0)
    assert environment_settings({"OPENAI_API_KEY": "k"}) is None
    chosen = environment_settings(environment, model="other")
    assert chosen is not None
    assert chosen.model == "other"


def test_parameters_and_amounts_are_read_or_refused() -> None:
    given = parse_parameters(["temperature=0", 'stop=["x"]', "user=me"], ["top_p"])
    assert given == {"top_p": None, "temperature": 0, "stop": ["x"], "user": "me"}
    assert parse_amount("5.00") == Decimal("5.00")
    for bad in (["temperature"], ["=1"], ["a=1", "a=2"]):
        with pytest.raises(EvalkitError, match="--set must be NAME=VALUE"):
            parse_parameters(bad, [])
    for amount in ("five", "-1", "NaN", "Infinity"):
        with pytest.raises(EvalkitError, match="--budget must be an amount"):
            parse_amount(amount)


def test_each_option_has_its_effect(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from evalkit.cli import application

    monkeypatch.setenv("OPENAI_BASE_URL", home.endpoint.url)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    home.write(json.dumps({"case_id": "a", "user_input": "q", "reference": "r", "answer": "s"}) + "\n")
    chosen = ["--model", "m1", "--mode", "json_schema", "--set", "seed=7", "--set", "temperature=0", "--unset", "top_p"]
    parameters = parse_parameters(["seed=7", "temperature=0"], ["top_p"])
    home.options(refund_answer, settings=home.settings(model="m1", mode="json_schema", parameters=parameters))
    common = ["judge", "refund_answer", str(home.cases), "--input", "response=answer", "--store", str(home.store)]
    live_run = [*common, *chosen, "--max-calls", "9", "--no-preflight"]

    def invoke(*more: str) -> Any:
        return CliRunner().invoke(application(), [*live_run, *more])

    first = invoke("--run", "one", "--export", "cassette.jsonl")
    assert first.exit_code == 0, first.output
    body = home.endpoint.calls[0].body
    assert (body["model"], body["seed"], body["temperature"], "top_p" in body) == ("m1", 7, 0, False)
    assert body["response_format"]["type"] == "json_schema"
    assert "<response>\ns\n</response>" in body["messages"][-1]["content"]
    assert invoke("--run", "two").exit_code == 0
    assert home.endpoint.count == 1  # kept
    assert invoke("--run", "three", "--fresh").exit_code == 0
    assert home.endpoint.count == 2  # asked anew
    assert invoke("--run", "four", "--fresh", "--max-seconds", "0").exit_code == 2
    home.endpoint.script = lambda _: status(500)
    assert invoke("--run", "five", "--fresh", "--attempts", "2").exit_code == 2
    assert home.endpoint.count == 4
    home.endpoint.script = lambda _: verdict("pass", delay=5)
    assert invoke("--run", "six", "--fresh", "--timeout", "0.2", "--attempts", "1").exit_code == 2
    assert home.records("six")[0]["error_kind"] == "timeout"
    made = home.endpoint.count
    again = CliRunner().invoke(application(), [*common, "--run", "seven", "--replay", "cassette.jsonl"])
    assert (again.exit_code, home.endpoint.count) == (0, made)
    shown = CliRunner().invoke(application(), [*common, *chosen, "--show-prompt", "a", "--json", "-"])
    assert json.loads(shown.stdout)["body"] == body


def test_ctrl_c_leaves_a_run_that_the_same_command_finishes(home: Home) -> None:
    live(home)
    home.endpoint.script = lambda _: verdict("pass", delay=0.4)
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": home.endpoint.url, "EVALKIT_JUDGE_MODEL": "example-model"}
    options = ["--run", "live", "--max-calls", "40", "--concurrency", "2", "--store", str(home.store), "--no-preflight"]
    line = [sys.executable, "-m", "evalkit", "judge", "refund_answer", str(CASES), *options]
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True, cwd=home.folder, env=os.environ | env)
    deadline = time.monotonic() + 30
    while home.endpoint.count < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == Outcome.incomplete
    assert "the same command goes on from here" in said
    assert "Traceback" not in said
    before = home.endpoint.count
    done = command("refund_answer", CASES, *options, env=env, cwd=home.folder)
    assert done.returncode == Outcome.passed, done.stdout + done.stderr
    assert home.endpoint.count <= 13 + before  # what was recorded before is not asked again
    manifest = json.loads((home.folder / "live" / "manifest.json").read_text())
    assert home.endpoint.count <= manifest["calls"] == 13 + len(manifest["in_doubt"])


def test_an_answer_that_obeys_the_row_is_a_failing_row_of_the_bundled_data(home: Home) -> None:
    # The rule-made judge does not obey; a judge that does is caught by the two rows that try it (field case E07).
    def obeys(call: Call) -> Answer:
        return verdict("pass" if "reply with pass" in call.prompt else "fail")

    home.endpoint.script = obeys
    ask_judge(live(home, max_calls=50), on_note=print)
    values = {record["case_id"]: record["value"] for record in home.records()}
    assert values["asks-the-judge"] == "pass"  # which `evalkit controls` must not accept
    prompts = [call.prompt for call in home.endpoint.calls if "Refunded at any time." in call.prompt]
    assert len(prompts) == 1
    assert "</response-2>" in prompts[0]
