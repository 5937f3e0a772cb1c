"""A gate's look at held-out rows: written down before it shows anything, and refused after an edit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.holdout import Look, append_look, read_looks, refuse_second_look, same_look
from evalkit.contract import EvalkitError, sha256_of
from evalkit.decisions.certifying.against import Labelled
from evalkit.decisions.policy import Policy

__all__ = ["Judged", "open_held_out"]

_ASKED_BY = "gate"
"""The key that tells a gate's question from a calibration's."""


class Judged(NamedTuple):
    """What is held against the labels."""

    name: str
    contract_version: str
    fingerprint: str
    configuration: str | None
    """Hash of a judge's model and settings; another model is another judge, whatever its prompt."""


def open_held_out(ledger: Path, held_out: Sequence[Labelled], policy: Policy, judged: Judged, as_of: date) -> None:
    """Write the look down, unless the ledger already holds it.

    The same look may be repeated as often as CI runs: it shows nothing new. A calibration of the same judge may have
    used the rows before, since a gate chooses nothing.

    Raises
    ------
    EvalkitError
        Where the rows were looked at before and judge, rows, labels or limits have changed since, or the ledger cannot
        be read or written: the rows then stay unseen.
    """
    look = _look(held_out, policy, judged, as_of)
    looks = read_looks(ledger)
    if same_look(looks, look) is not None:
        return
    _refuse_another_configuration(looks, look, judged)
    own = [old for old in looks if _ASKED_BY in old.question]
    refuse_second_look([*own, *_as_asked_here(looks, look)], look)
    append_look(ledger, look)


def _look(held_out: Sequence[Labelled], policy: Policy, judged: Judged, as_of: date) -> Look:
    rows = {found.slice: sorted([case_id, *_shown(found, case_id)] for case_id in found.labels) for found in held_out}
    limits = {
        found.slice: {key: getattr(policy.slices[found.slice], key) for key in ("max_false_passes", "max_false_fails")}
        for found in held_out
    }
    return Look(
        looked_on=as_of.isoformat(),
        purpose=f"gate {policy.name}",
        metric=judged.name,
        contract_version=judged.contract_version,
        metric_fingerprint=judged.fingerprint,
        question={_ASKED_BY: limits, "configuration": judged.configuration},
        rows_sha256=sha256_of(rows),
        result={found.slice: f"{len(found.false_passes)} false passes" for found in held_out},
        case_ids={found.slice: tuple(sorted(found.labels)) for found in held_out},
    )


def _shown(found: Labelled, case_id: str) -> list[Any]:
    record = next(r for _, rows in found.by_label() for r in rows if r.case_id == case_id)
    return [record.seen_hash, found.labels[case_id]]


def _refuse_another_configuration(looks: Iterable[Look], look: Look, judged: Judged) -> None:
    for old in looks:
        before = old.question.get("configuration")
        if before is not None and before != judged.configuration and _shared(old, look):
            msg = (
                f"the held-out partition is spent: {_shared(old, look)} of these rows were looked at on "
                f"{old.looked_on} for {old.purpose!r}, and since then the judge's model or settings changed"
            )
            raise EvalkitError(msg, where="hold-out ledger", do="label new families as held_out and certify on those")


def _shared(old: Look, look: Look) -> int:
    both: Mapping[str, set[str]] = {
        name: set(old.case_ids.get(name, ())) & set(case_ids) for name, case_ids in look.case_ids.items()
    }
    return sum(map(len, both.values()))


def _as_asked_here(looks: Iterable[Look], look: Look) -> list[Look]:
    """Return the looks of calibrations, as far as an edited judge shows in them: their question is another one."""
    return [
        old._replace(question=look.question, rows_sha256=look.rows_sha256)
        for old in looks
        if _ASKED_BY not in old.question
    ]
