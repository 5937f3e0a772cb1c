"""The whole of ``evalkit explain`` and ``evalkit compare``: load, explain, write what was asked for."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.contract import EvalkitError, Metric, Outcome
from evalkit.decisions.compare import check_observation, compare
from evalkit.decisions.explain import explain
from evalkit.decisions.explaining.dual_run import dual_run
from evalkit.decisions.policy import Policy, read_policy
from evalkit.pages.compare_text import compare_markdown, compare_screen
from evalkit.pages.explain_text import explain_markdown, explain_screen
from evalkit.pages.progress import counting
from evalkit.scoring.load import load_metric
from evalkit.scoring.run import Run, open_run, write_whole

__all__ = ["ExplainDone", "compare_metrics", "explain_runs"]


class ExplainDone(NamedTuple):
    """A finished explanation or comparison."""

    facts: dict[str, Any]
    screen: str
    outcome: Outcome


def explain_runs(run: Path, older: Path | None, metric: str | None, markdown: Path | None = None) -> ExplainDone:
    """Explain a run folder, alone or against an older one."""
    new, old = open_run(run), open_run(older) if older else None
    asked = load_metric(metric) if metric else None
    with counting("rows compared") as on_rows:
        found = explain(new, old, metric=asked, on_rows=on_rows).facts()
    if markdown:
        write_whole(markdown, explain_markdown(found))
    return ExplainDone(found, explain_screen(found), Outcome.passed)


def compare_metrics(
    specs: tuple[str, str],
    cases: Path,
    policy: Path | None = None,
    *,
    as_of: date | None = None,
    within: float = 0.0,
    feeds: Mapping[str, str] | None = None,
    markdown: Path | None = None,
) -> ExplainDone:
    """Rehearse a migration from the first metric to the second over stored cases."""
    if not math.isfinite(within) or within < 0:
        msg = f"--within must be a finite number of 0 or more; got {within!r}"
        raise EvalkitError(msg)
    if not cases.exists():
        msg = "there is no such file or folder of cases"
        raise EvalkitError(msg, where=str(cases), do="give the path of a .jsonl file or of a run folder")
    old, new = (_metric_or_run(spec) for spec in specs)
    limits = _usable_policy(policy) if policy else None
    window = check_observation(limits, _names(specs[0], old), as_of or datetime.now(UTC).date())
    pairs = dual_run(old, new, cases, policy=limits, feeds=feeds)
    # A metric that prints must not end up between the lines of the result.
    with counting("rows compared") as on_rows, contextlib.redirect_stdout(sys.stderr):
        found = compare(pairs, within=within, notes=tuple(window), on_rows=on_rows)
    facts = found.facts()
    if markdown:
        write_whole(markdown, compare_markdown(facts))
    return ExplainDone(facts, compare_screen(facts), found.outcome)


def _metric_or_run(spec: str) -> Metric | Run:
    return open_run(spec) if ":" not in spec and Path(spec).is_dir() else load_metric(spec)


def _names(spec: str, given: Metric | Run) -> tuple[str, ...]:
    name = given.name if isinstance(given, Metric) else str(given.manifest["metric"].get("name"))
    return (name, spec, Path(spec).name)


def _usable_policy(path: Path) -> Policy:
    file = read_policy(path)
    if file.policy is None:
        msg = f"the policy cannot be used: {'; '.join(file.problems)}"
        raise EvalkitError(msg, where=str(path), do="mend the policy file")
    return file.policy
