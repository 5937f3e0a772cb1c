"""An analysis as frames: a row a metric, a row a judgement, a row a case; what was not measured is NA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalkit.decisions.analysis import Analysis

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["judgements_frame", "metrics_frame", "patterns_frame", "results_frame"]


def metrics_frame(analysis: Analysis) -> pd.DataFrame:
    """Return a row a metric: states out of ``rows``, decisions and ``mean`` out of ``scored``; NA without any."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for found in analysis.summaries:
        total, decisions = found.total, found.total.decisions or {}
        favourable = next(iter(total.labels.values()), None) if total.scored else None
        rows.append(
            {"metric": found.metric, "rows": total.rows, **total.states}
            | {"mean": total.mean, "first_label": favourable}
            | {word: decisions.get(word) for word in ("pass", "fail", "review")}
            | {"outcome": found.outcome}
        )
    frame = pd.DataFrame(rows)
    counts = ["rows", "scored", "invalid", "error", "unrun", "first_label", "pass", "fail", "review"]
    frame = frame.astype(dict.fromkeys(counts, "Int64") | {"mean": "Float64", "outcome": "string"})
    return frame.set_index("metric")


def judgements_frame(analysis: Analysis) -> pd.DataFrame:
    """Return a row a judgement behind a combined figure: how often it is favourable, of how many rows it is known."""
    import pandas as pd

    columns = ["combined", "judgement", "favourable", "judged", "rows", "unfavourable"]
    rows = [
        (one.metric, found.name, found.favourable, found.judged, found.rows, ", ".join(found.unfavourable))
        for one in analysis.assessments
        for found in one.judgements
    ]
    return pd.DataFrame(rows, columns=columns).set_index(["combined", "judgement"])


def patterns_frame(analysis: Analysis) -> pd.DataFrame:
    """Return a row a combination of judgements that occurs: the verdicts, what they come to, on how many rows."""
    import pandas as pd

    rows = [
        {**pattern.verdicts, one.metric: pattern.combined, "rows": len(pattern.case_ids), "of": one.scored}
        for one in analysis.assessments
        for pattern in one.patterns
    ]
    return pd.DataFrame(rows)


def results_frame(analysis: Analysis) -> pd.DataFrame:
    """Return a row a case: value, state and decision of each metric; a value that was not measured is NA."""
    import pandas as pd

    first = analysis.sides[0].records
    columns: dict[str, Any] = {
        "case_id": pd.array([record.case_id for record in first], dtype="string"),
        "slice": pd.array([record.slice for record in first], dtype="string"),
    }
    for side in analysis.sides:
        values: Any = [record.value for record in side.records]
        kinds: dict[str, Any] = {"numeric": "Float64", "discrete": "string"}
        columns[side.name] = pd.Series(values, dtype=kinds.get(side.metric.kind, "object"))
        columns[f"{side.name}_state"] = pd.array([record.state for record in side.records], dtype="string")
        columns[f"{side.name}_decision"] = pd.array([record.decision for record in side.records], dtype="string")
    return pd.DataFrame(columns)
