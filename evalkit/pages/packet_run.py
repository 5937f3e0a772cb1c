"""The whole of ``evalkit packet``: open the run's meeting, render its page and, if asked, its minutes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from evalkit.contract import EvalkitError
from evalkit.decisions.meeting.agenda import AGENDA_NAME, read_agenda, review_folder
from evalkit.decisions.meeting.decision_record import latest_decision
from evalkit.decisions.meeting.review import Review, open_review
from evalkit.pages.packet import render_minutes, render_packet
from evalkit.scoring.load import load_metric
from evalkit.scoring.run import open_run, write_whole

__all__ = ["PacketDone", "write_packet"]


class PacketDone(NamedTuple):
    """What was written."""

    path: Path
    size: int
    is_minutes: bool
    reviewers: tuple[str, ...]


def write_packet(
    run: Path, *, labels: Path | None, policy: Path, out: Path, minutes: Path | None = None, metric: str | None = None
) -> PacketDone:
    """Write the page of a run's meeting.

    Raises
    ------
    EvalkitError
        Where there is no meeting beside the run, no vote yet, or minutes are asked for before a decision.
    """
    review = _open(run, labels, policy, metric)
    tally = review.tally()
    if not tally.reviewers:
        msg = "nobody has voted yet: the page shows votes, so it comes after them"
        raise EvalkitError(msg, where=str(review.folder), do="vote in notebook 04, or collect ballots first")
    decision = latest_decision(review.folder)
    if minutes and decision is None:
        msg = "nothing has been decided yet, so there are no minutes"
        raise EvalkitError(msg, where=str(review.folder), do="decide in notebook 04, or leave --minutes out")
    page = render_packet(review, decision)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, page)
    if minutes and decision:
        minutes.parent.mkdir(parents=True, exist_ok=True)
        write_whole(minutes, render_minutes(review, decision))
    return PacketDone(out, len(page.encode()), decision is not None, tally.reviewers)


def _open(run: Path, labels: Path | None, policy: Path, metric: str | None) -> Review:
    name = metric or str(open_run(run).manifest["metric"]["name"])
    folder = review_folder(run)
    agenda = read_agenda(folder / AGENDA_NAME)
    loaded = load_metric(name)
    return open_review(loaded, run, policy, labels, thresholds=agenda.thresholds, agenda=agenda.options, folder=folder)
