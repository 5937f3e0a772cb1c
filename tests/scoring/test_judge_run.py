"""Judge runs through the real OpenAI client, against a scripted endpoint on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal

import pytest
from endpoint import Answer, Call, completion, cut, hang, page, reply, status, tool_call, verdict
from judges import CONTRACT, JUDGE, Home, cases_text

from evalkit.contract import EvalkitError
from evalkit.contract.judge import Judge
from evalkit.scoring.judge import Budget, replay_records
from evalkit.scoring.judging.budget import Price
from evalkit.scoring.judging.cassette import read_cassette

GOOD = json.dumps({"reason": "r", "value": "pass"})
PRICE = Price(Decimal("1.00"), Decimal("2.00"), "USD")


def by_answer(
    script: dict[str, Answer], otherwise: Callable[[], Answer] = lambda: verdict("pass")
) -> Callable[[Call], Answer]:
    """Answer by what stands in the prompt."""

    def answer(call: Call) -> Answer:
        return next((found for text, found in script.items() if text in call.prompt), otherwise())

    return answer


def test_each_row_costs_one_call_and_comes_back_in_input_order(home: Home) -> None:
    home.write(20)
    home.endpoint.script = lambda call: verdict(
        "fail" if "answer 7\n" in call.prompt else "pass", delay=0.01 * (call.number % 5)
    )
    done = home.run()
    records = home.records()
    assert home.endpoint.count == 20
    assert [record["case_id"] for record in records] == [f"r{i}" for i in range(20)]
    assert [record["value"] for record in records] == ["fail" if i == 7 else "pass" for i in range(20)]
    assert (done.ledger.total(state="scored"), done.facts["calls"], done.facts["cache_hits"]) == (20, 20, 0)


def test_every_record_says_what_was_asked_and_what_it_cost(home: Home) -> None:
    home.write(1)
    home.run(price=PRICE, budget=Budget(cost=Decimal("1.00")))
    (record,) = home.records()
    judge = record["judge"]
    assert (record["state"], record["value"], record["reason"]) == ("scored", "pass", "because")
    assert (judge["model"], judge["model_returned"], judge["mode"]) == ("judge-a", "judge-0613", "json_object")
    assert judge["provider_settings"] == {"temperature": 0.01, "top_p": 0.1, "max_tokens": 1024}
    assert judge["prompt_sha256"].startswith("sha256:")
    assert (judge["judge_version"], judge["rubric_version"], judge["ragas_version"]) == ("1", "1", "0.4.3")
    assert (judge["cache"], judge["finish_reason"]) == ("miss", "stop")
    assert judge["latency_ms"] > 0
    assert judge["usage"] == {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    # 100 tokens at 1.00 and 20 at 2.00 per million: 0.0001 + 0.00004
    assert Decimal(judge["cost"]) == Decimal("0.00014")
    (attempt,) = judge["attempts"]
    assert (attempt["number"], attempt["status"], attempt["error_kind"]) == (1, 200, None)


REPLIES = {
    "prose": reply("It should pass."),
    "truncated": reply(GOOD, finish="length"),
    "refused": reply(None, refusal="I cannot judge that."),
    "filtered": reply(GOOD, finish="content_filter"),
    "empty_reply": reply(None),
    "no_choices": completion([]),
    "two_objects": reply(GOOD + GOOD),
    "duplicate_key": reply('{"reason": "r", "value": "fail", "value": "pass"}'),
    "missing_reason": reply('{"value": "pass"}'),
    "missing_verdict": reply('{"reason": "looks fine"}'),
    "unlisted_label": verdict("Pass."),
    "not_json": reply('{"reason": "r", '),
}


@pytest.mark.parametrize("kind", sorted(REPLIES))
def test_e01_e04_one_bad_reply_costs_one_call_and_keeps_its_text(home: Home, kind: str) -> None:
    home.write(3)
    home.endpoint.script = by_answer({"answer 1\n": REPLIES[kind]})
    home.run(settings=home.settings(attempts=3))
    first, bad, last = home.records()
    assert (first["state"], last["state"]) == ("scored", "scored")
    assert (bad["state"], bad["value"], bad["error_kind"], bad["owner"]) == ("error", None, kind, "judge")
    assert home.endpoint.count == 3  # nothing is asked again, whatever it said
    sent = json.loads(REPLIES[kind].body)["choices"]
    text = (sent[0]["message"]["refusal"] or sent[0]["message"]["content"]) if sent else None
    assert bad["judge"]["raw"] == text


FAULTS = {
    "rate_limited": status(429, "slow down", retry_after="0"),
    "request_timeout": status(408),
    "server_error": status(503),
    "refused_request": status(400, "unknown parameter: 'top_k'"),
    "filtered": status(400, "filtered", error_code="content_filter"),
    "bad_body": page(),
    "connection": cut(0.5),
    "timeout": hang(30),
}


@pytest.mark.parametrize("kind", sorted(FAULTS))
def test_a_failing_provider_is_an_error_of_its_own_kind_and_never_a_fail(home: Home, kind: str) -> None:
    home.write(3)
    home.endpoint.script = by_answer({"answer 1\n": FAULTS[kind]})
    home.run(settings=home.settings(timeout=1.5))
    first, bad, last = home.records()
    assert (first["state"], last["state"]) == ("scored", "scored")
    assert (bad["state"], bad["value"], bad["error_kind"], bad["owner"]) == ("error", None, kind, "provider")
    assert home.endpoint.count == 3


def test_a_body_that_is_cut_but_called_whole_is_no_completion(home: Home) -> None:
    home.write(1)
    home.endpoint.script = lambda _: Answer(body=verdict("pass").body[:-30])
    home.run(settings=home.settings(attempts=3))
    (record,) = home.records()
    assert (record["error_kind"], record["owner"], home.endpoint.count) == ("bad_body", "provider", 1)


@pytest.mark.parametrize("kind", ["rate_limited", "request_timeout", "server_error", "connection", "timeout"])
def test_what_may_pass_is_tried_again_and_the_first_failure_is_kept(home: Home, kind: str) -> None:
    home.write(1)
    home.endpoint.script = lambda call: FAULTS[kind] if call.number == 1 else verdict("fail")
    done = home.run(settings=home.settings(attempts=3, timeout=1.5))
    (record,) = home.records()
    assert (record["state"], record["value"], home.endpoint.count) == ("scored", "fail", 2)
    assert [attempt["error_kind"] for attempt in record["judge"]["attempts"]] == [kind, None]
    assert (done.facts["attempts"], done.facts["failed_attempts"]) == (2, {kind: 1})


@pytest.mark.parametrize("kind", ["refused_request", "filtered", "bad_body"])
def test_what_stays_is_not_tried_again(home: Home, kind: str) -> None:
    home.write(1)
    home.endpoint.script = lambda _: FAULTS[kind]
    home.run(settings=home.settings(attempts=3))
    assert home.endpoint.count == 1


def test_attempts_end_at_their_number(home: Home) -> None:
    home.write(1)
    home.endpoint.script = lambda _: status(500)
    home.run(settings=home.settings(attempts=2))
    (record,) = home.records()
    assert (home.endpoint.count, record["state"], record["error_kind"]) == (2, "error", "server_error")
    assert "after 2 attempts" in record["reason"]


def test_retry_after_is_honoured(home: Home) -> None:
    home.write(1)
    home.endpoint.script = lambda call: status(429, retry_after="1") if call.number == 1 else verdict("pass")
    home.run(settings=home.settings(attempts=2))
    assert home.endpoint.calls[1].at - home.endpoint.calls[0].at >= 1.0


def test_a_wait_longer_than_a_run_should_stand_still_ends_the_row(home: Home) -> None:
    home.write(1)
    home.endpoint.script = lambda _: status(429, retry_after="3600")
    home.run(settings=home.settings(attempts=3))
    assert (home.endpoint.count, home.records()[0]["error_kind"]) == (1, "rate_limited")


@pytest.mark.parametrize(("code", "kind"), [(401, "auth"), (403, "auth"), (404, "not_found")])
def test_a_fault_that_concerns_every_row_stops_the_run(home: Home, code: int, kind: str) -> None:
    home.write(30)
    home.endpoint.script = lambda call: status(code) if call.number > 3 else verdict("pass")
    done = home.run(settings=home.settings(concurrency=1))
    records = home.records()
    assert [record["state"] for record in records] == ["scored"] * 3 + ["error"] + ["unrun"] * 26
    assert (records[3]["error_kind"], records[4]["error_kind"]) == (kind, "stopped")
    assert (home.endpoint.count, len(done.facts["unrun"])) == (4, 26)


def test_a_quota_that_is_used_up_stops_the_run_and_is_no_rate_limit(home: Home) -> None:
    home.write(5)
    home.endpoint.script = lambda _: status(429, error_code="insufficient_quota")
    home.run(settings=home.settings(attempts=3, concurrency=1))
    assert (home.endpoint.count, home.records()[0]["error_kind"]) == (1, "quota")


def test_preconditions_cost_nothing(home: Home) -> None:
    rows = [
        {"case_id": "absent", "response": "x"},
        {"case_id": "blank", "reference": " ", "response": "x"},
        {"case_id": "null", "reference": "Berlin", "response": None},
        {"case_id": "rubric", "reference": "Berlin", "response": "x", "rubric_version": "9"},
        {"case_id": "hash", "reference": "Berlin", "response": "x", "response_sha256": "sha256:0"},
        {"case_id": "contract", "reference": "Berlin", "response": "x", "contract_version": "7"},
        {"case_id": "twin", "reference": "Berlin", "response": "x"},
        {"case_id": "twin", "reference": "Berlin", "response": "y"},
    ]
    home.write("".join(json.dumps(row) + "\n" for row in rows) + "not json\n")
    done = home.run()
    records = home.records()
    assert home.endpoint.count == 0
    assert {record["state"] for record in records} == {"invalid"}
    assert [record["error_kind"] for record in records] == [
        "missing_input", "missing_input", "missing_input", "rubric_version", "response_sha256", "contract_version",
        "duplicate_case_id", "duplicate_case_id", "bad_json",
    ]  # fmt: skip
    assert done.ledger.facts()["invalid"] == 9


def test_a_question_that_was_asked_before_is_free(home: Home) -> None:
    home.write(5)
    home.run("first")
    done = home.run("second")
    assert (home.endpoint.count, done.facts["calls"], done.facts["cache_hits"]) == (5, 0, 5)
    before, after = home.records("first"), home.records("second")
    assert [record["value"] for record in after] == [record["value"] for record in before]
    assert {record["judge"]["cache"] for record in after} == {"hit"}
    assert [record["judge"]["attempts"] for record in after] == [record["judge"]["attempts"] for record in before]


def test_f02_another_model_is_not_answered_with_the_first_ones_verdict(home: Home) -> None:
    home.write(2)
    home.run("first")
    home.endpoint.script = lambda _: verdict("fail")
    strict = Judge(name="right", prompt=JUDGE.prompt, contract=CONTRACT, system_prompt="You are strict.")
    settings = home.settings(model="judge-b", parameters={"temperature": 1.0})
    home.run("second", judge=strict, settings=settings)
    assert (home.endpoint.count, [r["value"] for r in home.records("second")]) == (4, ["fail", "fail"])
    # and a judge with other labels is never given a label that it does not allow
    third = Judge(name="right", prompt=JUDGE.prompt, contract=CONTRACT, allowed_values=["good", "bad"])
    home.endpoint.script = lambda _: verdict("good")
    home.run("third", judge=third)
    assert [record["value"] for record in home.records("third")] == ["good", "good"]


def test_f03_a_bad_reply_is_kept_too_and_not_paid_for_again(home: Home) -> None:
    home.write(1)
    home.endpoint.script = lambda _: reply("It should pass.")
    home.run("first")
    home.endpoint.script = lambda _: verdict("pass")
    home.run("second")
    assert (home.endpoint.count, home.records("second")[0]["error_kind"]) == (1, "prose")


def test_a_failing_provider_is_asked_again_in_the_next_run(home: Home) -> None:
    home.write(1)
    home.endpoint.script = lambda call: status(500) if call.number == 1 else verdict("pass")
    home.run("first")
    home.run("second")
    assert (home.records("first")[0]["state"], home.records("second")[0]["state"]) == ("error", "scored")


def test_asking_anew_keeps_the_earlier_verdict(home: Home) -> None:
    home.write(1)
    home.run("first")
    home.endpoint.script = lambda _: verdict("fail")
    home.run("fresh", is_fresh=True)
    home.run("third")
    assert [home.records(name)[0]["value"] for name in ("first", "fresh", "third")] == ["pass", "fail", "pass"]
    assert home.endpoint.count == 2


def test_rows_with_the_same_inputs_share_one_call(home: Home) -> None:
    home.write("".join(json.dumps({"case_id": f"r{i}", "reference": "a", "response": "b"}) + "\n" for i in range(4)))
    done = home.run()
    assert (home.endpoint.count, done.facts["calls"], done.facts["cache_hits"]) == (1, 1, 3)
    assert [record["judge"]["cache"] for record in home.records()] == ["miss", "hit", "hit", "hit"]


def test_b08_overlapping_rows_keep_their_own_verdict_reason_and_error(home: Home) -> None:
    home.write(16)

    def script(call: Call) -> Answer:
        number = int(call.prompt.split("answer ")[1].split("\n")[0])
        if number % 3 == 0:
            return reply("broken", delay=0.2)
        return verdict("pass" if number % 2 else "fail", reason=f"about {number}", delay=0.2)

    home.endpoint.script = script
    home.run(settings=home.settings(concurrency=16))
    assert home.endpoint.most_open > 8
    for number, record in enumerate(home.records()):
        if number % 3 == 0:
            assert (record["state"], record["judge"]["raw"]) == ("error", "broken")
        else:
            assert (record["value"], record["reason"]) == ("pass" if number % 2 else "fail", f"about {number}")


def test_concurrency_is_a_limit(home: Home) -> None:
    home.write(12)
    home.endpoint.script = lambda _: verdict("pass", delay=0.1)
    home.run(settings=home.settings(concurrency=3))
    assert home.endpoint.most_open == 3


# --- budget ---------------------------------------------------------------------------------------------------------


def test_at_the_boundary_nothing_more_is_sent_and_what_is_finished_stays(home: Home) -> None:
    home.write(10)
    done = home.run(budget=Budget(calls=4), settings=home.settings(concurrency=2))
    records = home.records()
    assert home.endpoint.count == 4
    assert [record["state"] for record in records] == ["scored"] * 4 + ["unrun"] * 6
    assert done.facts["unrun"] == [f"r{i}" for i in range(4, 10)]
    assert records[9]["reason"] == "the budget of 4 calls is used up"
    assert records[9]["error_kind"] == "budget"
    assert done.run.manifest["unrun"] == done.facts["unrun"]


def test_money_is_reserved_before_sending_and_settled_after(home: Home) -> None:
    home.write(40)
    price = Price(Decimal("10"), Decimal("1000"), "USD")
    # A call is reserved at its highest price, above 1024 * 1000 / 1e6 = 1.024; with the usage reported it costs
    # 100 * 10 / 1e6 + 20 * 1000 / 1e6 = 0.021. With 1.50 some rows fit, one after another, until less than about
    # 1.04 is left: (1.50 - 1.04) / 0.021 gives about 22 calls, and never more than the budget.
    done = home.run(budget=Budget(cost=Decimal("1.50")), price=price, settings=home.settings(concurrency=8))
    assert 15 <= home.endpoint.count <= 25
    assert Decimal(done.facts["charged"]) == Decimal("0.021") * home.endpoint.count <= Decimal("1.50")
    assert Decimal(done.facts["cost_by_slice"]["default"]) == Decimal(done.facts["cost"])
    assert home.endpoint.most_open == 1  # two reservations never fit at once


def test_critical_slices_are_asked_first(home: Home) -> None:
    rows = [json.loads(line) for line in cases_text(6).splitlines()]
    for row in rows[4:]:
        row["slice"] = "billing"
    home.write("".join(json.dumps(row) + "\n" for row in rows))
    home.run(budget=Budget(calls=3), critical=frozenset({"billing"}), settings=home.settings(concurrency=1))
    assert [record["state"] for record in home.records()] == ["scored", "unrun", "unrun", "unrun", "scored", "scored"]


def test_a_call_that_may_have_been_paid_for_is_charged_in_full(home: Home) -> None:
    home.write(1)
    home.endpoint.script = lambda _: hang(30)
    done = home.run(budget=Budget(cost=Decimal("1")), price=PRICE, settings=home.settings(timeout=0.2))
    assert done.facts["cost"] is None  # what it cost is not known
    assert Decimal(done.facts["charged"]) > Decimal("0.002")  # 1024 * 2 / 1e6, and the prompt


def test_a_live_run_without_a_budget_is_refused_before_anything_is_sent(home: Home) -> None:
    home.write(1)
    with pytest.raises(EvalkitError, match="needs a budget, declared before it"):
        home.run(budget=Budget())
    with pytest.raises(EvalkitError, match="cannot be kept without the price of 'judge-a'"):
        home.run(budget=Budget(cost=Decimal(5)))
    unbounded = home.settings(parameters={"max_tokens": None})
    with pytest.raises(EvalkitError, match="no parameter limits the length of a reply"):
        home.run(budget=Budget(cost=Decimal(5)), price=PRICE, settings=unbounded)
    assert home.endpoint.count == 0


# --- preflight ------------------------------------------------------------------------------------------------------


def test_the_preflight_is_one_call_and_shows_what_is_really_sent(home: Home) -> None:
    home.write(3)
    done = home.run(has_preflight=True, settings=home.settings(model="gpt-5-mini"))
    assert (home.endpoint.count, done.facts["calls"], done.facts["preflight_calls"]) == (4, 4, 1)
    assert "answer" not in home.endpoint.calls[0].prompt
    (note,) = home.notes
    assert 'model="gpt-5-mini"' in note
    assert "temperature=1.0, max_completion_tokens=1024" in note
    assert "top_p" not in note


@pytest.mark.parametrize(
    ("answer", "fragments"),
    [
        (status(401, "Incorrect API key"), ["(auth)", "Incorrect API key", "check OPENAI_API_KEY"]),
        (status(404, "no model judge-a"), ["(not_found)", "no model judge-a", "check the model's name"]),
        (
            status(400, "Unsupported parameter: max_tokens"),
            ["Unsupported parameter", "max_tokens=1024", "--unset NAME"],
        ),
        (page(), ["(bad_body)", "a web page"]),
        (cut(0), ["(connection)"]),
    ],
)
def test_a_wrong_key_model_or_parameter_is_found_before_row_one(
    home: Home, answer: Answer, fragments: list[str]
) -> None:
    home.write(5)
    home.endpoint.script = lambda _: answer
    with pytest.raises(EvalkitError) as caught:
        home.run(has_preflight=True)
    assert home.endpoint.count == 1
    assert all(fragment in str(caught.value) for fragment in fragments)
    assert "no row was asked" in str(caught.value)
    assert not (home.folder / "run").exists()  # nothing was paid for, and the name is free for another model


def test_an_unreadable_preflight_reply_is_said(home: Home) -> None:
    home.write(1)
    home.endpoint.script = lambda call: reply("Sure, all is well.") if call.number == 1 else verdict("pass")
    home.run(has_preflight=True)
    assert "could not be read (prose" in home.notes[-1]


def test_without_questions_there_is_no_preflight(home: Home) -> None:
    home.write(2)
    home.run("first")
    home.run("second", has_preflight=True)
    assert home.endpoint.count == 2


def test_a_missing_key_is_said_before_anything_is_sent(home: Home) -> None:
    home.write(1)
    with pytest.raises(EvalkitError, match="OPENAI_API_KEY is not set"):
        home.run(settings=home.settings(api_key=None))


# --- modes, kinds, retention ----------------------------------------------------------------------------------------


def test_tools_mode_is_read_from_the_call(home: Home) -> None:
    home.write(1)
    home.endpoint.script = lambda _: tool_call("fail")
    home.run(settings=home.settings(mode="tools"))
    assert home.records()[0]["value"] == "fail"
    assert home.endpoint.calls[0].body["tool_choice"]["function"]["name"] == "DiscreteResponseModel"


def test_numeric_and_ranking_judges_go_the_same_way(home: Home) -> None:
    home.write(2)
    numeric = Judge(name="score", prompt=JUDGE.prompt, contract=CONTRACT, allowed_values=(0.0, 1.0))
    home.endpoint.script = by_answer({"answer 1\n": verdict(1.5)}, lambda: verdict(0.25))
    home.run("numeric", judge=numeric)
    good, bad = home.records("numeric")
    assert (good["value"], bad["state"], bad["error_kind"]) == (0.25, "error", "out_of_range")
    ranking = Judge(name="best", prompt="Rank {candidates}", allowed_values=2, lists=("candidates",))
    home.write(json.dumps({"case_id": "a", "candidates": ["second", "first"]}) + "\n")
    home.endpoint.script = lambda _: verdict(["2", "1"])
    home.run("ranking", judge=ranking)
    (record,) = home.records("ranking")
    assert (record["value"], record["inputs"]["candidates"]) == (["2", "1"], ["second", "first"])


def test_what_must_not_be_kept_is_not_in_the_reply_either(home: Home) -> None:
    from dataclasses import replace

    careful = replace(CONTRACT, retention={"response": "hash"}, redact=lambda text: text.replace("Smith", "[name]"))
    judge = Judge(name="right", prompt=JUDGE.prompt, contract=careful)
    home.write(2)
    home.endpoint.script = by_answer(
        {"answer 1\n": reply("Mr Smith is right")}, lambda: verdict("pass", reason="Smith")
    )
    home.run(judge=judge)
    good, bad = home.records()
    assert (good["value"], good["reason"]) == ("pass", "[name]")
    assert bad["judge"]["raw"] == {"sha256": bad["judge"]["raw"]["sha256"], "excerpt": None}
    for path in home.folder.rglob("*"):
        assert not path.is_file() or b"Smith" not in path.read_bytes(), path


def test_a_declared_normalisation_and_an_undeclared_field_are_findings(home: Home) -> None:
    judge = Judge(name="right", prompt=JUDGE.prompt, contract=CONTRACT, compatible={"PASS.": "pass"})
    home.write(3)
    odd = reply(json.dumps({"reason": "wrong", "value": "pass", "score": 0}))
    home.endpoint.script = by_answer({"answer 0\n": verdict("PASS."), "answer 1\n": odd})
    done = home.run(judge=judge)
    assert [record["value"] for record in home.records()] == ["pass"] * 3
    assert "1 verdicts were read by the declared rule 'compatible'" in done.findings
    assert any("1 replies held the undeclared field 'score'" in finding for finding in done.findings)


# --- replay ---------------------------------------------------------------------------------------------------------


def test_a_cassette_replays_without_key_or_network(home: Home) -> None:
    home.write(4)
    home.endpoint.script = by_answer({"answer 2\n": reply("It should pass.")}, lambda: verdict("fail"))
    home.run("live", export=home.folder / "cassette.jsonl")
    made = home.endpoint.count
    done = home.run("again", replay=home.folder / "cassette.jsonl", store=home.folder / "unused.sqlite")
    assert home.endpoint.count == made
    assert not (home.folder / "unused.sqlite").exists()
    live, again = home.records("live"), home.records("again")
    fields = ("case_id", "state", "value", "reason", "error_kind", "input_hash")
    assert [[r[f] for f in fields] for r in again] == [[r[f] for f in fields] for r in live]
    assert {record["judge"]["cache"] for record in again} == {"replay"}
    assert (done.facts["replayed"], done.facts["calls"]) == (4, 0)


def test_in_a_replay_a_miss_is_unrun_and_says_why(home: Home) -> None:
    home.write(2)
    home.run("live", export=home.folder / "cassette.jsonl")
    made = home.endpoint.count
    changed = cases_text(2).replace("answer 1", "another answer") + cases_text(3).splitlines()[2] + "\n"
    home.write(changed)
    done = home.run("again", replay=home.folder / "cassette.jsonl")
    records = home.records("again")
    assert home.endpoint.count == made
    assert [record["state"] for record in records] == ["scored", "unrun", "unrun"]
    assert "this case was recorded with another prompt" in records[1]["reason"]
    assert "this case was never recorded" in records[2]["reason"]
    assert done.facts["unrun"] == ["r1", "r2"]


def test_another_judge_version_finds_nothing_in_the_cassette(home: Home) -> None:
    from dataclasses import replace

    home.write(1)
    home.run("live", export=home.folder / "cassette.jsonl")
    newer = Judge(name="right", prompt=JUDGE.prompt, contract=replace(CONTRACT, version="2"))
    cassette = read_cassette(home.folder / "cassette.jsonl")
    (record,) = replay_records(newer, home.cases, cassette)
    assert (record.state, record.error_kind) == ("unrun", "not_recorded")
    assert "judge_version was '1', is '2'" in record.reason


def test_a_store_replays_too(home: Home) -> None:
    from evalkit.scoring.judging.verdicts import VerdictStore

    home.write(2)
    home.run()
    with VerdictStore(home.store) as store:
        records = list(replay_records(JUDGE, home.cases, store, settings=home.settings()))
    assert [(record.state, record.value) for record in records] == [("scored", "pass")] * 2
