from __future__ import annotations

from typing import Any

import pytest

from evalkit.contract import Contract, EvalkitError
from evalkit.contract.judge import Judge
from evalkit.scoring.judging.request import JudgeSettings, RequestMaker, sent_parameters


def judge(**changes: Any) -> Judge:
    contract = Contract(
        version=changes.pop("version", "1"),
        measures="whether the answer is right",
        reviewed=("reference",),
        produced=("response",),
        invalid_when=("an input is absent",),
        consumed_by="the policy",
        cannot_establish="whether the reference is right",
    )
    facts: dict[str, Any] = {"name": "right", "prompt": "Is {response} right, given {reference}?", "contract": contract}
    return Judge(**facts | changes)


ROW = {"response": "Berlin", "reference": "Berlin is the capital."}
SETTINGS = {"model": "judge-a"}


def key(judge_: Judge | None = None, row: dict[str, Any] = ROW, **settings: Any) -> str:
    return RequestMaker(judge_ or judge(), JudgeSettings(**SETTINGS | settings)).of(row).key


def test_the_same_question_has_the_same_key() -> None:
    assert key() == key()
    # how it is sent, and by whom, is no part of the question
    assert key(timeout=5.0, attempts=1, concurrency=64, api_key="another") == key()


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "judge-b"},
        {"provider": "azure"},
        {"endpoint": "http://localhost:1/v1"},
        {"mode": "json_schema"},
        {"mode": "tools"},
        {"parameters": {"temperature": 1.0}},
        {"parameters": {"top_p": None}},
        {"parameters": {"max_tokens": 2048}},
        {"parameters": {"seed": 7}},
        {"parameters": {"extra_body": {"top_k": 5}}},
    ],
    ids=str,
)
def test_f02_every_setting_that_could_change_the_reply_is_in_the_key(settings: dict[str, Any]) -> None:
    assert key(**settings) != key()


@pytest.mark.parametrize(
    "changes",
    [
        {"prompt": "Is {response} right, given {reference}? Be strict."},
        {"system_prompt": "You are strict."},
        {"allowed_values": ["pass", "fail", "review"]},
        {"allowed_values": (0.0, 1.0)},
        {"rubric_version": "2"},
        {"version": "2", "rubric_version": "1"},
        {"name": "correct"},
        {"fenced": False},
    ],
    ids=str,
)
def test_f02_everything_of_the_judge_that_could_change_the_reply_is_in_the_key(changes: dict[str, Any]) -> None:
    assert key(judge(**changes)) != key()


@pytest.mark.parametrize("row", [ROW | {"response": "Bonn"}, ROW | {"reference": "Bonn is the capital."}])
def test_f02_response_and_reference_are_in_the_key(row: dict[str, Any]) -> None:
    assert key(row=row) != key()


def test_f02_the_library_version_is_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    monkeypatch.setattr(
        "evalkit.scoring.judging.request.installed_versions", lambda: {"ragas": "0.5.0", "evalkit": "1", "python": "3"}
    )
    assert key() != before


def test_what_reads_the_reply_is_no_part_of_the_question() -> None:
    # a kept reply is read again by the new rule, and not paid for again
    assert key(judge(ignore_case=True)) == key()
    assert key(judge(compatible={"PASS.": "pass"})) == key()


@pytest.mark.parametrize(
    ("model", "given", "sent"),
    [
        ("gpt-4o-mini", {}, {"temperature": 0.01, "top_p": 0.1, "max_tokens": 1024}),
        ("gpt-5-mini", {}, {"temperature": 1.0, "max_completion_tokens": 1024}),
        ("o3", {"max_tokens": 4096}, {"temperature": 1.0, "max_completion_tokens": 4096}),
        ("o3-mini", {"temperature": 0.5}, {"temperature": 1.0, "max_completion_tokens": 1024}),
        ("codex-mini", {}, {"temperature": 1.0, "max_completion_tokens": 1024}),
        # ragas does not know these, and the preflight shows what is really sent
        ("o10", {}, {"temperature": 0.01, "top_p": 0.1, "max_tokens": 1024}),
        ("gpt-20", {}, {"temperature": 0.01, "top_p": 0.1, "max_tokens": 1024}),
        (
            "o10",
            {"max_tokens": None, "temperature": None, "top_p": None, "max_completion_tokens": 9},
            {"max_completion_tokens": 9},
        ),
        ("gpt-5", {"temperature": None}, {"max_completion_tokens": 1024}),
    ],
)
def test_parameters_are_changed_for_reasoning_models_as_ragas_does(
    model: str, given: dict[str, Any], sent: dict[str, Any]
) -> None:
    assert sent_parameters(JudgeSettings(model=model, parameters=given)) == sent


def test_what_only_this_server_knows_goes_into_the_body() -> None:
    maker = RequestMaker(judge(), JudgeSettings(model="m", parameters={"extra_body": {"top_k": 5}, "seed": 1}))
    body = maker.of(ROW).body
    assert (body["top_k"], body["seed"], "extra_body" in body) == (5, 1, False)


@pytest.mark.parametrize(
    ("changes", "fragment"),
    [
        ({"model": " "}, "the judge's model must be a model's name; got ' '"),
        ({"mode": "json"}, "mode must be one of json_object, json_schema, tools; got 'json'"),
        ({"timeout": 0}, "timeout must be seconds above 0; got 0"),
        ({"attempts": 0}, "attempts must be a number from 1 to 10; got 0"),
        ({"concurrency": 0}, "concurrency must be a number from 1 to 1000; got 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, Any], fragment: str) -> None:
    with pytest.raises(EvalkitError) as caught:
        JudgeSettings(**SETTINGS | changes)
    assert fragment in str(caught.value)


def test_no_default_waits_longer_than_a_minute() -> None:
    assert JudgeSettings(model="m").timeout <= 60


def test_a_private_endpoint_and_a_key_are_never_written_out() -> None:
    settings = JudgeSettings(model="m", endpoint="http://gpu-7.internal:8000/v1", api_key="secret")
    maker = RequestMaker(judge(), settings)
    assert "gpu-7" not in str(maker.configuration)
    assert "secret" not in f"{settings!r}{maker.configuration}{maker.recorded_facts()}"


def test_the_most_a_request_can_cost_is_not_less_than_what_it_says() -> None:
    request = RequestMaker(judge(), JudgeSettings(model="m")).of(ROW | {"response": "ä" * 1000})
    # a token is at least one byte: 1,000 two-byte letters are at most 2,000 tokens, and they are all counted
    assert request.most_input_tokens() > 2000
    assert request.most_output_tokens() == 1024
    assert RequestMaker(judge(), JudgeSettings(model="gpt-5")).of(ROW).most_output_tokens() == 1024
