"""The record that a decision left in a meeting's folder, read back: the minutes are made of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalkit.cases.layout import NUMBER, TEXT, misfit
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError

__all__ = ["latest_decision"]

_OR_NULL = (type(None),)
_PAIRS = {"pairs_agreeing": (int,), "pairs_compared": (int,)}
_LAYOUT = {
    **dict.fromkeys(
        ("decided_on", "decided_at", "approved_by", "expires_on", "rationale", "dissent", "basis", "votes", "diff"),
        TEXT,
    ),
    "attendees": [TEXT],
    "actions": [dict.fromkeys(("what", "owner", "due"), TEXT)],
    "slices": [
        {
            "slice": TEXT,
            "threshold": NUMBER + _OR_NULL,
            "was": NUMBER + _OR_NULL,
            "meaning": TEXT + _OR_NULL,
            "certificate": TEXT + _OR_NULL,
        }
    ],
    "agreement": {"before": _PAIRS, "after": _PAIRS},
    "split": [TEXT],
    "flips": {"compared": (int,), "flips": [{"case_id": TEXT, "old": TEXT + _OR_NULL, "new": TEXT + _OR_NULL}]},
    "policy": dict.fromkeys(("name", "file", "version", "old_version", "sha256"), TEXT),
}


def latest_decision(folder: Path) -> Mapping[str, Any] | None:
    """Return the record of a meeting's newest decision; ``None`` where nothing has been decided.

    Raises
    ------
    EvalkitError
        Where a record cannot be read, or is not laid out as `decide` writes it.
    """
    found = [_read(path) for path in sorted(folder.glob("decision-*.json"))]
    return max(found, key=lambda record: str(record["decided_at"])) if found else None


def _read(path: Path) -> dict[str, Any]:
    try:
        record = parse_object(path.read_bytes())
        problem = misfit(record, _LAYOUT)
    except (OSError, JsonProblem) as error:
        problem, record = str(error), {}
    if problem:
        msg = f"cannot be read as the record of a decision: {problem}"
        raise EvalkitError(msg, where=str(path), do="bring the whole folder of the meeting, as evalkit wrote it")
    return record
