"""Claims decided in a widget end in the sheet that a spreadsheet opens and `adapt` reads."""

from __future__ import annotations

from pathlib import Path

from evalkit.cases.claims import read_claims
from evalkit.pages.claims_run import run_claims_draft
from evalkit.pages.claims_widget import claims_editor

TRACES = Path(__file__).parents[2] / "fixtures/adapters/plain.jsonl"


def test_a_decision_made_in_the_widget_is_read_from_the_sheet(tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    drafted = run_claims_draft("plain", TRACES, path)
    editor = claims_editor(path)
    assert editor.undecided == len(drafted.claims)
    for name, value in (
        ("decision", "change"),
        ("changed_claim", "=28 days"),
        ("supported", "yes"),
        ("reviewer", "r1"),
    ):
        editor.inputs[name].value = value
    assert editor.undecided == len(drafted.claims) - 1
    editor.save_button.click()
    assert f"saved {len(drafted.claims)} claims, {len(drafted.claims) - 1} without a decision" in editor.status.value
    first = read_claims(path).by_case["t01"][0]
    assert (first.text, first.is_open, first.seen_hash) == ("=28 days", False, drafted.claims[0].seen_hash)


def test_columns_that_people_added_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    run_claims_draft("plain", TRACES, path)
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    lines = [line + (",team" if at == 0 else ",loans" if at == 1 else ",") for at, line in enumerate(lines)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    claims_editor(path).save_button.click()
    assert path.read_text(encoding="utf-8-sig").splitlines()[1].endswith(",loans")
