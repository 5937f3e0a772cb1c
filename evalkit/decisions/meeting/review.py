"""One meeting with its files: agenda and votes in its folder, the policy that it writes, the gate over its proposal."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path

from evalkit.contract import EvalkitError, Metric, sha256_file
from evalkit.decisions.calibrate import CalibrateOptions
from evalkit.decisions.gate import GateOptions, GateResult, gate
from evalkit.decisions.meeting.agenda import (
    VOTES_NAME,
    Agenda,
    AgendaOptions,
    make_agenda,
    review_folder,
    settled_agenda,
)
from evalkit.decisions.meeting.approve import Approved, Decided, decide
from evalkit.decisions.meeting.meeting import Meeting, Proposal, open_meeting
from evalkit.decisions.meeting.policy_text import policy_text
from evalkit.decisions.meeting.vote_entry import Choice, Entry, Mark, new_entry
from evalkit.decisions.meeting.vote_tally import Tally, tally_of
from evalkit.decisions.meeting.votes import append_entries, entries_hash, read_folder
from evalkit.scoring.run import write_whole

__all__ = ["PROPOSED_NAME", "Review", "open_review"]

PROPOSED_NAME = "proposed-policy.toml"


@dataclass(frozen=True, kw_only=True)
class Review:
    """A meeting that is being held."""

    meeting: Meeting
    agenda: Agenda
    folder: Path
    """Of agenda, votes and decisions."""
    policy_out: Path
    """Where the decided policy goes."""
    also: tuple[Path, ...] = ()
    """Further folders of votes, only read."""
    as_of: date | None = None
    """The day of the meeting; today where it is not given."""

    @property
    def day(self) -> date:
        """The day on which a decision is made."""
        return self.as_of or datetime.now(UTC).date()

    @property
    def votes_folder(self) -> Path:
        """Where this meeting's votes go."""
        return self.folder / VOTES_NAME

    def entries(self) -> tuple[Entry, ...]:
        """Read all votes as they stand on the disk now: others vote at the same time."""
        return read_folder([*self.also, self.votes_folder]).entries

    def tally(self) -> Tally:
        """Return what the votes come to now."""
        return tally_of(self.entries(), self.agenda.rows)

    def cast(self, reviewer: str, case_id: str, vote: Choice, note: str = "") -> Entry:
        """Save one vote; when this returns it is on the disk.

        Raises
        ------
        EvalkitError
            Where it was not saved.
        """
        seen = self.agenda.rows[case_id]
        entry = new_entry("vote", reviewer, self.agenda.run_id, case_id=case_id, seen_hash=seen, vote=vote, note=note)
        append_entries(self.votes_folder, [entry])
        return entry

    def mark(self, reviewer: str, case_id: str, mark: Mark) -> Entry:
        """Save what a row needs (``none`` takes it back)."""
        entry = new_entry("mark", reviewer, self.agenda.run_id, case_id=case_id, mark=mark)
        append_entries(self.votes_folder, [entry])
        return entry

    def open_votes(self, reviewer: str) -> None:
        """Write down that a reviewer now sees the others' votes; what they vote later counts as after the discussion.

        Once is enough: a second call changes nothing.
        """
        if reviewer not in self.tally().opened:
            append_entries(self.votes_folder, [new_entry("opened", reviewer, self.agenda.run_id)])

    def decide(self, proposal: Proposal, approved: Approved) -> Decided:
        """Write the policy and the record of the decision (see `evalkit.decisions.meeting.approve.decide`)."""
        entries = self.entries()
        return decide(
            self.meeting,
            proposal,
            approved,
            tally=tally_of(entries, self.agenda.rows),
            votes_sha256=entries_hash(entries),
            out=self.policy_out,
            folder=self.folder,
        )

    def gate(self, proposal: Proposal, policy: Path | None = None) -> GateResult:
        """Judge the rows under the proposal, or under the policy that was decided.

        The outcome hash is the same in both cases where the limits are: it holds no people, dates or votes.
        """
        path = policy or self._proposed(proposal)
        return gate(self.meeting.metric, self.meeting.cases, path, options=GateOptions(as_of=self.as_of))

    def _proposed(self, proposal: Proposal) -> Path:
        path = self.folder / PROPOSED_NAME
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, policy_text(self.meeting, proposal))
        record = self._record
        if record is not None:  # a calibrated policy is read with its record beside it
            shutil.copyfile(record, path.with_name(record.name))
        return path

    @cached_property
    def _record(self) -> Path | None:
        wanted, folder = self.meeting.policy.calibration, self.meeting.policy_file.path.parent
        beside = sorted(folder.glob("*.json")) if wanted else []
        return next((path for path in beside if path.is_file() and sha256_file(path) == wanted), None)


def open_review(
    metric: Metric,
    cases: Path,
    policy: Path,
    labels: Path | None = None,
    *,
    thresholds: Mapping[str, float] | None = None,
    agenda: AgendaOptions | None = None,
    folder: Path | None = None,
    also: tuple[Path, ...] = (),
    policy_out: Path | None = None,
    options: CalibrateOptions | None = None,
    as_of: date | None = None,
) -> Review:
    """Open a meeting, or join the one that others have opened.

    Parameters
    ----------
    metric : Metric
    cases : Path
        A run folder, or a file of cases.
    policy : Path
        The policy under review.
    labels : Path, optional
    thresholds : mapping of slice to float, optional
        Under review; the policy's own, for every slice that has one and rows here, by default.
    agenda : AgendaOptions, optional
        How the rows to vote on are chosen, if nobody has done so yet.
    folder : Path, optional
        Of the meeting; ``RUN.review`` beside the run by default.
    also : tuple of Path
        Further folders of votes, only read.
    policy_out : Path, optional
        Where a decision is written; over the policy by default.
    options : CalibrateOptions, optional
    as_of : date, optional

    Raises
    ------
    EvalkitError
        For everything that reading the files refuses, and a slice that cannot be reviewed.
    """
    chosen = agenda or AgendaOptions()
    meeting = open_meeting(metric, cases, policy, labels, options=options, seed=chosen.seed)
    reviewed = thresholds or {name: b for name in meeting.slices if (b := meeting.bound(name)) is not None}
    if not reviewed:
        msg = "no slice of the policy has a threshold and rows here"
        raise EvalkitError(msg, where=policy.name, do="name a slice and a threshold")
    meeting.policy_with(reviewed)  # refuses unknown slices and thresholds outside the range
    place = folder or review_folder(cases)
    proposed = make_agenda(meeting.run_id, meeting.records, reviewed, meeting.better, chosen)
    seen = {case_id: record.seen_hash for case_id, record in meeting.by_id.items()}
    return Review(
        meeting=meeting,
        agenda=settled_agenda(place, proposed, seen),
        folder=place,
        policy_out=policy_out or policy,
        also=also,
        as_of=as_of,
    )
