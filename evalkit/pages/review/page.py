"""What notebook 04 calls: the meeting opened from its parameters, the curtain before its tables, rows as plain text."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from evalkit.cases.locate import locate
from evalkit.contract import EvalkitError, Metric, sha256_of
from evalkit.decisions.meeting.agenda import AgendaOptions, review_folder
from evalkit.decisions.meeting.meeting import Meeting
from evalkit.decisions.meeting.review import Review, open_review
from evalkit.pages.plain import plain, shown
from evalkit.pages.report_rows import Field, Piece
from evalkit.pages.review.blind import BlindRow, blind_row
from evalkit.pages.review.tables import Table, cells
from evalkit.pages.review.views import label_of

__all__ = ["VoteFirst", "blind_text", "curtain", "mixed_scores", "review_of"]

_BOTH = ("pass", "fail")


class VoteFirst(Exception):  # noqa: N818 - what to do, not what went wrong
    """Stops a page whose reader has not voted yet: the cells below show scores, labels and votes."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def curtain(widget: Any) -> None:
    """Let the page go on where nobody votes on it, or whoever does has opened the discussion.

    Raises
    ------
    VoteFirst
        Otherwise. Papermill never gets here: a headless page has no widget.
    """
    if widget is not None and not widget.is_open:
        msg = (
            "The cells below show scores, labels and votes. Vote above, choose Discuss, press Show all votes; "
            "then run this cell and those below."
        )
        raise VoteFirst(msg)


def review_of(
    metric: Metric,
    *,
    cases: str,
    labels: str,
    policy: str,
    slice_name: str,
    threshold: float,
    rows: AgendaOptions,
    votes: str = "",
    review_dir: str = "",
    policy_out: str = "",
    out_dir: str = "runs/notebooks",
    as_of: str = "",
) -> Review:
    """Open the meeting that a notebook's parameters name (see `evalkit.locate` for where their paths start).

    Without `review_dir` the meeting's folder lies beside the run or, for a file of cases, in `out_dir`, under a name
    that follows from file, threshold and options: other parameters are another meeting.
    """
    place = locate(cases)
    if review_dir:
        folder = locate(review_dir)
    elif place.is_dir():
        folder = review_folder(place)
    else:
        own = sha256_of({"cases": place.name, "slice": slice_name, "threshold": threshold, "rows": list(rows)})[7:15]
        folder = locate(out_dir) / "04_threshold_review" / f"review-{own}"
    return open_review(
        metric,
        place,
        locate(policy),
        locate(labels) if labels else None,
        thresholds={slice_name: threshold},
        agenda=rows,
        folder=folder,
        also=(_existing(locate(votes)),) if votes else (),
        policy_out=locate(policy_out) if policy_out else None,
        as_of=date.fromisoformat(as_of) if as_of else None,
    )


def _existing(folder: Path) -> Path:
    if not folder.is_dir():
        msg = "there is no such folder of votes"
        raise EvalkitError(msg, where=folder.name, do="leave the parameter votes empty")
    return folder


def blind_text(review: Review, position: int = 0) -> str:
    """Return what a reviewer who votes blind sees of one row of the agenda, as plain text."""
    row = blind_row(review.meeting.by_id[list(review.agenda.rows)[position]])
    parts = [("Question", _field(row.question)), ("Answer, [cited] stretches marked", _pieces(row.answer))]
    parts += [("What a complete answer says", "\n".join(f"- {plain(claim, newline=' ')}" for claim in row.claims))]
    parts += [("Inputs", "\n".join(f"{field.name}: {_field(field)}" for field in row.inputs))]
    parts += [(f"Passage {passage.name}", _pieces(passage.pieces)) for passage in row.passages]
    body = "\n\n".join(f"{plain(title)}\n{text}" for title, text in parts if text)
    return f"Row {position + 1} of {len(review.agenda.rows)}: {_name(row)}\n\n{body}"


def _name(row: BlindRow) -> str:
    return plain(row.case_id, newline=" ")


def _field(field: Field | None) -> str:
    return plain(field.text or ", ".join(field[1]) or field.note, newline="\n") if field else ""


def _pieces(pieces: list[Piece] | None) -> str:
    return plain("".join(f"[{p.text}]" if p.claims else p.text for p in pieces or ()), newline="\n")


def mixed_scores(meeting: Meeting, name: str) -> Table:
    """Return the scores at which people say both pass and fail: no threshold tells such rows apart."""
    by_score: dict[str, dict[str, list[str]]] = {}
    for record in meeting.ranked(name).rows:
        labels = by_score.setdefault(shown(record.value), {})
        labels.setdefault(label_of(meeting, record), []).append(str(record.case_id))
    rows = [
        cells(score, *(", ".join(labels[word][:5]) for word in _BOTH), *(len(labels[word]) for word in _BOTH))
        for score, labels in by_score.items()
        if labels.keys() >= set(_BOTH)
    ]
    columns = ("score", "people say pass", "people say fail", "n pass", "n fail")
    return Table("One score, two verdicts", columns, rows, frozenset({3, 4}))
