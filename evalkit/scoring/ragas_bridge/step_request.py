"""The requests of a judge of several questions, held against those that ragas itself would send for the same row."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evalkit.contract.stepped import SteppedJudge
from evalkit.scoring.ragas_bridge.guard import import_ragas, keep_ragas_quiet
from evalkit.scoring.ragas_bridge.judge_request import MODES, SAMPLE
from evalkit.scoring.ragas_bridge.play import score_with

if TYPE_CHECKING:
    # At runtime the maker is only handed through.
    from evalkit.scoring.judging.request import Request
    from evalkit.scoring.judging.steps import StepMaker

__all__ = ["step_difference"]


def step_difference(judge: SteppedJudge, maker: StepMaker) -> str | None:
    """Say how evalkit's request for one of the questions differs from that of ragas; ``None`` where none does.

    The metric plays a sample row. Each question is answered with the smallest object that its schema allows; nothing
    is sent.
    """
    return asyncio.run(_differing(judge, maker))


async def _differing(judge: SteppedJudge, maker: StepMaker) -> str | None:
    probe = _Probe(maker)
    sample = {p.name: [SAMPLE] if p.is_list else SAMPLE for p in judge.parameters}
    await score_with(judge, probe)(**sample)
    for prompt, model in probe.asked:
        ours = _plain(maker.question(prompt, model.model_json_schema()).body)
        theirs = _plain(await _captured(prompt, model, maker))
        for name in sorted({*ours, *theirs}):
            if ours.get(name) != theirs.get(name):
                return f"{name} would be {theirs.get(name)!r:.200} instead of {ours.get(name)!r:.200}"
    return None


class _Probe:
    """Stands in for a row: notes what is asked, and answers with samples."""

    def __init__(self, maker: StepMaker) -> None:
        self._maker = maker
        self.asked: list[tuple[str, Any]] = []

    def question(self, prompt: str, model: Any) -> Request:
        self.asked.append((str(prompt), model))
        return self._maker.question(str(prompt), model.model_json_schema())

    def embedding(self, text: str) -> Request:
        return self._maker.embedding(text)

    async def fetch(self, _: Request) -> None:
        """Fetch nothing."""

    def at_hand(self, _: Request) -> None:
        """Have nothing at hand."""

    def answered(self, _: Request, __: None, model: Any) -> Any:
        return model.model_validate(_smallest(model.model_json_schema()))

    def vector(self, _: Request, __: None) -> list[float]:
        return [1.0, 0.5]


def _smallest(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """Return the smallest value that a JSON schema of a response model allows."""
    root = root or schema
    if "$ref" in schema:
        return _smallest(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    for several in ("anyOf", "allOf", "oneOf"):
        if several in schema:
            return _smallest(schema[several][0], root)
    if "enum" in schema or "const" in schema:
        return schema.get("const", next(iter(schema.get("enum", [None]))))
    if schema.get("type") == "object":
        return {name: _smallest(found, root) for name, found in schema.get("properties", {}).items()}
    if schema.get("type") == "array":
        return [_smallest(schema.get("items", {}), root)]
    return {"string": "sample", "integer": 1, "number": 1.0, "boolean": True, "null": None}.get(str(schema.get("type")))


async def _captured(prompt: str, model: Any, maker: StepMaker) -> dict[str, Any]:
    """Return the body that ragas and instructor hand to the OpenAI client for this prompt and response model."""
    keep_ragas_quiet()
    import_ragas()
    import instructor
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion
    from ragas.llms import llm_factory

    bodies: list[dict[str, Any]] = []

    async def create(**body: Any) -> ChatCompletion:
        bodies.append(body)
        return ChatCompletion.model_validate(_completion(model, body))

    settings = maker.settings
    client = AsyncOpenAI(api_key="none", base_url=settings.endpoint, max_retries=0)
    client.chat.completions.create = create  # type: ignore[method-assign, assignment] # what would be sent is caught here
    chosen = {name: value for name, value in settings.parameters.items() if value is not None}
    system = maker.judge.system_prompt
    llm = llm_factory(settings.model, client=client, max_retries=0, system_prompt=system, **chosen)
    llm.client = instructor.from_openai(client, mode=getattr(instructor.Mode, MODES[settings.mode]))  # type: ignore[attr-defined]
    await llm.agenerate(prompt, model)
    body = {name: value for name, value in bodies[0].items() if name not in ("max_retries", "extra_body")}
    body |= bodies[0].get("extra_body") or {}
    left_out = {name for name, value in settings.parameters.items() if value is None}
    return {name: value for name, value in body.items() if name not in left_out}


def _completion(model: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps(_smallest(model.model_json_schema()))
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if "tools" in body:
        function = {"name": body["tools"][0]["function"]["name"], "arguments": text}
        message |= {"content": None, "tool_calls": [{"id": "x", "type": "function", "function": function}]}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "x", "choices": [choice]}


def _plain(body: dict[str, Any]) -> Any:
    return json.loads(json.dumps(body))
