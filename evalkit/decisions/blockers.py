"""Why a gate is not green: each blocker names its kind, its owner, its rows and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from evalkit.contract import Outcome
from evalkit.scoring.records import Record
from evalkit.scoring.spilled import MOST_KEPT, SpilledList

__all__ = ["Blocker", "Row", "blocked_rows"]


class Row(NamedTuple):
    """One row of a blocker, as far as a screen needs it; the whole record is in ``records.jsonl``."""

    line: int
    case_id: str | None
    slice: str
    value: float | int | str | list[Any] | None
    minimum: float | None
    reason: str
    owner: str | None
    error_kind: str | None
    sentence: str
    """What the triage of the row says: the first faulty evidence, in words."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """One reason why the outcome is not *passed*."""

    kind: str
    """For example ``failed``, ``review``, ``invalid``, ``error``, ``unrun``, ``policy``, ``expired``, ``contract``,
    ``empty``, ``unknown_slice``, ``frozen``, ``revision``, ``baseline``, ``labels``, ``pass_rate``."""
    outcome: Outcome
    owner: str
    sentence: str
    do: str
    rows: Sequence[Row] = ()

    def facts(self) -> dict[str, Any]:
        """Return the blocker as plain JSON values, with all its rows."""
        return {
            "kind": self.kind,
            "outcome": self.outcome.name,
            "owner": self.owner,
            "sentence": self.sentence,
            "do": self.do,
            "count": len(self.rows),
            "rows": (
                self.rows.as_json() if isinstance(self.rows, SpilledList) else [row._asdict() for row in self.rows]
            ),
        }


def blocked_rows(records: Sequence[Record], sentences: Mapping[int, str]) -> Sequence[Row]:
    """Return the rows of a blocker, in input order; `sentences` has their triage by line.

    Many rows are kept on disk: none is left out of the outcome file, however many there are.
    """
    rows = (
        Row(r.line, r.case_id, r.slice, r.value, r.minimum, r.reason, r.owner, r.error_kind, sentences.get(r.line, ""))
        for r in records
    )
    if len(records) <= MOST_KEPT:
        return tuple(rows)
    spilled = SpilledList[Row](lambda row: orjson.dumps(row._asdict()), lambda line: Row(**orjson.loads(line)))
    spilled.extend(rows)
    return spilled
