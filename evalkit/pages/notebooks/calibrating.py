"""What the calibration page computes: the flattering cut-off, the certificate, the policy, the page's conclusion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.cases.locate import locate
from evalkit.contract import EvalkitError, Outcome, sha256_of
from evalkit.decisions.binomial import exact_interval, tail_at_most
from evalkit.decisions.calibrate import CalibrateOptions, Calibration, calibrate
from evalkit.decisions.calibrating.calibration_record import Basis
from evalkit.decisions.calibrating.pairing import LabelledRow
from evalkit.decisions.calibrating.policy_out import Approval, PolicyOut, write_policy
from evalkit.decisions.calibrating.sweep import sweep
from evalkit.decisions.calibrating.thresholds import is_pass, sweep_rows
from evalkit.pages.calibrate_run import Loaded, load_all
from evalkit.pages.calibrate_verdict import verdict
from evalkit.pages.notebooks.page import Conclusion, NotebookPage

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

__all__ = [
    "Cut",
    "best_cuts",
    "certify_once",
    "conclude",
    "cuts_frame",
    "explore",
    "meaningless_scores",
    "open_labels",
    "recount",
    "what_if",
    "write_policy_beside",
]


class Cut(NamedTuple):
    """The cut-off with the highest accuracy on one set of rows, and how it does on others."""

    slice: str
    threshold: float
    right: int
    rows: int
    """The rows that it was read off."""
    new_right: int
    new_rows: int
    """Rows that it has not seen."""
    false_passes: int
    bad: int
    """Bad rows among those that it was read off."""


def open_labels(metric: str, cases: str, labels: str) -> Loaded:
    """Load metric, cases and labels; relative paths start at the folder that holds ``fixtures/``."""
    return load_all(metric, locate(cases), locate(labels), {})


def explore(loaded: Loaded, *, max_false_pass: float, confidence: float) -> Calibration:
    """Calibrate without opening held-out rows."""
    options = CalibrateOptions(max_false_pass=max_false_pass, confidence=confidence)
    return calibrate(loaded.metric, loaded.cases.records, loaded.labels.labels, options)


def best_cuts(found: Calibration) -> list[Cut]:
    """Return, slice by slice, the best cut-off on the development rows and its accuracy on calibration rows.

    Held-out rows are not touched. Where the cases have no partitions, each slice's rows are halved by case id.
    """
    cuts = []
    for name in found.slices:
        own = [r for r in found.pairing.rows if r.slice == name and r.is_bad is not None and r.selection == "random"]
        seen, new = _halves(own, found.partition)
        if seen and new:
            cuts.append(_best(name, seen, new, found))
    return cuts


def _halves(rows: Sequence[LabelledRow], partition: str | None) -> tuple[list[LabelledRow], list[LabelledRow]]:
    if partition is not None:
        seen = [row for row in rows if row.partition == "development"]
        return seen, [row for row in rows if row.partition == partition]
    mixed = sorted(rows, key=lambda row: sha256_of(row.case_id))
    return mixed[::2], mixed[1::2]


def _best(name: str, seen: Sequence[LabelledRow], new: Sequence[LabelledRow], found: Calibration) -> Cut:
    better = found.pairing.better
    swept = sweep_rows(seen, better, is_discrete=found.pairing.is_discrete)
    right = swept.true_passes + swept.n_fail - swept.false_passes
    at = int(right.argmax())
    threshold = float(swept.thresholds[at])
    new_right = sum(is_pass(row.value, threshold, better) is not row.is_bad for row in new)
    return Cut(
        name, threshold, int(right[at]), len(seen), new_right, len(new), int(swept.false_passes[at]), swept.n_fail
    )


def cuts_frame(cuts: Iterable[Cut]) -> pd.DataFrame:
    """Return the cuts as a frame, with what the errors on bad rows could be as well."""
    import pandas as pd

    lines = [
        {
            "slice": cut.slice,
            "best cut-off": cut.threshold,
            "right on the rows it was read off": f"{cut.right} of {cut.rows}",
            "right on new rows": f"{cut.new_right} of {cut.new_rows}",
            "bad that pass": f"{cut.false_passes} of {cut.bad}",
            "could be as much as": exact_interval(cut.false_passes, cut.bad, 0.95).high if cut.bad else None,
        }
        for cut in cuts
    ]
    return pd.DataFrame(lines).set_index("slice") if lines else pd.DataFrame()


def meaningless_scores(rng: np.random.Generator, *, sizes: Sequence[int] = (10, 20, 50), rounds: int = 400) -> Any:
    """Return the mean accuracy of the best cut-off where scores and labels are both thrown at random.

    On new rows any cut-off is right half of the time: the labels are coin flips.
    """
    import pandas as pd

    lines = []
    for n in sizes:
        best = [_best_share(rng.random(n), rng.random(n) < 0.5) for _ in range(rounds)]
        lines.append({"labels": n, "best cut-off, same rows": round(sum(best) / rounds, 2), "new rows": 0.5})
    return pd.DataFrame(lines).set_index("labels")


def _best_share(values: Any, bad: Any) -> float:
    swept = sweep(values, bad)
    right = swept.true_passes + swept.n_fail - swept.false_passes
    return max(int(right.max()), swept.n_fail) / len(values)  # a cut-off above all values fails every row


def certify_once(
    loaded: Loaded, page: NotebookPage, *, max_false_pass: float, confidence: float, ledger: str
) -> Calibration:
    """Open the held-out rows, once, and write the look down.

    Without a ledger of one's own, the look is kept beside the page's outcome file and begins anew with each run: good
    enough for an example, and for nothing else.
    """
    path = locate(ledger) if ledger else page.outcome_file.with_name("holdout.jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not ledger:
        path.unlink(missing_ok=True)
    options = CalibrateOptions(
        max_false_pass=max_false_pass,
        confidence=confidence,
        ledger=path,
        purpose=f"notebook {page.name}",
        looked_on=_day(page),
        metric_fingerprint=loaded.cases.metric_fingerprint,
    )
    return calibrate(loaded.metric, loaded.cases.records, loaded.labels.labels, options)


def _day(page: NotebookPage) -> str:
    return str(page.parameters.get("as_of") or date.today().isoformat())  # noqa: DTZ011 - a day to write down


def write_policy_beside(
    found: Calibration, loaded: Loaded, page: NotebookPage, *, approved_by: str, rationale: str, expires_on: str
) -> PolicyOut:
    """Write the policy and its record beside the page's outcome file; without approval it only reports."""
    basis = Basis(
        cases=loaded.cases.name,
        cases_sha256=loaded.cases.cases_sha256,
        metric_fingerprint=loaded.cases.metric_fingerprint,
        judge=loaded.cases.judge,
        labels=loaded.labels,
        ledger_sha256=None,
        made_on=_day(page),
    )
    try:
        last_day = date.fromisoformat(expires_on) if expires_on else None
    except ValueError as error:
        msg = f"expires_on must be a day such as 2026-11-30, or empty; got {expires_on!r}"
        raise EvalkitError(msg) from error
    approval = Approval(approved_by or None, rationale or None, last_day)
    path = page.outcome_file.with_name("policy.toml")
    for old in (path, Path(f"{path.with_suffix('')}.calibration.json")):
        old.unlink(missing_ok=True)  # of an earlier run of this page
    return write_policy(path, found, basis, approval)


def recount(found: Calibration) -> list[str]:
    """Check every certificate a second way: the rows counted by hand, the tail summed without scipy.

    Returns
    -------
    list of str
        One line a certified slice; an AssertionError says which one does not hold.
    """
    lines = []
    for name, part in found.slices.items():
        if part.certified is None:
            continue
        rows = part.held_out.sample.rows if part.held_out else part.sample.rows
        bad = [row for row in rows if row.is_bad]
        errors = sum(is_pass(row.value, part.certified, found.pairing.better) for row in bad)
        level = (found.held_out.family if found.held_out else found.family).level(name)
        tail = tail_at_most(errors, len(bad), found.options.max_false_pass)
        if tail > level:
            msg = f"{name}: P(X <= {errors}) of {len(bad)} is {tail}, above {level}: not certified"
            raise AssertionError(msg)
        lines.append(f"{name}: {errors} of {len(bad)} bad rows pass; P(that few or fewer) = {tail:.4f} <= {level:.4f}")
    return lines


def what_if(loaded: Loaded, limit: float, confidence: float) -> str:
    """Return the verdict of each slice under another limit, on calibration rows only."""
    found = explore(loaded, max_false_pass=limit, confidence=confidence)
    lines = []
    for name, part in found.slices.items():
        lines += [name, *(f"  {sentence}" for sentence in verdict(found, part))]
    return "\n".join(lines)


def conclude(found: Calibration, must_certify: str, cuts: Sequence[Cut], written: PolicyOut) -> Conclusion:
    """Conclude: *passed* where every slice that has to be certified is; the others go to people by the policy."""
    wanted = [name.strip() for name in must_certify.split(",") if name.strip()] or list(found.slices)
    if unknown := [name for name in wanted if name not in found.slices]:
        msg = f"must_certify names {unknown[0]!r}, and no case has that slice"
        raise EvalkitError(msg, do=f"the slices are {', '.join(map(repr, found.slices))}")
    missing = [name for name in wanted if found.slices[name].certified is None]
    sentences = tuple(f"{name} is not certified: {'; '.join(verdict(found, found.slices[name]))}" for name in missing)
    outcome = Outcome.incomplete if not found.pairing.rows else Outcome.review_required if missing else Outcome.passed
    figures: dict[str, float | int | str | None] = {"thresholds.certified": len(found.certified)}
    for name, part in found.slices.items():
        figures |= {
            f"{name}.certified": part.certified,
            f"{name}.labels_needed": part.labels_needed,
            f"{name}.fails": part.sample.n_fail,
            f"{name}.held_out_fails": part.held_out.sample.n_fail if part.held_out else None,
        }
    for cut in cuts:
        figures |= {f"{cut.slice}.best_cut.same_rows": cut.right / cut.rows}
        figures |= {f"{cut.slice}.best_cut.new_rows": cut.new_right / cut.new_rows}
    facts = {"calibration": written.record_sha256, "policy_mode": written.mode}
    return Conclusion(outcome=outcome, sentences=sentences, figures=figures, outcome_hash=_hash_of(found), facts=facts)


def _hash_of(found: Calibration) -> str:
    """Hash what was decided: metric, question, rows with their labels, certified thresholds; no people, no dates."""
    rows = [[row.case_id, row.value, row.is_bad] for row in found.pairing.rows]
    return sha256_of(
        {
            "metric": found.metric.name,
            "contract_version": found.metric.version,
            "max_false_pass": found.options.max_false_pass,
            "confidence": found.options.confidence,
            "rows": rows,
            "certified": found.certified,
        }
    )
