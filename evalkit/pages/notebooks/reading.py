"""What notebook 00 does: a sample of traces, the notes on it added up, and which kind of metric fits each failure."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.cases.adapters.apply import Mapper
from evalkit.cases.adapters.case import CaseMaker
from evalkit.cases.locate import locate
from evalkit.cases.notes import (
    ADVICE,
    FINE,
    Group,
    Note,
    Reading,
    draw,
    notes_table,
    read_groups,
    read_notes,
    reading_of,
)
from evalkit.cases.tables import table_bytes
from evalkit.cases.traces import READERS
from evalkit.contract import EvalkitError, Outcome, sha256_file, sha256_of
from evalkit.decisions.binomial import exact_interval
from evalkit.pages.notebooks.page import Conclusion
from evalkit.pages.plain import plain
from evalkit.scoring.load_adapter import load_adapter
from evalkit.scoring.run import write_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Read",
    "concluded",
    "counts_frame",
    "kinds_frame",
    "read_traces",
    "sheet_editor",
    "trace_text",
    "traces_frame",
]


@dataclass(frozen=True, kw_only=True)
class Read:
    """A file of traces, the sample to read, and the notes on it."""

    traces: Path
    total: int
    """Traces of the file."""
    unusable: int
    """Traces of the file that give no row; they are not drawn."""
    evidence: Mapping[str, Mapping[str, Any]]
    """Of the sampled traces, by case id, in the order of the file."""
    notes: Mapping[str, Note]
    groups: tuple[Group, ...]
    reading: Reading


def read_traces(adapter: str, traces: str, notes: str, groups: str, sample: int, seed: int) -> Read:
    """Draw a sample, and read the notes on it.

    Parameters
    ----------
    adapter, traces, notes, groups : str
        As in a notebook's parameters: see `evalkit.locate`. A sheet of notes that is not there yet is written, empty.
    sample, seed : int
        How many traces are drawn, each with the same chance; the same seed draws the same ones.
    """
    place, colon, name = adapter.rpartition(":")
    loaded = load_adapter(f"{locate(place)}:{name}" if colon else adapter).adapter
    path, mapper, maker = locate(traces), Mapper(loaded), CaseMaker(loaded)
    usable: list[str] = []
    unusable = 0
    for trace in READERS[loaded.reads](path):
        adapted = mapper.adapted(trace)
        if adapted.unusable:
            unusable += 1
        else:
            usable.append(adapted.trace_id)
    drawn = draw(usable, sample, random.Random(seed))  # noqa: S311 - a sample, not a secret
    evidence = {}
    for trace in READERS[loaded.reads](path):
        adapted = mapper.adapted(trace)
        if adapted.trace_id in set(drawn):
            evidence[adapted.trace_id] = maker.case(adapted)["evidence"]
    found = _notes(locate(notes), evidence)
    decided = read_groups(locate(groups)) if locate(groups).is_file() else []
    return Read(
        traces=path,
        total=len(usable) + unusable,
        unusable=unusable,
        evidence=evidence,
        notes={note.case_id: note for note in found},
        groups=tuple(decided),
        reading=reading_of(drawn, found, decided),
    )


def _notes(path: Path, evidence: Mapping[str, Mapping[str, Any]]) -> list[Note]:
    if not path.is_file():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"the folder of the notes cannot be made ({error.strerror or error})"
            raise EvalkitError(msg, where=str(path.parent), do="give another place for the notes") from error
        write_whole(path, notes_table(evidence))
    return read_notes(path)


def traces_frame(found: Read, most: int = 15) -> pd.DataFrame:
    """Return what was asked and answered, and the note on it."""
    import pandas as pd

    rows = [
        (case_id, plain(str(parts.get("question"))), plain(str(parts.get("answer"))), _note(found, case_id).note)
        for case_id, parts in found.evidence.items()
    ]
    return pd.DataFrame(rows[:most], columns=["case_id", "question", "answer", "note"])


def _note(found: Read, case_id: str) -> Note:
    return found.notes.get(case_id, Note(case_id, ""))


def trace_text(found: Read, case_id: str) -> str:
    """Return all that one trace says, as plain text."""
    parts = found.evidence.get(case_id, {})
    lines = [
        f"{name}: {plain(str(parts.get(name)))}"
        for name in ("question", "answer", "reference", "error")
        if name in parts
    ]
    passages = parts.get("retrieved")
    lines += ["retrieved: null (lost)"] if passages is None else [f"retrieved: {len(passages)} passages"]
    for passage in passages or ():
        lines.append(f"  {passage['document_id'] or 'no document id'}: {plain(passage['text'])}")
    return "\n".join(lines)


def counts_frame(found: Read) -> pd.DataFrame:
    """Return how often each group occurs in the sample, with the interval for the rate in the whole file."""
    import pandas as pd

    n = len(found.reading.sample)
    rows = []
    for group, count in found.reading.counts.items():
        interval = exact_interval(count, n, 0.95)
        rows.append((group, f"{count} of {n}", f"{interval.low:.0%} to {interval.high:.0%}"))
    return pd.DataFrame(rows, columns=["group", "traces", "rate in all traces (95 %)"])


def kinds_frame(found: Read) -> pd.DataFrame:
    """Return which kind of metric fits each group of failures, why, and what that kind is for."""
    import pandas as pd

    by_name = {group.group: group for group in found.groups}
    rows = []
    for name, count in found.reading.counts.items():
        group = by_name.get(name, Group(name, None))
        if name != FINE:
            rows.append((name, count, group.kind or "not decided", group.why, ADVICE[group.kind] if group.kind else ""))
    return pd.DataFrame(rows, columns=["failure", "traces", "metric", "why", "what that kind is for"])


def sheet_editor(found: Read, notes: str) -> Any:
    """Return a widget for the notes on the sample; it saves into the sheet."""
    from evalkit.pages.sheet_widget import Field, SheetEditor

    rows = [
        {"case_id": case_id, "trace": trace_text(found, case_id), **_note(found, case_id)._asdict()}
        for case_id in found.evidence
    ]
    columns = ("case_id", "question", "answer", "note", "group", "reader")

    def save(edited: list[dict[str, str]]) -> str:
        parts = [
            {**row, **{k: str(found.evidence[row["case_id"]].get(k) or "") for k in ("question", "answer")}}
            for row in edited
        ]
        write_whole(locate(notes), table_bytes(columns, parts))
        return f"saved {len(parts)} notes; run the page again"

    fields = (Field("note"), Field("group"), Field("reader"))
    return SheetEditor(rows, ("case_id", "trace"), fields, save, required=("note", "group"))


def concluded(found: Read) -> Conclusion:
    """Return what the page comes to: *passed* when every trace of the sample was read, grouped and decided on."""
    reading, open_ends = found.reading, found.reading.open_ends()
    failures = {name: n for name, n in reading.counts.items() if name != FINE}
    if not reading.sample:
        return Conclusion(outcome=Outcome.incomplete, sentences=("there is no trace to read",), figures={})
    figures: dict[str, float | int | str | None] = {
        "traces": found.total,
        "sample": len(reading.sample),
        "read": len(reading.sample) - len(reading.unread),
        "fine": reading.counts.get(FINE, 0),
        "failures": sum(failures.values()),
        "groups": len(failures),
    }
    return Conclusion(
        outcome=Outcome.review_required if open_ends else Outcome.passed,
        sentences=tuple(open_ends),
        figures=figures | {f"group.{name}": n for name, n in failures.items()},
        outcome_hash=sha256_of({"traces_sha256": sha256_file(found.traces), "counts": dict(reading.counts)}),
    )
