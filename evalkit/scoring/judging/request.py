"""What a judge's question looks like on the wire, byte for byte as ragas would send it, and the key of its verdict.

ragas is not imported here (it takes ten seconds): its prompt, response model and parameters are rebuilt, and
`ragas_bridge.judge_request.conforms` compares them with ragas itself before the first call that costs anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

from evalkit.contract import EvalkitError, canonical_json, sha256_of, sha256_text
from evalkit.contract.judge import Judge
from evalkit.scoring.run import installed_versions

__all__ = [
    "PUBLIC_ENDPOINT",
    "JudgeSettings",
    "Mode",
    "Request",
    "RequestMaker",
    "frame_of",
    "response_schema",
    "sent_parameters",
]

Mode = Literal["json_object", "json_schema", "tools"]

PUBLIC_ENDPOINT = "https://api.openai.com/v1"
_DEFAULTS: dict[str, Any] = {"temperature": 0.01, "top_p": 0.1, "max_tokens": 1024}


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """Which model is asked, where and how."""

    model: str
    provider: str = "openai"
    endpoint: str = PUBLIC_ENDPOINT
    """Base address of any OpenAI-compatible server."""
    embedding_model: str | None = None
    """Which model of the same endpoint compares texts, for a metric that does; no part of other judges' keys."""
    embed: Callable[[str], Any] | None = field(default=None, repr=False, compare=False)
    """Computes a vector on this machine, in the place of the endpoint."""
    mode: Mode = "json_object"
    """How the reply's shape is asked for; ``json_object`` promises no more than some JSON from many servers."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Over ragas' defaults (temperature 0.01, top_p 0.1, max_tokens 1024); ``None`` leaves one out."""
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 60.0
    """Seconds for one attempt."""
    attempts: int = 3
    """Attempts for one question, where the provider fails in a way that may pass; a reply is never asked for again."""
    concurrency: int = 8
    max_wait: float = 60.0
    """Seconds that a ``Retry-After`` may ask for."""

    def __post_init__(self) -> None:
        checks = {
            "model": (bool(self.model.strip()), "a model's name"),
            "mode": (self.mode in get_args(Mode), f"one of {', '.join(get_args(Mode))}"),
            "timeout": (self.timeout > 0, "seconds above 0"),
            "attempts": (1 <= self.attempts <= 10, "a number from 1 to 10"),
            "concurrency": (1 <= self.concurrency <= 1000, "a number from 1 to 1000"),
        }
        for name, (is_right, expected) in checks.items():
            if not is_right:
                msg = f"the judge's {name} must be {expected}; got {getattr(self, name)!r}"
                raise EvalkitError(msg)

    def shown_endpoint(self) -> str:
        """Return the endpoint as it is recorded: the public one by name, any other as a hash (it may name a host)."""
        return self.endpoint if self.endpoint == PUBLIC_ENDPOINT else sha256_text(self.endpoint)[:23]

    def facts(self) -> dict[str, Any]:
        """Return what of the settings decides a reply, as recorded in keys, manifests and cassettes."""
        return {
            "provider": self.provider,
            "endpoint": self.shown_endpoint(),
            "model": self.model,
            "mode": self.mode,
            "parameters": sent_parameters(self),
        }


def sent_parameters(settings: JudgeSettings) -> dict[str, Any]:
    """Return the sampling parameters as they are really sent: ragas renames and drops some for reasoning models."""
    chosen = {**_DEFAULTS, **settings.parameters}
    if settings.provider in ("openai", "azure") and _is_reasoning(settings.model.lower()):
        if "max_tokens" in chosen:
            chosen["max_completion_tokens"] = chosen.pop("max_tokens")
        chosen["temperature"] = 1.0
        chosen.pop("top_p", None)
    # What the user sets to nothing is left out, also where ragas would have put it back.
    left_out = {name for name, value in settings.parameters.items() if value is None}
    return {name: value for name, value in chosen.items() if value is not None and name not in left_out}


def _is_reasoning(model: str) -> bool:
    """Tell the models for which ragas 0.4.3 changes parameters (o1 to o9, gpt-5 to gpt-19, codex-mini)."""
    if re.match(r"o[1-9]($|[-_])", model) or model == "codex-mini":
        return True
    generation = re.match(r"gpt-(?P<number>[^-_]*)", model)
    number = generation["number"] if generation else ""
    return number.isdecimal() and 5 <= int(number) <= 19


@lru_cache(maxsize=32)
def _schema_json(kind: str, labels: tuple[str, ...]) -> str:
    """Build the response model of ragas' metric and return its schema; field texts are part of what is sent."""
    from pydantic import BaseModel, Field, create_model

    fields: dict[str, Any] = {"reason": (str, ...), "value": (float, ...)}
    if kind == "discrete":
        fields = {
            "reason": (str, Field(..., description="Reasoning for the value")),
            "value": (Literal[labels], Field(..., description="The value predicted")),
        }
    elif kind == "ranking":
        fields = {
            "reason": (str, Field(..., description="Reasoning for the ranking")),
            "value": (list[str], Field(..., description="List of ranked items")),
        }
    model: type[BaseModel] = create_model(f"{kind.capitalize()}ResponseModel", **fields)
    return json.dumps(model.model_json_schema())


def response_schema(judge: Judge) -> dict[str, Any]:
    """Return the JSON schema that ragas' metric of this kind asks for."""
    labels = tuple(judge.allowed_values) if isinstance(judge.allowed_values, list) else ()
    schema: dict[str, Any] = json.loads(_schema_json(judge.kind, labels))
    return schema


class Request(NamedTuple):
    """One question, ready to be sent."""

    key: str
    """Under which its verdict is kept: changes with everything that could change the reply."""
    prompt_sha256: str
    body: dict[str, Any]

    def most_input_tokens(self) -> int:
        """Return an upper bound: a token is at least one byte, and each message costs a few more."""
        return len(canonical_json(self.body)) + 16 * len(self.body.get("messages", ()))

    def most_output_tokens(self) -> int:
        """Return the limit that the request states."""
        limits = [self.body.get(name) for name in ("max_tokens", "max_completion_tokens")]
        return max((limit for limit in limits if isinstance(limit, int)), default=0)


class RequestMaker:
    """Turns a judge's inputs into requests; what is the same for all rows is computed once.

    Parameters
    ----------
    judge : Judge
    settings : JudgeSettings
    recorded : mapping, optional
        The settings of a cassette, as `JudgeSettings.facts` gave them, with its ``ragas`` version: keys are then made
        as they were made for it.
    """

    def __init__(self, judge: Judge, settings: JudgeSettings, *, recorded: Mapping[str, Any] | None = None) -> None:
        self.judge = judge
        self.settings = settings
        self.facts = {name: recorded[name] for name in settings.facts()} if recorded else settings.facts()
        schema = response_schema(judge)
        self.messages, self.frame = frame_of(schema, str(self.facts["mode"]), judge.system_prompt)
        # A version that is not installed here cannot contradict the recorded one.
        ragas = installed_versions()["ragas"] or (recorded or {}).get("ragas")
        self.configuration = {
            **self.facts,
            "ragas": ragas,
            "judge": judge.name,
            "judge_version": judge.version,
            "rubric_version": judge.rubric_version,
            "system_prompt_sha256": sha256_text(judge.system_prompt or ""),
            "response_schema_sha256": sha256_of(schema),
        }
        self.configuration_hash = sha256_of(self.configuration)

    def recorded_facts(self) -> dict[str, Any]:
        """Return what every record and the manifest say of the judge and the way it was asked."""
        facts = dict(self.facts)
        facts["provider_settings"] = facts.pop("parameters")
        return {
            **facts,
            "ragas_version": self.configuration["ragas"],
            "judge_version": self.judge.version,
            "rubric_version": self.judge.rubric_version,
            "configuration_hash": self.configuration_hash,
            "fingerprint": self.judge.fingerprint,
        }

    def request(self, prompt: str) -> Request:
        """Return the request for one rendered prompt."""
        prompt_sha256 = sha256_text(prompt)
        messages = [*self.messages, {"role": "user", "content": prompt}]
        key = sha256_text(f"{self.configuration_hash} {prompt_sha256}")
        # As in the client's own call, extra_body holds what only this server knows.
        parameters = dict(self.facts["parameters"])
        extra = parameters.pop("extra_body", {})
        return Request(
            key,
            prompt_sha256,
            {"model": self.facts["model"], "messages": messages, **self.frame, **parameters, **extra},
        )

    def of(self, inputs: Mapping[str, Any]) -> Request:
        """Return the request for one row's inputs, which the judge has found in order."""
        return self.request(self.judge.render(inputs))


class _Frame(NamedTuple):
    messages: list[dict[str, str]]
    """What comes before the user's message."""
    rest: dict[str, Any]


def frame_of(schema: dict[str, Any], mode: str, system_prompt: str | None) -> _Frame:
    """Ask for the schema the way instructor does in this mode."""
    system = system_prompt or None
    name = str(schema["title"])
    if mode == "json_schema":
        rest: dict[str, Any] = {
            "response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}
        }
    elif mode == "tools":
        otherwise = f"Correctly extracted `{name}` with all the required parameters with correct types"
        parameters = {key: value for key, value in schema.items() if key not in ("title", "description")}
        function = {
            "name": name,
            "description": schema.get("description", otherwise),
            "parameters": parameters | {"required": sorted(schema.get("required", []))},
        }
        choice = {"type": "function", "function": {"name": name}}
        rest = {"tools": [{"type": "function", "function": function}], "tool_choice": choice}
    else:
        rest = {"response_format": {"type": "json_object"}}
        system = f"{system}\n\n{_asked_in_words(schema)}" if system else _asked_in_words(schema)
    return _Frame([{"role": "system", "content": system}] if system else [], rest)


def _asked_in_words(schema: dict[str, Any]) -> str:
    """Return instructor's own sentence, its odd indentation included: it is part of what the model reads."""
    indent = " " * 12
    return (
        f"\n{indent}As a genius expert, your task is to understand the content and provide\n"
        f"{indent}the parsed objects in json that match the following json_schema:\n\n\n"
        f"{indent}{json.dumps(schema, indent=2, ensure_ascii=False)}\n\n"
        f"{indent}Make sure to return an instance of the JSON, not the schema itself\n"
    )
