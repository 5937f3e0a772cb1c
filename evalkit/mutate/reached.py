"""Which lines of a metric each case reaches: the figure that tempts, because it says nothing of what is checked."""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

import orjson

from evalkit.mutate.blueprint import Blueprint
from evalkit.mutate.runner import Beat, Limits, Stopped, Task, run_tasks
from evalkit.mutate.source import Unit
from evalkit.mutate.trials import Trial

__all__ = ["reached_lines", "statement_lines"]


def statement_lines(units: Sequence[Unit]) -> list[int]:
    """Return the lines on which a statement of a reached function begins, docstrings left out."""
    lines = set()
    for unit in units:
        if unit.kind != "function":
            continue
        shift = unit.first_line - unit.root_line
        for node in ast.walk(unit.root):
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.stmt) and node is not unit.root and not is_text:
                lines.add(node.lineno + shift)
    return sorted(lines)


def reached_lines(blueprint: Blueprint, trials: Sequence[Trial], limits: Limits) -> dict[str, Any]:
    """Return ``of`` (all statement lines) and ``by_case`` (those that each case reaches), from a traced run."""
    of = statement_lines(blueprint.units)
    by_case: dict[str, list[int]] = {trial.case_id: [] for trial in trials}
    for event in run_tasks([_task(blueprint, trials, frozenset(of))], limits):
        if not isinstance(event.message, Stopped):
            case_id, lines = event.message
            by_case[case_id] = lines
    return {"of": of, "by_case": by_case}


def _task(blueprint: Blueprint, trials: Sequence[Trial], wanted: frozenset[int]) -> Task:
    def task(beat: Beat) -> Iterator[Any]:
        hit: set[int] = set()
        filename = blueprint.module.filename

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            if frame.f_code.co_filename != filename:
                return None
            if event == "line":
                hit.add(frame.f_lineno)
            return trace

        measure = blueprint.metric.measure
        threading.settrace(trace)  # an async metric runs on a thread of its own
        for number, trial in enumerate(trials):
            beat(number)
            hit.clear()
            sys.settrace(trace)
            try:
                measure(orjson.loads(trial.inputs))
            finally:
                sys.settrace(None)
            yield [trial.case_id, sorted(hit & wanted)]

    return task
