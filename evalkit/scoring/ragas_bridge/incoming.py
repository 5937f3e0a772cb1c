"""From a ragas decorator metric to an evalkit metric: its function is taken, its object is left alone."""

from __future__ import annotations

import copy
from types import FunctionType
from typing import Any

from evalkit.contract import EvalkitError, Metric, make_metric

__all__ = ["from_ragas", "is_decorator_metric", "is_of_ragas"]

_DECORATOR = "ragas.metrics.decorator"
_ASKS_A_MODEL = frozenset({"SimpleLLMMetric", "MetricWithLLM", "MetricWithEmbeddings"})


def is_of_ragas(obj: object) -> bool:
    """Tell an object of a ragas class by the modules of its classes, without importing ragas."""
    return any(module.partition(".")[0] == "ragas" for module in _modules(obj))


def is_decorator_metric(obj: object) -> bool:
    """Whether one of ragas' decorators made the object of a plain function."""
    return _DECORATOR in _modules(obj) and isinstance(getattr(obj, "_func", None), FunctionType)


def _modules(obj: object) -> list[str]:
    return [kind.__module__ for kind in type(obj).__mro__]


def from_ragas(obj: Any) -> Metric:
    """Bring a metric that was written only against ragas, unchanged.

    Parameters
    ----------
    obj : ragas metric object
        Made by ``numeric_metric``, ``discrete_metric`` or ``ranking_metric`` of ``ragas.metrics``.

    Returns
    -------
    Metric
        Of the same function, name and allowed values, sync or async. It has no contract (version ``"0"``) until
        `evalkit.attach` gives it one. An object that `to_ragas` made gives back the metric it was made from.

    Raises
    ------
    EvalkitError
        For any other ragas object, and where the lint of the signature refuses the function.

    Notes
    -----
    The object itself is never called: it keeps the arguments of its last row (field case B08), and its ``score``
    patches the event loop of a whole notebook kernel (H01).
    """
    if not is_decorator_metric(obj):
        raise _refusal(obj)
    function: FunctionType = obj._func  # noqa: SLF001 - ragas offers no public way to the function
    metric = getattr(function, "evalkit_metric", None)
    if isinstance(metric, Metric):
        return metric
    allowed_values = copy.copy(obj.allowed_values)
    return make_metric(function, allowed_values, name=obj.name, origin="ragas", original=obj)


def _refusal(obj: Any) -> EvalkitError:
    shown = f"{type(obj).__name__} of {type(obj).__module__}"
    name = getattr(obj, "name", type(obj).__name__)
    asks_a_model = hasattr(obj, "llm") or hasattr(obj, "embeddings")
    if asks_a_model or _ASKS_A_MODEL & {kind.__name__ for kind in type(obj).__mro__}:
        msg = f"{name!r} ({shown}) asks a model: it is a judge, and each of its calls is paid for and may fail"
        return EvalkitError(msg, do="run it with `evalkit judge`, and gate the run folder that leaves")
    if not any(hasattr(obj, way) for way in ("score", "ascore", "single_turn_ascore", "multi_turn_ascore")):
        msg = f"{shown} is not a metric"
        return EvalkitError(msg, do="name the object that a ragas decorator such as @numeric_metric() made")
    msg = f"{name!r} ({shown}) was not made by a ragas decorator, so it has no function to score rows with"
    return EvalkitError(msg, do="call it in a function of your own, and decorate that with @numeric_metric()")
