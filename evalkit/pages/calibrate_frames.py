"""A calibration as frames: the verdict of each slice, each threshold with both rates, agreement; NA for not defined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evalkit.decisions.calibrate import Calibration, SliceCalibration
from evalkit.decisions.calibrating.thresholds import Threshold

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["agreement_frame", "counts_frame", "threshold_frame", "verdict_frame"]


def counts_frame(found: Calibration) -> pd.DataFrame:
    """Return one line a slice: rows, labelled cases and what became of them, rows that may certify."""
    import pandas as pd

    lines = [
        {
            "slice": part.name,
            "rows": sum(part.states.values()),
            "scored": part.states["scored"],
            "labelled": sum(part.fates.values()),
            "stale": part.fates["stale"],
            "in conflict": part.fates["conflict"],
            "random, in use": len(part.sample.rows),
            "fail": part.sample.n_fail,
            "pass": part.sample.n_pass,
        }
        for part in found.slices.values()
    ]
    columns = ["slice", "rows", "scored", "labelled", "stale", "in conflict", "random, in use", "fail", "pass"]
    return pd.DataFrame(lines, columns=columns).set_index("slice")


def threshold_frame(found: Calibration) -> pd.DataFrame:
    """Return one line a slice, threshold and rate: ``share`` of ``of`` rows with the ends of its exact interval.

    ``rate`` is *bad that pass* or *good that fail*; a share over nothing is NA.
    """
    import pandas as pd

    lines = [line for part in found.slices.values() for row in part.table for line in _rates(part, row)]
    columns = ["slice", "threshold", "meaning", "rate", "count", "of", "share", "low", "high", "certified"]
    frame = pd.DataFrame(lines, columns=columns)
    return frame.astype(dict.fromkeys(("share", "low", "high"), "Float64"))


def _rates(part: SliceCalibration, row: Threshold) -> list[dict[str, Any]]:
    shared = {
        "slice": part.name,
        "threshold": row.threshold,
        "meaning": row.meaning,
        "certified": row.is_certified and part.candidate is not None,
    }
    bad, good = row.false_pass_interval, row.false_fail_interval
    return [
        shared
        | {"rate": "bad that pass", "count": row.false_pass, "of": row.n_fail, "share": row.false_pass_rate}
        | {"low": bad.low if bad else None, "high": bad.high if bad else None},
        shared
        | {"rate": "good that fail", "count": row.false_fail, "of": row.n_pass, "share": row.false_fail_rate}
        | {"low": good.low if good else None, "high": good.high if good else None},
    ]


def verdict_frame(found: Calibration) -> pd.DataFrame:
    """Return one line a slice: the certified threshold, or how many labelled fails are missing and what is provable."""
    import pandas as pd

    lines = [
        {
            "slice": part.name,
            "certified": part.certified,
            "in claims": next((row.meaning for row in part.table if row.threshold == part.certified), ""),
            "labels needed": part.labels_needed,
            "strictest": part.certificate.strictest,
            "at most": part.certificate.bound,
            "refused": "; ".join(part.refusals),
        }
        for part in found.slices.values()
    ]
    columns = ["slice", "certified", "in claims", "labels needed", "strictest", "at most", "refused"]
    frame = pd.DataFrame(lines, columns=columns).set_index("slice")
    return frame.astype(dict.fromkeys(("certified", "strictest", "at most"), "Float64"))


def agreement_frame(found: Calibration) -> pd.DataFrame:
    """Return people against people, and the metric against people: raw share, kappa, and what a constant gets."""
    import pandas as pd

    kappas = [(f"{pair.first} / {pair.second}", pair.kappa) for pair in found.people.pairs]
    kappas.append(("the metric / people", found.metric_people))
    lines = [
        {
            "raters": name,
            "rows": kappa.n,
            "agree": kappa.agree,
            "share": kappa.share,
            "kappa": kappa.kappa,
            "constant": f"always {kappa.base_label}: {kappa.base_count} of {kappa.n}",
            "note": kappa.note,
        }
        for name, kappa in kappas
    ]
    columns = ["raters", "rows", "agree", "share", "kappa", "constant", "note"]
    frame = pd.DataFrame(lines, columns=columns).set_index("raters")
    return frame.astype(dict.fromkeys(("share", "kappa"), "Float64"))
