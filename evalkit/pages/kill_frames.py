"""A kill matrix as frames: its mutants one a line, and the grid of cases by mutants that a page has room for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from evalkit.mutate.matrix import KillMatrix, Mutant, Status

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOST_CASES", "MOST_MUTANTS", "Grid", "kill_grid", "mutants_frame"]

MOST_CASES, MOST_MUTANTS = 60, 80
"""What one page shows; altair refuses more than 5,000 marks, and nobody reads them."""


class Grid(NamedTuple):
    """The marks of a heat map, and its two axes."""

    frame: pd.DataFrame
    """``case, mutant, by, operator, where, change``: one line for each case that killed a mutant."""
    cases: list[str]
    mutants: list[str]
    """Labels, in the order of the source: operator, and the line it works on."""
    note: str


def kill_grid(matrix: KillMatrix) -> Grid:
    """Return the grid of a matrix; where there is more than a page, the mutants that fewest cases kill."""
    import pandas as pd

    judged = [m for m in matrix.mutants if m.status in ("killed", "survived")]
    hardest = set(sorted(range(len(judged)), key=lambda i: (len(judged[i].kills), i))[:MOST_MUTANTS])
    kept = [mutant for index, mutant in enumerate(judged) if index in hardest]
    cases = list(matrix.cases)[:MOST_CASES]
    labels = _labels(kept)
    rows = [
        (kill.case_id, label, kill.by, mutant.operator, mutant.where, _change(mutant))
        for mutant, label in zip(kept, labels, strict=True)
        for kill in mutant.kills
        if kill.case_id in set(cases)
    ]
    note = f"{len(kept)} of {len(judged)} mutants, {len(cases)} of {len(matrix.cases)} cases"
    return Grid(
        pd.DataFrame(rows, columns=["case", "mutant", "by", "operator", "where", "change"]), cases, labels, note
    )


def _labels(mutants: list[Mutant]) -> list[str]:
    seen: Counter[str] = Counter()
    labels = []
    for mutant in mutants:
        label = f"{mutant.operator} {mutant.line}" if mutant.line else mutant.operator
        seen[label] += 1
        labels.append(f"{label} ({seen[label]})" if seen[label] > 1 else label)
    return labels


def _change(mutant: Mutant) -> str:
    return " | ".join(line.strip() for line in mutant.diff.split("\n"))


def mutants_frame(matrix: KillMatrix, status: Status, *, most: int | None = None) -> pd.DataFrame:
    """Return the mutants of one status: where they are, what they change, why they are set aside."""
    import pandas as pd

    mutants = matrix.of(status)
    rows = [(m.operator, m.where, m.line, _change(m), m.note) for m in mutants[:most]]
    frame = pd.DataFrame(rows, columns=["operator", "where", "line", "change", "note"])
    return frame if frame["note"].any() else frame.drop(columns="note")
