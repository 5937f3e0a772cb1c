"""What notebook 06 does: two runs made or opened, the dashboard's number and its rows, look-alikes, a dual run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from evalkit.cases.locate import locate
from evalkit.contract import Metric, Outcome, sha256_of
from evalkit.decisions.compare import Comparison, compare
from evalkit.decisions.explain import explain
from evalkit.decisions.explaining.dual_run import dual_run
from evalkit.decisions.explaining.explanation import Explanation
from evalkit.decisions.gate import GateOptions, gate
from evalkit.decisions.outcome_file import facts_of
from evalkit.decisions.policy import read_policy
from evalkit.pages.explain_text import moved
from evalkit.pages.notebooks.judged import open_metric
from evalkit.pages.notebooks.page import Conclusion
from evalkit.pages.publish import publish_gate
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run, RunWriter, open_run

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "LookAlike",
    "TwoRuns",
    "concluded",
    "dashboard_frame",
    "look_alikes",
    "look_alikes_frame",
    "passage_counts",
    "rehearse",
    "rows_frame",
    "two_runs",
]


class TwoRuns(NamedTuple):
    """An older and a newer run, and what changed between them."""

    old: Run
    new: Run
    metric: Metric
    explanation: Explanation
    place: tempfile.TemporaryDirectory[str]
    """Where runs were made that did not exist before; it is gone with the page."""

    def facts(self) -> dict[str, Any]:
        """Return what ``evalkit explain NEW OLD --json`` writes; run ids, which no two pages share, are left out."""
        return self.explanation.facts() | {"run_id": "new", "older_run_id": "old"}

    @property
    def is_comparable(self) -> bool:
        """Whether values and decisions of the two runs may be held against each other."""
        old, new = self.old.manifest, self.new.manifest
        return old["metric"]["name"] == new["metric"]["name"] and None not in (old["policy"], new["policy"])


class LookAlike(NamedTuple):
    """One incident of a folder of incidents."""

    name: str
    found: Explanation
    expected: dict[str, Any] | None
    """``expected.json`` of the incident; ``None`` where nobody wrote down what it is."""
    mean_fell: float | None
    red: tuple[int, ...]
    """Rows that fail or were not scored, before and after."""

    @property
    def is_named(self) -> bool:
        """Whether exactly the expected row was found, with its first divergence and owner."""
        rows = [
            {"case_id": row.case_id, "first_divergence": row.first_divergence, "owner": row.owner}
            for row in self.found.rows
        ]
        return self.expected is None or rows == [self.expected]


def two_runs(
    old: str, new: str, metric: str, policy: str, as_of: str, *, old_metric: str = "", old_policy: str = ""
) -> TwoRuns:
    """Gate two files of cases (or open two run folders) and explain what changed.

    Parameters
    ----------
    old, new : str
        Files of cases, or run folders, as in a notebook's parameters.
    metric, policy : str
        What the new cases are judged with.
    as_of : str
        The day on which dates are judged; today where it is empty.
    old_metric, old_policy : str
        What the old cases are judged with, where that is another.
    """
    place = tempfile.TemporaryDirectory(prefix="evalkit-runs-")
    folder = Path(place.name)
    newer = open_metric(metric)
    older = open_metric(old_metric) if old_metric else newer
    before = _run(older, locate(old), locate(old_policy or policy), as_of, folder / "old")
    after = _run(newer, locate(new), locate(policy), as_of, folder / "new")
    is_own = newer.fingerprint == after.manifest["metric"].get("fingerprint")
    return TwoRuns(before, after, newer, explain(after, before, metric=newer if is_own else None), place)


def _run(metric: Metric, cases: Path, policy: Path, as_of: str, folder: Path) -> Run:
    if cases.is_dir():
        return open_run(cases)
    options = GateOptions(as_of=date.fromisoformat(as_of) if as_of else None)
    with RunWriter(folder) as writer:
        result = gate(metric, cases, policy, options=options, sink=writer)
        return publish_gate(result, writer, facts_of(result, run_id=writer.run_id, command="", parameters={}))


# --- the dashboard ----------------------------------------------------------------------------------------------------


def dashboard_frame(runs: TwoRuns) -> pd.DataFrame:
    """Return what a dashboard shows: the mean of each slice in both runs, and over how many rows it is."""
    import pandas as pd

    lines = []
    for name, run in (("old", runs.old), ("new", runs.new)):
        for slice_name, block in run.manifest["ledger"]["slices"].items():
            lines.append((slice_name, name, block["mean"], block["mean_of"], block["pass"], block["fail"]))
    return pd.DataFrame(lines, columns=["slice", "run", "mean", "mean_of", "pass", "fail"])


def passage_counts(runs: TwoRuns) -> pd.DataFrame:
    """Return how many passages the rows of each run carry: the first guess of everybody is that retrieval broke."""
    import pandas as pd

    lines = [(name, *_counted(run)) for name, run in (("old", runs.old), ("new", runs.new))]
    return pd.DataFrame(lines, columns=["run", "rows", "with passages", "passages", "different texts"])


def _counted(run: Run) -> tuple[int, int, int, int]:
    lists = [_retrieved(record) for record in run.records()]
    texts = [str(passage.get("text")) for passages in lists for passage in passages if isinstance(passage, dict)]
    return len(lists), sum(bool(passages) for passages in lists), len(texts), len(set(texts))


def _retrieved(record: Record) -> list[Any]:
    found = (record.evidence or {}).get("retrieved")
    return found if isinstance(found, list) else []


def rows_frame(runs: TwoRuns, *, most: int = 15) -> pd.DataFrame:
    """Return the rows that changed, as ``evalkit explain`` names them."""
    import pandas as pd

    rows = runs.facts()["rows"][:most]
    lines = [(row["case_id"], moved(row), row["first_divergence"], row["owner"], row["sentence"]) for row in rows]
    return pd.DataFrame(lines, columns=["case", "result", "first divergence", "owner", "what happened"])


# --- look-alikes ------------------------------------------------------------------------------------------------------


def look_alikes(folder: str, metric: str, policy: str, as_of: str) -> list[LookAlike]:
    """Explain every incident of a folder; none, where no folder is named.

    An incident is a folder with ``old.jsonl`` and ``new.jsonl``, its own ``old_policy.toml``, ``new_metric.py`` and so
    on where these differ, and ``expected.json``.
    """
    if not folder:
        return []
    return [_look_alike(path, metric, policy, as_of) for path in sorted(locate(folder).iterdir()) if path.is_dir()]


def _look_alike(folder: Path, metric: str, policy: str, as_of: str) -> LookAlike:
    name = metric.rpartition(":")[2]

    def chosen(side: str, kind: str, otherwise: str) -> str:
        own = folder / f"{side}_{kind}"
        return otherwise if not own.exists() else f"{own}:{name}" if kind == "metric.py" else str(own)

    runs = two_runs(
        str(folder / "old.jsonl"),
        str(folder / "new.jsonl"),
        chosen("new", "metric.py", metric),
        chosen("new", "policy.toml", policy),
        as_of,
        old_metric=chosen("old", "metric.py", metric),
        old_policy=chosen("old", "policy.toml", policy),
    )
    expected = folder / "expected.json"
    ledgers = [run.manifest["ledger"] for run in (runs.old, runs.new)]
    before, after = (ledger["mean"] for ledger in ledgers)
    return LookAlike(
        folder.name,
        runs.explanation,
        orjson.loads(expected.read_bytes()) if expected.exists() else None,
        None if before is None or after is None else before - after,
        tuple(ledger["fail"] + ledger["invalid"] + ledger["error"] for ledger in ledgers),
    )


def look_alikes_frame(found: list[LookAlike]) -> pd.DataFrame:
    """Return one line for each changed row of an incident: what a dashboard saw, and what it really was."""
    import pandas as pd

    lines = [
        (one.name, f"{one.red[0]} -> {one.red[1]}", one.mean_fell, row.case_id, row.first_divergence, row.owner)
        for one in found
        for row in one.found.rows
    ]
    columns = ["incident", "red rows", "mean fell by", "case", "first divergence", "owner"]
    return pd.DataFrame(lines, columns=columns).round(4)


# --- a dual run -------------------------------------------------------------------------------------------------------


def rehearse(metric: str, candidate: str, cases: str, policy: str) -> Comparison:
    """Run the metric in use and a candidate over the same cases, under one policy."""
    limits = read_policy(locate(policy)).policy
    return compare(dual_run(open_metric(metric), open_metric(candidate), locate(cases), policy=limits))


def concluded(runs: TwoRuns, found: list[LookAlike], rehearsal: Comparison) -> Conclusion:
    """Return what the page comes to: passed where every changed row has an owner, and every look-alike its own."""
    rollup = runs.explanation.rollup
    nobodys = [row.case_id for row in runs.explanation.rows if row.owner is None]
    misnamed = [one.name for one in found if not one.is_named]
    return Conclusion(
        outcome=Outcome.worst([Outcome.quality_failed] * bool(misnamed) + [Outcome.review_required] * bool(nobodys)),
        sentences=tuple(_sentences(nobodys, misnamed)),
        figures={
            "rows": runs.explanation.total,
            "rows.changed": len(runs.explanation.rows),
            "rows.unchanged": runs.explanation.unchanged,
            **{f"owner.{owner}": n for owner, n in rollup.by_owner.items()},
            **{f"kind.{kind}": n for kind, n in rollup.by_kind.items()},
            "look_alikes": len(found),
            "look_alikes.named": sum(one.is_named for one in found),
            "dual.rows": rehearsal.n,
            "dual.scored_by_both": rehearsal.n_scored,
            "dual.disagree": len(rehearsal.disagreements),
            "dual.largest_difference": rehearsal.largest_difference,
        },
        outcome_hash=sha256_of([[row.case_id, row.first_divergence, row.owner] for row in runs.explanation.rows]),
        facts={"explanation": runs.explanation.facts(), "dual_run": rehearsal.facts()},
    )


def _sentences(nobodys: list[str | None], misnamed: list[str]) -> Iterator[str]:
    if misnamed:
        yield f"named otherwise than expected.json says: {', '.join(misnamed)}"
    if nobodys:
        names = ", ".join(str(case_id) for case_id in nobodys[:5])
        yield f"{len(nobodys)} rows changed and nothing that was kept says why: {names}"
