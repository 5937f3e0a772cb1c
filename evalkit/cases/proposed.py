"""Cases that a machine proposes: what a judge said differently, for people to look at. Never gold by itself.

A proposed case carries the key ``proposed``, and every command that reads cases refuses such a line: whoever takes the
key out has reviewed the case, and labels it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from evalkit.cases.lines import read_lines
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError

__all__ = ["PROPOSED", "proposed_problem", "write_proposed"]

PROPOSED = "proposed"


def proposed_problem(fields: Mapping[str, Any]) -> str | None:
    """Say why a line is no case yet; ``None`` for one that nobody merely proposed.

    >>> proposed_problem({"case_id": "a"}) is None
    True
    >>> print(proposed_problem({"case_id": "a", "proposed": {"by": "recheck"}}))
    it is only proposed: review it, label it, and take out the key 'proposed'
    """
    if PROPOSED not in fields:
        return None
    return f"it is only proposed: review it, label it, and take out the key {PROPOSED!r}"


def write_proposed(path: Path, cases: Path, why: Mapping[str, Mapping[str, Any]]) -> int:
    """Write the named lines of a file of cases as proposals, each with what speaks for it, and return how many.

    Partition, blocking flag and oracle are left out: where a case goes is decided by whoever reviews it.

    Parameters
    ----------
    path : Path
        New: proposals that somebody may be working on are never overwritten.
    cases : Path
    why : mapping of case id to mapping
        For example the verdict then and the verdict now.

    Raises
    ------
    EvalkitError
        Where the file exists already or cannot be written.
    """
    lines = [_proposal(fields, why[case_id]) for case_id, fields in _named(cases, why)]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as stream:
            stream.writelines(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)
    except FileExistsError as error:
        msg = "exists already, and proposals are never overwritten"
        raise EvalkitError(msg, where=str(path), do="give --proposed a new name") from error
    except OSError as error:
        msg = f"cannot be written ({error.strerror or error})"
        raise EvalkitError(msg, where=str(path), do="choose another file") from error
    return len(lines)


_DECIDED_BY_PEOPLE = ("partition", "blocking", "oracle", "role", "pair_id")


def _proposal(fields: Mapping[str, Any], why: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in _DECIDED_BY_PEOPLE} | {PROPOSED: dict(why)}


def _named(cases: Path, wanted: Iterable[str]) -> Iterable[tuple[str, dict[str, Any]]]:
    left = set(wanted)
    for line in read_lines(cases):
        try:
            fields = parse_object(line.raw)
        except JsonProblem:
            continue  # blank, or a line that gave no case and so no verdict
        case_id = fields.get("case_id")
        if isinstance(case_id, str) and case_id in left:
            yield case_id, fields
