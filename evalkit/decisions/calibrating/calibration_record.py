"""The calibration as plain JSON values, and the record that a policy rests on: bound to metric, judge, rows, labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit.cases.labels import LabelFile
from evalkit.decisions.calibrate import Calibration, SliceCalibration
from evalkit.decisions.calibrating.held_out import HeldOutSlice
from evalkit.decisions.calibrating.thresholds import is_pass
from evalkit.decisions.calibrating.weighting import weighted_rates

__all__ = ["Basis", "calibration_facts", "calibration_record"]


class Basis(NamedTuple):
    """The files that a calibration rests on."""

    cases: str
    """File name; never a path of this machine."""
    cases_sha256: str
    metric_fingerprint: str
    judge: str | None
    """Hash of the judge's configuration, where the records are a judge's run."""
    labels: LabelFile
    ledger_sha256: str | None
    made_on: str
    """ISO date."""


def calibration_facts(found: Calibration) -> dict[str, Any]:
    """Return the result for ``--json``: every rate beside its counts, ``null`` for what is not defined."""
    options = found.options
    return {
        "schema": 1,
        "metric": found.metric.name,
        "contract_version": found.metric.version,
        "better": found.pairing.better,
        "max_false_pass": options.max_false_pass,
        "confidence": options.confidence,
        "criterion": options.reading.criterion,
        "rubric_version": options.reading.rubric_version,
        "outcome": found.outcome.name,
        "exit_code": int(found.outcome),
        "synthetic": found.is_synthetic,
        "chosen_on": found.partition or "all rows",
        "certified_on": "held_out" if found.held_out else found.partition or "all rows",
        "family_wise": _family(found),
        "slices": {name: _slice_facts(part) for name, part in found.slices.items()},
        "overall": _slice_facts(found.overall) | {"certified_threshold": None},
        "agreement": found.people.facts() | {"metric_human": found.metric_people.facts()},
        "partitions": dict(sum((Counter(part.partitions) for part in found.slices.values()), Counter())),
        "unmatched_labels": found.pairing.fates.get("", Counter())["no_case"],
        "findings": list(found.pairing.findings),
    }


def _family(found: Calibration) -> dict[str, Any]:
    family = found.held_out.family if found.held_out else found.family
    return {"method": family.method, "delta": family.delta, "levels": dict(family.levels)}


def _slice_facts(part: SliceCalibration) -> dict[str, Any]:
    return {
        "n": len(part.sample.rows),
        "n_fail_labels": part.sample.n_fail,
        "n_pass_labels": part.sample.n_pass,
        "states": dict(part.states),
        "labels": dict(part.fates),
        "partitions": dict(part.partitions),
        "left_out": dict(part.sample.left_out),
        "targeted": _targeted(part),
        "described_only": part.is_described_only,
        "synthetic": part.sample.is_synthetic,
        "denominators": {str(k): n for k, n in part.denominators.items()},
        "thresholds": [line.facts() for line in part.table],
        "distinguishable": len(part.sweep.thresholds),
        "auroc": part.auroc,
        "level": part.certificate.level,
        "chosen_threshold": part.candidate,
        "certified_threshold": part.certified,
        "labels_needed": part.labels_needed,
        "bound": part.certificate.bound,
        "refusals": list(part.refusals),
        "warnings": list(part.warnings),
        "false_pass_cases": part.mistakes(is_bad=True),
        "false_fail_cases": part.mistakes(is_bad=False),
        "weighted": _weighted(part),
        "held_out": _held_out_facts(part.held_out) if part.held_out else None,
    }


def _targeted(part: SliceCalibration) -> dict[str, int | None]:
    """Count the labels that were not drawn at random, and their errors at the shown threshold."""
    rows, line = part.sample.targeted, part.shown()
    bad = [row for row in rows if row.is_bad]
    wrong: dict[str, int | None] = {"false_pass": None, "false_fail": None}
    if line is not None:
        passing = [row for row in rows if is_pass(row.value, line.threshold, part.sweep.better)]
        false_pass = sum(row.is_bad is True for row in passing)
        wrong = {"false_pass": false_pass, "false_fail": len(rows) - len(bad) - (len(passing) - false_pass)}
    return {"n": len(rows), "n_fail_labels": len(bad), "n_pass_labels": len(rows) - len(bad), **wrong}


def _weighted(part: SliceCalibration) -> dict[str, Any] | None:
    line = part.shown()
    found = weighted_rates(part.rows, line.threshold, part.sweep.better) if line else None
    return found.facts() if found else None


def _held_out_facts(found: HeldOutSlice) -> dict[str, Any]:
    return {
        "opened": found.certificate is not None,
        "n": len(found.sample.rows),
        "n_fail_labels": found.sample.n_fail,
        "candidate": found.candidate,
        "certified_threshold": found.certified,
        "labels_needed": found.labels_needed,
        "level": found.certificate.level if found.certificate else None,
        "bound": found.certificate.bound if found.certificate else None,
        "at": found.threshold.facts() if found.threshold else None,
        "left_out": dict(found.sample.left_out),
        "refusals": list(found.sample.refusals),
    }


def calibration_record(found: Calibration, basis: Basis) -> dict[str, Any]:
    """Return the record that stands beside a policy.

    ``slices`` holds the certified slices only, so that a policy cannot be edited to decide another one by it; what was
    not certified stands under ``uncertified`` with the reason.
    """
    facts = calibration_facts(found)
    parts = found.slices
    return {
        "schema": 1,
        "made_on": basis.made_on,
        "metric": found.metric.name,
        "contract_version": found.metric.version,
        "metric_fingerprint": basis.metric_fingerprint,
        "judge": basis.judge,
        "cases": {"name": basis.cases, "sha256": basis.cases_sha256},
        "labels": {
            "name": basis.labels.path.name,
            "sha256": basis.labels.sha256,
            "reviewers": _reviewers(basis.labels),
        },
        "holdout_ledger_sha256": basis.ledger_sha256,
        "synthetic": found.is_synthetic,
        "max_false_pass": found.options.max_false_pass,
        "confidence": found.options.confidence,
        "family_wise": facts["family_wise"],
        "certified_on": facts["certified_on"],
        "slices": {name: _proof(part) for name, part in parts.items() if part.certified is not None},
        "uncertified": {
            name: {"labels_needed": part.labels_needed, "refusals": list(part.refusals)}
            for name, part in parts.items()
            if part.certified is None
        },
        "calibration": facts,
    }


def _reviewers(labels: LabelFile) -> dict[str, int]:
    return dict(sorted(Counter(label.reviewer for label in labels.labels).items()))


def _proof(part: SliceCalibration) -> Mapping[str, Any]:
    line = part.held_out.threshold if part.held_out else part.shown()
    sample = part.held_out.sample if part.held_out else part.sample
    certificate = part.held_out.certificate if part.held_out else part.certificate
    return {
        "threshold": part.certified,
        "n_fail_labels": sample.n_fail,
        "false_pass": line.false_pass if line else 0,
        "level": certificate.level if certificate else None,
        "synthetic": sample.is_synthetic,
    }
