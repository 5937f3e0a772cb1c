"""From a result to a finished run folder: records, outcome, summary and report, and the manifest last."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalkit.cases.adapter_stamp import AdapterStamp, adapter_of
from evalkit.cases.lines import check_cases_file
from evalkit.contract import Metric, sha256_file
from evalkit.decisions.certifying.against import DRAFTS_NAME, disagreement_drafts
from evalkit.decisions.gate import GateResult
from evalkit.decisions.wrong_tool_rows import advise_in_words
from evalkit.scoring.counted import Counted
from evalkit.scoring.ledger import Ledger
from evalkit.scoring.parts import Streamed
from evalkit.scoring.run import Run, RunWriter, lock_hash, open_run
from evalkit.scoring.score import RowScorer
from evalkit.scoring.scorer_of import replay_notes, scorer_of
from evalkit.scoring.spilled import json_chunks
from evalkit.scoring.stream import stream_cases

__all__ = ["CasesFacts", "Scored", "finish_scored", "publish_gate", "score_to_run", "score_to_runs"]


class CasesFacts(NamedTuple):
    """What a manifest says of the cases that were scored: names only, no path of this machine."""

    name: str
    sha256: str
    adapter: AdapterStamp | None

    @classmethod
    def of(cls, cases: Path) -> CasesFacts:
        """Look at one file."""
        return cls(cases.name, sha256_file(cases), adapter_of(cases))


class Scored(NamedTuple):
    """What `score_to_run` made."""

    run: Run
    ledger: Ledger
    findings: list[str]


def publish_gate(result: GateResult, writer: RunWriter, facts: dict[str, Any]) -> Run:
    """Finish the run folder that a gate wrote its records into; `facts` is its outcome file."""
    from evalkit.pages.summary import render_summary

    policy = result.policy
    manifest = _manifest(result.metric, result.cases.name, result.ledger) | {
        "metric": _metric_facts(result.metric) | {"fingerprint": result.metric_fingerprint},
        "cases_sha256": result.cases_sha256,
        "policy": policy.facts() if policy else None,
        "policy_sha256": result.policy_file.sha256,
        "lock_sha256": result.lock_sha256,
        "as_of": result.as_of.isoformat(),
        "findings": list(facts["warnings"]),
        "judge": dict(result.judge) if result.judge else None,
    }
    manifest |= {"adapter": dict(result.adapter)} if result.adapter else {}
    extra: dict[str, bytes | str | Iterable[bytes]] = {
        "outcome.json": json_chunks(facts, orjson.OPT_INDENT_2),
        "summary.md": render_summary(facts),
    }
    if drafts := disagreement_drafts(result.labelled):
        extra[DRAFTS_NAME] = drafts
    return _finish(writer, writer.close_records(), manifest, facts, extra, Counted(result.ledger, result.places))


def score_to_run(
    metric: Metric,
    cases: Path,
    folder: Path,
    *,
    feeds: Mapping[str, str] | None = None,
    verdicts: Mapping[str, Path] | None = None,
    on_rows: Callable[[int], object] = lambda _: None,
) -> Scored:
    """Score a file of cases into a new run folder, without a policy.

    `verdicts` maps a parameter to the run whose values feed it.
    """
    check_cases_file(cases)
    scorer = _scorer(metric, cases, feeds, verdicts)
    with RunWriter(folder) as writer:
        streamed = stream_cases(cases, scorer, None, writer, on_rows=on_rows)
        streamed.findings.extend(replay_notes(metric, cases))
        more = {"verdicts": {name: _source(open_run(run)) for name, run in verdicts.items()}} if verdicts else {}
        return finish_scored(metric, CasesFacts.of(cases), writer, streamed, more)


def _scorer(
    metric: Metric, cases: Path, feeds: Mapping[str, str] | None, verdicts: Mapping[str, Path] | None
) -> RowScorer:
    if not verdicts:
        return scorer_of(metric, cases, feeds or {})
    from evalkit.scoring.verdict_inputs import verdict_scorer

    return verdict_scorer(metric, cases, verdicts, feeds)


def score_to_runs(
    metrics: Sequence[Metric],
    cases: Path,
    folder: Path,
    *,
    feeds: Mapping[str, str] | None = None,
    verdicts: Mapping[str, str] | None = None,
    on_rows: Callable[[int], object] = lambda _: None,
) -> dict[str, Scored]:
    """Score a file of cases by several metrics in one pass, into a new run folder ``FOLDER/<metric>`` each.

    `verdicts` maps a parameter to the metric among them whose value feeds it.
    """
    from evalkit.scoring.score_all import check_names, stream_all

    check_names(metrics)
    check_cases_file(cases)
    scored: dict[str, Scored] = {}
    with ExitStack() as stack:
        writers = [stack.enter_context(RunWriter(folder / metric.name)) for metric in metrics]
        facts = CasesFacts.of(cases)
        results = stream_all(metrics, cases, writers, feeds=feeds, verdicts=verdicts, on_rows=on_rows)
        made = list(zip(metrics, writers, results, strict=True))
        # What names its sources is finished after them.
        for metric, writer, streamed in sorted(made, key=lambda one: bool(_fed(one[0], verdicts))):
            more = {"verdicts": {n: _source(scored[name].run) for n, name in _fed(metric, verdicts).items()}}
            scored[metric.name] = finish_scored(metric, facts, writer, streamed, more if more["verdicts"] else None)
    return {metric.name: scored[metric.name] for metric in metrics}


def _fed(metric: Metric, verdicts: Mapping[str, str] | None) -> dict[str, str]:
    names = {parameter.name for parameter in metric.parameters}
    return {name: source for name, source in (verdicts or {}).items() if name in names}


def finish_scored(
    metric: Metric, cases: CasesFacts, writer: RunWriter, streamed: Streamed, more: Mapping[str, Any] | None = None
) -> Scored:
    """Finish a run folder without a policy; `more` is added to its manifest."""
    records_sha256 = writer.close_records()
    records = Run(writer.folder, {}).records()
    prepared = [metric.preparation.in_words()] if metric.preparation else []
    streamed = streamed._replace(findings=[*streamed.findings, *prepared, *advise_in_words(metric, records)])
    manifest = _scored_manifest(metric, cases, streamed)
    manifest |= more or {}
    run = _finish(writer, records_sha256, manifest, None, {}, Counted(streamed.ledger, streamed.places))
    return Scored(run, streamed.ledger, streamed.findings)


def _source(run: Run) -> dict[str, Any]:
    """Name the run that verdicts came from, without its place on this machine."""
    manifest = run.manifest
    return {
        "run_id": manifest.get("run_id"),
        "metric": manifest["metric"].get("name"),
        "records_sha256": manifest.get("records_sha256"),
    }


def _scored_manifest(metric: Metric, cases: CasesFacts, streamed: Streamed) -> dict[str, Any]:
    manifest = _manifest(metric, cases.name, streamed.ledger) | {
        "metric": _metric_facts(metric),
        "cases_sha256": cases.sha256,
        "policy": None,
        "policy_sha256": None,
        "lock_sha256": lock_hash(Path.cwd()),
        "findings": streamed.findings,
    }
    if cases.adapter is not None:
        manifest["adapter"] = cases.adapter.manifest()
    return manifest


def _finish(
    writer: RunWriter,
    records_sha256: str,
    manifest: dict[str, Any],
    facts: dict[str, Any] | None,
    extra: Mapping[str, bytes | str | Iterable[bytes]],
    counted: Counted,
) -> Run:
    from evalkit.pages.report import render_report

    manifest["records_sha256"] = records_sha256
    for name, content in extra.items():
        writer.add(name, content)
    # The report reads some records back; the manifest that makes the folder a run is still written last.
    writer.add("report.html", render_report(Run(writer.folder, {"run_id": writer.run_id} | manifest), facts, counted))
    return writer.finish(manifest)


def _manifest(metric: Metric, cases: str, ledger: Ledger) -> dict[str, Any]:
    return {"cases": cases, "judge": None, "unanswered": metric.unanswered(), "ledger": ledger.facts()}


def _metric_facts(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "contract_version": metric.version,
        "fingerprint": metric.fingerprint,
        "origin": metric.origin,
        "declaration": metric.declaration(),
        "contract": metric.contract.facts() if metric.contract else None,
        "preparation": metric.preparation_facts(),
    }
