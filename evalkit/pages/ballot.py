"""A ballot: one static page to vote on without Jupyter. What a blind reviewer may not see is not in its bytes."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import orjson
from markupsafe import Markup
from pydantic import ValidationError

from evalkit.contract import EvalkitError, sha256_of
from evalkit.contract.words import Better
from evalkit.decisions.meeting.agenda import Agenda, AgendaOptions, make_agenda, review_folder, settled_agenda
from evalkit.decisions.policy import Policy
from evalkit.pages.review.blind import BlindRow, blind_row
from evalkit.pages.review.templating import TEMPLATES, environment, style
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run, open_run, write_whole

__all__ = ["Ballot", "make_ballot", "page_policy", "render_ballot", "thresholds_of"]


class Ballot(NamedTuple):
    """A ballot that was written."""

    path: Path
    agenda: Agenda
    size: int


def make_ballot(
    run: Path,
    out: Path,
    *,
    slices: Sequence[str] = (),
    threshold: float | None = None,
    options: AgendaOptions | None = None,
) -> Ballot:
    """Write the ballot of a run's meeting.

    Its rows are those of the meeting's agenda. Where there is none yet, they are chosen now, and everybody who votes
    later, in JupyterLab or on another ballot, gets the same ones.

    Parameters
    ----------
    run : Path
        A run folder.
    out : Path
    slices : sequence of str, optional
        Whose thresholds are reviewed; every slice of the run's policy that has one, by default.
    threshold : float, optional
        Under review, instead of the policy's.
    options : AgendaOptions, optional

    Raises
    ------
    EvalkitError
        For a metric without numbers, a slice without a threshold, or an agenda of other answers.
    """
    opened = open_run(run)
    records = list(opened.records())
    thresholds = thresholds_of(opened, slices, threshold, {r.slice for r in records if r.state == "scored"})
    better: Better = (opened.manifest["metric"].get("contract") or {}).get("better", "higher")
    run_id = str(opened.manifest.get("run_id"))
    proposed = make_agenda(run_id, records, thresholds, better, options or AgendaOptions())
    by_id: dict[str, Record] = {r.case_id: r for r in records if r.case_id is not None}
    seen = {case_id: record.seen_hash for case_id, record in by_id.items()}
    agenda = settled_agenda(review_folder(run), proposed, seen)
    page = render_ballot(agenda, [blind_row(by_id[case_id]) for case_id in agenda.rows])
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, page)
    return Ballot(out, agenda, len(page.encode()))


def thresholds_of(
    run: Run, slices: Sequence[str], threshold: float | None, scored: set[str] | frozenset[str]
) -> dict[str, float]:
    """Return the thresholds under review: of the policy that the run was gated under, or the one that is given."""
    kind = (run.manifest["metric"].get("declaration") or {}).get("kind")
    if kind != "numeric":
        msg = f"{run.manifest['metric']['name']} gives {kind or 'no'} values: there is no threshold to review"
        raise EvalkitError(msg, where=run.folder.name, do="give a run of a numeric metric")
    facts = run.manifest.get("policy")
    limits = _policy_of(facts, run).slices if facts else {}
    bounds = {name: x.minimum if x.minimum is not None else x.maximum for name, x in limits.items()}
    names = list(slices) or [name for name in (bounds if threshold is None else sorted(scored)) if name in scored]
    found = {name: bounds.get(name) if threshold is None else threshold for name in names}
    missing = [name for name, value in found.items() if value is None]
    if missing or not found:
        msg = f"the run's policy has no threshold for {missing[0]!r}" if missing else "the run has no policy"
        raise EvalkitError(msg, where=run.folder.name, do="gate the cases first, or give --slice and --threshold")
    return {name: value for name, value in found.items() if value is not None}


def _policy_of(facts: object, run: Run) -> Policy:
    try:
        return Policy.model_validate_json(orjson.dumps(facts))
    except ValidationError as error:
        msg = f"the policy in manifest.json is damaged: {error.errors()[0]['msg']}"
        raise EvalkitError(msg, where=run.folder.name, do="gate the cases again into a new folder") from error


def render_ballot(agenda: Agenda, rows: Sequence[BlindRow]) -> str:
    """Return the ballot as one HTML page that asks nothing of the network.

    Parameters
    ----------
    agenda : Agenda
    rows : sequence of BlindRow
        Its rows, in its order.
    """
    css = f"{style()}{(TEMPLATES / 'ballot.css').read_text(encoding='utf-8')}"
    script = (TEMPLATES / "ballot.js").read_text(encoding="utf-8")
    return (
        environment()
        .get_template("ballot.html")
        .render(
            rows=rows,
            # As JSON in ASCII: what is made visible for people must come back as the id that it is.
            keys={row.case_id: json.dumps(row.case_id) for row in rows},
            run_id=agenda.run_id,
            ballot_id=sha256_of(dict(agenda.rows))[7:23],
            css=Markup(css),  # noqa: S704 - a file of this package
            script=Markup(script),  # noqa: S704 - a file of this package
            csp=page_policy(css, script),
        )
    )


def page_policy(css: str, script: str = "") -> str:
    """Return a content policy that allows one style sheet, one script and pictures inside the page, by their hashes."""
    scripts = f"script-src 'sha256-{_sha256(script)}'" if script else "script-src 'none'"
    return (
        f"default-src 'none'; style-src 'sha256-{_sha256(css)}'; {scripts}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
