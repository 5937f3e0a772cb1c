"""A judge as ragas' own metric, and the request that ragas would send for it: evalkit's are held against it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evalkit.contract import EvalkitError
from evalkit.contract.judge import Judge
from evalkit.contract.stepped import SteppedJudge
from evalkit.scoring.ragas_bridge.guard import import_ragas, keep_ragas_quiet
from evalkit.scoring.ragas_bridge.ways import safe_name

if TYPE_CHECKING:
    # At runtime the maker is only handed through.
    from evalkit.scoring.judging.request import JudgeSettings, RequestMaker

__all__ = [
    "CLASSES",
    "MODES",
    "SAMPLE",
    "completion_of",
    "difference",
    "is_llm_metric",
    "judge_from_ragas",
    "judge_to_ragas",
    "ragas_request",
]

MODES = {"json_object": "JSON", "json_schema": "JSON_SCHEMA", "tools": "TOOLS"}
"""evalkit's output modes by instructor's names."""

CLASSES = {"discrete": "DiscreteMetric", "numeric": "NumericMetric", "ranking": "RankingMetric"}
SAMPLE = 'A {text} with "quotes", a brace } and\na second line: <tag>.'


def judge_to_ragas(judge: Judge) -> Any:
    """Make the ``DiscreteMetric`` (``NumericMetric``, ``RankingMetric``) of a judge, imported from ``ragas.metrics``.

    Its arguments are those of `Judge.arguments`: texts, already fenced.
    """
    made = getattr(import_ragas(), CLASSES[judge.kind])
    return made(name=judge.name, prompt=judge.template.instruction, allowed_values=judge.allowed_values)


def is_llm_metric(obj: Any) -> bool:
    """Tell a ragas metric that asks a model by a prompt from one made by a decorator; ragas is not imported for it."""
    module = str(getattr(type(obj), "__module__", ""))
    named = type(obj).__name__ in CLASSES.values() and module.partition(".")[0] == "ragas"
    return named and getattr(obj, "prompt", None) is not None


def judge_from_ragas(metric: Any) -> Judge:
    """Bring a judge that was written only against ragas: its prompt is left as it is, without fences or notice.

    Raises
    ------
    EvalkitError
        Where its prompt has examples, which are rendered in a way that evalkit does not rebuild.
    """
    prompt = metric.prompt
    if getattr(prompt, "examples", None):
        msg = f"the prompt of {metric.name} has few-shot examples attached to it"
        raise EvalkitError(msg, do="write them into the prompt's text")
    text = prompt if isinstance(prompt, str) else prompt.instruction
    return Judge(
        name=safe_name(metric),
        prompt=text,
        allowed_values=metric.allowed_values,
        fenced=False,
        origin="ragas",
        original=metric,
    )


def ragas_request(judge: Judge, arguments: Mapping[str, str], settings: JudgeSettings) -> dict[str, Any]:
    """Return the body that ragas and instructor hand to the OpenAI client for these arguments; nothing is sent."""
    import asyncio

    return asyncio.run(_captured(judge, arguments, settings))


async def _captured(judge: Judge, arguments: Mapping[str, str], settings: JudgeSettings) -> dict[str, Any]:
    keep_ragas_quiet()
    metric = judge_to_ragas(judge)
    import instructor
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion
    from ragas.llms import llm_factory

    bodies: list[dict[str, Any]] = []

    async def create(**body: Any) -> ChatCompletion:
        bodies.append(body)
        return ChatCompletion.model_validate(completion_of(judge, body))

    client = AsyncOpenAI(api_key="none", base_url=settings.endpoint, max_retries=0)
    client.chat.completions.create = create  # type: ignore[method-assign, assignment] # what would be sent is caught here
    chosen = {name: value for name, value in settings.parameters.items() if value is not None}
    llm = llm_factory(settings.model, client=client, max_retries=0, system_prompt=judge.system_prompt, **chosen)
    llm.client = instructor.from_openai(client, mode=getattr(instructor.Mode, MODES[settings.mode]))  # type: ignore[attr-defined]
    await metric.ascore(llm=llm, **arguments)
    body = {name: value for name, value in bodies[0].items() if name not in ("max_retries", "extra_body")}
    body |= bodies[0].get("extra_body") or {}
    left_out = {name for name, value in settings.parameters.items() if value is None}
    return {name: value for name, value in body.items() if name not in left_out}


def completion_of(judge: Judge, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reply that instructor can read: after one that it cannot, it would add to the messages."""
    allowed = judge.allowed_values
    value: Any = [str(i + 1) for i in range(allowed)] if isinstance(allowed, int) else allowed[0]
    text = json.dumps({"reason": "sample", "value": value})
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if "tools" in body:
        function = {"name": body["tools"][0]["function"]["name"], "arguments": text}
        message |= {"content": None, "tool_calls": [{"id": "x", "type": "function", "function": function}]}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "x", "choices": [choice]}


def difference(judge: Judge, maker: RequestMaker) -> str | None:
    """Say how a request of evalkit differs from that of ragas; ``None`` where they are the same."""
    if isinstance(judge, SteppedJudge):
        from evalkit.scoring.ragas_bridge.step_request import step_difference  # which stands on this module

        return step_difference(judge, maker)  # type: ignore[arg-type] # such a judge has such a maker
    sample = {p.name: [SAMPLE] * _length(judge) if p.is_list else SAMPLE for p in judge.parameters}
    ours = _plain(maker.of(sample).body)
    theirs = _plain(ragas_request(judge, judge.arguments(sample), maker.settings))
    differing = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    if not differing:
        return None
    name = differing[0]
    return f"{name} would be {theirs.get(name)!r:.200} instead of {ours.get(name)!r:.200}"


def _length(judge: Judge) -> int:
    return judge.allowed_values if isinstance(judge.allowed_values, int) else 2


def _plain(body: dict[str, Any]) -> Any:
    return json.loads(json.dumps(body))
