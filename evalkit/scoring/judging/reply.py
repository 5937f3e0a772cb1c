"""Reads a raw completion: the declared field, exactly one of the labels, or why there is no verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import State
from evalkit.contract.judge import Judge
from evalkit.contract.values import BadValue, value_check

__all__ = ["READER", "Reading", "Reply", "embedding_of", "read_object", "read_reply", "reply_of"]


READER = "1"
"""Version of the rules below: another reading of the same replies is a change of the parser, not of the judge."""


class Reply(NamedTuple):
    """What of a completion decides, as the provider sent it; plain JSON values, so that a store can keep it."""

    choices: int
    """How many there were; a verdict comes from the only one."""
    content: str | None
    """The message's text, or the arguments of its one tool call."""
    refusal: str | None
    finish_reason: str | None
    model: str | None
    usage: Mapping[str, Any] | None


class Reading(NamedTuple):
    """The verdict that a reply carries, or the reason why it carries none."""

    state: State
    value: float | int | str | list[Any] | None
    reason: str
    error_kind: str | None
    """``no_choices``, ``several_choices``, ``truncated``, ``refused``, ``filtered``, ``empty_reply``, ``not_json``,
    ``prose``, ``two_objects``, ``duplicate_key``, ``not_object``, ``missing_verdict``, ``missing_reason``,
    ``unlisted_label``, ``out_of_range``, ``not_a_number``, ``not_finite``, ``wrong_shape``."""
    detail: Mapping[str, Any]
    """``normalised`` where a declared rule made it a label; ``undeclared``: other fields of the object."""


def reply_of(body: Mapping[str, Any]) -> Reply | None:
    """Take the deciding parts out of a chat completion; ``None`` where the body is none."""
    choices = body.get("choices")
    if not isinstance(choices, list):
        return None
    first = choices[0] if choices and isinstance(choices[0], dict) else {}
    found = first.get("message")
    message = found if isinstance(found, dict) else {}
    return Reply(
        choices=len(choices),
        content=_text(message.get("content")) if not message.get("tool_calls") else _arguments(message["tool_calls"]),
        refusal=_text(message.get("refusal")),
        finish_reason=_text(first.get("finish_reason")),
        model=_text(body.get("model")),
        usage=_usage(body),
    )


def embedding_of(body: Mapping[str, Any]) -> Reply | None:
    """Take the one vector out of an embedding; ``None`` where the body is none.

    The content is ``{"value": [...]}``, so that a redaction of texts leaves it alone.
    """
    data = body.get("data")
    if not isinstance(data, list):
        return None
    vectors = [item.get("embedding") for item in data if isinstance(item, dict)]
    usage = _usage(body)
    return Reply(
        choices=len(data),
        content=json.dumps({"value": vectors[0]}) if vectors else None,
        refusal=None,
        finish_reason="stop",
        model=_text(body.get("model")),
        usage=None if usage is None else {**usage, "kind": "embedding"},
    )


def _text(value: Any) -> str | None:
    """Return a text that can be kept: half a surrogate pair becomes its escape, which the reader refuses by name."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else None


def _usage(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what the provider reports, where it can be kept: a count of 400 digits says nothing."""
    found = body.get("usage")
    try:
        orjson.dumps(found)
    except TypeError:
        return None
    return found if isinstance(found, dict) else None


def _arguments(calls: Any) -> str | None:
    """Return the arguments of the tool call; of several, all of them, which then read as several objects."""
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    found = [_text(function.get("arguments")) for function in functions if isinstance(function, dict)]
    return "\n".join(text for text in found if text) or None


def read_reply(judge: Judge, reply: Reply) -> Reading:
    """Read one reply.

    A refusal, a filter or a truncation wins over whatever else the reply holds: a verdict beside them is not complete
    evidence. The object must hold the verdict in ``value`` and a reason in ``reason``; other fields are kept in
    ``detail["undeclared"]`` for review and decide nothing.
    """
    found = read_object(reply)
    return found if isinstance(found, Reading) else _verdict(judge, found)


def read_object(reply: Reply) -> dict[str, Any] | Reading:
    """Return the one JSON object that a whole, willing reply consists of, or why there is none."""
    if no_verdict := _envelope_problem(reply):
        return no_verdict
    content = (reply.content or "").strip()
    try:
        return parse_object(content.encode("utf-8", "surrogatepass"))
    except JsonProblem as problem:
        return _unreadable(content, problem)


def _envelope_problem(reply: Reply) -> Reading | None:
    if reply.choices == 0:
        return _error("no_choices", "the completion has no choices")
    if reply.choices > 1:
        return _error(
            "several_choices", f"the completion has {reply.choices} choices; none is chosen by guess: send n=1"
        )
    if reply.refusal:
        return _error("refused", "the model refused to answer")
    if reply.finish_reason == "content_filter":
        return _error("filtered", "the provider's content filter stopped the reply (finish_reason content_filter)")
    if reply.finish_reason == "length":
        return _error("truncated", "the reply was cut off at the token limit (finish_reason length); raise max_tokens")
    if not (reply.content or "").strip():
        return _error("empty_reply", f"the reply is empty (finish_reason {reply.finish_reason!r})")
    return None


def _error(kind: str, reason: str, detail: Mapping[str, Any] | None = None) -> Reading:
    return Reading("error", None, reason, kind, detail or {})


def _unreadable(content: str, problem: JsonProblem) -> Reading:
    if problem.kind != "bad_json":
        return _error(problem.kind, f"the reply cannot be trusted: {problem.reason}")
    objects = _objects_in(content)
    if objects > 1:
        return _error("two_objects", f"the reply holds {objects} JSON objects; none of them is chosen by guess")
    if objects == 1:
        return _error("prose", "the reply is not only the JSON object: there is text around it")
    if "{" not in content:
        return _error("prose", "the reply is prose; a label inside it is not a verdict")
    return _error("not_json", f"the reply is {problem.reason}")


def _objects_in(content: str) -> int:
    """Count the JSON objects in a text that is not one itself, only to say what is wrong with it."""
    decoder, count, at = json.JSONDecoder(strict=False), 0, content.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(content, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if (at, end) == (0, len(content)):
                return 0  # a raw line break inside a string: the lenient decoder forgives it, and nothing is around it
            count += isinstance(found, dict)
        at = content.find("{", end)
    return count


def _verdict(judge: Judge, found: Mapping[str, Any]) -> Reading:
    undeclared = {key: value for key, value in found.items() if key not in ("value", "reason")}
    detail: dict[str, Any] = {"undeclared": undeclared} if undeclared else {}
    if found.get("value") is None:
        return _error("missing_verdict", 'the reply has no "value": no verdict is taken for one', detail)
    reason = found.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        return _error("missing_reason", f'the reply has no "reason" beside its value {found["value"]!r:.60}', detail)
    value, rule = _normalised(judge, found["value"])
    if rule:
        detail["normalised"] = {"from": found["value"], "rule": rule}
    try:
        checked = value_check(judge.allowed_values)(value)
    except BadValue as bad:
        return _error(bad.kind, f"the judge's value is {bad}", detail | {"said": reason})
    if judge.kind == "ranking" and (problem := _ranking_problem(checked)):
        return _error("wrong_shape", problem, detail | {"said": reason})
    return Reading("scored", checked, reason, None, detail)


class _Normalised(NamedTuple):
    value: Any
    rule: str | None


def _normalised(judge: Judge, value: Any) -> _Normalised:
    """Apply what the judge declares, and nothing else."""
    if not isinstance(value, str) or not isinstance(judge.allowed_values, list) or value in judge.allowed_values:
        return _Normalised(value, None)
    if value in judge.compatible:
        return _Normalised(judge.compatible[value], "compatible")
    if judge.ignore_case:
        for label in judge.allowed_values:
            if value.strip().casefold() == label.casefold():
                return _Normalised(label, "ignore_case")
    return _Normalised(value, None)


def _ranking_problem(ranking: Any) -> str | None:
    """Check that each candidate is named once, by the number under which it was shown."""
    wanted = [str(number) for number in range(1, len(ranking) + 1)]
    if sorted(map(str, ranking)) != sorted(wanted) or not all(isinstance(item, str) for item in ranking):
        return f"the ranking must name each of the candidates {', '.join(wanted)} once; got {ranking!r:.80}"
    return None
