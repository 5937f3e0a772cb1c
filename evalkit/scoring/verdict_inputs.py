"""Verdicts of earlier runs as inputs of a metric: a combined figure is computed from them, and hides none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evalkit.cases.read import BadLine, Case
from evalkit.contract import EvalkitError, Metric, sha256_file
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run, open_run
from evalkit.scoring.score import Scorer

__all__ = ["VerdictScorer", "verdict_scorer"]


class VerdictScorer:
    """Scores cases of which some inputs are the values of earlier runs; offers what `Scorer` offers.

    A row that an earlier run did not score is not scored here either: it keeps that run's state, owner and reason, so
    a verdict that could not be read stays an error and never counts as an unfavourable one.

    Parameters
    ----------
    scorer : Scorer
    verdicts : mapping
        ``{parameter: {case_id: record}}``.
    """

    def __init__(self, scorer: Scorer, verdicts: Mapping[str, Mapping[str, Record]]) -> None:
        self.metric = scorer.metric
        self._scorer = scorer
        self._verdicts = {scorer.feeds[name]: (name, records) for name, records in verdicts.items()}
        self.required = tuple(key for key in scorer.required if key not in self._verdicts)
        self.optional = tuple(key for key in scorer.optional if key not in self._verdicts)
        self.reviewed = scorer.reviewed

    def record(self, item: Case | BadLine) -> Record:
        """Return the record of one line."""
        if isinstance(item, BadLine):
            return self._scorer.record(item)
        found = {key: (name, records.get(item.case_id)) for key, (name, records) in self._verdicts.items()}
        given = {key: record.value for key, (_, record) in found.items() if record and record.state == "scored"}
        own = self._scorer.record(item._replace(fields={**item.fields, **dict.fromkeys(found), **given}))
        lost = [(name, record) for name, record in found.values() if record is None or record.state != "scored"]
        return _worst(own, lost) if lost else own


def _worst(own: Record, lost: list[tuple[str, Record | None]]) -> Record:
    order = ("error", "unrun", "invalid")  # what failed is said before what was never fit to be asked
    name, record = min(lost, key=lambda found: order.index(found[1].state) if found[1] else 1)
    others = f" (and {len(lost) - 1} more of its verdicts are missing)" if len(lost) > 1 else ""
    if record is None:
        reason = f"{name}: the run of its verdicts has no such case{others}"
        return own._replace(state="unrun", value=None, reason=reason, detail={}, error_kind="no_verdict", owner="judge")
    return own._replace(
        state=record.state,
        value=None,
        reason=f"{name}: {record.reason or record.state}{others}",
        detail={},
        error_kind=record.error_kind,
        owner=record.owner,
    )


def verdict_scorer(
    metric: Metric, cases: Path, runs: Mapping[str, Path], feeds: Mapping[str, str] | None = None
) -> VerdictScorer:
    """Make the scorer of a metric whose inputs are verdicts of earlier runs over the same file.

    Parameters
    ----------
    metric : Metric
    cases : path
        The file that those runs were made of.
    runs : mapping
        ``{parameter: run folder}``.

    Raises
    ------
    EvalkitError
        For a parameter that the metric does not have, or a run over another file.
    """
    names = [parameter.name for parameter in metric.parameters]
    if unknown := [name for name in runs if name not in names]:
        msg = f"--verdict names {unknown[0]!r}, which {metric.name} does not take"
        raise EvalkitError(msg, do=f"its parameters are {', '.join(names)}")
    wanted = sha256_file(cases)
    verdicts = {name: _by_case(open_run(folder), wanted, cases) for name, folder in runs.items()}
    return VerdictScorer(Scorer(metric, feeds), verdicts)


def _by_case(run: Run, wanted: str, cases: Path) -> dict[str, Record]:
    if run.manifest.get("cases_sha256") != wanted:
        msg = f"is a run over other cases than {cases.name}"
        raise EvalkitError(msg, where=str(run.folder), do="judge these cases first, or give the file it was made of")
    run.check()
    return {record.case_id: record for record in run.records() if record.case_id is not None}
