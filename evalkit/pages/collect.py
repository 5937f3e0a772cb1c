"""Votes that came back: checked against the run as a whole, then merged into the meeting's files, each act once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.contract import EvalkitError, Outcome, example_list
from evalkit.decisions.meeting.agenda import AGENDA_NAME, VOTES_NAME, read_agenda, review_folder
from evalkit.decisions.meeting.vote_entry import Entry, VoteFile, read_vote_file
from evalkit.decisions.meeting.vote_tally import Tally, tally_of
from evalkit.decisions.meeting.votes import append_entries, read_folder
from evalkit.pages.plain import plain
from evalkit.scoring.run import open_run

__all__ = ["Collected", "collect_votes"]


class Collected(NamedTuple):
    """What became of the files."""

    facts: dict[str, Any]
    screen: str
    outcome: Outcome


def collect_votes(files: Sequence[Path], run: Path) -> Collected:
    """Check files of votes and merge them into the meeting beside a run.

    Either all files are merged or none: a vote on another answer than the run shows, or on a row that is not on the
    agenda, refuses the lot and says which.

    Parameters
    ----------
    files : sequence of Path
        From a ballot's *Download votes*, or a reviewer's file from another machine.
    run : Path
        The run folder that the ballot was made for.

    Raises
    ------
    EvalkitError
        Where a file cannot be read or its votes do not fit the run.
    """
    open_run(run)
    folder = review_folder(run)
    agenda = read_agenda(folder / AGENDA_NAME)
    read = [_fitting(path, agenda.rows) for path in files]
    added: dict[str, int] = {}
    known: dict[str, int] = {}
    for found in read:
        for reviewer, entries in _by_reviewer(found.entries):
            fresh = append_entries(folder / VOTES_NAME, entries)
            added[reviewer] = added.get(reviewer, 0) + len(fresh)
            known[reviewer] = known.get(reviewer, 0) + len(entries) - len(fresh)
    tally = tally_of(read_folder(folder / VOTES_NAME).entries, agenda.rows)
    findings = [finding for found in read for finding in found.findings]
    return Collected(_facts(tally, added, known, findings), _screen(tally, added, known, findings), Outcome.passed)


def _by_reviewer(entries: Iterable[Entry]) -> Iterator[tuple[str, list[Entry]]]:
    grouped: dict[str, list[Entry]] = {}
    for entry in entries:
        grouped.setdefault(entry.reviewer, []).append(entry)
    yield from grouped.items()


def _fitting(path: Path, rows: Mapping[str, str]) -> VoteFile:
    if not path.is_file():
        msg = "there is no such file of votes"
        raise EvalkitError(msg, where=str(path), do="give the file that Download votes saved")
    found = read_vote_file(path)
    if not found.entries:
        msg = "holds no votes"
        raise EvalkitError(msg, where=str(path), do="give the file that Download votes saved, not the ballot itself")
    votes = [entry for entry in found.entries if entry.case_id is not None]
    strangers = sorted({str(entry.case_id) for entry in votes if entry.case_id not in rows})
    if strangers:
        msg = f"{len(strangers)} of its cases are not on this meeting's agenda: {example_list(strangers)}"
        raise EvalkitError(msg, where=str(path), do="collect it with the run that the ballot was made for (--run)")
    other = [str(e.case_id) for e in votes if e.kind == "vote" and e.seen_hash != rows[str(e.case_id)]]
    if other:
        msg = f"{len(other)} of its votes are on other answers than this run shows: {example_list(other)}"
        raise EvalkitError(msg, where=str(path), do="send a ballot of this run and vote again; nothing was merged")
    return found


def _facts(tally: Tally, added: Mapping[str, int], known: Mapping[str, int], findings: Sequence[str]) -> dict[str, Any]:
    return {
        "schema": 1,
        "rows": len(tally.rows),
        "reviewers": {
            reviewer: {"voted": tally.voted(reviewer), "added": added.get(reviewer, 0), "known": known.get(reviewer, 0)}
            for reviewer in sorted({*tally.reviewers, *added})
        },
        "split": len(tally.split()),
        "findings": list(findings),
    }


def _screen(tally: Tally, added: Mapping[str, int], known: Mapping[str, int], findings: Sequence[str]) -> str:
    lines = [
        f"{name}: {n} new, {known[name]} known already; voted on {tally.voted(name)} of {len(tally.rows)} rows"
        for name, n in added.items()
    ]
    # How the votes fall is for the discussion: whoever collects may still have to vote.
    others = [name for name in tally.reviewers if name not in added]
    if others:
        lines.append(f"voted before: {example_list(others)}")
    return "\n".join(plain(line) for line in [*lines, *findings])
