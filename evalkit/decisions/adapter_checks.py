"""What a gate asks of the adapter that made its cases: that its audit passed, and still speaks for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.adapter_stamp import adapter_of, stamp_in
from evalkit.contract import Metric
from evalkit.decisions.blockers import Blocker

__all__ = ["AdapterSide", "adapter_side"]


class AdapterSide(NamedTuple):
    """The adapter of a file of cases, or of the run they were scored in."""

    manifest: dict[str, Any] | None
    """Revision, mapping and audit, for the manifest of the run; ``None`` where no adapter made the cases."""
    blockers: tuple[Blocker, ...]


def adapter_side(metric: Metric, cases: Path, cases_sha256: str, manifest: Mapping[str, Any] | None) -> AdapterSide:
    """Read the adapter's stamp and say what of it no longer holds.

    Parameters
    ----------
    metric : Metric
    cases : Path
        A file of cases, or the folder of the run whose `manifest` is given.
    cases_sha256 : str
    manifest : mapping or None
        Of the run that is read instead of scoring; its records were made from the cases as they were then.
    """
    stamp = adapter_of(cases) if manifest is None else stamp_in(manifest)
    if stamp is None:
        return AdapterSide(None, ())
    found = stamp.problems(metric, cases_sha256 if manifest is None else None)
    blockers = tuple(Blocker("adapter", problem.outcome, "adapter", problem.sentence, problem.do) for problem in found)
    return AdapterSide(stamp.manifest(), blockers)
