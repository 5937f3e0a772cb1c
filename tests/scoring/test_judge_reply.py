from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from evalkit.contract.judge import Judge
from evalkit.scoring.judging.attempt import Attempt
from evalkit.scoring.judging.reply import Reading, Reply, read_reply, reply_of
from evalkit.scoring.judging.sender import status_fault
from evalkit.scoring.judging.tally import _tokens

PLAIN = Judge(name="right", prompt="Is {response} right?")


def reply(content: str | None, *, finish: str = "stop", refusal: str | None = None, choices: int = 1) -> Reply:
    return Reply(choices, content, refusal, finish, "m", None)


def read(content: str | None, judge: Judge = PLAIN, **more: Any) -> Reading:
    return read_reply(judge, reply(content, **more))


def said(value: Any, reason: Any = "because", **more: Any) -> str:
    return json.dumps({"reason": reason, "value": value, **more})


def test_a_good_reply_is_its_declared_field() -> None:
    assert read(said("fail")) == Reading("scored", "fail", "because", None, {})
    assert read(f"\n {said('pass')} \n").value == "pass"  # white space around the object is JSON's own


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("PASS", "prose"),
        ("The answer is correct, so it should pass.", "prose"),
        ("It is incorrect.", "prose"),
        ('```json\n{"reason": "r", "value": "pass"}\n```', "prose"),
        ('Sure! {"reason": "r", "value": "pass"}', "prose"),
        ('{"reason": "r", "value": "pass"} I hope this helps {or not}', "prose"),
        ('<think>{"value": "fail"}</think>{"reason": "r", "value": "pass"}', "two_objects"),
        ('{"reason": "r", "value": "pass"}{"reason": "r", "value": "fail"}', "two_objects"),
        ('{"reason": "a\nb", "value": "pass"}', "not_json"),
        ('{"reason": "r", "value": "pass"', "not_json"),
        ('{"reason": "r", "value": NaN}', "not_finite"),
        ('["pass"]', "not_object"),
        ('"pass"', "not_object"),
        ("5", "not_object"),
        ('{"reason": "r", "value": "fail", "value": "pass"}', "duplicate_key"),
        ('{"reason": "r", "value": {"a": 1, "a": 2}}', "duplicate_key"),
        ('{"reason": "looks fine"}', "missing_verdict"),
        (said(None), "missing_verdict"),
        (said("pass", None), "missing_reason"),
        ('{"value": "pass"}', "missing_reason"),
        (said("pass", "  "), "missing_reason"),
        (said("pass", ["because"]), "missing_reason"),
        (said("Pass"), "unlisted_label"),
        (said("PASS"), "unlisted_label"),
        (said("Pass."), "unlisted_label"),
        (said("pass "), "unlisted_label"),
        (said("passed"), "unlisted_label"),
        (said(True), "wrong_shape"),
        (said(["pass"]), "wrong_shape"),
    ],
)
def test_e01_everything_but_the_declared_object_is_an_error_of_its_own_kind(content: str, kind: str) -> None:
    reading = read(content)
    assert (reading.state, reading.value, reading.error_kind) == ("error", None, kind)
    assert reading.reason


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (reply(None, refusal="I cannot help with that."), "refused"),
        (reply("", finish="content_filter"), "filtered"),
        (reply(said("pass"), finish="content_filter"), "filtered"),
        (reply(said("pass"), finish="length"), "truncated"),
        (reply('{"reason": "cut', finish="length"), "truncated"),
        (reply(None), "empty_reply"),
        (reply("  "), "empty_reply"),
        (reply(None, choices=0), "no_choices"),
        (reply(said("pass"), choices=2), "several_choices"),
        (reply(said("pass"), refusal="I would rather not."), "refused"),
    ],
)
def test_e04_refusal_filter_and_truncation_are_errors_even_beside_a_verdict(found: Reply, kind: str) -> None:
    reading = read_reply(PLAIN, found)
    assert (reading.state, reading.value, reading.error_kind) == ("error", None, kind)


def test_a05_a_reply_without_a_verdict_is_no_pass() -> None:
    assert read('{"reason": "looks fine"}').error_kind == "missing_verdict"
    assert read('{"reason": "looks fine", "pass": true, "score": 1}').error_kind == "missing_verdict"


def test_a05_a_contradicting_score_is_kept_for_review_and_decides_nothing() -> None:
    reading = read('{"reason": "wrong", "value": "pass", "score": 0}')
    assert (reading.state, reading.value) == ("scored", "pass")
    assert reading.detail == {"undeclared": {"score": 0}}


def test_e01_a_declared_normalisation_is_applied_and_logged() -> None:
    judge = Judge(name="j", prompt="{response}", ignore_case=True)
    for came in ("PASS", "pass ", " Pass\n"):
        reading = read(said(came), judge)
        assert (reading.value, reading.detail) == ("pass", {"normalised": {"from": came, "rule": "ignore_case"}})
    assert read(said("Pass."), judge).error_kind == "unlisted_label"
    assert read(said("pass"), judge).detail == {}


def test_e01_the_compatibility_map_is_word_for_word() -> None:
    judge = Judge(name="j", prompt="{response}", compatible={"PASS.": "pass"})
    reading = read(said("PASS."), judge)
    assert (reading.value, reading.detail["normalised"]) == ("pass", {"from": "PASS.", "rule": "compatible"})
    assert read(said("PASS"), judge).error_kind == "unlisted_label"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (0.0, None),
        (1, None),
        (0.85, None),
        (1.0000001, "out_of_range"),
        (-1, "out_of_range"),
        (10**20, "absurd_digits"),
        ("0.9", "not_a_number"),
        (True, "not_a_number"),
        ([0.5], "not_a_number"),
    ],
)
def test_the_range_of_a_number_is_enforced(value: Any, kind: str | None) -> None:
    reading = read(said(value), Judge(name="j", prompt="{response}", allowed_values=(0.0, 1.0)))
    assert reading.error_kind == kind
    assert reading.value == (value if kind is None else None)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (["2", "1", "3"], None),
        (["1", "2"], "wrong_shape"),
        (["1", "1", "2"], "wrong_shape"),
        (["1", "2", "4"], "wrong_shape"),
        ([1, 2, 3], "wrong_shape"),
        ("123", "wrong_shape"),
    ],
)
def test_a_ranking_names_each_candidate_once(value: Any, kind: str | None) -> None:
    reading = read(said(value), Judge(name="j", prompt="{c}", allowed_values=3, lists=("c",)))
    assert (reading.error_kind, reading.value) == (kind, value if kind is None else None)


def test_what_decides_is_taken_from_the_envelope() -> None:
    message = {"role": "assistant", "content": "text", "refusal": None}
    body = {"model": "m-1", "choices": [{"finish_reason": "stop", "message": message}], "usage": {"total_tokens": 3}}
    assert reply_of(body) == Reply(1, "text", None, "stop", "m-1", {"total_tokens": 3})
    assert reply_of({"choices": []}) == Reply(0, None, None, None, None, None)
    assert reply_of({"error": "no"}) is None
    assert reply_of({"choices": "text"}) is None


def test_tool_calls_are_read_by_their_arguments() -> None:
    calls = [{"function": {"name": "f", "arguments": said("pass")}}]
    body = {"choices": [{"finish_reason": "tool_calls", "message": {"content": None, "tool_calls": calls}}]}
    found = reply_of(body)
    assert found is not None
    assert read_reply(PLAIN, found).value == "pass"
    body["choices"][0]["message"]["tool_calls"] = calls * 2  # type: ignore[index]
    found = reply_of(body)
    assert found is not None
    assert read_reply(PLAIN, found).error_kind == "two_objects"


@pytest.mark.parametrize(
    "body", [{"choices": [None]}, {"choices": [{"message": "x"}]}, {"choices": [{"message": {"content": 5}}]}]
)
def test_a_misshapen_envelope_reads_as_empty(body: dict[str, Any]) -> None:
    found = reply_of(body)
    assert found is not None
    assert read_reply(PLAIN, found).error_kind == "empty_reply"


# --- found by make fuzz: what no store can keep -----------------------------------------------------------------------


def completion(content: str | None, **usage: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": "stop", "message": {"content": content}}], "usage": usage or None}


def test_half_a_surrogate_pair_is_kept_as_its_escape_and_never_read_as_a_verdict() -> None:
    for content, kind in (
        ('{"reason": "because \ud83d", "value": "pass"}', "bad_utf8"),  # the reply was cut in an emoji
        ('\udc80{"reason": "because", "value": "pass"}', "prose"),
    ):
        found = reply_of(completion(content))
        assert found is not None
        orjson.dumps(found._asdict())  # a paid reply that cannot be kept would be lost, and the run with it
        assert read_reply(PLAIN, found).error_kind == kind


def test_a_usage_that_counts_nothing_is_not_kept_as_a_count() -> None:
    found = reply_of(completion(said("pass"), prompt_tokens=10**400))
    assert found is not None
    assert found.usage is None
    assert read_reply(PLAIN, found).value == "pass"
    assert status_fault(500, {"message": "half \ud83d"}, {}).message == "HTTP 500: half \\ud83d"


def test_counts_that_no_call_can_reach_are_not_added_up() -> None:
    attempts = [
        Attempt(1, "", 1.0, 200, None, None, {"prompt_tokens": count, "completion_tokens": 5}, None)
        for count in (7, -1, 2**63 - 1, True, "7", None)
    ]
    # prompt: 7 only; completion: 6 times 5
    assert _tokens(attempts) == {"prompt_tokens": 7, "completion_tokens": 30}
