"""From a metric that was written only against ragas to an evalkit metric: its function or method, unchanged."""

from __future__ import annotations

import copy
import inspect
from types import FunctionType
from typing import Any

from evalkit.contract import Metric, make_metric
from evalkit.scoring.ragas_bridge.brought_judge import stepped_judge_of
from evalkit.scoring.ragas_bridge.ways import Way, fresh, is_of_ragas, modules_of, safe_name, way_of

__all__ = ["from_ragas", "is_decorator_metric", "is_of_ragas"]

_DECORATOR = "ragas.metrics.decorator"


def is_decorator_metric(obj: object) -> bool:
    """Whether one of ragas' decorators made the object of a plain function."""
    return _DECORATOR in modules_of(obj) and isinstance(getattr(obj, "_func", None), FunctionType)


def from_ragas(obj: Any) -> Metric:
    """Bring a metric that was written only against ragas, unchanged.

    Parameters
    ----------
    obj : ragas metric object
        Made by ``numeric_metric``, ``discrete_metric`` or ``ranking_metric`` of ``ragas.metrics``; or of a class that
        stands on ``SimpleBaseMetric`` (also by way of ``ragas.metrics.collections``) or on the older
        ``SingleTurnMetric``.

    Returns
    -------
    Metric
        Of the same function, name and allowed values, sync or async. It has no contract (version ``"0"``) until
        `evalkit.attach` gives it one. A name that is no plain word is made one; its author's own stays as
        ``display_name``. One that asks a model becomes a judge. An object that `to_ragas` made gives back
        the metric it was made from.

    Raises
    ------
    EvalkitError
        For any other object, and where the lint of the signature refuses the function.

    Notes
    -----
    A decorated object is never called: it keeps the arguments of its last row (field case B08), and its ``score``
    patches the event loop of a whole notebook kernel (H01). An object of a class is copied for each row. An older
    metric does not say its range: it is taken to be 0 to 1.
    """
    if not is_decorator_metric(obj):
        return _from_class(obj)
    function: FunctionType = obj._func  # noqa: SLF001 - ragas offers no public way to the function
    metric = getattr(function, "evalkit_metric", None)
    if isinstance(metric, Metric):
        return metric
    allowed_values = copy.copy(obj.allowed_values)
    return make_metric(function, allowed_values, name=safe_name(obj), origin="ragas", original=obj)


def _from_class(obj: Any) -> Metric:
    way = way_of(obj)
    allowed_values = copy.copy(getattr(obj, "allowed_values", (0.0, 1.0)))
    if way.asks or way.embeds:
        return stepped_judge_of(obj, way, allowed_values)
    return make_metric(_function_of(obj, way), allowed_values, name=safe_name(obj), origin="ragas", original=obj)


def _function_of(obj: Any, way: Way) -> Any:
    """Make a plain function of the object's method, with its inputs by name; its source is the method's."""
    if way.is_legacy or inspect.iscoroutinefunction(way.method):

        async def function(**inputs: Any) -> Any:
            return await way.call_on(fresh(obj))(**inputs)

    else:

        def function(**inputs: Any) -> Any:  # type: ignore[misc] # the same function of a method that is not async
            return way.call_on(fresh(obj))(**inputs)

    made: Any = function
    made.__wrapped__, made.__signature__ = way.method, way.signature
    made.__annotations__ = {name: raw.annotation for name, raw in way.signature.parameters.items()}
    made.__module__, made.__name__ = way.method.__module__, safe_name(obj)
    made.__qualname__, made.__doc__ = way.method.__qualname__, way.method.__doc__ or type(obj).__doc__
    return made
