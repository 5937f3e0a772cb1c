"""Rows as people read them: which come first, which match a filter, what one says. Pure functions of records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.contract import Contract
from evalkit.contract.words import Better
from evalkit.decisions.triage import missing_claims, needs_triage, triage
from evalkit.pages.plain import plain, shown
from evalkit.scoring.preparation import forms_of
from evalkit.scoring.records import Record
from evalkit.scoring.retention import is_kept_in_full

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ANY", "NONE", "Part", "choices", "matching", "reading_order", "row_parts", "row_text", "rows_frame"]

ANY, NONE = "", "none"
"""Filter values that no field has: no slice is blank, and no decision is called none."""
_URGENCY = {"error": 0, "invalid": 1, "unrun": 2}
_DECISION_URGENCY = {"fail": 3, "review": 4, None: 5, "pass": 6}
_MOST_CHARACTERS = 6_000
"""Of one text: a page stays readable, and the whole is in the cases file."""

_LINE = 400


class Part(NamedTuple):
    """One thing a row says."""

    title: str
    text: str
    """Plain text: every hidden character made visible; line breaks kept."""
    is_long: bool = False
    """Worth folding away: passages, inputs."""


def reading_order(records: Sequence[Record], better: Better = "higher") -> list[Record]:
    """Return the rows in the order in which somebody should look at them.

    First what could not be scored, what failed and what needs a person, blocking rows before the others; then the
    rest, worst value first.
    """
    sign = 1 if better == "higher" else -1

    def key(record: Record) -> tuple[int, bool, float, int]:
        urgency = _URGENCY.get(record.state, _DECISION_URGENCY[record.decision])
        value = record.value if isinstance(record.value, int | float) else 0.0
        return urgency, not record.blocking, sign * value, record.line

    return sorted(records, key=key)


def matching(
    records: Sequence[Record], *, state: str = ANY, decision: str = ANY, slice_name: str = ANY, text: str = ""
) -> list[int]:
    """Return the positions of the rows that match everything given.

    Parameters
    ----------
    records : sequence of Record
    state, slice_name : str
        A value of that field, or `ANY`.
    decision : str
        ``pass``, ``fail``, ``review``, `NONE` for rows without a decision, or `ANY`.
    text : str
        Looked for in case id and reason, case ignored.
    """
    wanted = text.strip().casefold()
    return [
        position
        for position, record in enumerate(records)
        if state in (ANY, record.state)
        and decision in (ANY, record.decision or NONE)
        and slice_name in (ANY, record.slice)
        and (not wanted or wanted in f"{record.case_id}\n{record.reason}".casefold())
    ]


def choices(records: Sequence[Record], field: str) -> list[tuple[str, str]]:
    """Return the values of a field that occur, each with how many rows have it, for a filter: ``(label, value)``."""
    counts = Counter(getattr(record, field) or NONE for record in records)
    found = [(f"{plain(str(value), newline=' ')} ({n:,})", str(value)) for value, n in sorted(counts.items())]
    return [(f"any ({len(records):,})", ANY), *found]


def rows_frame(records: Sequence[Record], *, most: int | None = None) -> pd.DataFrame:
    """Return records as a frame: ``case_id, slice, blocking, state, decision, value, minimum, missing, owner, reason``.

    ``value`` is a nullable number (or text, for labels): a row without a score has no value, and no row is left out.
    With `most`, only the first rows.
    """
    import pandas as pd

    taken = records[:most] if most is not None else records
    frame = pd.DataFrame(
        {
            "case_id": [record.case_id or f"line {record.line}" for record in taken],
            "slice": [record.slice for record in taken],
            "blocking": [record.blocking for record in taken],
            "state": [record.state for record in taken],
            "decision": pd.array([record.decision for record in taken], dtype="string"),
            "value": _column([record.value for record in taken]),
            "minimum": _column([record.minimum for record in taken]),
            "missing": [", ".join(_missing(record)) for record in taken],
            "owner": [record.owner or "" for record in taken],
            "reason": [plain(record.reason, newline=" ") for record in taken],
        }
    )
    frame.index = pd.Index([record.line for record in taken], name="line")
    return frame


def _column(values: list[Any]) -> Any:
    import pandas as pd

    is_numeric = all(value is None or isinstance(value, int | float) for value in values)
    return pd.array(values, dtype="Float64") if is_numeric else pd.array([_text(v) for v in values], dtype="string")


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _missing(record: Record) -> list[str]:
    found = record.detail.get("missing")
    return [str(item) for item in found] if isinstance(found, list | tuple) else []


# --- one row ---------------------------------------------------------------------------------------------------------


def row_parts(record: Record, contract: Contract | None = None) -> list[Part]:
    """Return what a row says, from the verdict down to its evidence.

    Enough for somebody who did not write the metric to reach the same missing evidence and the same owner.

    Parameters
    ----------
    record : Record
    contract : Contract, optional
        The metric's; it says what may be missing, and who owns which diagnosis.
    """
    parts = [
        Part("Row", _head(record)),
        Part("Verdict", _verdict(record)),
        Part("Reason", _prose(record.reason) or "none given"),
        Part("Missing", _missing_text(record)),
        Part("What happened", _diagnosis(record, contract)),
        Part("Owner", record.owner or "nobody: nothing to mend"),
        *[Part(f"Input {plain(name)}", _prose(value), True) for name, value in (record.inputs or {}).items()],
        *[Part(f"Input {plain(form.title)}", _prose(form.form), True) for form in forms_of(record)],
        *_evidence_parts(record.evidence),
    ]
    return [part for part in parts if part.text]


def row_text(record: Record, contract: Contract | None = None) -> str:
    """Return what a row says as plain text, long lines cut: the explorer's card without the explorer."""
    return "\n\n".join(f"{part.title}\n{_indented(part.text)}" for part in row_parts(record, contract))


def _indented(text: str) -> str:
    lines = [f"{line[:_LINE]} …" if len(line) > _LINE else line for line in text.split("\n")]
    return "\n".join(f"  {line}" for line in lines)


def _head(record: Record) -> str:
    name = plain(record.case_id) if record.case_id else "no case id"
    blocking = "blocking" if record.blocking else "not blocking"
    return f"{name} · line {record.line:,} · slice {plain(record.slice)} · {blocking}"


def _verdict(record: Record) -> str:
    if record.state != "scored":
        return f"{record.state} ({record.error_kind or 'no kind'}): no value, and none is made up"
    value = shown(record.value, record.minimum)
    if record.decision is None:
        return f"{value}, not decided: no policy covers the row"
    against = f" against {record.minimum!r}" if record.minimum is not None else ""
    return f"{record.decision}: {value}{against} (policy {plain(str(record.policy_version))})"


def _diagnosis(record: Record, contract: Contract | None) -> str:
    if record.state != "scored" or not (needs_triage(record) or missing_claims(record)):
        return ""  # of a row without a score, the reason is the diagnosis
    found = triage(record, contract)
    return "\n".join(plain(sentence) for sentence in [f.sentence for f in found.findings] or [found.sentence])


def _missing_text(record: Record) -> str:
    claims = (record.evidence or {}).get("claims")
    reviewed = claims if isinstance(claims, Mapping) else {}
    return "\n".join(
        f"{plain(item)}: {_prose(reviewed[item])}" if item in reviewed else plain(item) for item in _missing(record)
    )


def _evidence_parts(evidence: Mapping[str, Any] | None) -> list[Part]:
    if evidence is None:
        return [Part("Evidence", "none in this row")]
    first = [key for key in ("question", "answer", "citations", "retrieved", "claims", "reference") if key in evidence]
    rest = [key for key in evidence if key not in first]
    is_long = {"citations", "retrieved", "claims"}
    return [Part(_TITLES.get(key, plain(key)), _evidence_text(key, evidence[key]), key in is_long or key in rest)
            for key in [*first, *rest]]  # fmt: skip


_TITLES = {
    "question": "Question", "answer": "Answer", "citations": "Citations", "retrieved": "Retrieved passages",
    "claims": "Reviewed claims", "reference": "Reference",
}  # fmt: skip


def _evidence_text(key: str, value: Any) -> str:
    if key == "retrieved" and value is None:
        return "null: the trace was lost; what was retrieved is not known"
    if key == "retrieved" and value == []:
        return "[]: the system retrieved nothing"
    return _prose(value)


def _prose(value: Any) -> str:
    """Write a JSON value as lines a person reads."""
    if not is_kept_in_full(value):
        kind = "an excerpt" if value["excerpt"] else "a hash"
        return f"kept as {kind} only: {plain(value['excerpt'] or value['sha256'])}"
    if isinstance(value, str):
        return _cut(plain(value, newline="\n"))
    if isinstance(value, Mapping):
        return "\n".join(f"{plain(str(key))}: {_prose(item)}" for key, item in value.items()) or "{}"
    if isinstance(value, list | tuple):
        return "\n".join(f"- {_one_line(item)}" for item in value) or "[]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _one_line(value: Any) -> str:
    if isinstance(value, Mapping) and is_kept_in_full(value):
        return " · ".join(f"{plain(str(key))}: {_prose(item)}" for key, item in value.items())
    return _prose(value)


def _cut(text: str) -> str:
    left = len(text) - _MOST_CHARACTERS
    return text if left <= 0 else f"{text[:_MOST_CHARACTERS]} … ({left:,} more characters)"
