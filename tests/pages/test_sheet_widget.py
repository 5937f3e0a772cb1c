"""The sheet editor: state in traits, no browser; nothing is written until it is told to, nothing of a row is markup."""

from __future__ import annotations

from typing import Any

from evalkit.pages.sheet_widget import Field, SheetEditor

ROWS = [
    {"case_id": "a", "claim": "<b>bold</b>\x1b[31m", "decision": "", "note": ""},
    {"case_id": "b", "claim": "two", "decision": "approve", "note": "kept"},
    {"case_id": "c", "claim": "three", "decision": "", "note": ""},
]


def editor(saved: list[Any] | None = None, rows: list[dict[str, str]] = ROWS) -> SheetEditor:
    def save(edited: list[dict[str, str]]) -> str:
        if saved is None:
            msg = "disk full"
            raise OSError(msg)
        saved.append(edited)
        return f"saved {len(edited)}"

    fields = (Field("decision", ("approve", "reject")), Field("note"))
    return SheetEditor(rows, ("case_id", "claim"), fields, save, required=("decision",))


def test_a_row_is_shown_and_nothing_of_it_is_markup() -> None:
    sheet = editor()
    assert "&lt;b&gt;bold&lt;/b&gt;\\x1b[31m" in sheet.card.value
    assert (sheet.at, sheet.undecided) == (0, 2)


def test_decisions_are_kept_in_the_rows_and_the_given_ones_stay_as_they_were() -> None:
    sheet = editor()
    sheet.inputs["decision"].value = "reject"
    sheet.inputs["note"].value = "no source"
    assert sheet.rows[0] | {"decision": "reject", "note": "no source"} == sheet.rows[0]
    assert ROWS[0]["decision"] == ""
    assert sheet.undecided == 1
    sheet.at = 1  # what a row holds is shown, and does not leak into the next
    assert (sheet.inputs["decision"].value, sheet.inputs["note"].value) == ("approve", "kept")
    sheet.at = 2
    assert (sheet.inputs["decision"].value, sheet.inputs["note"].value) == ("", "")
    assert sheet.rows[1] == ROWS[1]


def test_the_buttons_stay_inside_the_sheet_and_find_what_is_open() -> None:
    sheet = editor()
    sheet.back.click()
    assert sheet.at == 0
    sheet.next_open.click()
    assert sheet.at == 2
    sheet.forward.click()
    assert sheet.at == 2
    sheet.next_open.click()
    assert sheet.at == 0


def test_nothing_is_written_until_it_is_told_to_and_a_fault_loses_no_decision() -> None:
    saved: list[Any] = []
    sheet = editor(saved)
    sheet.inputs["decision"].value = "approve"
    assert saved == []
    assert "not saved" in sheet.status.value
    sheet.save_button.click()
    assert saved[0][0]["decision"] == "approve"
    assert "saved 3" in sheet.status.value
    broken = editor(None)
    broken.inputs["decision"].value = "reject"
    broken.save_button.click()
    assert "not saved: disk full" in broken.status.value
    assert broken.rows[0]["decision"] == "reject"


def test_an_empty_sheet_says_so() -> None:
    sheet = editor([], rows=[])
    assert sheet.card.value == "<p>There is no row.</p>"
    sheet.forward.click()
    assert (sheet.at, sheet.undecided) == (0, 0)
