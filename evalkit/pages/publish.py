"""From a result to a finished run folder: records, outcome, summary and report, and the manifest last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalkit.cases.adapter_stamp import adapter_of
from evalkit.contract import EvalkitError, Metric, sha256_file
from evalkit.decisions.gate import GateResult
from evalkit.decisions.wrong_tool_rows import advise_in_words
from evalkit.scoring.records import Ledger
from evalkit.scoring.run import Run, RunWriter, lock_hash, open_run
from evalkit.scoring.score import RowScorer, Scorer
from evalkit.scoring.stream import Streamed, stream_cases

__all__ = ["Scored", "publish_gate", "score_to_run", "score_to_runs"]


class Scored(NamedTuple):
    """What `score_to_run` made."""

    run: Run
    ledger: Ledger
    findings: list[str]


def publish_gate(result: GateResult, writer: RunWriter, facts: dict[str, Any]) -> Run:
    """Finish the run folder that a gate wrote its records into; `facts` is its outcome file."""
    from evalkit.pages.summary import render_summary

    policy = result.policy
    manifest = _manifest(result.metric, result.cases, result.ledger) | {
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
    extra: dict[str, bytes | str] = {
        "outcome.json": orjson.dumps(facts, option=orjson.OPT_INDENT_2),
        "summary.md": render_summary(facts),
    }
    return _finish(writer, writer.close_records(), manifest, facts, extra)


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
    if not cases.is_file():
        msg = "there is no such file of cases"
        raise EvalkitError(msg, where=str(cases), do="give the path of a .jsonl file")
    scorer = _scorer(metric, cases, feeds, verdicts)
    with RunWriter(folder) as writer:
        streamed = stream_cases(cases, scorer, None, writer, on_rows=on_rows)
        return _scored(metric, cases, writer, streamed, verdicts)


def _scorer(
    metric: Metric, cases: Path, feeds: Mapping[str, str] | None, verdicts: Mapping[str, Path] | None
) -> RowScorer:
    if not verdicts:
        return Scorer(metric, feeds)
    from evalkit.scoring.verdict_inputs import verdict_scorer

    return verdict_scorer(metric, cases, verdicts, feeds)


def score_to_runs(
    metrics: Sequence[Metric],
    cases: Path,
    folder: Path,
    *,
    feeds: Mapping[str, str] | None = None,
    on_rows: Callable[[int], object] = lambda _: None,
) -> dict[str, Scored]:
    """Score a file of cases by several metrics in one pass, into a new run folder ``FOLDER/<metric>`` each."""
    from evalkit.scoring.score_all import check_names, stream_all

    check_names(metrics)
    if not cases.is_file():
        msg = "there is no such file of cases"
        raise EvalkitError(msg, where=str(cases), do="give the path of a .jsonl file")
    scored = {}
    with ExitStack() as stack:
        writers = [stack.enter_context(RunWriter(folder / metric.name)) for metric in metrics]
        results = stream_all(metrics, cases, writers, feeds=feeds, on_rows=on_rows)
        for metric, writer, streamed in zip(metrics, writers, results, strict=True):
            scored[metric.name] = _scored(metric, cases, writer, streamed)
    return scored


def _scored(
    metric: Metric, cases: Path, writer: RunWriter, streamed: Streamed, verdicts: Mapping[str, Path] | None = None
) -> Scored:
    records_sha256 = writer.close_records()
    records = Run(writer.folder, {}).records()
    streamed = streamed._replace(findings=[*streamed.findings, *advise_in_words(metric, records)])
    manifest = _scored_manifest(metric, cases, streamed)
    manifest |= {"verdicts": {name: _source(open_run(run)) for name, run in verdicts.items()}} if verdicts else {}
    run = _finish(writer, records_sha256, manifest, None, {})
    return Scored(run, streamed.ledger, streamed.findings)


def _source(run: Run) -> dict[str, Any]:
    """Name the run that verdicts came from, without its place on this machine."""
    manifest = run.manifest
    return {
        "run_id": manifest.get("run_id"),
        "metric": manifest["metric"].get("name"),
        "records_sha256": manifest.get("records_sha256"),
    }


def _scored_manifest(metric: Metric, cases: Path, streamed: Streamed) -> dict[str, Any]:
    manifest = _manifest(metric, cases, streamed.ledger) | {
        "metric": _metric_facts(metric),
        "cases_sha256": sha256_file(cases),
        "policy": None,
        "policy_sha256": None,
        "lock_sha256": lock_hash(Path.cwd()),
        "findings": streamed.findings,
    }
    if (stamp := adapter_of(cases)) is not None:
        manifest["adapter"] = stamp.manifest()
    return manifest


def _finish(
    writer: RunWriter,
    records_sha256: str,
    manifest: dict[str, Any],
    facts: dict[str, Any] | None,
    extra: Mapping[str, bytes | str],
) -> Run:
    from evalkit.pages.report import render_report

    manifest["records_sha256"] = records_sha256
    for name, content in extra.items():
        writer.add(name, content)
    # The report reads the records back; the manifest that makes the folder a run is still written last.
    writer.add("report.html", render_report(Run(writer.folder, {"run_id": writer.run_id} | manifest), facts))
    return writer.finish(manifest)


def _manifest(metric: Metric, cases: Path, ledger: Ledger) -> dict[str, Any]:
    # Names only: no path of this machine is written.
    return {"cases": cases.name, "judge": None, "unanswered": metric.unanswered(), "ledger": ledger.facts()}


def _metric_facts(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "contract_version": metric.version,
        "fingerprint": metric.fingerprint,
        "origin": metric.origin,
        "declaration": metric.declaration(),
        "contract": metric.contract.facts() if metric.contract else None,
    }
