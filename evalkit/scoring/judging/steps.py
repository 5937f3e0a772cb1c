"""The questions that a judge of several questions asks about one row: their requests and keys, and how a row ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, NamedTuple

from evalkit.contract import EvalkitError, sha256_of, sha256_text
from evalkit.contract.stepped import SteppedJudge
from evalkit.scoring.judging.asking import OverBudget
from evalkit.scoring.judging.attempt import Attempt, ProviderFault
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.judging.reply import Reading
from evalkit.scoring.judging.request import JudgeSettings, Request, RequestMaker, frame_of

__all__ = ["RESPONSE_MODEL", "Ask", "Failed", "NotRecorded", "Played", "Step", "StepMaker"]

Ask = Callable[[Request], Awaitable[Kept]]
"""Answers one question, from what is kept or by a call; raises `NotRecorded`, `Failed` or `OverBudget`."""


RESPONSE_MODEL: ContextVar[Any] = ContextVar("response_model", default=None)
"""The class of the reply to the question that is being asked, for a sender that makes its own request of it."""


class NotRecorded(Exception):  # noqa: N818 - not an error: the question is still to be asked
    """No reply is kept for a question, and nothing is sent here."""

    def __init__(self, request: Request) -> None:
        super().__init__(request.key)
        self.request = request


class Failed(Exception):  # noqa: N818 - the provider's, not ours
    """The provider failed at one of the questions."""

    def __init__(self, fault: ProviderFault, attempts: tuple[Attempt, ...]) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.attempts = attempts


class Step(NamedTuple):
    """One question of a row with its reply."""

    asks: str
    """The name of what was asked for (ragas' response model), or ``embedding``."""
    request: Request
    kept: Kept
    parsed: Any
    """The reply as ragas receives it: a response model, or a vector."""


class Played(NamedTuple):
    """How far a row came: a reading, or what ended it before there was one."""

    reading: Reading | None
    steps: tuple[Step, ...]
    """Every question that was answered, in order; the last one may be the one that could not be read."""
    end: NotRecorded | Failed | OverBudget | None = None


class StepMaker(RequestMaker):
    """Makes the requests of a judge of several questions.

    What a row needs is known only reply by reply, so `of` gives what stands for the row as a whole: its key, and its
    inputs in the place of a body.
    """

    def __init__(
        self, judge: SteppedJudge, settings: JudgeSettings, *, recorded: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(judge, settings, recorded=recorded)
        self.embedding_model = recorded.get("embedding_model") if recorded else settings.embedding_model
        if judge.embeds and not self.embedding_model:
            msg = f"{judge.name} compares texts by an embedding model, and none is named"
            raise EvalkitError(msg, do="give --embeddings NAME, or set EVALKIT_EMBEDDING_MODEL")
        if judge.asks and not recorded and settings.model == self.embedding_model:
            msg = f"{judge.name} asks a language model beside the embedding model, and none is named"
            raise EvalkitError(msg, do="give --model NAME, or set EVALKIT_JUDGE_MODEL")
        # Each question has a response schema of its own, which is part of its key.
        self.configuration["response_schema_sha256"] = sha256_text(judge.target)
        if judge.embeds:
            self.configuration["embedding_model"] = self.embedding_model
        self.configuration_hash = sha256_of(self.configuration)
        self._embeds_only = not judge.asks

    def of(self, inputs: Mapping[str, Any]) -> Request:
        """Return what stands for one row; it is never sent."""
        found = dict(inputs)
        key = sha256_text(f"{self.configuration_hash} row {self.judge.fingerprint} {sha256_of(found)}")
        return Request(key, sha256_of(found), found)

    def question(self, prompt: str, schema: dict[str, Any], *, nth: int = 1) -> Request:
        """Return the request for one question, as ragas and instructor would send it.

        Parameters
        ----------
        prompt : str
        schema : dict
            JSON schema of the reply.
        nth : int
            How often this row has asked the same before: a metric that wants several answers must not get one thrice.
        """
        prompt_sha256 = sha256_text(prompt)
        messages, rest = frame_of(schema, str(self.facts["mode"]), self.judge.system_prompt)
        key = sha256_text(f"{self.configuration_hash} {sha256_of(schema)} {prompt_sha256} {nth}")
        parameters = dict(self.facts["parameters"])
        extra = parameters.pop("extra_body", {})
        asked = [*messages, {"role": "user", "content": prompt}]
        body = {"model": self.facts["model"], "messages": asked, **rest, **parameters, **extra}
        return Request(key, prompt_sha256, body)

    def embedding(self, text: str) -> Request:
        """Return the request for the vector of one text."""
        text_sha256 = sha256_text(text)
        key = sha256_text(f"{self.configuration_hash} embedding {text_sha256}")
        return Request(key, text_sha256, {"model": self.embedding_model, "input": text, "encoding_format": "float"})

    def request(self, prompt: str) -> Request:
        """Return a request that concerns no row: the preflight's."""
        return self.embedding(prompt) if self._embeds_only else super().request(prompt)
