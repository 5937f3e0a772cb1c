"""What the votes come to: row by row before and after the discussion, and how far the reviewers agree each time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any, NamedTuple

from evalkit.decisions.agreement import Alpha, krippendorff_alpha
from evalkit.decisions.meeting.vote_entry import Entry, Mark

__all__ = ["RowVotes", "Tally", "VoteAgreement", "tally_of"]


class RowVotes(NamedTuple):
    """What the reviewers say of one row."""

    case_id: str
    before: Mapping[str, Entry]
    """By reviewer, the last vote before they saw the others'."""
    final: Mapping[str, Entry]
    """By reviewer, the vote that stands now."""
    marks: Mapping[str, Mark]
    """By reviewer, what the row needs."""

    @property
    def is_split(self) -> bool:
        """Whether two reviewers would decide it differently now."""
        return {"ship", "hold"} <= {entry.vote for entry in self.final.values()}

    @property
    def was_split(self) -> bool:
        """Whether they would have before the discussion."""
        return {"ship", "hold"} <= {entry.vote for entry in self.before.values()}


class VoteAgreement(NamedTuple):
    """How far votes of *ship* and *hold* agree; *cannot tell* is counted apart and agrees with nothing."""

    pairs_agreeing: int
    pairs_compared: int
    """Pairs of votes of one row."""
    alpha: Alpha
    cannot_tell: int

    @property
    def share(self) -> float | None:
        """Share of pairs that agree; ``None`` over nothing."""
        return self.pairs_agreeing / self.pairs_compared if self.pairs_compared else None

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "pairs_agreeing": self.pairs_agreeing, "pairs_compared": self.pairs_compared, "share": self.share,
            "alpha": self.alpha.value, "alpha_note": self.alpha.note, "cannot_tell": self.cannot_tell,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Tally:
    """All votes of a meeting."""

    rows: Mapping[str, RowVotes]
    """By case id, in the order of the agenda."""
    reviewers: tuple[str, ...]
    """Who has voted on at least one row."""
    opened: Mapping[str, datetime]
    """By reviewer, when they saw the others' votes."""
    stale: tuple[Entry, ...]
    """Votes on another answer than the run shows: counted here and nowhere else."""
    strangers: tuple[Entry, ...]
    """Votes on cases that are not on the agenda."""

    def agreement(self, *, is_final: bool) -> VoteAgreement:
        """Compare the reviewers before the discussion or, with `is_final`, as they vote now."""
        units = [[str(e.vote) for e in (row.final if is_final else row.before).values()] for row in self.rows.values()]
        clear = [[vote for vote in unit if vote != "cannot_tell"] for unit in units]
        pairs = [pair for unit in clear for pair in combinations(unit, 2)]
        undecided = sum(len(unit) for unit in units) - sum(len(unit) for unit in clear)
        return VoteAgreement(sum(a == b for a, b in pairs), len(pairs), krippendorff_alpha(clear), undecided)

    def split(self) -> list[str]:
        """Return the rows that two reviewers would decide differently now."""
        return [case_id for case_id, row in self.rows.items() if row.is_split]

    def voted(self, reviewer: str) -> int:
        """Count the rows that a reviewer has voted on."""
        return sum(reviewer in row.final for row in self.rows.values())

    def marked(self) -> dict[str, Mapping[str, Mark]]:
        """Return the rows that somebody has marked."""
        return {case_id: row.marks for case_id, row in self.rows.items() if row.marks}


def tally_of(entries: Iterable[Entry], seen: Mapping[str, str | None]) -> Tally:
    """Sort entries by row, reviewer and round.

    A vote belongs to the round before the discussion if its reviewer had not opened the others' votes by then; each
    reviewer's last vote of a round counts, and the last of all stands.

    Parameters
    ----------
    entries : iterable of Entry
    seen : mapping of case id to hash
        What the rows on the agenda show now, in its order.

    Examples
    --------
    >>> from evalkit.decisions.meeting.vote_entry import new_entry
    >>> vote = dict(case_id="c1", seen_hash="sha256:1")
    >>> a, b = new_entry("vote", "a", "run", vote="ship", **vote), new_entry("vote", "b", "run", vote="hold", **vote)
    >>> found = tally_of([a, b], {"c1": "sha256:1"})
    >>> found.split(), found.agreement(is_final=False).share
    (['c1'], 0.0)
    """
    ordered = sorted(entries, key=lambda entry: (entry.moment, entry.entry_id))
    opened: dict[str, datetime] = {}
    for entry in ordered:
        if entry.kind == "opened":
            opened.setdefault(entry.reviewer, entry.moment)
    before: dict[str, dict[str, Entry]] = {case_id: {} for case_id in seen}
    final: dict[str, dict[str, Entry]] = {case_id: {} for case_id in seen}
    marks: dict[str, dict[str, Mark]] = {case_id: {} for case_id in seen}
    stale, strangers = [], []
    for entry in ordered:
        if entry.case_id is None:
            continue
        if entry.case_id not in seen:
            strangers.append(entry)
        elif entry.kind == "mark" and entry.mark is not None:
            marks[entry.case_id][entry.reviewer] = entry.mark
        elif entry.seen_hash != seen[entry.case_id]:
            stale.append(entry)
        else:
            final[entry.case_id][entry.reviewer] = entry
            if entry.reviewer not in opened or entry.moment < opened[entry.reviewer]:
                before[entry.case_id][entry.reviewer] = entry
    rows = {case_id: RowVotes(case_id, before[case_id], final[case_id], _set(marks[case_id])) for case_id in seen}
    voters = {name for row in rows.values() for name in row.final}
    return Tally(
        rows=rows, reviewers=tuple(sorted(voters)), opened=opened, stale=tuple(stale), strangers=tuple(strangers)
    )


def _set(marks: Mapping[str, Mark]) -> dict[str, Mark]:
    """Leave out marks that were taken back."""
    return {reviewer: mark for reviewer, mark in marks.items() if mark != "none"}
