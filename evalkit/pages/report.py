"""The page of a run: one offline HTML file from the outcome down to the evidence of each row."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Set
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evalkit.decisions.policy import Policy
from evalkit.decisions.resolution import Resolution, Step, resolution_of
from evalkit.pages.certify_text import label_table
from evalkit.pages.plain import plain, shown
from evalkit.pages.report_rows import report_row
from evalkit.pages.selection import Selection, select_rows
from evalkit.pages.strips import HEIGHT, WIDTH, Strip, strip_of
from evalkit.pages.wording import (
    OUTCOME_WORDS,
    baseline_lines,
    case_name,
    counts_sentence,
    headline,
    knife_edges,
    ledger_rows,
    limit_words,
    ordered_blockers,
    policy_notes,
    relation,
)
from evalkit.scoring.counted import Counted
from evalkit.scoring.ledger import Values
from evalkit.scoring.run import Run

__all__ = ["render_report"]

_TEMPLATES = Path(__file__).parent / "templates"
_MOST_STEPS = 7
_MOST_BLOCKED = 10
"""Rows linked under one blocker; the list of rows below holds them all."""

# A manifest holds what is known, a policy what was written; templates meet the rest as None, and a typo as a fault.
_MANIFEST = (
    "cases", "cases_sha256", "evalkit", "lock_sha256", "policy_sha256", "python", "ragas", "records_sha256", "run_id",
    "unanswered",
)  # fmt: skip
_METRIC = ("declaration", "fingerprint")
_POLICY = tuple(Policy.model_fields)


class _SliceView(NamedTuple):
    strip: Strip
    resolution: Resolution | None
    steps: tuple[Step, ...]
    """The stretches nearest to the threshold."""


def render_report(run: Run, facts: Mapping[str, Any] | None, counted: Counted) -> str:
    """Return the report of a run as one HTML page that asks nothing of the network.

    Every text of the run passes `plain` and is then escaped, in one place, so that a template cannot forget it; the
    page's policy allows only its own script and style, by their hash.

    Parameters
    ----------
    run : Run
        Its manifest is read, and of its records those that are shown.
    facts : mapping or None
        The outcome file; ``None`` for a run that was only scored.
    counted : Counted
        What whoever wrote the records counted and noted meanwhile.
    """
    manifest = run.manifest
    contract = manifest["metric"].get("contract")
    selection = select_rows(run.records_path, counted.places)
    environment = _environment()
    return environment.get_template("report.html").render(
        manifest=dict.fromkeys(_MANIFEST) | manifest,
        metric=dict.fromkeys(_METRIC) | manifest["metric"],
        contract=contract,
        policy=dict.fromkeys(_POLICY) | policy if (policy := manifest.get("policy")) else None,
        facts=facts,
        csp=_content_policy(),
        outcome=facts["outcome"] if facts else "scored",
        headline=headline(facts),
        ledger=ledger_rows(manifest["ledger"]),
        lines=manifest["ledger"]["lines"],
        blank=manifest["ledger"]["blank"],
        blockers=ordered_blockers(facts),
        notes=policy_notes(facts) if facts else [],
        warnings=facts["warnings"] if facts else manifest.get("findings", []),
        baseline=baseline_lines(facts["baseline"]) if facts and facts["baseline"] else [],
        labelled=label_table(facts) if facts else None,
        days_left=_days_left(facts),
        slices=[_slice_view(name, values, manifest) for name, values in sorted(counted.ledger.values.items())],
        rows=[report_row(record) for record in selection.rows],
        sentences=_sentences(facts, {record.line for record in selection.rows}),
        edges=knife_edges(facts["blockers"]) if facts else [],
        selection=selection,
        filters=_filters(selection),
        shown_lines={record.line for record in selection.rows},
        overridden=frozenset(facts["overridden"]) if facts else frozenset(),
        known=frozenset(facts["known"]) if facts else frozenset(),
        most_blocked=_MOST_BLOCKED,
    )


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= {
        "outcome_words": OUTCOME_WORDS,
        "case_name": case_name,
        "chart": {"width": WIDTH, "height": HEIGHT},
        "counts_sentence": counts_sentence,
        "limit_words": limit_words,
        "relation": relation,
        "shown": shown,
    }
    return environment


def _visible(value: Any) -> Any:
    """Make every text that a template prints plain; what comes out of a macro has been through here already."""
    if isinstance(value, Markup):
        return value
    return plain(value, newline="\n") if isinstance(value, str) else value


@lru_cache(maxsize=1)
def _content_policy() -> str:
    style, script = (_sha256(name) for name in ("report.css", "report.js"))
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _sha256(name: str) -> str:
    return base64.b64encode(hashlib.sha256((_TEMPLATES / name).read_bytes()).digest()).decode()


def _days_left(facts: Mapping[str, Any] | None) -> int | None:
    last_day = ((facts or {}).get("policy") or {}).get("last_day")
    if facts is None or last_day is None:
        return None
    return (date.fromisoformat(last_day) - date.fromisoformat(facts["as_of"])).days


def _sentences(facts: Mapping[str, Any] | None, lines: Set[int]) -> dict[int, str]:
    """Return what the triage says of each blocked row that is shown, by line."""
    rows = (row for blocker in (facts["blockers"] if facts else []) for row in blocker["rows"])
    return {row["line"]: row["sentence"] for row in rows if row["line"] in lines and row.get("sentence")}


def _filters(selection: Selection) -> dict[str, list[str]]:
    rows = selection.rows
    return {
        "state": sorted({row.state for row in rows}),
        "decision": sorted({row.decision or "none" for row in rows}),
        "slice": sorted({row.slice for row in rows}),
    }


# --- values and thresholds ------------------------------------------------------------------------------------------


def _slice_view(name: str, values: Values, manifest: Mapping[str, Any]) -> _SliceView:
    contract = manifest["metric"].get("contract") or {}
    limits = ((manifest.get("policy") or {}).get("slices") or {}).get(name, {})
    minimum, maximum = limits.get("minimum"), limits.get("maximum")
    bound = minimum if minimum is not None else maximum
    strip = strip_of(name, values, bound, _range(manifest["metric"].get("declaration")))
    if not strip.bars:
        return _SliceView(strip, None, ())
    resolution = resolution_of(
        name,
        {value: rows for value, rows in values.by_value().items() if not isinstance(value, str)},
        values.denominators,
        threshold=bound,
        better="lower" if maximum is not None else contract.get("better", "higher"),
        unit="claims" if any("claim" in reviewed for reviewed in contract.get("reviewed", ())) else "items",
    )
    return _SliceView(strip, resolution, _nearest(resolution))


def _range(declaration: Mapping[str, Any] | None) -> tuple[float, float] | None:
    allowed = (declaration or {}).get("allowed_values")
    if (declaration or {}).get("kind") != "numeric" or not isinstance(allowed, list) or len(allowed) < 2:
        return None
    return float(allowed[0]), float(allowed[1])


def _nearest(resolution: Resolution) -> tuple[Step, ...]:
    steps, current = resolution.steps, resolution.current()
    if len(steps) <= _MOST_STEPS:
        return steps
    at = steps.index(current) if current else 0
    first = min(max(at - _MOST_STEPS // 2, 0), len(steps) - _MOST_STEPS)
    return steps[first : first + _MOST_STEPS]
