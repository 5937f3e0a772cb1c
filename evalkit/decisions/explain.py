"""From a red build to the missing evidence: one run triaged, or two runs compared row by row, each with its owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalkit.contract import Metric
from evalkit.decisions.explaining.explanation import Explained, Explanation, standing_of
from evalkit.decisions.explaining.paired_runs import checked_records
from evalkit.decisions.explaining.run_facts import RunFacts
from evalkit.decisions.explaining.searches import Search
from evalkit.decisions.explaining.two_runs import explain_two
from evalkit.decisions.triage import needs_triage, triage
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run

__all__ = ["explain"]


def explain(
    new: Run,
    old: Run | None = None,
    *,
    metric: Metric | None = None,
    on_rows: Callable[[int], object] = lambda _: None,
) -> Explanation:
    """Explain one run, or what changed between an older run and this one.

    Parameters
    ----------
    new : Run
        The run to explain.
    old : Run, optional
        The run it is compared with, row by row, matched by case id.
    metric : Metric, optional
        The metric that made `new`, for counterfactuals and to see what an edit of its source moved by itself; one of
        another fingerprint is not used, and a note says so. A bundled metric is found by itself.
    on_rows : callable, optional
        Told how many more rows were looked at.

    Returns
    -------
    Explanation
        For two runs, a row for each that changed state, value or decision, appeared or vanished; for one run, a row
        for each that fails, needs a person, or was not scored.

    Raises
    ------
    EvalkitError
        For a damaged or changed run folder, with file and line.
    """
    facts = RunFacts(new.manifest)
    usable, notes = _usable(metric, facts)
    if old is None:
        return _explain_one(new, facts, usable, notes, on_rows)
    return explain_two(new, old, usable, notes, on_rows)


def _usable(metric: Metric | None, facts: RunFacts) -> tuple[Metric | None, list[str]]:
    if metric is None:
        return _bundled(facts), []
    if metric.fingerprint == facts.metric.get("fingerprint"):
        return metric, []
    note = (
        f"{metric.name} as given is not the source that made this run (another fingerprint): it was not asked anything"
    )
    return None, [note]


def _bundled(facts: RunFacts) -> Metric | None:
    """Load a bundled metric by the name in the manifest, if it is still the same source."""
    from evalkit.metrics import BUILT_IN

    name = facts.metric.get("name")
    if name not in BUILT_IN:
        return None
    from evalkit.scoring.load import load_metric

    metric = load_metric(name)
    return metric if metric.fingerprint == facts.metric.get("fingerprint") else None


# --- one run --------------------------------------------------------------------------------------------------------


def _explain_one(
    run: Run, facts: RunFacts, metric: Metric | None, notes: list[str], on_rows: Callable[[int], object]
) -> Explanation:
    search = Search(metric, facts)
    rows: list[Explained] = []
    total = 0
    for record in checked_records(run):
        total += 1
        on_rows(1)
        if needs_triage(record):
            rows.append(_triaged(record, facts, search))
    if facts.policy is None:
        notes = [*notes, "the run was only scored: rows that miss something are listed, no policy says that they fail"]
    unchanged = total - len(rows)
    return Explanation(
        new=facts,
        old=None,
        rows=tuple(rows),
        total=total,
        unchanged=unchanged,
        unchanged_throughout=unchanged,
        notes=(*notes, *search.notes()),
    )


def _triaged(record: Record, facts: RunFacts, search: Search) -> Explained:
    found = triage(record, facts.metric.get("contract"))
    change: Any = record.state if record.state != "scored" else (record.decision or "missing")
    return Explained(
        record.case_id, change, found.first_divergence, found.owner, None, standing_of(record), found.sentence,
        findings=found.findings, would_flip=search.of(record),
    )  # fmt: skip
