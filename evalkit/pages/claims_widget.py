"""Claims decided one at a time, on the same sheet that a spreadsheet opens."""

from __future__ import annotations

from pathlib import Path

from evalkit.cases.claims import COLUMNS
from evalkit.cases.tables import read_table, table_bytes, table_format, unguarded
from evalkit.pages.sheet_widget import Field, SheetEditor
from evalkit.scoring.run import write_whole

__all__ = ["claims_editor"]

_SHOWN = ("case_id", "claim_id", "question", "claim", "answer_says", "answer_words", "passage_says", "passage_text")
_FIELDS = (
    Field("decision", ("approve", "change", "reject")),
    Field("changed_claim"),
    Field("supported", ("yes", "no")),
    Field("reviewer"),
    Field("note"),
)


def claims_editor(path: Path | str) -> SheetEditor:
    """Return a widget for the sheet that ``evalkit claims draft`` wrote; *Save* writes it back, whole.

    Parameters
    ----------
    path : path
        The sheet. Columns that people added in a spreadsheet are kept.

    Raises
    ------
    EvalkitError
        Where it cannot be read.
    """
    path = Path(path)
    form = table_format(path)
    rows = [{name: unguarded(cell) for name, cell in row.cells.items()} for row in read_table(path, form)]
    columns = [*COLUMNS, *(name for name in form.columns if name not in COLUMNS)]

    def save(edited: list[dict[str, str]]) -> str:
        write_whole(path, table_bytes(columns, edited))
        still = sum(not row.get("decision") for row in edited)
        return f"saved {len(edited)} claims, {still} without a decision"

    return SheetEditor(rows, _SHOWN, _FIELDS, save, required=("decision", "reviewer"))
