"""The rows that a meeting votes on, written down once: every reviewer, in JupyterLab or on a ballot, gets the same."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import orjson

from evalkit.cases.layout import NUMBER, TEXT, Each, misfit
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError, example_list
from evalkit.contract.words import Better
from evalkit.decisions.meeting.borderline import RankedRows, agenda_rows
from evalkit.scoring.records import Record

__all__ = [
    "AGENDA_NAME",
    "VOTES_NAME",
    "Agenda",
    "AgendaOptions",
    "make_agenda",
    "read_agenda",
    "review_folder",
    "settled_agenda",
]

AGENDA_NAME, VOTES_NAME = "agenda.json", "votes"


class AgendaOptions(NamedTuple):
    """How rows are chosen."""

    n: int = 5
    """Rows just below and just above each threshold."""
    far: int = 2
    """Rows a slice that lie elsewhere."""
    seed: int = 7
    """Of draw and order."""


class Agenda(NamedTuple):
    """What is voted on."""

    run_id: str
    thresholds: Mapping[str, float]
    """Under review when the rows were chosen."""
    options: AgendaOptions
    rows: Mapping[str, str]
    """Case id to what the row shows (``seen_hash``), in the order in which everybody sees them."""


def review_folder(run: Path) -> Path:
    """Return the folder of a run's meeting: beside the run, which itself is finished and never written to."""
    run = run.resolve()
    return run.with_name(f"{run.name}.review")


def make_agenda(
    run_id: str, records: Iterable[Record], thresholds: Mapping[str, float], better: Better, options: AgendaOptions
) -> Agenda:
    """Choose the rows around each threshold, with some far ones among them.

    Raises
    ------
    EvalkitError
        Where a slice has no row with a number.
    """
    rows = [record for record in records if record.value is not None and record.partition != "held_out"]
    slices = {name: RankedRows((r for r in rows if r.slice == name), better, options.seed) for name in thresholds}
    if empty := [name for name, ranked in slices.items() if not len(ranked)]:
        msg = f"no row of the slice {empty[0]!r} has a number"
        raise EvalkitError(msg, do=f"name another: {', '.join(sorted({r.slice for r in rows})) or 'there is none'}")
    chosen = agenda_rows(slices, thresholds, n=options.n, far=options.far, seed=options.seed)
    return Agenda(run_id, dict(thresholds), options, {str(r.case_id): str(r.seen_hash) for r in chosen})


def settled_agenda(folder: Path, proposed: Agenda, seen: Mapping[str, str | None]) -> Agenda:
    """Return the agenda that stands in `folder`; where there is none, `proposed` is written down and stands.

    Parameters
    ----------
    folder : Path
        Of the meeting; made where it does not exist.
    proposed : Agenda
    seen : mapping of case id to hash
        What the run's rows show.

    Raises
    ------
    EvalkitError
        Where the agenda that stands there is of other answers than the run's.
    """
    path = folder / AGENDA_NAME
    if not path.exists():
        _write_once(path, proposed)
    agenda = read_agenda(path)
    changed = [case_id for case_id, seen_hash in agenda.rows.items() if seen.get(case_id) != seen_hash]
    if changed:
        msg = f"is the agenda of other answers: {example_list(changed)} show something else in this run"
        raise EvalkitError(msg, where=str(path), do="hold the meeting on the run it was made for, or in a new folder")
    return agenda


_LAYOUT = {
    "run_id": TEXT,
    "thresholds": Each(NUMBER),
    "options": dict.fromkeys(AgendaOptions._fields, (int,)),
    "rows": [{"case_id": TEXT, "seen_hash": TEXT}],
}


def read_agenda(path: Path) -> Agenda:
    """Read an agenda, refusing what `settled_agenda` could not have written."""
    if not path.exists():
        msg = "there is no meeting beside this run"
        raise EvalkitError(
            msg, where=str(path.parent), do="open one: notebook 04, or evalkit ballot RUN --out FILE.html"
        )
    try:
        fields = parse_object(path.read_bytes())
        problem = misfit(fields, _LAYOUT)
    except (OSError, JsonProblem) as error:
        problem, fields = str(error), {}
    if problem:
        msg = f"cannot be read as an agenda: {problem}"
        raise EvalkitError(msg, where=str(path), do="remove it to choose the rows anew; votes stay")
    options = AgendaOptions(**{name: fields["options"][name] for name in AgendaOptions._fields})
    rows = {row["case_id"]: row["seen_hash"] for row in fields["rows"]}
    return Agenda(fields["run_id"], fields["thresholds"], options, rows)


def _write_once(path: Path, agenda: Agenda) -> None:
    """Put the file there unless somebody else was quicker: two who open a meeting at once get one agenda."""
    fields = {
        "schema": 1,
        "run_id": agenda.run_id,
        "thresholds": dict(agenda.thresholds),
        "options": agenda.options._asdict(),
        "rows": [{"case_id": case_id, "seen_hash": seen} for case_id, seen in agenda.rows.items()],
    }
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as stream:
            stream.write(orjson.dumps(fields, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(part, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            part.replace(path)
        part.unlink(missing_ok=True)
    except OSError as error:
        msg = f"cannot be written ({error.strerror or error})"
        raise EvalkitError(msg, where=str(path), do="free space or choose another folder") from error
