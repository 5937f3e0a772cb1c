"""What each slice's threshold does to rows and to labels: one line a slice, every rate beside its counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from evalkit.decisions.binomial import Interval
from evalkit.decisions.calibrate import SliceCalibration
from evalkit.decisions.calibrating.sweep import clopper_pearson
from evalkit.decisions.meeting.meeting import Meeting, Proposal
from evalkit.decisions.rules import rule_of

__all__ = ["SliceLine", "confusion_at"]


class SliceLine(NamedTuple):
    """One slice under a proposal."""

    slice: str
    threshold: float | None
    """``None`` where people decide every row."""
    was: float | None
    """The policy's own."""
    meaning: str
    n: int
    """Scored rows that the meeting looks at."""
    passing: int
    failing: int
    review: int
    n_fail: int
    """Labelled rows that people call bad."""
    n_pass: int
    false_pass: int | None
    """Bad rows that pass; ``None`` without labels."""
    false_fail: int | None
    false_pass_interval: Interval | None
    false_fail_interval: Interval | None
    is_certified: bool
    certificate: str
    """Yes, or why not: what is missing, in words."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values; intervals as ``[low, high]``."""
        plain = self._asdict()
        return {name: [v.low, v.high] if isinstance(v, Interval) else v for name, v in plain.items()}


def confusion_at(meeting: Meeting, proposal: Proposal, names: Sequence[str] | None = None) -> list[SliceLine]:
    """Return a line for each slice of the policy that has rows here (or for those that are named).

    The error counts are over the labelled rows that calibration may use (see `calibrating.sample`): the ones drawn at
    random, or, where none was, those that were picked, which certify nothing.
    """
    rule = rule_of(meeting.policy_with(proposal), meeting.metric)
    lines = []
    for name in meeting.slices if names is None else names:
        rows = meeting.ranked(name).rows
        decided = [rule(record).decision for record in rows]
        threshold = meeting.threshold(name, proposal)
        part = meeting.calibration.slices.get(name) if meeting.calibration else None
        errors = _errors(part, threshold, meeting.calibration.options.confidence) if meeting.calibration else _NONE
        lines.append(
            SliceLine(
                slice=name,
                threshold=threshold,
                was=meeting.bound(name),
                meaning=meeting.meaning(name, threshold) if threshold is not None else "people decide every row",
                n=len(rows),
                passing=decided.count("pass"),
                failing=decided.count("fail"),
                review=decided.count("review"),
                n_fail=part.sweep.n_fail if part else 0,
                n_pass=part.sweep.n_pass if part else 0,
                **errors._asdict(),
            )
        )
    return lines


class _Errors(NamedTuple):
    false_pass: int | None
    false_fail: int | None
    false_pass_interval: Interval | None
    false_fail_interval: Interval | None
    is_certified: bool
    certificate: str


_NONE = _Errors(None, None, None, None, False, "no labels")


def _errors(part: SliceCalibration | None, threshold: float | None, confidence: float) -> _Errors:
    if part is None or threshold is None or not (part.sweep.n_fail + part.sweep.n_pass):
        return _NONE._replace(certificate="no threshold" if threshold is None else "no labels")
    found = part.sweep
    # Strictest first: the last observed value that the threshold lets pass decides alike.
    sign = 1.0 if found.better == "higher" else -1.0
    place = int(np.searchsorted(-sign * found.thresholds, -sign * threshold, side="right")) - 1
    false_pass = int(found.false_passes[place]) if place >= 0 else 0
    false_fail = int(found.false_fails[place]) if place >= 0 else found.n_pass
    bounds = clopper_pearson([false_pass, false_fail], [found.n_fail, found.n_pass], confidence)
    intervals = [
        None if np.isnan(low) else Interval(float(low), float(high), confidence)
        for low, high in zip(bounds.low, bounds.high, strict=True)
    ]
    is_certified = not part.refusals and not part.is_described_only and 0 <= place < part.certificate.n_certified
    return _Errors(
        false_pass, false_fail, intervals[0], intervals[1], is_certified, _words(part, place, is_certified=is_certified)
    )


def _words(part: SliceCalibration, place: int, *, is_certified: bool) -> str:
    if is_certified:
        return "yes"
    if part.refusals:
        return f"no: {part.refusals[0].partition(': ')[0]}"
    if part.is_described_only:
        return "no: labels not drawn at random"
    if place < 0:
        return "no: no labelled row passes"
    if part.certificate.certified is not None:
        word = "at least" if part.sweep.better == "higher" else "at most"
        return f"no: certified is {word} {part.certificate.certified!r}"
    return f"no: {part.labels_needed} more labelled fails needed"
