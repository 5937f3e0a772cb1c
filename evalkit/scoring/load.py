"""METRIC to metric: a built-in name, ``package.module:object`` or ``path/to/file.py:object``."""

from __future__ import annotations

import importlib
import inspect
import operator
import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from evalkit.contract import EvalkitError, Metric
from evalkit.metrics import BUILT_IN
from evalkit.scoring.ragas_bridge import from_ragas, is_decorator_metric, is_of_ragas
from evalkit.scoring.ragas_bridge.judge_request import is_llm_metric, judge_from_ragas
from evalkit.scoring.user_code import import_module, run_file

__all__ = ["as_metric", "load_metric"]


def load_metric(spec: str) -> Metric:
    """Load the metric that `spec` names.

    Parameters
    ----------
    spec : str
        A built-in name; ``package.module:object``; or ``path/to/file.py:object``, where the path starts at the current
        folder. The object is an evalkit metric or one made by a ragas decorator.

    Returns
    -------
    Metric
        A file is run anew at each load, under a module name of its own; what lies beside it can be imported while it
        loads. What it prints goes to stderr.

    Raises
    ------
    EvalkitError
        For whatever keeps the metric from being loaded, with the file and line where there is one.

    Examples
    --------
    >>> load_metric("evidence_coverage").version
    '1'
    >>> load_metric("evidence_covrage")
    Traceback (most recent call last):
    ...
    evalkit.contract.faults.EvalkitError: there is no built-in metric 'evidence_covrage', did you mean
    'evidence_coverage'?; built in are ...
    """
    if ":" not in spec:
        return _built_in(spec)
    place, _, name = spec.rpartition(":")
    module = run_file(_existing(Path(place))) if _is_path(place) else import_module(place)
    found = _object_in(module, name, place)
    try:
        return as_metric(found)
    except EvalkitError as fault:
        raise EvalkitError(fault.message, where=spec, do=fault.do) from fault


def as_metric(obj: Any) -> Metric:
    """Return an evalkit metric as it is, a ragas decorator metric brought over, and refuse everything else."""
    if isinstance(obj, Metric):
        return obj
    if is_llm_metric(obj):
        return judge_from_ragas(obj)
    if is_of_ragas(obj):
        return from_ragas(obj)
    if inspect.isfunction(obj):
        msg = f"{obj.__name__} is a plain function: nothing says which values it may return"
        mend = "decorate it with @numeric_metric(), @discrete_metric() or @ranking_metric() of evalkit or ragas.metrics"
        raise EvalkitError(msg, do=mend)
    shown = f"the class {obj.__name__}" if isinstance(obj, type) else f"an object of type {type(obj).__name__}"
    msg = f"a metric was expected; got {shown}"
    mend = "name an evalkit metric, or a metric object of ragas"
    if isinstance(obj, type) and any(kind.__module__.partition(".")[0] == "ragas" for kind in obj.__mro__):
        mend = f"make an object of it at the end of its file, and name that: my_metric = {obj.__name__}()"
    raise EvalkitError(msg, do=mend)


def _built_in(spec: str) -> Metric:
    if spec in BUILT_IN:
        module, _, name = BUILT_IN[spec].partition(":")
        return as_metric(getattr(importlib.import_module(module), name))
    known = f"built in are {', '.join(sorted(BUILT_IN))}"
    if _is_path(spec):
        msg = f"{spec!r} names a file, but not the metric in it"
        raise EvalkitError(msg, do=f"write {spec}:object")
    msg = f"there is no built-in metric {spec!r}{_did_you_mean(spec, BUILT_IN)}"
    raise EvalkitError(msg, do=f"{known}; your own is named path/to/file.py:object or package.module:object")


def _is_path(place: str) -> bool:
    return place.endswith(".py") or "/" in place or os.sep in place


def _existing(path: Path) -> Path:
    if path.is_file() and path.suffix == ".py":
        return path
    if path.exists():
        msg = f"a Python file was expected; this is {'a folder' if path.is_dir() else 'another kind of file'}"
    else:
        msg = f"there is no such file{_did_you_mean(path.name, [file.name for file in path.parent.glob('*.py')])}"
    raise EvalkitError(msg, where=str(path), do="give the path of a .py file, as seen from the current folder")


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    from rapidfuzz import process

    near = process.extractOne(name, list(known), score_cutoff=60)
    return f", did you mean {near[0]!r}?" if near else ""


def _object_in(module: ModuleType, name: str, place: str) -> Any:
    try:
        return operator.attrgetter(name)(module)
    except AttributeError:
        metrics = sorted(key for key, value in vars(module).items() if _is_metric(value))
        msg = f"has no object {name!r}{_did_you_mean(name, metrics)}"
        mend = f"its metrics are {', '.join(metrics)}" if metrics else "it holds no metric: decorate a function"
        raise EvalkitError(msg, where=place, do=mend) from None


def _is_metric(value: Any) -> bool:
    return isinstance(value, Metric) or is_decorator_metric(value) or (is_of_ragas(value) and hasattr(value, "name"))
