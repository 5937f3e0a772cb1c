"""The votes of a threshold review: one append-only file a reviewer, synced before it is acknowledged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from evalkit.cases.appending import append_synced, growing
from evalkit.cases.identity import fold
from evalkit.cases.lines import read_lines
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError, sha256_of, sha256_text
from evalkit.decisions.meeting.vote_entry import Entry, VoteFile, read_vote_file

__all__ = ["append_entries", "entries_hash", "read_folder", "vote_path"]


def vote_path(folder: Path, reviewer: str) -> Path:
    """Return the file of one reviewer; the hash keeps two names apart that are written alike as file names."""
    stem = re.sub(r"[^a-z0-9]+", "-", reviewer.casefold()).strip("-")[:30] or "reviewer"
    return folder / f"{stem}-{sha256_text(reviewer)[7:15]}.jsonl"


def append_entries(folder: Path, entries: Sequence[Entry]) -> list[Entry]:
    """Append one reviewer's entries to their file; return those that were not there yet.

    When this returns, the lines are on the disk. When it raises, the file is as it was before: a full disk loses the
    vote in hand and says so, never an earlier one.

    Parameters
    ----------
    folder : Path
        Made where it does not exist.
    entries : sequence of Entry
        Of one reviewer. Entries whose id is in the file already are left out.

    Raises
    ------
    EvalkitError
        Where nothing could be saved, or another reviewer's name looks the same.
    """
    if not entries:
        return []
    path = vote_path(folder, entries[0].reviewer)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _refuse_twin(folder, entries[0].reviewer)
        with growing(path) as descriptor:
            known = {entry.entry_id for entry in read_vote_file(path).entries}
            fresh = list({entry.entry_id: entry for entry in entries if entry.entry_id not in known}.values())
            append_synced(descriptor, b"".join(entry.to_json() for entry in fresh))
    except OSError as error:
        msg = f"the vote was NOT saved ({error.strerror or error}); what was saved before is untouched"
        raise EvalkitError(msg, where=path.name, do="free space or mend the folder, then vote again") from error
    return fresh


def _refuse_twin(folder: Path, reviewer: str) -> None:
    for path in sorted(folder.glob("*.jsonl")):
        for line in read_lines(path):
            other = _reviewer_of(line.raw)
            if other is not None and other != reviewer and fold(other) == fold(reviewer):
                msg = f"the reviewer {reviewer!r} looks like {other!r}, who has voted: they would count twice"
                raise EvalkitError(msg, where=path.name, do=f"vote as {other!r}, or choose a name that differs")
            break  # one file holds one reviewer


def _reviewer_of(raw: bytes) -> str | None:
    try:
        name = parse_object(raw).get("reviewer")
    except JsonProblem:
        return None
    return name if isinstance(name, str) else None


def read_folder(folders: Path | Iterable[Path]) -> VoteFile:
    """Read the files of all reviewers; an entry that lies in two folders counts once.

    Raises
    ------
    EvalkitError
        Where a file cannot be read, or two reviewers' names look alike.
    """
    entries: dict[str, Entry] = {}
    findings: list[str] = []
    for path in _files([folders] if isinstance(folders, Path) else folders):
        found = read_vote_file(path)
        findings += found.findings
        entries |= {entry.entry_id: entry for entry in found.entries}
    looks: dict[str, str] = {}
    for entry in entries.values():
        if looks.setdefault(fold(entry.reviewer), entry.reviewer) != entry.reviewer:
            msg = f"the reviewers {looks[fold(entry.reviewer)]!r} and {entry.reviewer!r} look alike"
            raise EvalkitError(msg, do="keep the file of the spelling that is right")
    ordered = sorted(entries.values(), key=lambda entry: (entry.moment, entry.entry_id))
    return VoteFile(tuple(ordered), tuple(findings))


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(folder.glob("*.jsonl")) if folder.is_dir() else []


def entries_hash(entries: Iterable[Entry]) -> str:
    """Return one hash of all entries, whatever files they came in: what a policy names as its votes."""
    return sha256_of([entry._asdict() for entry in sorted(entries, key=lambda entry: entry.entry_id)])
