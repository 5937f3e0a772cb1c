"""JUDGE to judge: named like a METRIC; a ragas metric that asks a model is brought over with its prompt as it is."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

from evalkit.contract import EvalkitError
from evalkit.contract.judge import Judge
from evalkit.scoring.load import as_metric, load_metric
from evalkit.scoring.user_code import import_module, run_file

__all__ = ["as_judge", "load_judge", "load_object"]


def load_judge(spec: str) -> Judge:
    """Load the judge that `spec` names.

    Parameters
    ----------
    spec : str
        A built-in name; ``package.module:object``; or ``path/to/file.py:object``. The object is a `Judge`, or a
        ``DiscreteMetric``, ``NumericMetric`` or ``RankingMetric`` of ragas with a prompt.

    Raises
    ------
    EvalkitError
        Where nothing can be loaded, or what is loaded computes its value and asks nobody.

    Examples
    --------
    >>> load_judge("refund_answer").allowed_values
    ['pass', 'fail']
    """
    if ":" not in spec:
        return as_judge(load_metric(spec))
    try:
        found = load_object(spec)
    except AttributeError:
        return as_judge(load_metric(spec))  # which says what is missing, and what there is
    return as_judge(found)


def load_object(spec: str) -> Any:
    """Return what ``path/to/file.py:object`` or ``package.module:object`` names, whatever it is.

    Raises
    ------
    AttributeError
        Where there is no such file or object.
    """
    place, _, name = spec.rpartition(":")
    if not place.endswith(".py"):
        return operator.attrgetter(name)(import_module(place))
    path = Path(place)
    return operator.attrgetter(name)(run_file(path) if path.is_file() else None)


def as_judge(obj: Any) -> Judge:
    """Return a judge as it is, a ragas metric with a prompt brought over, and refuse everything else."""
    metric = as_metric(obj)
    if isinstance(metric, Judge):
        return metric
    msg = f"{metric.name} computes its value and asks no model"
    raise EvalkitError(msg, do=f"score it: evalkit score {metric.name} CASES --run DIR")
