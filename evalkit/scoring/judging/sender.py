"""The native OpenAI client, its own retries off: one body out, one body in, or the provider's fault by name."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from evalkit.contract import EvalkitError
from evalkit.scoring.judging.attempt import ProviderFault
from evalkit.scoring.judging.reply import Reply, embedding_of, reply_of
from evalkit.scoring.judging.request import JudgeSettings, Request

__all__ = ["OpenAISender", "Sender", "status_fault"]

_KEY_LENGTH = 16
_MOST = 300
"""Characters of a provider's message that are kept."""


class Sender(Protocol):
    """Asks one question once."""

    async def send(self, request: Request) -> Reply:
        """Return the completion, or raise `ProviderFault`."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


class OpenAISender:
    """Sends through ``openai.AsyncOpenAI`` with ``max_retries=0``, to any server that speaks its protocol."""

    def __init__(self, settings: JudgeSettings) -> None:
        if not settings.api_key:
            msg = "there is no key for the endpoint: OPENAI_API_KEY is not set"
            mend = "set it (to any word, for a server that wants none), or replay with --replay FILE"
            raise EvalkitError(msg, do=mend)
        try:
            import openai
        except ImportError as error:
            msg = "a live judge needs the openai client, which is not installed"
            mend = "pip install 'evalkit-workbench[ragas]', or replay with --replay FILE"
            raise EvalkitError(msg, do=mend) from error
        self._openai = openai
        self._key = settings.api_key
        self._seconds = settings.timeout
        self._client = openai.AsyncOpenAI(
            api_key=settings.api_key, base_url=settings.endpoint, max_retries=0, timeout=settings.timeout
        )

    async def send(self, request: Request) -> Reply:
        """Send the body as it is and read the completion (or the embedding) out of whatever comes back.

        Some providers repeat the key that they refuse, or the whole request: the key is taken out before anybody sees
        it, and so before anything is written.
        """
        reply = await self._sent(request)
        texts: dict[str, Any] = {
            name: self._without_key(text) for name, text in reply._asdict().items() if isinstance(text, str)
        }
        return reply._replace(**texts)

    def _without_key(self, text: str) -> str:
        # A local server takes any word for a key, and that word may well stand in a verdict.
        return text.replace(self._key, "(the key)") if len(self._key) >= _KEY_LENGTH else text

    async def _sent(self, request: Request) -> Reply:
        is_embedding = "input" in request.body
        path = "/embeddings" if is_embedding else "/chat/completions"
        try:
            # The client's timeouts are per read: a server that trickles would never meet them.
            async with asyncio.timeout(self._seconds):
                body = await self._client.post(path, cast_to=object, body=request.body)
        except (TimeoutError, self._openai.APITimeoutError):
            msg = f"no answer within {self._seconds:g} s"
            raise ProviderFault(msg, kind="timeout") from None
        except self._openai.APIStatusError as error:
            fault = status_fault(error.status_code, error.body, error.response.headers, hide=self._without_key)
            raise fault from None
        except self._openai.APIConnectionError as error:
            msg = f"the connection failed ({_cause(error)})"
            raise ProviderFault(msg, kind="connection") from None
        except ValueError:  # the server calls it JSON, and it is not
            raise _no_completion(what="not JSON") from None
        reply = (embedding_of if is_embedding else reply_of)(body) if isinstance(body, dict) else None
        if reply is None:
            raise _no_completion(what="a web page or another text" if isinstance(body, str) else "no list of choices")
        return reply

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _no_completion(*, what: str) -> ProviderFault:
    message = f"status 200, but the body is no chat completion: {what}"
    return ProviderFault(message, kind="bad_body", status=200)


def _cause(error: BaseException) -> str:
    return type(error.__cause__ or error).__name__


def status_fault(
    status: int, body: object, headers: Mapping[str, str], *, hide: Callable[[str], str] = str
) -> ProviderFault:
    """Name what an HTTP status other than 200 means for this call and for the run."""
    details: Mapping[str, Any] = body if isinstance(body, dict) else {}
    said = hide(str(details.get("message") or body or ""))[:_MOST]
    message = said.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair could not be kept
    kind = _kind_of(status, str(details.get("code") or ""))
    return ProviderFault(f"HTTP {status}: {message}", kind=kind, status=status, retry_after=_retry_after(headers))


def _kind_of(status: int, code: str) -> str:
    if code == "insufficient_quota":
        return "quota"
    if code in ("content_filter", "content_policy_violation"):
        return "filtered"
    known = {401: "auth", 403: "auth", 404: "not_found", 408: "request_timeout", 429: "rate_limited"}
    if status in known:
        return known[status]
    return "server_error" if status >= 500 else "refused_request"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Read how long the provider asks to wait: milliseconds, seconds or a date."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * scale
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, at.replace(tzinfo=at.tzinfo or UTC).timestamp() - time.time())
