"""A domain's metrics over one set of cases, analysed: every figure is computed from records, policies and labels."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from evalkit.contract import EvalkitError, Metric
from evalkit.decisions.adding import Added
from evalkit.decisions.analysing.assessment import Assessment, assessments_of
from evalkit.decisions.analysing.recommending import Recommendation, recommend
from evalkit.decisions.analysing.side import MetricSide, side_of
from evalkit.decisions.analysing.summary import MetricSummary, summary_of
from evalkit.decisions.policy import PolicyFile, read_policy
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run

__all__ = ["Analysis", "analyse", "check_domain", "policies_by_metric"]


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What several metrics say of the same rows, and what follows from it."""

    domain: str
    cases: str
    """Name of the file."""
    cases_sha256: str | None
    as_of: date
    sides: tuple[MetricSide, ...]
    summaries: tuple[MetricSummary, ...]
    assessments: tuple[Assessment, ...]
    """Empty where no metric combines judgements."""
    recommendation: Recommendation
    added: Added | None
    """What a new metric adds to the others, where this was asked."""

    @property
    def rows(self) -> int:
        """Rows of the file; each metric has a record of each."""
        return len(self.sides[0].records)

    def facts(self) -> dict[str, Any]:
        """Return the result file: what was measured of each row, and the domain's own analysis."""
        return {
            "schema": 1,
            "domain": self.domain,
            "cases": self.cases,
            "cases_sha256": self.cases_sha256,
            "as_of": self.as_of.isoformat(),
            "rows": self.rows,
            "runs": {side.name: _run_facts(side) for side in self.sides},
            "results": list(self._results()),
            "custom_analysis": {
                f"{self.domain}_specific_metrics": {found.metric: found.facts() for found in self.summaries},
                "safety_assessment": {found.metric: found.facts() for found in self.assessments} or None,
                "recommendation": self.recommendation.facts(),
            },
            "what_it_adds": self.added.facts() if self.added else None,
        }

    def _results(self) -> Iterable[dict[str, Any]]:
        for records in zip(*(side.records for side in self.sides), strict=True):
            row = {key: getattr(records[0], key) for key in ("line", "case_id", "slice", "blocking")}
            yield row | {
                side.name: _result(record) for side, record in zip(self.sides, records, strict=True)
            }  # fmt: skip


def _result(record: Record) -> dict[str, Any]:
    return {key: getattr(record, key) for key in ("state", "value", "decision", "reason", "owner")}


def _run_facts(side: MetricSide) -> dict[str, Any]:
    manifest = side.run.manifest
    return {
        "run_id": manifest.get("run_id"),
        "records_sha256": manifest.get("records_sha256"),
        "fingerprint": manifest["metric"].get("fingerprint"),
        "contract_version": side.metric.version,
        "policy_sha256": side.gated.policy_file.sha256 if side.gated else None,
        "outcome_hash": side.gated.outcome_hash if side.gated else None,
    }


def policies_by_metric(paths: Iterable[Path], names: Sequence[str]) -> dict[str, PolicyFile]:
    """Read policies and match each with the metric that it names.

    Raises
    ------
    EvalkitError
        For a policy that cannot be read, is for none of the metrics, or is the second one for a metric.
    """
    found: dict[str, PolicyFile] = {}
    for path in paths:
        file = read_policy(path)
        if file.policy is None:
            msg = f"cannot be used as a policy: {file.problems[0]}"
            raise EvalkitError(msg, where=str(path), do="mend it; evalkit gate lists everything wrong with it")
        name = file.policy.metric
        if name not in names:
            msg = f"is a policy for {name!r}, which is not among these metrics"
            raise EvalkitError(msg, where=str(path), do=f"the metrics are {', '.join(names)}")
        if name in found:
            msg = f"is a second policy for {name!r}"
            raise EvalkitError(msg, where=str(path), do="give one policy for each metric")
        found[name] = file
    return found


def analyse(
    domain: str,
    runs: Sequence[tuple[Metric, Run]],
    policies: Mapping[str, PolicyFile],
    as_of: date,
    *,
    added: Added | None = None,
) -> Analysis:
    """Analyse runs of several metrics over one file.

    When it misleads: a recommendation is no better than the policies it follows from, and a metric without one has no
    say in it however bad its values are (it is named).

    Parameters
    ----------
    domain : str
        Names the section of its metrics: ``medical`` gives ``medical_specific_metrics``.
    runs : sequence of (Metric, Run)
    policies : mapping
        By metric (see `policies_by_metric`).
    as_of : date
        The day on which dates of policies are judged.
    added : Added, optional
        From `what_it_adds`.

    Raises
    ------
    EvalkitError
        For runs over different cases, or a domain that is no word.
    """
    check_domain(domain)
    hashes = {run.manifest.get("cases_sha256") for _, run in runs}
    if len(hashes) > 1:
        msg = f"these {len(runs)} runs are over different cases"
        raise EvalkitError(msg, do="score all metrics over one file")
    sides = tuple(side_of(metric, run, policies.get(metric.name), as_of) for metric, run in runs)
    return Analysis(
        domain=domain,
        cases=str(runs[0][1].manifest.get("cases")),
        cases_sha256=hashes.pop(),
        as_of=as_of,
        sides=sides,
        summaries=tuple(summary_of(side) for side in sides),
        assessments=tuple(assessments_of(sides)),
        recommendation=recommend(sides),
        added=added,
    )


def check_domain(domain: str) -> None:
    """Refuse a domain that could not be part of a key."""
    if not (domain.isascii() and domain.isidentifier() and domain.islower()) or keyword.iskeyword(domain):
        msg = f"a domain is one lower-case word, which names a section of the analysis; got {domain!r}"
        raise EvalkitError(msg, do="for example --analysis medical")
