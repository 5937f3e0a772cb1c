"""Which cases to label next, and why: what blocks a certificate first, random draws before cases at the border."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from evalkit.decisions.calibrate import Calibration, SliceCalibration
from evalkit.decisions.calibrating.pairing import LabelledRow
from evalkit.scoring.records import Record

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = ["NextLabel", "next_labels", "next_labels_frame", "reviewer_sheet"]

Why = Literal["adjudicate", "relabel", "random draw", "border"]

_BORDER = 5
"""Cases at the border of each slice: enough to talk about, and they certify nothing."""


class NextLabel(NamedTuple):
    """One case to label."""

    rank: int
    case_id: str
    slice: str
    why: Why
    reason: str
    """With its counts; it names neither the score nor which side of the threshold the case is on."""
    selection: Literal["random", "targeted"]
    """What its label has to say under ``selection``."""
    partition: str | None
    seen_hash: str | None
    distance: float | None
    """From the candidate threshold, for whoever ranks; kept from the reviewer, who has to be blind."""


def next_labels(found: Calibration, *, rng: np.random.Generator, most: int = 50) -> tuple[NextLabel, ...]:
    """Rank the cases that would help the certificate most.

    First what keeps a slice from being certified at all: cases whose reviewers disagree, and labels of an answer that
    has changed since. Then random draws for the slices that lack labelled fails, the largest lack first; they must stay
    random, so a draw looks at neither score nor text, and a reviewer who does only the first part of the list has still
    labelled a random part. Last, cases at the border of the candidate threshold: they show whether two people would
    decide alike, and certify nothing.

    Parameters
    ----------
    found : Calibration
    rng : numpy Generator
        Decides the draws.
    most : int
        Length of the list.
    """
    ranked = [*_disputed(found), *_stale(found)]
    taken = {item.case_id for item in ranked}
    lacking = sorted(found.slices.values(), key=lambda part: (-part.labels_needed, part.name))
    for part in lacking:
        ranked += _draws(found, part, rng, taken)
    taken = {item.case_id for item in ranked}
    for part in lacking:
        ranked += _border(found, part, taken)
    return tuple(item._replace(rank=rank) for rank, item in enumerate(ranked[:most], 1))


def _item(row: LabelledRow, why: Why, reason: str, *, distance: float | None = None, is_random: bool) -> NextLabel:
    selection: Literal["random", "targeted"] = "random" if is_random else "targeted"
    return NextLabel(0, row.case_id, row.slice, why, reason, selection, row.partition, row.seen_hash, distance)


def _wanted_rows(found: Calibration) -> Iterator[LabelledRow]:
    return (row for row in found.pairing.rows if row.slice in found.slices)


def _disputed(found: Calibration) -> Iterator[NextLabel]:
    for row in _wanted_rows(found):
        if row.how == "conflict":
            n = len(found.pairing.settled[row.case_id].labels)
            reason = f"its {n} reviewers disagree: a label by 'adjudication' settles it"
            yield _item(row, "adjudicate", reason, is_random=row.selection == "random")


def _stale(found: Calibration) -> Iterator[NextLabel]:
    for row in _wanted_rows(found):
        if row.how == "stale":
            reason = "it shows another answer or other passages than were labelled"
            yield _item(row, "relabel", reason, is_random=row.selection == "random")


def _draws(found: Calibration, part: SliceCalibration, rng: np.random.Generator, taken: set[str]) -> list[NextLabel]:
    """Draw as many cases as should hold the missing fails, at the share of fails seen so far."""
    if part.labels_needed == 0:
        return []
    partition = "held_out" if part.held_out and part.candidate is not None else found.partition
    sample = part.held_out.sample if part.held_out and part.candidate is not None else part.sample
    used = {row.family for row in sample.rows if row.family is not None}
    free = [
        row
        for row in _wanted_rows(found)
        if row.slice == part.name and row.how is None and row.case_id not in taken
        and (partition is None or row.partition == partition)
    ]  # fmt: skip
    order = [free[i] for i in rng.permutation(len(free))]
    share = (sample.n_fail + 1) / (len(sample.rows) + 2)
    wanted = math.ceil(part.labels_needed / share)
    reason = (
        f"{part.name} lacks {part.labels_needed} labelled fails; with {sample.n_fail} of {len(sample.rows)} labelled "
        f"fail so far, about {wanted} random labels hold them ({len(free)} unlabelled cases are there)"
    )
    chosen: list[NextLabel] = []
    for row in order:
        # A second row of a family would not count.
        if row.family is None or row.family not in used:
            used.add(row.family)
            chosen.append(_item(row, "random draw", reason, is_random=True))
    return chosen[:wanted]


def _border(found: Calibration, part: SliceCalibration, taken: Iterable[str]) -> list[NextLabel]:
    line = part.shown()
    if line is None or found.pairing.is_discrete:
        return []
    taken = set(taken)
    free = [
        (abs(row.value - line.threshold), row)
        for row in _wanted_rows(found)
        if row.slice == part.name and row.how is None and row.case_id not in taken
        and row.partition in (None, found.partition)
    ]  # fmt: skip
    nearest = sorted(free, key=lambda pair: (pair[0], pair[1].case_id))[:_BORDER]
    reason = "near the candidate threshold: would two people decide alike? (it certifies nothing)"
    return [_item(row, "border", reason, distance=distance, is_random=False) for distance, row in nearest]


def reviewer_sheet(chosen: Sequence[NextLabel], records: Iterable[Record], *, criterion: str) -> list[dict[str, Any]]:
    """Return the rows to hand to a reviewer: what to look at and the fields to fill in, without score or decision.

    Keys are those of ``labels.jsonl``; ``reviewer``, ``label`` and ``reason`` are left to the reviewer. The order is
    that of the list; ``why`` is left out for border cases, since knowing that a case is close is knowing something.
    """
    shown: Mapping[str, Record] = {str(record.case_id): record for record in records}
    return [_sheet_row(item, shown[item.case_id], criterion) for item in chosen]


def _sheet_row(item: NextLabel, record: Record, criterion: str) -> dict[str, Any]:
    evidence = record.evidence or {}
    seen = {key: evidence[key] for key in ("question", "answer", "retrieved") if key in evidence}
    return {
        "case_id": item.case_id,
        "criterion": criterion,
        "reviewer": None,
        "label": None,
        "reason": "",
        "blind": True,
        "selection": item.selection,
        "seen_hash": item.seen_hash,
        "show": seen or dict(record.inputs or {}),
        "why": item.reason if item.why in ("adjudicate", "relabel") else "",
    }


def next_labels_frame(chosen: Sequence[NextLabel]) -> pd.DataFrame:
    """Return the list as a frame, one row a case."""
    import pandas as pd

    return pd.DataFrame(chosen, columns=list(NextLabel._fields)).set_index("rank")
