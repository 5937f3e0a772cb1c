"""Certify once on held-out rows: refuse a second look after an edit, write the look down, then say what it showed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.holdout import Look, append_look, read_looks, refuse_second_look, same_look
from evalkit.contract import sha256_of
from evalkit.contract.words import Better
from evalkit.decisions.calibrating.certificate import Certificate, Family, certify, family_of, labels_needed
from evalkit.decisions.calibrating.pairing import Pairing
from evalkit.decisions.calibrating.sample import Sample, sample_of
from evalkit.decisions.calibrating.sweep import Sweep
from evalkit.decisions.calibrating.thresholds import Threshold, denominators_of, sweep_rows, threshold_table

__all__ = ["HeldOut", "HeldOutSlice", "LookContext", "certify_held_out", "stricter"]


class LookContext(NamedTuple):
    """What a look is recorded with."""

    looked_on: str
    purpose: str
    metric: str
    contract_version: str
    metric_fingerprint: str
    question: Mapping[str, Any]


class HeldOutSlice(NamedTuple):
    """One slice's held-out rows."""

    sample: Sample
    candidate: float | None
    """The threshold chosen on the calibration rows."""
    certified: float | None
    """The candidate, or a stricter threshold where only that holds; ``None``: not certified."""
    certificate: Certificate | None
    """``None`` where the rows stayed unseen."""
    threshold: Threshold | None
    """The errors at the certified threshold (at the strictest one, where none is certified); ``None`` where the rows
    stayed unseen or none reaches it."""
    labels_needed: int


class HeldOut(NamedTuple):
    """One look at the held-out partition."""

    slices: Mapping[str, HeldOutSlice]
    family: Family
    look: Look
    is_repeat: bool
    """Whether the ledger already held this very look: nothing new was spent."""


def stricter(a: float, b: float, better: Better) -> float:
    """Return the threshold that lets fewer rows pass."""
    return max(a, b) if better == "higher" else min(a, b)


def certify_held_out(
    pairing: Pairing,
    candidates: Mapping[str, float | None],
    *,
    risk: float,
    confidence: float,
    ledger: Path,
    context: LookContext,
) -> HeldOut:
    """Test the candidates on the held-out partition.

    Slices without a candidate, with a reason to refuse, or with so few labelled fails that nothing could be certified
    stay unseen: not even their error counts are looked at, so their rows are not spent. The look is refused if other
    looks have used these rows and something has changed, and it is in the ledger before its result is returned.

    Parameters
    ----------
    pairing : Pairing
    candidates : mapping of slice to threshold
        Chosen on the calibration partition.
    risk, confidence : float
    ledger : Path
        Append-only; made where it is absent.
    context : LookContext

    Raises
    ------
    EvalkitError
        For a partition that is spent, or a ledger that was edited or cannot be written.
    """
    samples = {name: sample_of(pairing, name, "held_out") for name in candidates}
    ready = [name for name, sample in samples.items() if candidates[name] is not None and not sample.refusals]
    family = family_of({name: samples[name].n_fail for name in ready}, risk, 1.0 - confidence)
    seen = {name: samples[name] for name in ready if name in family.levels}
    look = _look(seen, context)
    looks = read_looks(ledger)
    repeat = same_look(looks, look)
    if repeat is None:
        refuse_second_look(looks, look)
    slices = {
        name: _tested(pairing, sample, candidates[name], risk, confidence, family)
        if name in seen
        else HeldOutSlice(sample, candidates[name], None, None, None, _missing(sample, risk, family))
        for name, sample in samples.items()
    }
    look = look._replace(result={name: slices[name].certified for name in seen})
    if repeat is None and seen:
        append_look(ledger, look)
    return HeldOut(slices, family, repeat or look, repeat is not None)


def _missing(sample: Sample, risk: float, family: Family) -> int:
    return labels_needed(0, sample.n_fail, risk, family.level(sample.slice))


def _look(seen: Mapping[str, Sample], context: LookContext) -> Look:
    rows = {
        name: sorted([row.case_id, row.seen_hash, row.is_bad] for row in sample.rows)
        for name, sample in sorted(seen.items())
    }
    case_ids = {name: tuple(str(case_id) for case_id, _, _ in found) for name, found in rows.items()}
    return Look(*context, rows_sha256=sha256_of(rows), result={}, case_ids=case_ids)


def _tested(
    pairing: Pairing, sample: Sample, candidate: float | None, risk: float, confidence: float, family: Family
) -> HeldOutSlice:
    found = sweep_rows(sample.rows, pairing.better, is_discrete=pairing.is_discrete)
    certificate = certify(found, risk, family.level(sample.slice))
    certified = None
    if certificate.certified is not None and candidate is not None:
        certified = stricter(candidate, certificate.certified, pairing.better)
    at = _place(found, certified)
    lines = threshold_table(
        sample.rows,
        found,
        certificate,
        confidence=confidence,
        denominators=denominators_of(sample.rows),
        is_discrete=pairing.is_discrete,
        at=[at] if at >= 0 else [],
    )
    line = lines[0] if lines else None
    return HeldOutSlice(sample, candidate, certified, certificate, line, certificate.labels_needed)


def _place(found: Sweep, threshold: float | None) -> int:
    """Return where the sweep decides like `threshold` (strictest for ``None``); -1 where no row reaches it."""
    if threshold is None:
        return 0
    reached = found.thresholds >= threshold if found.better == "higher" else found.thresholds <= threshold
    return int(reached.sum()) - 1
