"""The whole of ``evalkit labels import``: read, convert, show, and write only what nothing stands in the way of."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalkit.cases.importers.convert import Imported, convert
from evalkit.cases.importers.exports import read_export
from evalkit.cases.importers.maps import LabelMap, map_from
from evalkit.cases.importers.presets import PRESETS
from evalkit.cases.labels import read_labels
from evalkit.cases.read import Case, read_cases
from evalkit.contract import EvalkitError, Outcome
from evalkit.pages.import_text import import_screen, stoppers
from evalkit.scoring.run import write_whole

__all__ = ["ImportDone", "ImportOptions", "run_import"]


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """What an import may be told besides export, map and target."""

    cases: Path | None = None
    """The cases that were labelled: ids are matched, and what was shown is bound to them."""
    spans: Path | None = None
    """Exported spans, for an export that labels spans instead of traces."""
    selection: str | None = None
    keep_unmatched: bool = False
    append: bool = False
    """Whether `out` may be there already: its lines stay, and these follow."""
    dry_run: bool = False


class ImportDone(NamedTuple):
    """A finished import."""

    found: Imported
    screen: str
    facts: dict[str, Any]
    outcome: Outcome


def run_import(export: Path, map_spec: str, out: Path, options: ImportOptions | None = None) -> ImportDone:
    """Import labels; nothing is written while anything is open.

    Raises
    ------
    EvalkitError
        Where a file cannot be read, or `out` is there and `append` was not asked for.
    """
    options = options or ImportOptions()
    if out.exists() and not options.append:
        msg = "exists already; labels are only ever added to"
        raise EvalkitError(msg, where=str(out), do="give --append to add these, or --out another name")
    label_map = _selected(map_from(map_spec, PRESETS), options.selection)
    before = out.read_bytes() if out.exists() else b""
    if before and not before.endswith(b"\n"):
        before += b"\n"
    found = convert(
        read_export(export, label_map),
        label_map,
        cases=_evidence(options.cases) if options.cases else None,
        spans=_traces_of(options.spans) if options.spans else None,
        first_line=before.count(b"\n") + 1,
    )
    reasons = stoppers(found, label_map, keep_unmatched=options.keep_unmatched)
    after = before + b"".join(orjson.dumps(label, option=orjson.OPT_APPEND_NEWLINE) for label in found.labels)
    reasons = reasons or _check(after)
    if options.dry_run and not reasons:
        reasons = ["this was a dry run"]
    if not reasons:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, after)
    outcome = Outcome.incomplete if reasons else Outcome.passed
    screen = import_screen(export.name, found, label_map, reasons, out.name)
    return ImportDone(found, screen, _facts(found, label_map, reasons, outcome), outcome)


def _selected(label_map: LabelMap, selection: str | None) -> LabelMap:
    if selection is None:
        return label_map
    if selection not in ("random", "targeted", "unknown"):
        msg = f"--selection must be random, targeted or unknown; got {selection!r}"
        raise EvalkitError(msg, do="say how the cases were chosen")
    return replace(label_map, selection=selection)  # type: ignore[arg-type] # one of the three


def _check(raw: bytes) -> list[str]:
    """Read the file as calibrate and gate will, before it is there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.jsonl"
        path.write_bytes(raw)
        try:
            read_labels(path)
        except EvalkitError as error:
            return [f"the labels would not be readable: {error.message}; {error.do}"]
    return []


def _evidence(path: Path) -> dict[str, Mapping[str, Any]]:
    return {item.case_id: item.fields.get("evidence") or {} for item in read_cases(path) if isinstance(item, Case)}


def _traces_of(path: Path) -> dict[str, str]:
    from evalkit.cases.traces.span_files import trace_of_spans

    return trace_of_spans(path)


def _facts(found: Imported, label_map: LabelMap, reasons: list[str], outcome: Outcome) -> dict[str, Any]:
    return {
        "schema": 1,
        "outcome": outcome.name,
        "exit_code": int(outcome),
        "preset": label_map.preset,
        "map": {name: source.in_words() for name, source in label_map.sources.items()},
        "selection": label_map.selection,
        "values": {value: label_map.values.get(value) for value in found.written},
        "counts": dict(found.written),
        "records": found.records,
        "labels": len(found.labels),
        "blank": found.blank,
        "no_label": dict(found.no_label),
        "other_criteria": dict(found.other_criteria),
        "unmatched": found.unmatched,
        "doubles": found.doubles,
        "superseding": found.superseding,
        "bound": found.bound,
        "stale": found.stale,
        "by_models": found.models,
        "problems": found.problems,
        "stops": reasons,
    }
