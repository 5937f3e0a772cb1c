"""A ragas metric object of class style that asks a model: brought as a judge whose calls are kept and counted."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

from evalkit.contract import EvalkitError
from evalkit.contract.source import fingerprint_of
from evalkit.contract.stepped import SteppedJudge
from evalkit.scoring.ragas_bridge.ways import Way, fresh, safe_name, shown, way_of

__all__ = ["scorer_of_original", "stepped_judge_of", "target_of"]

_COLLECTIONS = "ragas.metrics.collections"


def stepped_judge_of(obj: Any, way: Way, allowed_values: Any) -> SteppedJudge:
    """Bring a metric that asks a model: its prompts, order of questions and arithmetic stay its own.

    Its own model object is left alone and never asked: evalkit puts its own in the place, for each row, so that every
    call is kept under a complete key, counted against the budget and replayed without a cost.
    """
    inputs, lists = [], []
    for name, parameter in way.signature.parameters.items():
        kind = _kind_of(parameter.annotation)
        if kind is None and parameter.default is not parameter.empty:
            continue  # a setting with a value of its own
        if kind is None:
            msg = f"the input {name!r} of {shown(obj)} is neither a text nor a list of texts: a model is shown no other"
            raise EvalkitError(msg, do=f"annotate it {name}: str or {name}: list[str]")
        inputs.append(name)
        if kind is list:
            lists.append(name)
    if not inputs:
        msg = f"{shown(obj)} takes no input by name"
        raise EvalkitError(msg, do="name the inputs of its ascore as annotated parameters")
    return SteppedJudge(
        name=safe_name(obj),
        target=target_of(obj),
        inputs=tuple(inputs),
        lists=tuple(lists),
        allowed_values=allowed_values,
        asks=way.asks,
        embeds=way.embeds,
        source=fingerprint_of(way.method, None),
        origin="ragas",
        original=obj,
    )


def _kind_of(annotation: Any) -> type | None:
    """Tell texts (``str``) and lists of texts (``list``) by their type, however it is written."""
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    options = typing.get_args(annotation) if is_union else (annotation,)
    kinds = {option for option in options if option is not type(None)}
    if kinds == {str}:
        return str
    is_list = len(kinds) == 1 and all(
        typing.get_origin(kind) is list and typing.get_args(kind) == (str,) for kind in kinds
    )
    return list if is_list else None


def target_of(obj: Any) -> str:
    """Name the class of an object; one of ragas' standard metrics by the name under which it is read closely."""
    kind = type(obj)
    module = _COLLECTIONS if kind.__module__.startswith(f"{_COLLECTIONS}.") else kind.__module__
    return f"{module}:{kind.__qualname__}"


def scorer_of_original(judge: SteppedJudge, llm: Any, embeddings: Any) -> Callable[..., Any]:
    """Return the scoring method of a copy of the object, with these models in the place of its own."""
    obj = fresh(judge.original)
    if judge.asks:
        obj.llm = llm
    if judge.embeds:
        obj.embeddings = embeddings
    call = way_of(judge.original).call_on(obj)

    async def score(**inputs: Any) -> Any:
        result = call(**inputs)
        return await result if inspect.isawaitable(result) else result

    return score
