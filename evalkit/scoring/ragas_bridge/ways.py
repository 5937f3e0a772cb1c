"""How a ragas metric object is called: by which of its methods, with which inputs, and whether it asks a model."""

from __future__ import annotations

import copy
import importlib
import inspect
import re
import types
import typing
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from evalkit.contract import EvalkitError

__all__ = ["LEGACY", "Way", "fresh", "is_of_ragas", "modules_of", "safe_name", "shown", "way_of"]

LEGACY = "_single_turn_ascore"
"""What a subclass of ragas' older ``SingleTurnMetric`` writes."""

_COLUMNS: Mapping[str, Any] = {
    "user_input": str,
    "response": str,
    "reference": str,
    "retrieved_contexts": list[str],
    "reference_contexts": list[str],
}


class Way(NamedTuple):
    """The method that scores a row."""

    method: types.MethodType
    """Of the object that was brought, as its author wrote it."""
    signature: inspect.Signature
    """Its inputs by name, with their types."""
    is_legacy: bool
    asks: bool
    embeds: bool

    def call_on(self, obj: Any) -> Callable[..., Any]:
        """Return a function of the inputs that calls the same method of another object (one for each row)."""
        method = getattr(obj, self.method.__name__)
        return _of_a_sample(method) if self.is_legacy else method


def modules_of(obj: object) -> list[str]:
    """Name the modules of an object's classes."""
    return [kind.__module__ for kind in type(obj).__mro__]


def is_of_ragas(obj: object) -> bool:
    """Tell an object of a ragas class by the modules of its classes, without importing ragas."""
    return any(module.partition(".")[0] == "ragas" for module in modules_of(obj))


def safe_name(obj: Any) -> str:
    """Return an object's name as a column, a folder and a command-line word can have it.

    >>> from types import SimpleNamespace
    >>> safe_name(SimpleNamespace(name="Ton der Antwort (höflich) v2"))
    'Ton_der_Antwort_hoflich_v2'
    """
    said = str(getattr(obj, "name", "") or type(obj).__name__)
    if said.isidentifier() and said.isascii():
        return said
    plain = unicodedata.normalize("NFKD", said).encode("ascii", "ignore").decode()
    word = re.sub(r"\W+", "_", plain).strip("_") or type(obj).__name__
    return word if word.isidentifier() else f"metric_{word}"


def shown(obj: Any) -> str:
    """Name an object and its class for a message."""
    name = getattr(obj, "name", type(obj).__name__)
    return f"{name!r} (of class {type(obj).__qualname__})"


def way_of(obj: Any) -> Way:
    """Find how an object of ragas' class style, old or new, is scored.

    Raises
    ------
    EvalkitError
        Where it cannot be: a conversation, a method that takes whatever it is given, another object's model inside.
    """
    kinds = {kind.__name__ for kind in type(obj).__mro__ if kind.__module__.partition(".")[0] == "ragas"}
    is_legacy = "SingleTurnMetric" in kinds
    if "MultiTurnMetric" in kinds and not is_legacy:
        msg = f"{shown(obj)} scores whole conversations; a case of evalkit is one turn"
        raise EvalkitError(msg, do="score each turn by a single-turn metric, one case a turn")
    if not is_legacy and "SimpleBaseMetric" not in kinds:
        msg = f"{shown(obj)} is not a metric"
        raise EvalkitError(msg, do="name the object that a ragas decorator such as @numeric_metric() made, or a metric")
    asks, embeds = hasattr(obj, "llm"), getattr(obj, "embeddings", None) is not None
    if is_legacy and hasattr(obj, "embeddings"):
        msg = f"{shown(obj)} uses ragas' older embeddings, which evalkit cannot keep under a complete key"
        raise EvalkitError(msg, do="write it with ragas.metrics.collections.base.BaseMetric, which takes newer ones")
    _refuse_hidden_models(obj)
    method = getattr(obj, LEGACY) if is_legacy else _scoring_method(obj)
    signature = _legacy_signature(obj) if is_legacy else _own_signature(obj, method)
    return Way(method, signature, is_legacy, asks, embeds)


def _refuse_hidden_models(obj: Any) -> None:
    """Refuse a metric that holds another model than its own: calls of that one could be neither kept nor counted."""
    for name, value in vars(obj).items():
        hides = is_of_ragas(value) and (
            hasattr(value, "llm") or any(m.startswith(("ragas.llms", "ragas.embeddings")) for m in modules_of(value))
        )
        if hides and name not in ("llm", "embeddings"):
            msg = f"{shown(obj)} asks a model through its attribute {name!r}, whose calls would not be kept or counted"
            raise EvalkitError(msg, do="bring that metric by itself, or ask through the metric's own llm")


def _scoring_method(obj: Any) -> types.MethodType:
    """Choose ``ascore`` or ``score``: the one that the author wrote, and that names its inputs."""
    found = [getattr(obj, name) for name in ("ascore", "score") if inspect.ismethod(getattr(obj, name, None))]
    own = [method for method in found if _home_of(method).partition(".")[0] != "ragas"] or found
    named = [method for method in own if not _collects(method)]
    if named or own:
        return (named or own)[0]  # type: ignore[no-any-return] # asked above: a method
    msg = f"{shown(obj)} has no method that scores a row"
    raise EvalkitError(msg, do="write async def ascore(self, …) with the inputs by name")


def _home_of(method: types.MethodType) -> str:
    return str(method.__func__.__module__)


def _collects(method: types.MethodType) -> bool:
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(method).parameters.values())


def _own_signature(obj: Any, method: types.MethodType) -> inspect.Signature:
    try:
        hints = typing.get_type_hints(method, include_extras=True)
    except Exception as error:
        msg = f"an annotation of {shown(obj)} cannot be read ({error})"
        raise EvalkitError(msg, do="annotate with plain types such as str, float, list[str]") from error
    parameters = [
        raw.replace(annotation=hints.get(name, raw.empty))
        for name, raw in inspect.signature(method).parameters.items()
        if name not in ("llm", "callbacks")
    ]
    return inspect.Signature(parameters)


def _legacy_signature(obj: Any) -> inspect.Signature:
    """Read the inputs from the columns that an older metric declares."""
    found = next((set(names) for kind, names in obj._required_columns.items() if kind.name == "SINGLE_TURN"), set())  # noqa: SLF001 - the public view leaves out which ones are optional
    columns = {name.partition(":")[0]: name.partition(":")[2] for name in sorted(found)}
    columns = {name: mark for name, mark in columns.items() if mark != "ignored"}
    if not columns:
        msg = f"{shown(obj)} declares no required columns, so nothing says which inputs it reads"
        raise EvalkitError(msg, do="declare them: _required_columns = {MetricType.SINGLE_TURN: {…}}")
    if unknown := [name for name in columns if name not in _COLUMNS]:
        msg = f"{shown(obj)} needs the column {unknown[0]!r}, which is no text and no list of texts"
        raise EvalkitError(msg, do=f"it may read {', '.join(_COLUMNS)}")
    return inspect.Signature([_column(name, is_optional=mark == "optional") for name, mark in columns.items()])


def _column(name: str, *, is_optional: bool) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    if is_optional:
        return inspect.Parameter(name, kind, annotation=_COLUMNS[name] | None, default=None)
    return inspect.Parameter(name, kind, annotation=_COLUMNS[name])


def _of_a_sample(method: Callable[..., Any]) -> Callable[..., Any]:
    async def score(**inputs: Any) -> Any:
        sample = importlib.import_module("ragas.dataset_schema").SingleTurnSample(**inputs)
        return await method(sample, callbacks=[])

    return score


def fresh(obj: Any) -> Any:
    """Return a copy for one row: what a metric notes on itself must not reach the next row (field case B08)."""
    return copy.copy(obj)
