"""The record of one input line: what became of it, why, and what it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from evalkit.cases.strict_json import RECORD_DEPTH, parse_object
from evalkit.contract import Decision, EvalkitError, State
from evalkit.contract.words import DECISIONS, STATES

__all__ = ["KNIFE_EDGE", "Diagnosis", "Record", "Ruling", "is_knife_edge"]


KNIFE_EDGE = 1e-9


class Ruling(NamedTuple):
    """What the policy says of one record; the first three fields stand together in a record, in this order."""

    decision: Decision | None
    """``None`` where nothing was scored or no limits cover the row."""
    minimum: float | None
    """The bound it was compared with (a maximum, where lower is better); ``None`` for labels."""
    policy_version: str | None
    owner: str | None
    """Who looks first at a row that does not pass."""


class Diagnosis(NamedTuple):
    """Who owns a row that did not pass, and one plain sentence that says why."""

    owner: str | None
    sentence: str


class Record(NamedTuple):
    """One input line and what became of it; the fields and their order are those of ``records.jsonl``."""

    line: int
    case_id: str | None
    slice: str
    blocking: bool
    family: str | None
    partition: str | None
    state: State
    value: float | int | str | list[Any] | None
    reason: str
    detail: Mapping[str, Any]
    error_kind: str | None
    decision: Decision | None
    minimum: float | None
    policy_version: str | None
    inputs: Mapping[str, Any] | None
    evidence: Mapping[str, Any] | None
    input_hash: str
    evidence_hash: str | None
    seen_hash: str | None
    """Of question, answer and passages as a reviewer sees them (of the inputs, where a case has no evidence)."""
    contract_version: str
    requirement_set_version: str | None
    lineage: Mapping[str, Any]
    """What produced the row: system revision, rubric and evidence version, source, stratum, weight, provenance."""
    owner: str | None
    judge: Mapping[str, Any] | None

    def to_json(self) -> bytes:
        """Return the line of ``records.jsonl``, newline included.

        Raises
        ------
        TypeError
            Where the metric left something in value, reason or detail that is not plain JSON; see `unwritable`.
        """
        return orjson.dumps(dict(zip(_FIELDS, self, strict=True)), option=orjson.OPT_APPEND_NEWLINE)

    def to_json_under(self, ruling: Ruling) -> bytes:
        """Return what ``ruled(ruling).to_json()`` would, without making a record of it: most rows need none."""
        (
            line, case_id, slice_name, blocking, family, partition, state, value, reason, detail, error_kind,
            _, _, _, inputs, evidence, input_hash, evidence_hash, seen_hash,
            contract_version, requirement_set_version, lineage, _, judge,
        ) = self  # fmt: skip
        # Written out, because pairing names and values takes as long as writing the JSON, on every row of every gate.
        fields = {
            "line": line, "case_id": case_id, "slice": slice_name, "blocking": blocking, "family": family,
            "partition": partition, "state": state, "value": value, "reason": reason, "detail": detail,
            "error_kind": error_kind, "decision": ruling.decision, "minimum": ruling.minimum,
            "policy_version": ruling.policy_version, "inputs": inputs, "evidence": evidence, "input_hash": input_hash,
            "evidence_hash": evidence_hash, "seen_hash": seen_hash, "contract_version": contract_version,
            "requirement_set_version": requirement_set_version, "lineage": lineage, "owner": ruling.owner,
            "judge": judge,
        }  # fmt: skip
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)

    def unwritable(self, why: object) -> Record:
        """Return the record of a row whose result cannot be written: the metric's error, with nothing made up."""
        reason = f"the metric's result is not plain JSON ({why}): value, reason and detail are left out"
        return self._replace(
            state="error", value=None, reason=reason, detail={}, error_kind="wrong_shape", decision=None, owner="metric"
        )

    @classmethod
    def from_json(cls, raw: bytes, *, where: str) -> Record:
        """Read a line of ``records.jsonl``, refusing what `to_json` could not have written."""
        try:
            fields = parse_object(raw, depth=RECORD_DEPTH)
        except ValueError as error:
            msg = f"is not a record: {error}"
            raise EvalkitError(msg, where=where, do="the run folder is damaged: score the cases again") from error
        if problem := _record_problem(fields):
            raise EvalkitError(problem, where=where, do="the run folder is damaged or foreign: score the cases again")
        return cls(**{name: fields[name] for name in cls._fields})

    @classmethod
    def from_fields(cls, fields: object) -> Record | None:
        """Build a record from a line that was parsed already; ``None`` where `from_json` has something to refuse."""
        if type(fields) is not dict or tuple(fields) != cls._fields or _record_problem(fields):
            return None
        return cls._make(fields.values())

    def ruled(self, ruling: Ruling) -> Record:
        """Return the record with what a policy says of it."""
        # Spliced, not `_replace`d: this runs once for every row of every gate, and is four times as fast.
        return Record._make(
            self[:_DECISION] + ruling[:3] + self[_DECISION + 3 : _OWNER] + ruling[3:] + self[_OWNER + 1 :]
        )


_FIELDS = Record._fields
_DECISION, _OWNER = Record._fields.index("decision"), Record._fields.index("owner")


_NONE = type(None)
_TEXT, _OPTIONAL_TEXT, _OBJECT, _OPTIONAL_OBJECT = (str,), (str, _NONE), (dict,), (dict, _NONE)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "line": (int,), "case_id": _OPTIONAL_TEXT, "slice": _TEXT, "blocking": (bool,), "family": _OPTIONAL_TEXT,
    "value": (int, float, str, list, _NONE), "reason": _TEXT, "detail": _OBJECT, "error_kind": _OPTIONAL_TEXT,
    "minimum": (int, float, _NONE), "inputs": _OPTIONAL_OBJECT, "evidence": _OPTIONAL_OBJECT,
    "seen_hash": _OPTIONAL_TEXT, "lineage": _OBJECT, "owner": _OPTIONAL_TEXT, "judge": _OPTIONAL_OBJECT,
}  # fmt: skip


def _record_problem(fields: Mapping[str, Any]) -> str | None:
    if missing := [name for name in Record._fields if name not in fields]:
        return f"is not a record: {missing[0]!r} is absent"
    if fields["state"] not in STATES:
        return f"is not a record: state must be one of {', '.join(STATES)}; got {fields['state']!r}"
    if fields["decision"] not in (None, *DECISIONS):
        return f"is not a record: decision must be one of {', '.join(DECISIONS)}; got {fields['decision']!r}"
    for name, allowed in _TYPES.items():
        if type(fields[name]) not in allowed:
            return f"is not a record: {name} cannot be {fields[name]!r}"
    if (fields["state"] == "scored") != (fields["value"] is not None):
        return f"is not a record: state {fields['state']!r} with value {fields['value']!r}"
    return None


def is_knife_edge(record: Record) -> bool:
    """Tell whether a value misses its bound by so little that it is most likely rounding.

    The decision stands (comparison is exact); both numbers are then shown in full.
    """
    value, bound = record.value, record.minimum
    if record.decision == "pass" or bound is None or not isinstance(value, int | float):
        return False
    return 0 < abs(value - bound) <= KNIFE_EDGE
