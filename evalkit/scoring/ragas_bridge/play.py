"""A ragas metric plays one row: its questions go through evalkit, its prompts and its arithmetic stay its own."""

from __future__ import annotations

import functools
import importlib
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from evalkit.cases.strict_json import JsonProblem
from evalkit.contract import EvalkitError
from evalkit.contract.blame import blame_of
from evalkit.contract.stepped import SteppedJudge
from evalkit.contract.values import BadValue, shorten, value_check
from evalkit.scoring.judging.asking import OverBudget
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.judging.reply import Reading, Reply, read_object
from evalkit.scoring.judging.request import Request
from evalkit.scoring.judging.steps import RESPONSE_MODEL, Ask, Failed, NotRecorded, Played, Step, StepMaker
from evalkit.scoring.ragas_bridge.brought_judge import scorer_of_original
from evalkit.scoring.ragas_bridge.guard import import_ragas
from evalkit.scoring.ragas_bridge.standard import STANDARD, Standard

__all__ = ["play", "score_with"]

_MOST = 1_000
"""Questions that a row may need before it is called endless: more than any metric asks."""
_NOISE = 1e-9
"""How far a computed value may lie outside its range and still be a matter of rounding (a cosine just above 1)."""


class Halt(BaseException):
    """Ends a row from inside ragas. No exception handler there can make a score of it, as one of `Exception` could."""


class _First(BaseException):
    """Raised by a synchronous call whose reply must be fetched first; the row then starts again and finds it."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request


class _Parts(NamedTuple):
    """What is put in the place of a metric's own model."""

    llm: Any
    embeddings: Any


async def play(judge: SteppedJudge, inputs: Mapping[str, Any], maker: StepMaker, ask: Ask) -> Played:
    """Play one row until it has a value, or until a question cannot be answered.

    Parameters
    ----------
    judge : SteppedJudge
    inputs : mapping
        In order, as `SteppedJudge.measure` found them.
    maker : StepMaker
    ask : Ask

    Raises
    ------
    EvalkitError
        Where ragas cannot be imported, or evalkit's own store cannot be written.
    """
    row = _Row(judge, inputs, maker, ask)
    score = score_with(judge, row)
    for _ in range(_MOST):
        row.start()
        ended = await _one_try(judge, row, score)
        if ended is not None:
            return ended
    reading = Reading("error", None, f"{judge.name} asks something else each time it is called", "exception", {})
    return Played(reading, tuple(row.steps))


async def _one_try(judge: SteppedJudge, row: _Row, score: Callable[..., Awaitable[Any]]) -> Played | None:
    """Call the metric once; ``None`` where it has to start again, with one more reply at hand."""
    result, fault = None, None
    try:
        result = await score(**row.inputs)
    except (Halt, _First):
        pass
    except Exception as error:  # noqa: BLE001 - a metric's fault is a record
        fault = error
    if row.first is not None and not row.has_ended:
        try:
            await row.fetch(row.first)
        except Halt:
            pass
        else:
            return None
    if row.fatal is not None:
        raise row.fatal
    if row.has_ended:
        return Played(row.reading, tuple(row.steps), row.end)
    if fault is not None:
        blame = blame_of(fault, _function_of(judge))
        return Played(Reading(blame.state, None, blame.reason, blame.error_kind, {}), tuple(row.steps))
    return Played(_read_result(judge, row, result), tuple(row.steps))


def _function_of(judge: SteppedJudge) -> Callable[..., Any]:
    """Return a function of the module whose `ValueError` speaks of the row: the author's own."""
    own: Any = judge.original
    found = next((getattr(type(own), way, None) for way in ("ascore", "score", "_single_turn_ascore")), None)
    return found if callable(found) else _function_of


def _read_result(judge: SteppedJudge, row: _Row, result: Any) -> Reading:
    """Read what the metric gave: a value inside its range, or an error; NaN is no value."""
    value = getattr(result, "value", result)
    try:
        checked = value_check(judge.allowed_values)(_without_noise(judge, value))
    except BadValue as bad:
        return Reading("error", None, f"{judge.name} returned {bad}", bad.kind, row.standard.detail(row.steps))
    finding = row.standard.explain(row.steps, checked)
    said = getattr(result, "reason", None)
    reason = f"{finding.reason} | {said}" if isinstance(said, str) and said.strip() else finding.reason
    undeclared = {"undeclared": row.undeclared} if row.undeclared else {}
    return Reading("scored", checked, reason, None, {**finding.detail, **undeclared})


def _without_noise(judge: SteppedJudge, value: Any) -> Any:
    number = value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 else value
    if not isinstance(judge.allowed_values, tuple) or not isinstance(number, float) or not math.isfinite(number):
        return value
    low, high = judge.allowed_values
    nearest = min(max(number, low), high)
    return nearest if abs(nearest - number) <= _NOISE else number


# --- one row --------------------------------------------------------------------------------------------------------


class _Row:
    """What one row has asked, was answered, and how it ended."""

    def __init__(self, judge: SteppedJudge, inputs: Mapping[str, Any], maker: StepMaker, ask: Ask) -> None:
        self.judge, self.inputs = judge, dict(inputs)
        self.standard: Standard = STANDARD.get(judge.target, STANDARD[""])
        self._maker, self._ask = maker, ask
        self._replies: dict[str, Kept] = {}
        self._models: dict[str, Any] = {}
        self.reading: Reading | None = None
        self.end: NotRecorded | Failed | OverBudget | None = None
        self.fatal: EvalkitError | None = None
        self.start()

    def start(self) -> None:
        """Begin again, with the replies there are."""
        self.steps: list[Step] = []
        self.undeclared: dict[str, Any] = {}
        self.first: Request | None = None
        self._counts: Counter[str] = Counter()

    @property
    def has_ended(self) -> bool:
        return self.reading is not None or self.end is not None or self.fatal is not None

    async def fetch(self, request: Request) -> Kept:
        """Return the reply to one question."""
        kept = self._replies.get(request.key)
        if kept is None:
            RESPONSE_MODEL.set(self._models.get(request.key))
            try:
                kept = self._replies[request.key] = await self._ask(request)
            except (NotRecorded, Failed, OverBudget) as end:
                self.end = end
                raise Halt from None
            except EvalkitError as fatal:
                self.fatal = fatal
                raise Halt from None
        return kept

    def at_hand(self, request: Request) -> Kept:
        """Return the reply to a question of a synchronous call, or have it fetched first."""
        if (kept := self._replies.get(request.key)) is None:
            self.first = request
            raise _First(request)
        return kept

    # --- language model ---

    def question(self, prompt: str, model: Any) -> Request:
        """Return the request for a prompt; a prompt that was asked before is asked once more, under another key."""
        schema = _schema_of(model)
        mark = f"{schema.get('title')} {prompt}"
        self._counts[mark] += 1
        request = self._maker.question(str(prompt), schema, nth=self._counts[mark])
        self._models[request.key] = model
        return request

    def answered(self, request: Request, kept: Kept, model: Any) -> Any:
        """Read one reply strictly, and ask the metric's own checks whether it can be counted on."""
        found = read_object(kept.reply)
        name = str(getattr(model, "__name__", "reply"))
        parsed = _parsed(found, model) if not isinstance(found, Reading) else found
        self.steps.append(Step(name, request, kept, parsed))
        if isinstance(parsed, Reading):
            self._halt(parsed)
        if isinstance(found, dict):
            self.undeclared |= {key: value for key, value in found.items() if key not in model.model_fields}
        return self._checked(parsed)

    def _checked(self, parsed: Any) -> Any:
        if (problem := self.standard.check(self.steps, self.inputs)) is not None:
            self._halt(problem)
        return parsed

    def _halt(self, reading: Reading) -> NoReturn:
        self.reading = reading._replace(detail=self.standard.detail(self.steps))
        raise Halt

    # --- embeddings ---

    def embedding(self, text: str) -> Request:
        """Return the request for a text's vector."""
        return self._maker.embedding(str(text))

    def vector(self, request: Request, kept: Kept) -> list[float]:
        """Read one vector."""
        vector = _vector_in(kept.reply)
        self.steps.append(Step("embedding", request, kept, vector))
        if isinstance(vector, Reading):
            self._halt(vector)
        return vector


@functools.lru_cache(maxsize=64)
def _schema_of(model: Any) -> dict[str, Any]:
    """Return a response model's JSON schema, which takes longer to make than all else that a question needs."""
    schema: dict[str, Any] = model.model_json_schema()
    return schema


def _parsed(found: dict[str, Any], model: Any) -> Any:
    import orjson
    from pydantic import ValidationError

    try:
        return model.model_validate_json(orjson.dumps(found), strict=True)
    except (ValidationError, JsonProblem) as error:
        problems: list[Any] = list(error.errors(include_url=False)) if isinstance(error, ValidationError) else []
        first: Mapping[str, Any] = problems[0] if problems else {"loc": (), "msg": str(error), "input": None}
        where = ".".join(map(str, first["loc"])) or "the reply"
        came = f"{first['msg'][:1].lower()}{first['msg'][1:]}; got {shorten(first['input'])}"
        reason = f"the reply has the wrong shape | {model.__name__}: {where}: {came}"
        return Reading("error", None, reason, "wrong_shape", {})


def _vector_in(reply: Reply) -> list[float] | Reading:
    found = read_object(reply)
    if isinstance(found, Reading):
        return found
    vector = found.get("value")
    if isinstance(vector, list) and vector and all(type(x) in (int, float) and math.isfinite(x) for x in vector):
        return [float(number) for number in vector]
    return Reading("error", None, f"the embedding is no list of finite numbers: {shorten(vector)}", "wrong_shape", {})


# --- what ragas is given --------------------------------------------------------------------------------------------


def score_with(judge: SteppedJudge, row: Any) -> Callable[..., Awaitable[Any]]:
    """Make the judge's ragas metric for one row (or what stands in for one), and return its asynchronous ``score``."""
    parts = _parts_of(row)
    if judge.original is not None:
        return scorer_of_original(judge, parts.llm, parts.embeddings)
    module, _, name = judge.target.partition(":")
    made = getattr(importlib.import_module(module), name)
    models = ({"llm": parts.llm} if judge.asks else {}) | ({"embeddings": parts.embeddings} if judge.embeds else {})
    score: Callable[..., Awaitable[Any]] = made(**models, **judge.settings).ascore
    return score


def _parts_of(row: Any) -> _Parts:
    llm, embeddings = _classes()
    return _Parts(llm(row), embeddings(row))


@functools.cache
def _classes() -> _Parts:
    import_ragas()
    llms, embeddings = map(importlib.import_module, ("ragas.llms.base", "ragas.embeddings.base"))

    def hold(self: Any, row: _Row) -> None:
        self.row = row

    def generate(self: Any, prompt: str, response_model: Any) -> Any:
        request = self.row.question(prompt, response_model)
        return self.row.answered(request, self.row.at_hand(request), response_model)

    async def agenerate(self: Any, prompt: str, response_model: Any) -> Any:
        request = self.row.question(prompt, response_model)
        return self.row.answered(request, await self.row.fetch(request), response_model)

    def embed_text(self: Any, text: str, **_: Any) -> list[float]:
        request = self.row.embedding(text)
        vector: list[float] = self.row.vector(request, self.row.at_hand(request))
        return vector

    async def aembed_text(self: Any, text: str, **_: Any) -> list[float]:
        request = self.row.embedding(text)
        vector: list[float] = self.row.vector(request, await self.row.fetch(request))
        return vector

    async def aembed_texts(self: Any, texts: list[str], **_: Any) -> list[list[float]]:
        return [await aembed_text(self, text) for text in texts]  # one after the other: the steps keep their order

    asks = {"__init__": hold, "is_async": True, "generate": generate, "agenerate": agenerate}
    compares = {
        "__init__": hold, "embed_text": embed_text, "aembed_text": aembed_text, "aembed_texts": aembed_texts,
    }  # fmt: skip
    return _Parts(
        type("RowLLM", (llms.InstructorBaseRagasLLM,), asks),
        type("RowEmbeddings", (embeddings.BaseRagasEmbedding,), compares),
    )
