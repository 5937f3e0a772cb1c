"""The bundled metrics as a Markdown table, written from their contracts: the README's own cannot fall behind."""

from __future__ import annotations

import re
from collections.abc import Iterable

from evalkit.contract import Metric
from evalkit.contract.judge import Judge
from evalkit.metrics import BUILT_IN
from evalkit.pages.plain import plain
from evalkit.scoring.load import load_metric

__all__ = ["metric_table"]

_HEAD = ("metric", "gives", "measures", "reviewed inputs", "produced inputs", "cannot establish")


def metric_table(metrics: Iterable[Metric] | None = None) -> str:
    """Return a table of metrics, one a line, from nothing but their contracts; the bundled ones by default.

    Examples
    --------
    >>> print(metric_table([load_metric("evidence_coverage")]).splitlines()[2][:60])
    | `evidence_coverage` | 0.0 to 1.0, higher is better | the s
    """
    found = [load_metric(name) for name in sorted(BUILT_IN)] if metrics is None else metrics
    rows = [_HEAD, ("---",) * len(_HEAD), *map(_row, found)]
    return "".join(f"| {' | '.join(cells)} |\n" if cells[0] != "---" else f"|{'|'.join(cells)}|\n" for cells in rows)


def _row(metric: Metric) -> tuple[str, ...]:
    contract = metric.contract
    if contract is None:
        return (f"`{metric.name}`", _gives(metric), *["no contract"] * 4)
    inputs = [", ".join(f"`{name}`" for name in names) or "none" for names in (contract.reviewed, contract.produced)]
    return (f"`{metric.name}`", _gives(metric), _cell(contract.measures), *inputs, _cell(contract.cannot_establish))


def _gives(metric: Metric) -> str:
    allowed = metric.allowed_values
    if isinstance(allowed, list):
        values = ", ".join(f"`{label}`" for label in allowed)
    elif isinstance(allowed, int):
        values = f"a ranking of {allowed}"
    else:
        better = metric.contract.better if metric.contract else "higher"
        values = f"{allowed[0]} to {allowed[-1]}, {better} is better"
    return f"{values} (a model judges)" if isinstance(metric, Judge) else values


def _cell(text: str) -> str:
    """Return text that stays in its cell and is shown as it is written."""
    return re.sub(r"([\\|*_`<>\[\]])", r"\\\1", plain(text, newline=" "))
