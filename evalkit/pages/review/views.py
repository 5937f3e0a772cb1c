"""What a meeting looks at, as tables: pure functions of the meeting, its votes and a proposal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evalkit.decisions.binomial import Interval
from evalkit.decisions.calibrating.flips import FlipLedger
from evalkit.decisions.meeting.candidates import nearest_candidate
from evalkit.decisions.meeting.confusion import SliceLine, confusion_at
from evalkit.decisions.meeting.meeting import Meeting, Proposal
from evalkit.decisions.meeting.vote_entry import Entry
from evalkit.decisions.meeting.vote_tally import RowVotes, Tally, VoteAgreement
from evalkit.decisions.rules import rule_of
from evalkit.decisions.triage import missing_claims
from evalkit.pages.plain import plain, shown
from evalkit.pages.review.tables import Table, cells
from evalkit.scoring.records import Record

__all__ = [
    "MARK_WORDS",
    "MOST_FLIPS",
    "VOTE_WORDS",
    "agreement_table",
    "borderline_table",
    "candidates_table",
    "confusion_table",
    "flips_table",
    "vote_words",
    "votes_table",
]

VOTE_WORDS = {"ship": "ship", "hold": "hold", "cannot_tell": "cannot tell"}
MARK_WORDS = {
    "none": "nothing",
    "contract_unclear": "contract unclear",
    "another_slice": "needs another slice",
    "to_review": "route to review",
}
MOST_FLIPS = 500
"""Rows of a flip list on the page; the record of the decision holds them all."""


def confusion_table(lines: Sequence[SliceLine]) -> Table:
    """Return what each slice's threshold does to its rows and labels."""
    rows = [
        cells(
            line.slice,
            "people" if line.threshold is None else shown(line.threshold),
            line.n,
            line.passing,
            line.failing,
            line.review,
            _errors(line.false_pass, line.n_fail, line.false_pass_interval),
            _errors(line.false_fail, line.n_pass, line.false_fail_interval),
            line.certificate,
        )
        for line in lines
    ]
    columns = (
        "slice", "threshold", "rows", "pass", "fail", "review", "bad rows that pass", "good rows that fail",
        "certified",
    )  # fmt: skip
    return Table("Each slice at its threshold", columns, rows, frozenset(range(1, 6)))


def _errors(count: int | None, of: int, interval: Interval | None) -> str:
    if count is None:
        return "—"
    span = f" ({_percent(interval.low)} to {_percent(interval.high)} %)" if interval else ""
    return f"{count} of {of}{span}"


def _percent(rate: float) -> str:
    """Write a rate in percent without letting rounding make it none or all."""
    number = f"{100 * rate:.1f}".removesuffix(".0")
    return number if rate in (0.0, 1.0) or number not in ("0", "100") else shown(100 * rate)


def candidates_table(meeting: Meeting, name: str, threshold: float, most: int = 15) -> Table:
    """Return the distinguishable thresholds of a slice, nearest to one, and what choosing each would do."""
    candidates = meeting.candidates(name, [threshold])
    first = min(max(nearest_candidate(candidates, threshold) - most // 2, 0), max(len(candidates) - most, 0))
    rows = []
    for candidate in candidates[first : first + most]:
        proposal = {name: candidate.threshold}
        (line,) = confusion_at(meeting, proposal, [name])
        flips = len(meeting.flips(proposal).flips)
        rows.append(
            cells(
                shown(candidate.threshold) + (" (policy)" if candidate.threshold == meeting.bound(name) else ""),
                candidate.meaning or None,
                f"{candidate.passing} of {candidate.of}",
                _errors(line.false_pass, line.n_fail, None),
                _errors(line.false_fail, line.n_pass, None),
                line.certificate,
                flips,
            )
        )
    columns = ("threshold", "in claims", "pass", "bad rows that pass", "good rows that fail", "certified", "rows flip")
    caption = f"Thresholds of {plain(name, newline=' ')} that decide differently"
    return Table(caption, columns, rows, frozenset({6}), len(candidates) - len(rows))


def borderline_table(meeting: Meeting, name: str, threshold: float, n: int) -> Table:
    """Return the rows just below and just above a threshold, from the lowest value up."""
    near = meeting.ranked(name).around(threshold, n)
    rule = rule_of(meeting.policy_with({name: threshold}), meeting.metric)
    rows = []
    for side, records in (("above", near.above[::-1]), ("below", near.below)):
        for record in records:
            rows.append(  # noqa: PERF401 - a comprehension over both loops hides which rows come first
                cells(
                    record.case_id,
                    side,
                    shown(record.value, threshold),
                    rule(record).decision,
                    label_of(meeting, record),
                    ", ".join(missing_claims(record)) or "nothing",
                )
            )
    caption = (
        f"Nearest to {shown(threshold)}: {_of(near.below, near.n_below)} below, {_of(near.above, near.n_above)} above"
    )
    return Table(caption, ("case", "side", "value", "decision", "label", "missing"), rows, frozenset({2}))


def _of(rows: Sequence[Record], total: int) -> str:
    return f"{len(rows)} of {total}"


def label_of(meeting: Meeting, record: Record) -> str:
    """Say what people's labels come to."""
    case = meeting.settled.get(str(record.case_id))
    if case is None:
        return "held out" if record.partition == "held_out" else "no label"
    return case.how if case.label is None else str(case.label)


def flips_table(flips: FlipLedger, most: int = MOST_FLIPS) -> Table:
    """Return every row that the proposal decides differently from the policy."""
    rows = [
        cells(flip.case_id, flip.slice, shown(flip.value), f"{flip.old} → {flip.new}", flip.label or "no label")
        for flip in flips.flips[:most]
    ]
    caption = f"{len(flips.flips):,} of {flips.compared:,} compared rows are decided differently"
    columns = ("case", "slice", "value", "decision", "label")
    return Table(caption, columns, rows, frozenset({2}), max(0, len(flips.flips) - most))


def votes_table(meeting: Meeting, tally: Tally, proposal: Proposal) -> Table:
    """Return all votes, rows first that two reviewers would decide differently."""
    rule = rule_of(meeting.policy_with(proposal), meeting.metric)
    ordered = sorted(tally.rows.values(), key=lambda row: (not row.is_split, not row.was_split))
    rows = []
    for votes in ordered:
        record = meeting.by_id[votes.case_id]
        state = "split" if votes.is_split else "was split" if votes.was_split else ""
        rows.append(
            cells(
                votes.case_id,
                shown(record.value),
                rule(record).decision,
                *(vote_words(votes, reviewer) for reviewer in tally.reviewers),
                state,
                marks_words(votes),
            )
        )
    columns = ("case", "value", "decision", *(plain(name, newline=" ") for name in tally.reviewers), "split", "needs")
    return Table("Votes, before → after the discussion", columns, rows, frozenset({1}))


def vote_words(votes: RowVotes, reviewer: str) -> str:
    """Say one reviewer's vote, and what it was before the discussion where it changed."""
    before, final = votes.before.get(reviewer), votes.final.get(reviewer)
    if final is None:
        return "—"
    if before is None:
        return f"{_word(final)} (after only)"
    return _word(final) if before.vote == final.vote else f"{_word(before)} → {_word(final)}"


def _word(entry: Entry) -> str:
    return VOTE_WORDS[str(entry.vote)]


def marks_words(votes: RowVotes) -> str:
    """Say what a row needs and who says so."""
    by_mark: dict[str, list[str]] = {}
    for reviewer, mark in votes.marks.items():
        by_mark.setdefault(MARK_WORDS[mark], []).append(reviewer)
    return "; ".join(f"{mark} ({', '.join(names)})" for mark, names in by_mark.items())


def agreement_table(tally: Tally) -> Table:
    """Return how far the reviewers agree before and after the discussion."""
    rounds: Mapping[str, VoteAgreement] = {
        "before the discussion": tally.agreement(is_final=False),
        "now": tally.agreement(is_final=True),
    }
    rows = [
        cells(
            name,
            f"{found.pairs_agreeing} of {found.pairs_compared}",
            found.alpha.note if found.alpha.value is None else shown(found.alpha.value),
            found.cannot_tell,
        )
        for name, found in rounds.items()
    ]
    return Table("Agreement", ("round", "pairs of votes that agree", "Krippendorff's alpha", "cannot tell"), rows)
