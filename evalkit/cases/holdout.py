"""The hold-out ledger: when held-out labels were looked at, for what, with which metric. A look is spent once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalkit.cases.appending import append_synced, growing
from evalkit.cases.layout import TEXT, Each, misfit
from evalkit.cases.lines import read_lines
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError, canonical_json, example_list, sha256_text

__all__ = ["LEDGER_NAME", "Look", "SpentSlice", "append_look", "read_looks", "refuse_second_look", "same_look", "spent"]

LEDGER_NAME = "holdout.jsonl"

_CAUSES = {
    "metric_fingerprint": "the metric was edited",
    "metric": "it is another metric",
    "contract_version": "the contract version changed",
    "question": "another limit or confidence is asked for",
    "rows_sha256": "the rows or their labels changed",
}


class Look(NamedTuple):
    """One certification on held-out rows: everything that makes it the same look or another one."""

    looked_on: str
    """ISO date."""
    purpose: str
    metric: str
    contract_version: str
    metric_fingerprint: str
    question: Mapping[str, Any]
    """Limit, confidence, criterion and rubric version."""
    rows_sha256: str
    """Of case ids, what they show, and settled labels."""
    result: Mapping[str, float | str | None]
    """Certified threshold by tested slice."""
    case_ids: Mapping[str, tuple[str, ...]]
    """The labelled rows that were looked at, by tested slice; a slice with too few labels to test stays unseen."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return self._asdict()


class SpentSlice(NamedTuple):
    """What is left of one slice's held-out rows."""

    slice: str
    labelled: int
    seen: int
    """Labelled rows that some look has used."""
    looks: int

    @property
    def fresh(self) -> int:
        """Labelled rows that no look has used: what an edited metric could still be certified on."""
        return self.labelled - self.seen


_LAYOUT = {
    **dict.fromkeys(Look._fields, TEXT),
    "question": (dict,),
    "result": Each((str, int, float, type(None))),
    "case_ids": Each([TEXT]),
}


def read_looks(path: Path) -> list[Look]:
    """Read the ledger; a file that is not there holds no looks.

    Raises
    ------
    EvalkitError
        Where a line was changed, removed or put in between: each line carries the hash of the one before.
    """
    if not path.exists():
        return []
    looks: list[Look] = []
    previous: str | None = None
    for line in read_lines(path):
        if line.is_cut and not _is_json(line.raw):
            break  # its process died while it was written: what it was about was never shown
        found = _look(line.raw, previous)
        if isinstance(found, str):
            do = "restore the ledger from version control: it is append-only"
            raise EvalkitError(found, where=f"{path}, line {line.number}", do=do)
        looks.append(found)
        previous = sha256_text(line.raw.decode())
    return looks


def _is_json(raw: bytes) -> bool:
    try:
        parse_object(raw)
    except JsonProblem:
        return False
    return True


def _look(raw: bytes, previous: str | None) -> Look | str:
    """Return the look of one line, or what is wrong with it."""
    try:
        fields = parse_object(raw)
    except JsonProblem as problem:
        return f"is not a line of a hold-out ledger: {problem.reason}"
    if fields.get("previous") != previous:
        return "does not follow the line before it: the ledger was edited"
    if unfit := misfit(fields, _LAYOUT):
        return f"is not a line of a hold-out ledger: {unfit}"
    case_ids = {name: tuple(ids) for name, ids in fields["case_ids"].items()}
    return Look(**{name: fields[name] for name in Look._fields} | {"case_ids": case_ids})


def same_look(looks: Iterable[Look], look: Look) -> Look | None:
    """Return the earlier look that asked exactly this; repeating it shows nothing new and spends nothing."""
    return next((old for old in looks if not _changed(old, look)), None)


def _changed(old: Look, look: Look) -> list[str]:
    # Through JSON, so that a look read back from the ledger compares with one just made.
    return [
        cause
        for name, cause in _CAUSES.items()
        if canonical_json(getattr(old, name)) != canonical_json(getattr(look, name))
    ]


def refuse_second_look(looks: Iterable[Look], look: Look) -> None:
    """Raise where held-out rows would be looked at again after something was changed.

    Whoever has seen how a metric does on these rows, and edits it, has tuned it on them: a certificate from the same
    rows would then be worth as little as one from the development rows. Fresh held-out rows may be used.

    Raises
    ------
    EvalkitError
        Naming the earlier look, what changed since, and how many rows both would use.
    """
    for old in looks:
        both = {name: set(old.case_ids.get(name, ())) & set(ids) for name, ids in look.case_ids.items()}
        shared = sum(map(len, both.values()))
        changed = _changed(old, look)
        if shared and changed:
            slices = example_list([repr(name) for name, ids in both.items() if ids])
            msg = (
                f"the held-out partition is spent: {shared} of these rows (slices {slices}) were looked at on "
                f"{old.looked_on} for {old.purpose!r}, and since then {' and '.join(changed)}"
            )
            do = "label new families as held_out and certify on those, or go back to what was certified"
            raise EvalkitError(msg, where="hold-out ledger", do=do)


def append_look(path: Path, look: Look) -> None:
    """Append one look and force it to disk, before anything it showed is printed."""
    try:
        with growing(path) as descriptor:  # the line before is read under the lock: two looks at once are two lines
            previous: str | None = None
            for line in read_lines(path):
                previous = sha256_text(line.raw.decode())
            facts = look.facts() | {"previous": previous}
            append_synced(descriptor, orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE))
    except OSError as error:
        msg = f"the hold-out ledger cannot be written ({error.strerror or error}); the held-out rows were not shown"
        raise EvalkitError(msg, where=str(path), do="choose another place with --ledger") from error


def spent(looks: Iterable[Look], labelled: Mapping[str, Iterable[str]]) -> list[SpentSlice]:
    """Count, slice by slice, which labelled held-out rows some look has already used.

    >>> spent([], {"default": ["a", "b"]})[0].fresh
    2
    """
    looks = list(looks)
    rows = []
    for name, case_ids in labelled.items():
        own = set(case_ids)
        seen = {case_id for look in looks for ids in look.case_ids.values() for case_id in ids} & own
        used = sum(bool(own & {case_id for ids in look.case_ids.values() for case_id in ids}) for look in looks)
        rows.append(SpentSlice(name, len(own), len(seen), used))
    return rows
