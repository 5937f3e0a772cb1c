"""What is certified for one slice, in words; or what is missing, and what the labels do support."""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.decisions.calibrate import Calibration, SliceCalibration
from evalkit.pages.plain import shown

__all__ = ["percent", "verdict"]


def percent(share: float | None) -> str:
    """Write a share in per cent, without rounding it to none or all.

    >>> percent(0.24), percent(0.0004), percent(0.9996), percent(None)
    ('24 %', '0.04 %', '99.96 %', 'not defined')
    """
    if share is None:
        return "not defined"
    for digits in range(5):
        text = f"{100 * share:.{digits}f}"
        if (float(text) in (0.0, 100.0)) == (share in (0.0, 1.0)):
            return f"{text} %"
    return f"{100 * share:.2g} %"


def verdict(found: Calibration, part: SliceCalibration) -> Iterator[str]:
    """Yield what is certified, or what is missing and what the labels do support."""
    risk, confidence = found.options.max_false_pass, found.options.confidence
    sure = f"with {percent(confidence)} confidence"
    if part.refusals:
        yield from (f"CANNOT CERTIFY: {reason}" for reason in part.refusals)
        return
    if part.certified is not None:
        yield f"CERTIFIED {_at(found, part.certified)}: {sure}, at most {percent(risk)} of bad answers pass"
    else:
        needed = part.labels_needed
        of = " on held-out rows" if part.held_out and part.candidate is not None else ""
        yield (
            f"CANNOT CERTIFY: {needed} more labelled fails needed{of}, none of which may pass{_strictest(found, part)}"
            f"{_about(part, needed)}"
        )
    yield from _held_out(found, part)
    if part.certified is None and not part.is_described_only:
        yield _support(found, part, sure)


def _at(found: Calibration, threshold: float) -> str:
    return "as it passes" if found.pairing.is_discrete else f"at {shown(threshold)}"


def _strictest(found: Calibration, part: SliceCalibration) -> str:
    strictest = part.certificate.strictest
    return "" if found.pairing.is_discrete or strictest is None else f" at {shown(strictest)}"


def _about(part: SliceCalibration, needed: int) -> str:
    sample = part.held_out.sample if part.held_out and part.candidate is not None else part.sample
    if not sample.n_fail:
        return ""
    cases = -(-needed * len(sample.rows) // sample.n_fail)
    return f"; as {sample.n_fail} of {len(sample.rows)} labels are fails, about {cases} more random labels"


def _held_out(found: Calibration, part: SliceCalibration) -> Iterator[str]:
    held = part.held_out
    if held is None:
        if part.candidate is not None:
            yield "it holds if metric and rubric were finished before these labels were looked at"
        waiting = part.partitions.get("held_out", 0)
        if found.partition and waiting and part.candidate is not None:
            yield (
                f"{waiting} held-out rows are unseen: --ledger or --policy-out certifies on them, once, and records it"
            )
        return
    if held.certificate is None:
        if part.candidate is not None:
            n, fails = len(held.sample.rows), held.sample.n_fail
            yield f"the {n} labelled held-out rows stayed unseen: too few fails ({fails}) to certify anything"
        return
    errors = f"{held.threshold.false_pass if held.threshold else 0} of {held.sample.n_fail} held-out fails pass"
    chosen = f"chosen {_at(found, held.candidate)} on calibration rows; " if held.candidate is not None else ""
    moved = held.certified is not None and held.certified != held.candidate
    yield chosen + errors + ("; only this stricter threshold holds there" if moved else "")


def _support(found: Calibration, part: SliceCalibration, sure: str) -> str:
    held = part.held_out
    certificate = held.certificate if held and held.certificate else part.certificate
    if certificate.bound is None:
        return "what these labels support: nothing about bad answers, none is labelled"
    return (
        f"what these labels support: {sure}, at most {percent(certificate.bound)} of bad answers pass"
        f"{_strictest(found, part)} ({certificate.strictest_errors} of {certificate.n_fail} did)"
    )
