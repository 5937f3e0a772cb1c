"""The rehearsal on ragas' side: whether the installed one still imports, builds, renders and answers both ways."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.contract.judge import Judge
from evalkit.scoring.ragas_bridge.guard import import_ragas, keep_ragas_quiet
from evalkit.scoring.ragas_bridge.judge_request import CLASSES, MODES, SAMPLE, completion_of, difference, judge_to_ragas

if TYPE_CHECKING:
    # At runtime the maker is only handed through.
    from evalkit.scoring.judging.request import RequestMaker

__all__ = ["RagasCheck", "rehearse_ragas"]


class RagasCheck(NamedTuple):
    """One thing that a release of ragas could break."""

    name: str
    ok: bool | None
    sentence: str


def rehearse_ragas(judge: Judge, maker: RequestMaker) -> Iterator[RagasCheck]:
    """Yield import, construction, placeholders, result and both call paths; what fails ends what rests on it.

    Nothing is sent: the client answers out of this process.
    """
    steps: list[tuple[str, Callable[[Judge, RequestMaker], str]]] = [
        ("import", _imported),
        ("construction", _constructed),
        ("placeholders", _rendered),
        ("ragas_result", _result),
        ("sync_and_async", _both_paths),
    ]
    broken = ""
    for name, step in steps:
        if broken:
            yield RagasCheck(name, None, f"not tried, because of {broken}")
            continue
        try:
            yield RagasCheck(name, True, step(judge, maker))
        except Exception as error:  # noqa: BLE001 - whatever a new release raises is the finding
            broken = name
            yield RagasCheck(name, False, f"{type(error).__name__}: {error}"[:300])


class _Differs(Exception):  # noqa: N818 - a finding, told by its sentence
    pass


def _imported(judge: Judge, _: RequestMaker) -> str:
    made = getattr(import_ragas(), CLASSES[judge.kind])
    if not made.__module__.startswith("ragas.metrics"):
        msg = f"{made.__name__} comes from {made.__module__}"
        raise _Differs(msg)
    return f"{made.__name__} comes from {made.__module__}"


def _constructed(judge: Judge, _: RequestMaker) -> str:
    metric = judge_to_ragas(judge)
    if metric.name != judge.name or metric.allowed_values != judge.allowed_values:
        msg = f"it is called {metric.name!r} and allows {metric.allowed_values!r}"
        raise _Differs(msg)
    return "the metric keeps its name and its labels"


def _rendered(judge: Judge, maker: RequestMaker) -> str:
    if found := difference(judge, maker):
        raise _Differs(found)
    names = ", ".join(f"{{{name}}}" for name in judge.template.names)
    return f"{names} are rendered, and the request is ragas' own, byte for byte"


def _result(judge: Judge, maker: RequestMaker) -> str:
    value, reason = _asked(judge, maker, is_sync=False)
    if not reason:
        msg = f"the result has the reason {reason!r}"
        raise _Differs(msg)
    return f"a result holds value and reason ({value!r}, {reason!r})"


def _both_paths(judge: Judge, maker: RequestMaker) -> str:
    ways = [_asked(judge, maker, is_sync=is_sync) for is_sync in (True, False)]
    if ways[0] != ways[1]:
        msg = f"score() gives {ways[0]!r}, ascore() gives {ways[1]!r}"
        raise _Differs(msg)
    return "score() and ascore() give the same"


def _asked(judge: Judge, maker: RequestMaker, *, is_sync: bool) -> tuple[Any, Any]:
    """Ask through ragas in a thread of its own: its synchronous path patches the loop of the thread it runs in."""
    found: list[Any] = []

    def ask() -> None:
        try:
            found.append(_answer(judge, maker, is_sync=is_sync))
        except Exception as error:  # noqa: BLE001 - carried over to the caller's thread
            found.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(120)
    result = found[0] if found else TimeoutError("it did not answer within 120 s")
    if isinstance(result, BaseException):
        raise result
    return (result.value, result.reason)


def _answer(judge: Judge, maker: RequestMaker, *, is_sync: bool) -> Any:
    keep_ragas_quiet()
    metric = judge_to_ragas(judge)
    import instructor
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion
    from ragas.llms import llm_factory

    async def create(**body: Any) -> ChatCompletion:
        return ChatCompletion.model_validate(completion_of(judge, json.loads(json.dumps(body, default=str))))

    client = AsyncOpenAI(api_key="none", base_url="http://127.0.0.1:9/v1", max_retries=0)
    client.chat.completions.create = create  # type: ignore[method-assign, assignment] # what would be sent is answered here
    llm = llm_factory("rehearsal", client=client, max_retries=0)
    mode = getattr(instructor.Mode, MODES[maker.settings.mode])
    llm.client = instructor.from_openai(client, mode=mode)  # type: ignore[attr-defined]
    sample = {p.name: [SAMPLE] * _length(judge) if p.is_list else SAMPLE for p in judge.parameters}
    arguments = judge.arguments(sample)
    return metric.score(llm=llm, **arguments) if is_sync else asyncio.run(metric.ascore(llm=llm, **arguments))


def _length(judge: Judge) -> int:
    return judge.allowed_values if isinstance(judge.allowed_values, int) else 2
