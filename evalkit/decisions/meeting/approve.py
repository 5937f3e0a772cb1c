"""From a meeting's decision to the policy file that CI reads, and the record that says who decided what and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from evalkit.contract import EvalkitError, sha256_file, sha256_text
from evalkit.decisions.calibrating.calibration_record import Basis, calibration_record
from evalkit.decisions.calibrating.flips import FlipLedger
from evalkit.decisions.fitness import PROVISIONAL_DAYS
from evalkit.decisions.meeting.confusion import confusion_at
from evalkit.decisions.meeting.meeting import Meeting, Proposal
from evalkit.decisions.meeting.policy_text import policy_diff, policy_text
from evalkit.decisions.meeting.vote_tally import Tally
from evalkit.decisions.policy import next_version, read_policy
from evalkit.scoring.run import write_whole

__all__ = ["Action", "Approved", "Decided", "basis_problem", "decide", "parse_actions"]

BasisName = Literal["by_definition", "calibrated", "provisional"]


class Action(NamedTuple):
    """Something that somebody has to do."""

    what: str
    owner: str
    due: date


@dataclass(frozen=True, kw_only=True)
class Approved:
    """What the people in the room add to a proposal."""

    approved_by: str
    rationale: str
    expires_on: date
    decided_on: date
    basis: BasisName
    dissent: str = ""
    attendees: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()


class Decided(NamedTuple):
    """What a decision left behind."""

    policy: Path
    record: Path
    version: str
    diff: str
    flips: FlipLedger
    facts: Mapping[str, Any]
    """The record's content."""


def parse_actions(text: str) -> tuple[Action, ...]:
    """Read actions, one a line: ``what | owner | YYYY-MM-DD``.

    >>> parse_actions("mend the contract of refunds | anna | 2026-12-15")[0].owner
    'anna'
    """
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("|")]
        due = _day(parts[2]) if len(parts) == 3 else None
        if len(parts) != 3 or not all(parts) or due is None:
            msg = f"line {number} of the actions must be: what | owner | YYYY-MM-DD; got {line.strip()[:100]!r}"
            raise EvalkitError(msg, do="an action without an owner and a date is a wish")
        found.append(Action(parts[0], parts[1], due))
    return tuple(found)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def basis_problem(meeting: Meeting, proposal: Proposal, basis: str) -> str:
    """Return why a policy under this proposal cannot rest on `basis`; empty where it can."""
    if basis != "calibrated":
        return ""
    if meeting.calibration is None:
        return "there are no labels"
    lines = {line.slice: line for line in confusion_at(meeting, proposal)}
    decided = [name for name, limits in meeting.policy_with(proposal).slices.items() if limits.decide == "policy"]
    for name in decided:
        if name not in lines or not lines[name].is_certified:
            return f"the labels do not certify {name}: {lines[name].certificate if name in lines else 'no rows here'}"
    return ""


def decide(
    meeting: Meeting,
    proposal: Proposal,
    approved: Approved,
    *,
    tally: Tally,
    votes_sha256: str,
    out: Path,
    folder: Path,
) -> Decided:
    """Write the policy, beside it the calibration that it names, and the record of the decision.

    The policy comes last: until it is there, nothing has been decided.

    Parameters
    ----------
    meeting : Meeting
    proposal : mapping of slice to threshold
    approved : Approved
    tally : Tally
        The votes as they stand.
    votes_sha256 : str
        Of all entries; the policy names it.
    out : Path
        Where the policy goes; the file under review may be replaced.
    folder : Path
        Of the meeting's files.

    Raises
    ------
    EvalkitError
        Where something is missing or contradicts the labels, or the policy was changed by somebody else meanwhile.
    """
    _check(meeting, proposal, approved)
    if sha256_file(meeting.policy_file.path) != meeting.policy_file.sha256:
        msg = "was changed since this meeting opened it: the difference shown is not what would be written"
        raise EvalkitError(msg, where=meeting.policy_file.path.name, do="run the notebook again on the new policy")
    version = _free_version(folder, next_version(meeting.policy.version, approved.decided_on))
    out.parent.mkdir(parents=True, exist_ok=True)
    calibration = _write_calibration(meeting, approved.decided_on, out)
    text = policy_text(
        meeting,
        proposal,
        values=_values(approved, version, votes_sha256, calibration),
        reviewed_on=approved.decided_on,
    )
    flips = meeting.flips(proposal)
    facts = _facts(meeting, proposal, approved, tally, flips) | {
        "policy": {
            "name": meeting.policy.name,
            "file": out.name,
            "version": version,
            "old_version": meeting.policy.version,
            "sha256": sha256_text(text),
            "old_sha256": meeting.policy_file.sha256,
        },
        "calibration": calibration,
        "votes": votes_sha256,
        "diff": policy_diff(meeting.policy_file.path.read_text(encoding="utf-8-sig"), text),
    }
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / f"decision-{version}.json"
    write_whole(record, orjson.dumps(facts, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    write_whole(out, text)
    if problems := read_policy(out).problems:
        msg = f"evalkit wrote a policy that it cannot read: {'; '.join(problems)}"
        raise AssertionError(msg)
    return Decided(out, record, version, facts["diff"], flips, facts)


def _check(meeting: Meeting, proposal: Proposal, approved: Approved) -> None:
    for name in ("approved_by", "rationale"):
        if not getattr(approved, name).strip():
            msg = f"{name.replace('_', ' ')} is blank"
            raise EvalkitError(msg, do="a policy that blocks names who approved it, and why")
    if approved.expires_on <= approved.decided_on:
        msg = f"the policy would expire on {approved.expires_on}, not after the decision ({approved.decided_on})"
        raise EvalkitError(msg, do="give a later day")
    if why := basis_problem(meeting, proposal, approved.basis):
        msg = f"the policy cannot rest on a calibration: {why}"
        raise EvalkitError(msg, do="choose another basis (by definition, or provisional for at most 60 days)")
    last = approved.decided_on + timedelta(days=PROVISIONAL_DAYS)
    if approved.basis == "provisional" and approved.expires_on > last:
        msg = f"a provisional policy blocks for at most {PROVISIONAL_DAYS} days; {approved.expires_on} is later"
        raise EvalkitError(msg, do=f"let it expire by {last}")


def _free_version(folder: Path, version: str) -> str:
    while (folder / f"decision-{version}.json").exists():
        version = next_version(version, date.fromisoformat(version.partition(".")[0]))
    return version


def _write_calibration(meeting: Meeting, day: date, out: Path) -> str | None:
    """Write the calibration that the meeting looked at; a policy may name it whether or not it rests on it."""
    if meeting.calibration is None or meeting.labels is None:
        return None
    scored = meeting.scored
    basis = Basis(
        cases=scored.name,
        cases_sha256=scored.cases_sha256,
        metric_fingerprint=scored.metric_fingerprint,
        judge=scored.judge,
        labels=meeting.labels,
        ledger_sha256=None,
        made_on=day.isoformat(),
    )
    path = out.with_name(f"{out.stem}.calibration.json")
    record = calibration_record(meeting.calibration, basis)
    write_whole(path, orjson.dumps(record, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return sha256_file(path)


def _values(approved: Approved, version: str, votes_sha256: str, calibration: str | None) -> dict[str, Any]:
    return {
        "version": version,
        "approved_by": approved.approved_by.strip(),
        "approved_on": approved.decided_on,
        "expires_on": approved.expires_on,
        "rationale": approved.rationale.strip(),
        "basis": approved.basis,
        "calibration": calibration,
        "votes": votes_sha256,
        "dissent": approved.dissent.strip() or None,
    }


def _facts(meeting: Meeting, proposal: Proposal, approved: Approved, tally: Tally, flips: FlipLedger) -> dict[str, Any]:
    return {
        "schema": 1,
        "run_id": meeting.run_id,
        "cases": {"name": meeting.scored.name, "sha256": meeting.scored.cases_sha256},
        "metric": {"name": meeting.metric.name, "contract_version": meeting.metric.version},
        "decided_on": approved.decided_on.isoformat(),
        "decided_at": datetime.now(UTC).isoformat(),
        "approved_by": approved.approved_by.strip(),
        "expires_on": approved.expires_on.isoformat(),
        "rationale": approved.rationale.strip(),
        "dissent": approved.dissent.strip(),
        "basis": approved.basis,
        "attendees": list(_attendees(approved.attendees, tally.reviewers)),
        "actions": [action._asdict() | {"due": action.due.isoformat()} for action in approved.actions],
        "slices": [line.facts() for line in confusion_at(meeting, proposal)],
        "agreement": {
            "before": tally.agreement(is_final=False).facts(),
            "after": tally.agreement(is_final=True).facts(),
        },
        "split": tally.split(),
        "marks": {case_id: dict(marks) for case_id, marks in tally.marked().items()},
        "flips": flips.facts(),
    }


def _attendees(named: Sequence[str], voters: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*(name.strip() for name in named if name.strip()), *voters]))
