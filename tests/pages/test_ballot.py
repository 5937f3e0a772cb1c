from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import meeting_room as room
import pytest

from evalkit.contract import EvalkitError
from evalkit.decisions.meeting.agenda import AgendaOptions
from evalkit.pages.ballot import make_ballot

EVIL = '</script><script>window.pwned=1</script><svg onload="window.pwned=1">\x1b[31m'
OPTIONS = AgendaOptions(n=2, far=1, seed=7)


def ballot(folder: Path, rows: list[dict[str, object]] | None = None) -> str:
    run = room.gated_run(folder, rows or room.ROWS)
    made = make_ballot(run, folder / "ballot.html", slices=["default"], options=OPTIONS)
    assert made.size == made.path.stat().st_size
    return made.path.read_text(encoding="utf-8")


def test_what_vote_mode_hides_is_absent_from_the_bytes(tmp_path: Path) -> None:
    html = ballot(tmp_path)
    body = html[html.index("<body") : html.index("<script>")]
    text = unescape(body)
    for hidden in (
        "0.75",
        "0.25",
        "0.8",
        "supported",
        "required",
        "missing",
        "reason",
        "decision",
        "minimum",
        "policy",
    ):
        assert hidden not in text, hidden
    # Claim ids would tell which claim is missing; the list of what a complete answer says does not.
    assert ">window<" not in body
    assert "slice" not in text
    assert "The channel is so." in text


def test_every_row_asks_one_question_with_native_radio_buttons(tmp_path: Path) -> None:
    html = ballot(tmp_path)
    rows = html.count("<fieldset")
    assert rows == 5  # two below, two above, one far
    assert html.count('<input type="radio"') == 3 * rows
    assert html.count("<legend>") == rows
    assert re.findall(r'<input type="radio" name="vote-1" value="(\w+)">', html) == ["ship", "hold", "cannot_tell"]


def test_the_page_asks_nothing_of_the_network(tmp_path: Path) -> None:
    html = ballot(tmp_path)
    assert not re.findall(r'(?:src|href)="(?!data:)[^"]*"|@import|url\(', html)
    assert "default-src &#39;none&#39;" in html


def test_hostile_text_is_inert(tmp_path: Path) -> None:
    evil = room.row(EVIL, 3)
    evil["evidence"] |= {"question": EVIL, "answer": EVIL, "retrieved": [{"document_id": EVIL, "text": EVIL}]}
    html = ballot(tmp_path, [evil, room.row("b", 2)])
    assert html.count("<script>") == 1
    assert "<svg" not in html
    assert "\x1b" not in html
    assert r"&#34;&lt;/script&gt;" in html
    assert r"\u001b[31m&#34;" in html, "the id comes back as it is, escape and all"


def test_a_second_ballot_shows_the_rows_of_the_first(tmp_path: Path) -> None:
    first = ballot(tmp_path)
    again = make_ballot(
        tmp_path / "run", tmp_path / "again.html", slices=["default"], options=AgendaOptions(n=1, far=0)
    )
    assert again.path.read_text(encoding="utf-8") == first


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"slices": ["nope"]}, "the run's policy has no threshold for 'nope'"),
        (
            {"slices": ["nope"], "threshold": 0.5},
            "no row of the slice 'nope' has a number; name another: default",
        ),
    ],
)
def test_a_slice_that_is_not_there_is_named(tmp_path: Path, options: dict[str, object], said: str) -> None:
    run = room.gated_run(tmp_path)
    with pytest.raises(EvalkitError, match=said):
        make_ballot(run, tmp_path / "x.html", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "run.review").exists()
