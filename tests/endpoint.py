"""A small loopback server that speaks ``/v1/chat/completions`` and ``/v1/embeddings``, scripted per request.

The real clients talk to it.

In a test: ``with Endpoint(script) as endpoint: ... endpoint.url, endpoint.calls``. A script is a function of one `Call`
that returns an `Answer`. As a process of its own (benchmarks): ``python tests/endpoint.py SECONDS`` prints its address.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = [
    "Answer",
    "Call",
    "Endpoint",
    "cut",
    "embedded",
    "hang",
    "page",
    "reply",
    "said",
    "status",
    "tool_call",
    "verdict",
]

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


class Call(NamedTuple):
    """One request as it arrived."""

    number: int
    """Counted from 1, over all connections."""
    body: dict[str, Any]
    headers: Mapping[str, str]
    at: float

    @property
    def prompt(self) -> str:
        """The user's message, or the text to be embedded."""
        return str(self.body["input"] if "input" in self.body else self.body["messages"][-1]["content"])

    @property
    def asks(self) -> str:
        """The title of the response schema that is asked for in words, or ``embedding``."""
        if "input" in self.body:
            return "embedding"
        system = str(self.body["messages"][0]["content"])
        titles = re.findall(r'^ {2}"title": "(\w+)"', system, re.MULTILINE)
        return titles[-1] if titles else ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the server does with one request."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    delay: float = 0.0
    """Seconds before anything is sent."""
    send: float = 1.0
    """Share of the body that is sent before the connection is cut; 0 cuts it before the head."""


Script = Callable[[Call], Answer]


def reply(
    content: str | None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    usage: Mapping[str, int] | None = USAGE,
    delay: float = 0.0,
    **message: Any,
) -> Answer:
    """Return a completion with this content."""
    choice = {
        "index": 0,
        "finish_reason": finish,
        "message": {"role": "assistant", "content": content, "refusal": refusal, **message},
    }
    return completion([choice], usage=usage, delay=delay)


def completion(choices: list[Any], *, usage: Mapping[str, int] | None = USAGE, delay: float = 0.0) -> Answer:
    """Return a completion with these choices."""
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "judge-0613", "choices": choices}
    return Answer(body=json.dumps(body | {"usage": usage}).encode(), delay=delay)


def verdict(value: Any, reason: str = "because", **more: Any) -> Answer:
    """Return a good reply: the object that the schema asks for."""
    return reply(json.dumps({"reason": reason, "value": value}), **more)


def said(**fields: Any) -> Answer:
    """Return a reply with an object of other fields: whatever schema was asked for."""
    return reply(json.dumps(fields))


def embedded(vector: list[float], *, usage: Mapping[str, int] | None = None) -> Answer:
    """Return the embedding of one text."""
    data = [{"object": "embedding", "index": 0, "embedding": vector}]
    usage = usage or {"prompt_tokens": 8, "total_tokens": 8}
    body = {"object": "list", "data": data, "model": "embedder-1", "usage": usage}
    return Answer(body=json.dumps(body).encode())


def tool_call(value: Any, reason: str = "because", name: str = "DiscreteResponseModel") -> Answer:
    """Return the verdict as arguments of a tool call."""
    function = {"name": name, "arguments": json.dumps({"reason": reason, "value": value})}
    return reply(None, finish="tool_calls", tool_calls=[{"id": "call_1", "type": "function", "function": function}])


def status(code: int, message: str = "no", *, retry_after: str | None = None, error_code: str | None = None) -> Answer:
    """Return a provider's error."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": error_code}}).encode()
    headers = {"content-type": "application/json"} | ({"retry-after": retry_after} if retry_after else {})
    return Answer(status=code, body=body, headers=headers)


def page(text: str = "<html>please log in to the proxy</html>") -> Answer:
    """Return a web page with status 200, as a proxy does."""
    return Answer(body=text.encode(), headers={"content-type": "text/html"})


def cut(share: float = 0.5) -> Answer:
    """Return a good reply whose connection is cut on the way."""
    return Answer(body=verdict("pass").body, send=share)


def hang(seconds: float = 60.0) -> Answer:
    """Accept the request and say nothing for a long time."""
    return verdict("pass", delay=seconds)


class Endpoint:
    """The server, on a loop and a thread of its own."""

    def __init__(self, script: Script | None = None) -> None:
        self.script: Script = script or (lambda _: verdict("pass"))
        self.calls: list[Call] = []
        self.open_now = 0
        self.most_open = 0
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._port = 0

    @property
    def url(self) -> str:
        """The base address, as ``OPENAI_BASE_URL`` wants it."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def count(self) -> int:
        """How many requests arrived."""
        return len(self.calls)

    def __enter__(self) -> Endpoint:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(ready,), daemon=True)
        self._thread.start()
        ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(10)

    def _serve(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._connected, "127.0.0.1", self._port))
        self._port = server.sockets[0].getsockname()[1]
        ready.set()
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.close()

    def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._loop.stop()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._one_request(reader, writer):
                pass
        except (asyncio.CancelledError, asyncio.IncompleteReadError, ConnectionError):
            pass  # the client left, or the test is over
        finally:
            self._tasks.discard(task)
            with contextlib.suppress(Exception):
                writer.close()

    async def _one_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines) if k}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        if not first.startswith(("POST /v1/chat/completions ", "POST /v1/embeddings ")):
            return await self._send(writer, status(404, f"no such place: {first}"))
        call = Call(len(self.calls) + 1, json.loads(raw), headers, time.monotonic())
        self.calls.append(call)
        self.open_now += 1
        self.most_open = max(self.most_open, self.open_now)
        try:
            answer = self._scripted(call)
            if answer.delay:
                await asyncio.sleep(answer.delay)
        finally:
            self.open_now -= 1
        return await self._send(writer, answer)

    def _scripted(self, call: Call) -> Answer:
        try:
            return self.script(call)
        except Exception as error:  # noqa: BLE001 - a script that fails must not look like a network that does
            return status(400, f"the test's own script failed: {error!r}")

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> bool:
        if answer.send == 0:
            return False
        headers = {**answer.headers, "content-length": str(len(answer.body))}
        head = f"HTTP/1.1 {answer.status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
        writer.write(head.encode() + answer.body[: int(len(answer.body) * answer.send)])
        await writer.drain()
        return answer.send == 1.0


if __name__ == "__main__":
    seconds = float(sys.argv[1])
    with Endpoint(lambda _: verdict("pass", delay=seconds)) as running:
        sys.stdout.write(f"{running.url}\n")
        sys.stdout.flush()
        for _ in sys.stdin:  # any line asks for the count; the end of stdin stops the server
            sys.stdout.write(f"{running.count}\n")
            sys.stdout.flush()
