"""``labels import`` in whole: what is shown before anything is written, what stops it, four exports of other tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.cases.labels import read_labels
from evalkit.contract import EvalkitError, Outcome
from evalkit.pages.bring_run import run_adapt
from evalkit.pages.import_run import ImportDone, ImportOptions, run_import

FOLDER = Path(__file__).parents[2] / "fixtures/adapters"

VALUES = {
    "langsmith": '"1" = "pass"\n"0" = "fail"',
    "langfuse": 'good = "pass"\nbad = "fail"',
    "phoenix": 'correct = "pass"\nincorrect = "fail"',
    "mlflow": 'true = "pass"\nfalse = "fail"',
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cases") / "cases.jsonl"
    run_adapt("plain", FOLDER / "plain.jsonl", out)
    return out


def preset_map(tmp_path: Path, name: str) -> str:
    path = tmp_path / f"{name}.toml"
    extra = 'criteria = ["correctness"]\n' if name == "langsmith" else ""
    path.write_text(f'preset = "{name}"\nselection = "random"\n{extra}[values]\n{VALUES[name]}\n')
    return str(path)


@pytest.mark.parametrize("name", VALUES)
def test_an_export_in_the_shape_of_that_tool_is_imported(name: str, tmp_path: Path, cases: Path) -> None:
    out = tmp_path / "labels.jsonl"
    if name == "phoenix":
        spans_cases = tmp_path / "spans_cases.jsonl"
        run_adapt("openinference", FOLDER / "openinference.jsonl", spans_cases)
        options = ImportOptions(cases=spans_cases, spans=FOLDER / "openinference.jsonl")
    else:
        options = ImportOptions(cases=cases)
    done = run_import(FOLDER / f"export_{name}.json", preset_map(tmp_path, name), out, options)
    assert done.outcome is Outcome.passed, done.screen
    labels = read_labels(out).labels
    people = [label for label in labels if label.provenance == "production"]
    # Six people's labels in each export: all pass but t04.
    assert [label.label for label in people if label.supersedes is None] == [
        "pass",
        "pass",
        "pass",
        "fail",
        "pass",
        "pass",
    ]
    assert {label.selection for label in labels} == {"random"}
    assert [label.provenance for label in labels if label not in people] == ["model"]
    assert done.found.unmatched == []
    if name == "mlflow":
        assert [(label.case_id, label.label, label.supersedes) for label in people if label.supersedes] == [
            ("t03", "fail", 3)
        ]
        assert done.found.blank == ["record 2"]  # the expectation, which carries no label


@pytest.mark.parametrize("name", VALUES)
def test_a_preset_guesses_neither_values_nor_selection(name: str, tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    done = run_import(FOLDER / f"export_{name}.json", name, out)
    assert done.outcome is Outcome.incomplete
    assert not out.exists()
    assert 'selection = "random"' in done.screen
    assert "are no label yet" in done.screen
    assert "[values]" in done.screen


def test_phoenix_labels_spans_and_without_them_no_case_is_found(tmp_path: Path, cases: Path) -> None:
    done = run_import(
        FOLDER / "export_phoenix.json",
        preset_map(tmp_path, "phoenix"),
        tmp_path / "labels.jsonl",
        ImportOptions(cases=cases),
    )
    assert done.outcome is Outcome.incomplete
    assert len(done.found.unmatched) == 7
    assert "7 ids are no case" in done.screen


# --- spreadsheets ---------------------------------------------------------------------------------------------------


def sheet(tmp_path: Path, cases: Path, **options: object) -> ImportDone:
    chosen = ImportOptions(**{"cases": cases, **options})
    return run_import(FOLDER / "labels.csv", str(FOLDER / "labels.map.toml"), tmp_path / "labels.jsonl", chosen)


def test_a_spreadsheet_as_it_is_really_written(tmp_path: Path, cases: Path) -> None:
    done = sheet(tmp_path, cases)
    labels = read_labels(tmp_path / "labels.jsonl").labels
    # 23 records: 18 of r1, 3 of r2, one cell left blank, one "n/a".
    assert (done.found.records, len(labels), len(done.found.blank), dict(done.found.no_label)) == (
        23,
        21,
        1,
        {"n/a": 1},
    )
    assert {label.labelled_on for label in labels} == {"2026-11-12", "2026-11-13"}
    fourth = labels[3]
    assert (fourth.case_id, fourth.label, fourth.reason) == ("t04", "fail", "Leaves out\r\nthat it is free below 18.")
    assert all(label.seen_hash and label.blind and label.provenance == "synthetic" for label in labels)
    assert (done.found.bound, done.found.stale) == (21, 0)
    assert "6 cases have no label" in done.screen
    assert max(map(len, done.screen.splitlines())) <= 80


def test_latin_1_is_read_where_the_map_declares_it(tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    export = FOLDER / "labels_latin1.csv"
    assert run_import(export, str(FOLDER / "labels_latin1.map.toml"), out).outcome is Outcome.passed
    assert read_labels(out).labels[1].reason == "Gebühr nicht\r\nerwähnt, hier nicht nötig"


def test_labels_are_only_ever_added_to(tmp_path: Path, cases: Path) -> None:
    sheet(tmp_path, cases)
    with pytest.raises(EvalkitError, match="exists already; labels are only ever added to"):
        sheet(tmp_path, cases)
    before = (tmp_path / "labels.jsonl").read_bytes()
    twice = sheet(tmp_path, cases, append=True)
    assert twice.outcome is Outcome.incomplete  # the same reviewers said the same of the same cases already
    assert "would not be readable" in twice.screen
    assert (tmp_path / "labels.jsonl").read_bytes() == before
    done = run_import(
        FOLDER / "export_mlflow.json",
        preset_map(tmp_path, "mlflow"),
        tmp_path / "labels.jsonl",
        ImportOptions(append=True),
    )
    assert done.outcome is Outcome.passed
    labels = read_labels(tmp_path / "labels.jsonl").labels
    assert len(labels) == 21 + 8
    corrected = next(label for label in labels if label.supersedes)
    assert (corrected.line, corrected.supersedes) == (25, 24)  # lines of the whole file, not of the export


def test_a_dry_run_shows_everything_and_writes_nothing(tmp_path: Path, cases: Path) -> None:
    done = sheet(tmp_path, cases, dry_run=True)
    assert done.outcome is Outcome.incomplete
    assert "'TRUE' (15): label 'pass'" in done.screen
    assert not (tmp_path / "labels.jsonl").exists()


def test_ids_that_are_no_case_stop_it_unless_they_are_wanted(tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text('{"case_id": "t01"}\n')
    assert sheet(tmp_path, few).outcome is Outcome.incomplete
    kept = sheet(tmp_path, few, keep_unmatched=True)
    assert kept.outcome is Outcome.passed
    assert len(kept.found.unmatched) == 17


def test_an_answer_that_changed_makes_its_label_stale(tmp_path: Path, cases: Path) -> None:
    changed = tmp_path / "changed.jsonl"
    changed.write_text(cases.read_text().replace("A book may be kept for 28 days.", "A book may be kept for 30 days."))
    done = sheet(tmp_path, changed)
    assert (done.found.bound, done.found.stale) == (21, 1)
    assert "1 of them of another answer than the case shows now: stale" in " ".join(done.screen.split())
