"""Other providers: a judge asked through a ``llm_factory`` object of ragas, its retries off, its raw replies kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from evalkit.contract import EvalkitError
from evalkit.contract.judge import Judge
from evalkit.scoring.judging.attempt import ProviderFault
from evalkit.scoring.judging.reply import Reply, reply_of
from evalkit.scoring.judging.request import JudgeSettings, Request
from evalkit.scoring.judging.sender import Sender, status_fault
from evalkit.scoring.judging.steps import RESPONSE_MODEL
from evalkit.scoring.ragas_bridge.guard import import_ragas, keep_ragas_quiet
from evalkit.scoring.ragas_bridge.judge_request import CLASSES, MODES

__all__ = ["RagasSender", "settings_of"]

_RAW: ContextVar[list[Any]] = ContextVar("raw_completions")
"""Where the call of this task puts what the provider sent: the hook is the client's, and so shared by all calls."""


def settings_of(llm: Any, judge: Judge, **given: Any) -> JudgeSettings:
    """Read the settings of an object that ``ragas.llms.llm_factory`` made, and turn off what would ask twice.

    Raises
    ------
    EvalkitError
        For another object, one with a ragas cache (which answers for other judges), or another system prompt.
    """
    arguments = getattr(llm, "model_args", None)
    if not isinstance(arguments, dict) or not hasattr(llm, "client"):
        msg = f"an object made by ragas.llms.llm_factory was expected; got {type(llm).__name__}"
        raise EvalkitError(msg, do="make one with llm_factory(model, provider=…, client=…)")
    if getattr(llm, "cache", None) is not None:
        msg = "the llm has a ragas cache, whose key leaves out the model, its settings and the labels"
        raise EvalkitError(msg, do="make it without cache=…; evalkit keeps the verdicts")
    if (llm.system_prompt or None) not in (None, judge.system_prompt):
        msg = f"the llm has a system prompt that {judge.name} does not declare"
        raise EvalkitError(msg, do="declare it: Judge(system_prompt=…)")
    llm.system_prompt = judge.system_prompt
    arguments["max_retries"] = 0
    client: Any = getattr(llm.client, "client", None)
    if hasattr(client, "max_retries"):
        client.max_retries = 0
    mode = getattr(getattr(llm.client, "mode", None), "name", "")
    names = {instructor: ours for ours, instructor in MODES.items()}
    parameters = {name: value for name, value in arguments.items() if name != "max_retries"}
    if mode not in names:
        parameters["instructor_mode"] = mode
    endpoint = str(getattr(client, "base_url", "") or f"provider:{llm.provider}").rstrip("/")
    return JudgeSettings(
        model=llm.model,
        provider=llm.provider,
        endpoint=endpoint,
        mode=names.get(mode, "json_object"),  # type: ignore[arg-type] # the names are those of Mode
        parameters=parameters,
        **given,
    )


class RagasSender:
    """Sends through a ragas metric and llm: slower than the native client, with the same states.

    Parameters
    ----------
    llm : object of ``ragas.llms.llm_factory``
    judge : Judge
        Its question is asked by ragas' own metric; a question of one that asks several, by the llm itself.
    settings : JudgeSettings
        As `settings_of` read them.
    embeddings : Sender, optional
        Where vectors come from, for a judge that compares texts: an llm has none.
    """

    def __init__(self, llm: Any, judge: Judge, settings: JudgeSettings, embeddings: Sender | None = None) -> None:
        keep_ragas_quiet()
        # The rendered prompt is one argument, so that ragas hands it on as it is.
        made = getattr(import_ragas(), CLASSES[judge.kind])
        self._metric = made(name=judge.name, prompt="{prompt}", allowed_values=judge.allowed_values)
        self._llm = llm
        self._seconds = settings.timeout
        self._embeddings = embeddings
        llm.client.on("completion:response", _keep_raw)

    async def send(self, request: Request) -> Reply:
        """Return the provider's own completion where it has the shape of one, else what instructor read in it."""
        if "input" in request.body and self._embeddings is not None:
            return await self._embeddings.send(request)
        raw: list[Any] = []
        token = _RAW.set(raw)
        try:
            async with asyncio.timeout(self._seconds):
                read = await self._read(request.body["messages"][-1]["content"])
        except TimeoutError:
            msg = f"no answer within {self._seconds:g} s"
            raise ProviderFault(msg, kind="timeout") from None
        except Exception as error:  # noqa: BLE001 - instructor wraps whatever any provider's client raises
            if (reply := _reply_of(raw)) is not None:
                return reply  # it came, but could not be read: the reader says why
            raise _fault_of(error) from None
        finally:
            _RAW.reset(token)
        return _reply_of(raw) or Reply(1, read, None, None, self._llm.model, None)

    async def _read(self, prompt: str) -> str:
        """Ask, and return what instructor read, as JSON."""
        if (model := RESPONSE_MODEL.get()) is not None:
            return str((await self._llm.agenerate(prompt, model)).model_dump_json())
        # Unwrapped at once: the result is neither comparable nor plain.
        result = await self._metric.ascore(llm=self._llm, prompt=prompt)
        return json.dumps({"reason": result.reason, "value": result.value})

    async def close(self) -> None:
        """Leave the client to whoever made it; close what was made for vectors."""
        if self._embeddings is not None:
            await self._embeddings.close()
        self._llm.client.off("completion:response", _keep_raw)


def _keep_raw(response: Any) -> None:
    if (raw := _RAW.get(None)) is not None:
        raw.append(response)


def _reply_of(raw: list[Any]) -> Reply | None:
    if not raw or not hasattr(raw[-1], "model_dump"):
        return None
    body = raw[-1].model_dump(mode="json")
    return reply_of(body) if isinstance(body, dict) else None


def _fault_of(error: BaseException) -> ProviderFault:
    """Find the provider's own error behind instructor's."""
    for link in _chain(error):
        status = getattr(link, "status_code", None)
        if isinstance(status, int):
            headers = getattr(getattr(link, "response", None), "headers", {})
            return status_fault(status, getattr(link, "body", None), headers)
        name = type(link).__name__
        if "Timeout" in name:
            return ProviderFault("the provider's client timed out", kind="timeout")
        if "Connection" in name or "Connect" in name:
            return ProviderFault(f"the connection failed ({name})", kind="connection")
    names = ", ".join(type(link).__name__ for link in _chain(error))
    return ProviderFault(f"the provider's client failed ({names})", kind="bad_body")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
