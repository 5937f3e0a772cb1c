"""The page of a meeting: evidence, votes and candidates for the discussion; with the decision on top, its minutes."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evalkit.decisions.meeting.confusion import confusion_at
from evalkit.decisions.meeting.review import Review
from evalkit.pages.ballot import page_policy
from evalkit.pages.plain import plain, shown
from evalkit.pages.review.render import DiscussedRow, discussed_html, discussed_row
from evalkit.pages.review.tables import Table, cells, table_html
from evalkit.pages.review.templating import TEMPLATES, diff_html, environment, style
from evalkit.pages.review.views import agreement_table, candidates_table, confusion_table, votes_table

__all__ = ["MOST_BYTES", "render_minutes", "render_packet"]

MOST_BYTES = 3_000_000
"""What a mail server lets through; rows beyond it are named in the vote table only."""
_ROWS_BYTES = 2_400_000


class _Picture(NamedTuple):
    source: str
    words: str


class _Minutes(NamedTuple):
    decided_on: str
    approved_by: str
    attendees: list[str]
    thresholds: list[str]
    policy: str
    rationale: str
    dissent: str
    basis: str
    agreement: str
    flips: str
    actions: Markup


def render_packet(review: Review, decision: Mapping[str, Any] | None) -> str:
    """Return the packet as one HTML page that asks nothing of the network.

    Parameters
    ----------
    review : Review
    decision : mapping or None
        From `latest_decision`: then the page opens with the minutes.
    """
    meeting, tally = review.meeting, review.tally()
    proposal = _proposal(review, decision)
    ordered = sorted(tally.rows.values(), key=lambda row: (not row.is_split, not row.was_split))
    rows = [discussed_row(meeting, meeting.by_id[votes.case_id], proposal, votes) for votes in ordered]
    kept = _fitting(rows)
    css = f"{style()}{(TEMPLATES / 'packet.css').read_text(encoding='utf-8')}"
    metric = meeting.metric
    return (
        environment()
        .get_template("packet.html")
        .render(
            title=_title(review, decision),
            metric=metric,
            metric_sentence=f"{metric.name} measures {metric.contract.measures}." if metric.contract else "",
            cases=meeting.scored.name,
            run_id=review.agenda.run_id,
            notes=_notes(review, decision),
            minutes=_minutes(decision) if decision else None,
            agreement=_table(agreement_table(tally)),
            votes=_table(votes_table(meeting, tally, proposal)),
            pictures=[_picture(review, name, proposal[name]) for name in review.agenda.thresholds],
            confusion=_table(confusion_table(confusion_at(meeting, proposal))),
            candidates=[_table(candidates_table(meeting, name, proposal[name])) for name in review.agenda.thresholds],
            rows=kept,
            left_out=_left_out(len(rows) - len(kept), len(rows)),
            diff=Markup(diff_html(decision["diff"])) if decision else "",  # noqa: S704 - escaped where it was built
            css=Markup(css),  # noqa: S704 - files of this package
            csp=page_policy(css),
        )
    )


def _proposal(review: Review, decision: Mapping[str, Any] | None) -> dict[str, float]:
    found = dict(review.agenda.thresholds)
    for line in decision["slices"] if decision else []:
        if line["slice"] in found and line["threshold"] is not None:
            found[line["slice"]] = line["threshold"]
    return found


def _fitting(rows: Sequence[DiscussedRow]) -> list[DiscussedRow]:
    """Keep rows until the page would be too large, those that reviewers disagree on first."""
    kept, size = [], 0
    for row in rows:
        size += len(discussed_html(row).encode())
        if size > _ROWS_BYTES:
            break
        kept.append(row)
    return kept


def _left_out(n: int, of: int) -> str:
    return f"The evidence of {n} of {of} rows is left out: the page would be too large to mail." if n else ""


def _title(review: Review, decision: Mapping[str, Any] | None) -> str:
    what = f"Threshold review of {review.meeting.policy.name}"
    return f"{what}: minutes of {decision['decided_on']}" if decision else f"{what}: for the discussion"


def _notes(review: Review, decision: Mapping[str, Any] | None) -> list[str]:
    notes = []
    calibration = review.meeting.calibration
    if calibration is not None and calibration.is_synthetic:
        notes.append("The labels are SYNTHETIC: nothing here says anything outside the example.")
    tally = review.tally()
    waiting = [name for name in tally.reviewers if tally.voted(name) < len(tally.rows)]
    if waiting:
        notes.append(f"Not yet through all {len(tally.rows)} rows: {', '.join(waiting)}.")
    if tally.stale:
        notes.append(f"{len(tally.stale)} votes are on other answers than the run shows, and are not counted.")
    if decision and decision["policy"]["sha256"] != review.meeting.policy_file.sha256:
        notes.append("The policy file that this page was made with is not the one that was decided.")
    return notes


def _picture(review: Review, name: str, threshold: float) -> _Picture:
    import vl_convert

    from evalkit.pages.review.pictures import distribution, distribution_chart

    title = f"{plain(name, newline=' ')}: scores by label, threshold {shown(threshold)}"
    counted = distribution(review.meeting, name)
    svg = vl_convert.vegalite_to_svg(distribution_chart(counted, threshold, title=title, width=560).to_dict())
    data = base64.b64encode(svg.encode()).decode()
    words = f"{title}; {counted.note()}; the tables below hold the same numbers"
    return _Picture(f"data:image/svg+xml;base64,{data}", words)


def _table(table: Table) -> Markup:
    return Markup(table_html(table))  # noqa: S704 - every cell is escaped where the table is built


def _minutes(decision: Mapping[str, Any]) -> _Minutes:
    policy, before, after = decision["policy"], decision["agreement"]["before"], decision["agreement"]["after"]
    moved = [line for line in decision["slices"] if line["threshold"] != line["was"]]
    flips = decision["flips"]["flips"]
    named = ", ".join(f"{flip['case_id']} ({flip['old']} → {flip['new']})" for flip in flips[:20])
    more = f" and {len(flips) - 20} more" if len(flips) > 20 else ""
    actions = [cells(action["what"], action["owner"], action["due"]) for action in decision["actions"]]
    return _Minutes(
        decided_on=decision["decided_on"],
        approved_by=decision["approved_by"],
        attendees=decision["attendees"],
        thresholds=[_threshold_words(line) for line in moved] or ["unchanged"],
        policy=f"{policy['name']} {policy['version']} (before: {policy['old_version']}), until "
        f"{decision['expires_on']}; file {policy['file']}, {policy['sha256'][:19]}…; votes {decision['votes'][:19]}…",
        rationale=decision["rationale"],
        dissent=decision["dissent"],
        basis=decision["basis"].replace("_", " "),
        agreement=f"{_pairs(before)} before the discussion, {_pairs(after)} after it; "
        f"{len(decision['split'])} rows split",
        flips=f"{len(flips)} of {decision['flips']['compared']}{': ' if flips else ''}{named}{more}",
        actions=_table(Table("Who does what by when", ("what", "owner", "due"), actions)),
    )


def _threshold_words(line: Mapping[str, Any]) -> str:
    was = "none" if line["was"] is None else shown(line["was"])
    meaning = f", {line['meaning']}" if line["meaning"] else ""
    return f"{line['slice']}: {was} → {shown(line['threshold'])}{meaning} (certified: {line['certificate']})"


def _pairs(found: Mapping[str, Any]) -> str:
    return f"{found['pairs_agreeing']} of {found['pairs_compared']} pairs of votes agree"


def render_minutes(review: Review, decision: Mapping[str, Any]) -> str:
    """Return the minutes as Markdown in which nothing that people wrote is markup."""
    markdown = Environment(loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True)  # noqa: S701 - it is no HTML: `md` escapes each text
    markdown.filters["md"] = _inert
    return markdown.get_template("minutes.md").render(
        title=_inert(_title(review, decision)), minutes=_minutes(decision), actions=decision["actions"]
    )


def _inert(text: Any) -> str:
    lines = (re.sub(r"([\\`*_\[\]#|])", r"\\\1", plain(line)) for line in str(text).splitlines())
    return "<br>".join(line.replace("&", "&amp;").replace("<", "&lt;") for line in lines)
