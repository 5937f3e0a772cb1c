"""What notebook 08 does: many metrics in one pass, the figure that hides an answer, the analysis, one more metric."""

from __future__ import annotations

import fnmatch
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.cases.labels import Label, read_labels
from evalkit.cases.locate import locate
from evalkit.cases.settle import settle
from evalkit.contract import EvalkitError, Outcome, sha256_of
from evalkit.decisions.adding import Added, what_it_adds
from evalkit.decisions.analysing.side import MetricSide, is_favourable
from evalkit.decisions.analysis import Analysis, analyse, policies_by_metric
from evalkit.metrics import BUILT_IN
from evalkit.pages.analysis_run import write_analysis
from evalkit.pages.notebooks.judged import open_metric
from evalkit.pages.notebooks.page import Conclusion, NotebookPage
from evalkit.pages.publish import score_to_runs
from evalkit.pages.summary import markdown_text

if TYPE_CHECKING:
    import pandas as pd
    from IPython.display import Markdown

__all__ = ["Studied", "bullets", "concluded", "study", "write_pages"]


@dataclass(frozen=True, kw_only=True)
class Studied:
    """Several metrics over one file, with what people say of its rows."""

    analysis: Analysis
    labels: Mapping[str, str]
    """By case id, ``pass`` or ``fail``, where reviewers agree or were adjudicated."""

    @property
    def added(self) -> Added | None:
        """What the metric in question adds to the others."""
        return self.analysis.added

    def frame(self) -> pd.DataFrame:
        """Return the tidy frame: a row a case, and for each metric its value and its state; missing is NA."""
        import pandas as pd

        first = self.analysis.sides[0].records
        columns = {"case_id": [r.case_id for r in first], "slice": [r.slice for r in first]}
        frame = pd.DataFrame(columns).astype("string")
        for side in self.analysis.sides:
            values: Any = [record.value for record in side.records]
            kinds: dict[str, Any] = {"numeric": "Float64", "discrete": "string"}
            frame[side.name] = pd.Series(values, dtype=kinds.get(side.metric.kind, "object"))
            frame[f"{side.name}_state"] = pd.Series([record.state for record in side.records], dtype="string")
        return frame

    def states(self) -> pd.DataFrame:
        """Return how many rows are in which state for each metric."""
        import pandas as pd

        counts = {side.name: pd.Series([r.state for r in side.records]).value_counts() for side in self.analysis.sides}
        return pd.DataFrame(counts).T.fillna(0).astype(int)

    def verdicts(self) -> pd.DataFrame:
        """Return a row a case and a column a metric: whether the row is well by it; NA where it does not say so."""
        import pandas as pd

        columns = {side.name: [is_favourable(r, side.metric) for r in side.records] for side in self.analysis.sides}
        index = pd.Index([record.case_id for record in self.analysis.sides[0].records], name="case_id")
        return pd.DataFrame(columns, index=index, dtype="boolean")

    def combined(self) -> pd.Series[float]:
        """Return the tempting figure of each row: the share of metrics that speak for it, of those that speak."""
        found: pd.Series[float] = self.verdicts().astype("Float64").mean(axis=1)
        return found.rename("combined")

    def hidden(self) -> pd.DataFrame:
        """Return the answers that people refuse, the best looking first."""
        import pandas as pd

        combined = self.combined()
        refused = [case_id for case_id in combined.index if self.labels.get(case_id) == "fail"]
        against = self.verdicts().loc[refused].eq(False).fillna(value=False)
        named = [", ".join(against.columns[row]) or "none" for row in against.to_numpy(dtype=bool)]
        frame = pd.DataFrame({"combined": combined[refused].round(3), "speaking against it": named})
        return frame.sort_values("combined", ascending=False, kind="stable")

    def answer(self, case_id: str) -> str:
        """Return question, answer and what reviewers say, as plain text."""
        record = self.analysis.sides[0].by_case()[case_id]
        evidence = record.evidence or {}
        said = [f"{case_id}: {self.labels.get(case_id, 'no settled label')}"]
        return "\n\n".join([*said, str(evidence.get("question", "")), str(evidence.get("answer", ""))])

    def ledger(self) -> pd.DataFrame:
        """Return the frame that `evalkit.pages.analysis_chart.metrics_chart` draws, a row a metric and case."""
        import pandas as pd

        rows = [_word(side, place) for side in self.analysis.sides for place in range(len(side.records))]
        return pd.DataFrame(rows, columns=["slice", "decision", "state"])


def _word(side: MetricSide, place: int) -> tuple[str, str | None, str]:
    record = side.records[place]
    favourable = is_favourable(record, side.metric)
    decision = record.decision or {True: "pass", False: "fail", None: None}[favourable]
    return side.name, decision, record.state


def study(
    metrics: str, cases: str, *, domain: str, verdicts: str = "", policies: str = "", labels: str = "",
    added: str = "", as_of: str = "",
) -> Studied:  # fmt: skip
    """Score a file by several metrics in one pass and analyse what they say.

    Parameters
    ----------
    metrics : str
        Separated by commas, each as for ``evalkit score``, or a pattern of bundled names such as ``medical_*``; a judge
        replays the recorded verdicts beside the cases.
    cases, labels : str
        As in a notebook's parameters: see `evalkit.locate`.
    domain : str
        Names the section of its metrics in the analysis.
    verdicts : str
        A ``.toml`` file: which metric feeds which parameter of a metric that combines others.
    policies : str
        Files, or folders of ``.toml`` files, separated by commas.
    added : str
        The metric of which is asked what it adds to the others.
    as_of : str
        The day on which policies are judged; empty for today.
    """
    found = [open_metric(spec) for spec in _named(metrics)]
    names = [metric.name for metric in found]
    if added and added not in names:
        msg = f"added names {added!r}, which is not among the metrics"
        raise EvalkitError(msg, do=f"the metrics are {', '.join(names)}")
    files = policies_by_metric(_policies(policies), names)
    given = tuple(read_labels(locate(labels)).labels) if labels else ()
    with tempfile.TemporaryDirectory() as folder:
        scored = score_to_runs(found, locate(cases), Path(folder) / "runs", verdicts=_read_pairs(verdicts))
        runs = {name: scored[name].run for name in names}
        others = [runs[name] for name in names if name != added]
        limits = {name: file.policy for name, file in files.items() if file.policy}
        more = what_it_adds(runs[added], others, given, policies=limits) if added else None
        day = date.fromisoformat(as_of) if as_of else datetime.now(UTC).date()
        analysis = analyse(domain, [(metric, runs[metric.name]) for metric in found], files, day, added=more)
    return Studied(analysis=analysis, labels=_settled(given, analysis))


def _settled(labels: tuple[Label, ...], analysis: Analysis) -> dict[str, str]:
    seen = {case_id: record.seen_hash for case_id, record in analysis.sides[0].by_case().items()}
    settled = settle(labels, seen=seen)
    return {case_id: str(case.label) for case_id, case in settled.items() if case.label is not None}


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _named(text: str) -> list[str]:
    """Return the metrics; a pattern stands for the bundled ones it fits."""
    found = [fnmatch.filter(sorted(BUILT_IN), part) if "*" in part else [part] for part in _listed(text)]
    return list(dict.fromkeys(name for names in found for name in names))


def _read_pairs(text: str) -> dict[str, str]:
    if not text:
        return {}
    path = locate(text)
    try:
        pairs = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = f"cannot be read as TOML ({error})"
        raise EvalkitError(msg, where=path.name, do='write lines such as risk_warnings = "medical_risk"') from error
    return {name: str(metric) for name, metric in pairs.items()}


def _policies(text: str) -> list[Path]:
    places = [locate(part) for part in _listed(text)]
    return [path for place in places for path in (sorted(place.glob("*.toml")) if place.is_dir() else [place])]


def bullets(lines: Iterable[str]) -> Markdown:
    """Return sentences as a list; whatever a row wrote in them stays text."""
    from IPython.display import Markdown

    text = "\n".join(f"- {markdown_text(line)}" for line in lines)
    return Markdown(text)  # type: ignore[no-untyped-call] # IPython ships types for a part only


def write_pages(studied: Studied, page: NotebookPage) -> str:
    """Write the analysis beside the page's outcome file, and name its files."""
    page.outcome_file.parent.mkdir(parents=True, exist_ok=True)
    written = write_analysis(studied.analysis, page.outcome_file.parent)
    return ", ".join(path.name for path in written)


def concluded(studied: Studied, *, follow: bool) -> Conclusion:
    """Return what the page comes to: whether every metric has spoken of every row or, on demand, the recommendation."""
    analysis = studied.analysis
    found = analysis.recommendation
    silent = [
        f"{s.metric} has no value for {len(s.unscored)} of {s.total.rows} rows"
        for s in analysis.summaries
        if s.unscored
    ]
    outcome, sentences = (Outcome.incomplete, silent) if silent else (Outcome.passed, [])
    if follow and found.outcome is None:
        outcome, sentences = Outcome.incomplete, [*silent, found.sentence]
    elif follow and found.outcome is not None:
        outcome, sentences = Outcome.worst([outcome, found.outcome]), [*silent, found.sentence]
    return Conclusion(
        outcome=outcome,
        sentences=tuple(sentences if outcome is not Outcome.passed else ()),
        figures=_figures(studied),
        outcome_hash=sha256_of([side.gated.outcome_hash if side.gated else None for side in analysis.sides]),
        facts={"recommendation": found.facts()["outcome"], "cases": analysis.cases},
    )


def _figures(studied: Studied) -> dict[str, float | int | str | None]:
    analysis, combined = studied.analysis, studied.combined()
    mean = combined.mean()
    figures: dict[str, float | int | str | None] = {
        "rows": analysis.rows,
        "metrics": len(analysis.sides),
        "combined.mean": None if combined.isna().all() else float(mean),
        "refused": len(studied.hidden()),
        "refused.unopposed": int((studied.hidden()["speaking against it"] == "none").sum()),
        "recommendation": analysis.recommendation.facts()["outcome"],
    }
    for summary in analysis.summaries:
        figures |= {f"{summary.metric}.scored": summary.total.scored, f"{summary.metric}.mean": summary.total.mean}
        figures |= {f"{summary.metric}.{label}": n for label, n in summary.total.labels.items()}
    if studied.added:
        figures |= {"added.alone_right": len(studied.added.alone_right)}
        figures |= {"added.alone_wrong": len(studied.added.alone_wrong)}
    return figures
