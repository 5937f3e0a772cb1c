"""From an evalkit metric to a ragas metric object: ragas carries the score, evalkit computes it."""

from __future__ import annotations

import functools
import inspect
import operator
import typing
from types import ModuleType
from typing import Any

from evalkit.contract import Measured, Metric
from evalkit.scoring.ragas_bridge.guard import import_ragas

__all__ = ["NotScored", "to_ragas"]


class NotScored(Exception):  # noqa: N818 - it carries a row's reason through ragas; nothing went wrong
    """Raised to ragas for a row that is invalid or whose metric failed: ragas makes it a result of ``None``."""


def to_ragas(metric: Metric) -> Any:
    """Make a ragas metric object of an evalkit metric.

    Parameters
    ----------
    metric : Metric

    Returns
    -------
    ragas metric object
        Made by ragas' own decorator, with the metric's name, allowed values and signature; its results are ragas'
        ``MetricResult``. It gives the same value as the metric, and ``None`` (or a ``TypeError`` at the call) exactly
        where the metric says invalid or error, but for the differences listed in `evalkit.scoring.ragas_bridge`.

    Raises
    ------
    EvalkitError
        Where ragas cannot be imported.

    Notes
    -----
    Importing ragas takes 10 seconds or more, and its ``score`` about a millisecond a row.
    """
    ragas = import_ragas()
    decorators = {"numeric": ragas.numeric_metric, "discrete": ragas.discrete_metric, "ranking": ragas.ranking_metric}
    make = decorators[metric.kind](name=metric.name, allowed_values=metric.allowed_values)
    return make(_adapter(metric, ragas))


def _adapter(metric: Metric, ragas: ModuleType) -> Any:
    """Return a function with the metric's signature; the arguments ragas has validated go through the metric again."""

    def result(measured: Measured) -> Any:
        if measured.state != "scored":
            raise NotScored(measured.reason)
        return ragas.MetricResult(measured.value, measured.reason)

    def adapter(**inputs: Any) -> Any:
        return result(metric.measure(inputs))

    async def async_adapter(**inputs: Any) -> Any:
        import asyncio  # with the first row of an async caller: whoever only loads a metric does not pay for it

        return result(await asyncio.to_thread(metric.measure, inputs))

    made: Any = async_adapter if inspect.iscoroutinefunction(metric.function) else adapter
    annotations = {parameter.name: _required(parameter.annotation) for parameter in metric.parameters}
    signature = inspect.signature(metric.function)
    made.__signature__ = signature.replace(
        parameters=[raw.replace(annotation=annotations[name]) for name, raw in signature.parameters.items()],
        return_annotation=inspect.Signature.empty,
    )
    made.__annotations__ = annotations
    made.__name__ = made.__qualname__ = metric.name
    made.__doc__ = metric.function.__doc__
    made.evalkit_metric = metric
    return made


def _required(annotation: Any) -> Any:
    """Write ``Optional[X]`` as ``X | None``: ragas gives only the former a default that nobody declared."""
    if typing.get_origin(annotation) is typing.Union:
        return functools.reduce(operator.or_, typing.get_args(annotation))
    return annotation
