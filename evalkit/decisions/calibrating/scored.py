"""CASES as the deciding commands read them: a file, which is scored now, or a run folder, whose records are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from evalkit.cases.lines import check_cases_file
from evalkit.cases.read import CaseFile
from evalkit.contract import EvalkitError, Metric, sha256_file
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run, open_run
from evalkit.scoring.scorer_of import scorer_of

__all__ = ["ScoredCases", "scored_cases"]


class ScoredCases(NamedTuple):
    """Records, and what they are of."""

    name: str
    """File or folder name; never a path of this machine."""
    records: tuple[Record, ...]
    metric_fingerprint: str
    """Of the metric that scored them: the run's, where a run was given."""
    cases_sha256: str
    judge: str | None
    """Hash of the judge's configuration, where a judge scored them."""


def scored_cases(
    metric: Metric,
    cases: Path,
    *,
    feeds: Mapping[str, str] | None = None,
    on_rows: Callable[[int], object] = lambda _: None,
) -> ScoredCases:
    """Score a file of cases, or read a run without scoring again; a judge's recorded verdicts are replayed.

    Raises
    ------
    EvalkitError
        Where there is no such file, or the run is of another metric or contract version.
    """
    if cases.is_dir():
        run = open_run(cases)
        _refuse_another_metric(run, metric)
        judge = (run.manifest.get("judge") or {}).get("configuration_hash")
        records = tuple(_counted(run.records(), on_rows))
        fingerprint = str(run.manifest["metric"].get("fingerprint"))
        return ScoredCases(cases.name, records, fingerprint, str(run.manifest.get("cases_sha256")), judge)
    check_cases_file(cases, "give the path of a .jsonl file or of a run folder")
    scorer = scorer_of(metric, cases, feeds or {})
    file = CaseFile(cases, scorer.required, scorer.optional)
    records = tuple(_counted(map(scorer.record, file), on_rows))
    judge = next((record.judge.get("configuration_hash") for record in records if record.judge), None)
    return ScoredCases(cases.name, records, metric.fingerprint, sha256_file(cases), judge)


def _counted(records: Iterator[Record], on_rows: Callable[[int], object]) -> Iterator[Record]:
    for record in records:
        on_rows(1)
        yield record


def _refuse_another_metric(run: Run, metric: Metric) -> None:
    found = run.manifest["metric"]
    if found.get("name") != metric.name or found.get("contract_version") != metric.version:
        msg = (
            f"contract change: the run was made with {found.get('name')!r}, contract "
            f"{found.get('contract_version')!r}; the metric given is {metric.name!r}, contract {metric.version!r}"
        )
        raise EvalkitError(msg, where=str(run.folder), do="score the cases again with this metric")
