"""Bring: cases from traces, labels from spreadsheets and exports, proposed claims for people to approve."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalkit.cli.app import BRING, app, finish, say, write_json

__all__ = ["adapt", "audit", "draft", "import_labels"]

AdapterSpec = Annotated[
    str, typer.Argument(metavar="ADAPTER", help="A shipped mapping, or file.py:object (code that is run).")
]
TracesFile = Annotated[Path, typer.Argument(metavar="TRACES", help="A file in the format that the adapter reads.")]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", metavar="METRIC", help="That will read the cases; may be repeated.")
]
Json = Annotated[Path | None, typer.Option(metavar="FILE", help="Everything as JSON ('-': standard output).")]


@app.command(rich_help_panel=BRING)
def adapt(
    adapter: AdapterSpec,
    traces: TracesFile,
    out: Annotated[Path, typer.Option(metavar="CASES", help="The .jsonl file of cases to write.")],
    metric: Metrics = None,
    claims: Annotated[Path | None, typer.Option(metavar="FILE", help="Reviewed claims (evalkit claims draft).")] = None,
    json: Json = None,
) -> None:
    """Write cases with their evidence, and CASES.adapter.json: mapping, revision and audit travel with every run.

    Shipped mappings: plain, ragas, openinference, otel-genai, csv.
    """
    from evalkit.pages.bring_run import run_adapt

    done = run_adapt(adapter, traces, out, metric or [], claims)
    if str(json) != "-":
        say(done.screen)
    if json:
        write_json(json, done.facts)
    finish(done.outcome)


@app.command(rich_help_panel=BRING)
def audit(adapter: AdapterSpec, traces: TracesFile, metric: Metrics = None, json: Json = None) -> None:
    """Hold a mapping against the traces, plant faults into it, and send untouched traces to scoring.

    0 it can be trusted, 1 a planted fault came through, 2 a check fails, 3 the traces keep no record to check against.
    """
    from evalkit.pages.bring_run import run_audit

    done = run_audit(adapter, traces, metric or [])
    if str(json) != "-":
        say(done.screen)
    if json:
        write_json(json, done.facts)
    finish(done.outcome)


labels_app = typer.Typer(no_args_is_help=True, help="Labels from spreadsheets and from the exports of other tools.")
claims_app = typer.Typer(no_args_is_help=True, help="Proposed claims, for people to approve.")
app.add_typer(labels_app, name="labels", rich_help_panel=BRING)
app.add_typer(claims_app, name="claims", rich_help_panel=BRING)


@claims_app.command("draft")
def draft(
    traces: TracesFile,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The .csv sheet to write; never written over.")],
    adapter: Annotated[str, typer.Option(metavar="ADAPTER", help="How the traces are read.")] = "plain",
    keep: Annotated[Path | None, typer.Option(metavar="FILE", help="An earlier sheet whose decisions stay.")] = None,
) -> None:
    """Propose required claims from each reference, and where answer and passages say them, for people to decide on."""
    from evalkit.pages.claims_run import run_claims_draft

    say(run_claims_draft(adapter, traces, out, keep).screen(out.name))


@labels_app.command("import")
def import_labels(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A spreadsheet (.csv) or an export (.json, .jsonl).")],
    map_spec: Annotated[
        str, typer.Option("--map", metavar="MAP", help="A map.toml, or langsmith, langfuse, phoenix, mlflow.")
    ],
    out: Annotated[Path, typer.Option(metavar="LABELS", help="The labels.jsonl to write.")],
    cases: Annotated[Path | None, typer.Option(metavar="CASES", help="Match ids, and bind labels to them.")] = None,
    spans: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Exported spans, where spans are labelled.")
    ] = None,
    selection: Annotated[
        str | None, typer.Option(metavar="HOW", help="Cases were chosen: random, targeted or unknown.")
    ] = None,
    keep_unmatched: Annotated[bool, typer.Option("--keep-unmatched", help="Import ids that are no case.")] = False,
    append: Annotated[bool, typer.Option("--append", help="Add to LABELS where it is there already.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show everything, write nothing.")] = False,
    json: Json = None,
) -> None:
    """Show map, values, unmatched and double ids; write labels only where nothing is open."""
    from evalkit.pages.import_run import ImportOptions, run_import

    options = ImportOptions(
        cases=cases,
        spans=spans,
        selection=selection,
        keep_unmatched=keep_unmatched,
        append=append,
        dry_run=dry_run,
    )
    done = run_import(file, map_spec, out, options)
    if str(json) != "-":
        say(done.screen)
    if json:
        write_json(json, done.facts)
    finish(done.outcome)
