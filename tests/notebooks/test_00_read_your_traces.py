"""Notebook 00: a sample, one note a trace, groups, counts, kinds; open until everything was read and decided."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.cases.notes import read_notes
from evalkit.contract import Outcome
from evalkit.pages.notebooks import reading
from evalkit.pages.notebooks.command import NotebookOptions, run_notebooks

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "fixtures/adapters"


def read(tmp_path: Path, **changes: object) -> reading.Read:
    arguments = {
        "adapter": "plain",
        "traces": str(FOLDER / "plain.jsonl"),
        "notes": str(FOLDER / "notes.csv"),
        "groups": str(FOLDER / "groups.csv"),
        "sample": 15,
        "seed": 15,
    }
    return reading.read_traces(**(arguments | changes))  # type: ignore[arg-type]


def test_headless_it_passes_with_the_expected_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = run_notebooks(["00"], NotebookOptions(out=tmp_path))
    (verdict,) = done.verdicts
    assert verdict.outcome is Outcome.passed, verdict.checks
    assert verdict.checks[-1].sentence.endswith("as expected")


def test_a_sheet_that_is_not_there_is_written_for_the_reader_and_asks_for_everything(tmp_path: Path) -> None:
    notes = tmp_path / "mine/notes.csv"
    found = read(tmp_path, notes=str(notes), groups=str(tmp_path / "none.csv"), sample=5)
    assert [note.note for note in read_notes(notes)] == [""] * 5
    concluded = reading.concluded(found)
    assert concluded.outcome is Outcome.review_required
    assert concluded.sentences[0].startswith("5 traces of the sample have no note")


def test_another_seed_draws_traces_that_nobody_has_read(tmp_path: Path) -> None:
    found = read(tmp_path, seed=1)
    assert reading.concluded(found).outcome is Outcome.review_required
    assert set(found.reading.sample) != set(read(tmp_path).reading.sample)


def test_counts_have_their_denominator_and_an_interval(tmp_path: Path) -> None:
    frame = reading.counts_frame(read(tmp_path))
    assert frame["traces"].tolist() == ["7 of 15", "3 of 15", "2 of 15", "1 of 15", "1 of 15", "1 of 15"]
    # Clopper-Pearson, 3 of 15 at 95 %: 0.043 to 0.481.
    assert frame["rate in all traces (95 %)"][1] == "4% to 48%"


def test_each_failure_has_its_kind_and_fine_is_no_failure(tmp_path: Path) -> None:
    frame = reading.kinds_frame(read(tmp_path)).set_index("failure")
    assert frame["metric"].to_dict() == {
        "too curt": "discrete",
        "leaves a condition out": "numeric",
        "passage not found": "numeric",
        "application failed": "none",
        "answer without evidence": "boolean",
    }


def test_traces_that_give_no_row_are_counted_and_not_drawn(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text('{"trace_id": "a", "question": "q", "answer": "x"}\n{cut\n')
    found = read(tmp_path, traces=str(path), notes=str(tmp_path / "notes.csv"))
    assert (found.total, found.unusable, found.reading.sample) == (2, 1, ("a",))
    path.write_text("\n")
    (tmp_path / "notes.csv").unlink()
    empty = read(tmp_path, traces=str(path), notes=str(tmp_path / "notes.csv"))
    assert reading.concluded(empty).outcome is Outcome.incomplete


def test_the_widget_saves_into_the_sheet(tmp_path: Path) -> None:
    notes = tmp_path / "notes.csv"
    found = read(tmp_path, notes=str(notes), sample=2)
    sheet = reading.sheet_editor(found, str(notes))
    sheet.inputs["note"].value = "=fine"
    sheet.inputs["group"].value = "fine"
    sheet.save_button.click()
    first = read_notes(notes)[0]
    assert (first.case_id, first.note, first.group) == (found.reading.sample[0], "=fine", "fine")
    again = read(tmp_path, notes=str(notes), sample=2)
    assert again.reading.counts == {"fine": 1}


def test_a_trace_is_shown_with_what_was_lost(tmp_path: Path) -> None:
    text = reading.trace_text(read(tmp_path), "t15")
    assert "retrieved: null (lost)" in text
    assert "error: the model did not answer" in reading.trace_text(read(tmp_path), "t13")
