from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import meeting_room as room
import pytest

from evalkit.contract import EvalkitError
from evalkit.decisions.meeting.agenda import AgendaOptions, review_folder
from evalkit.decisions.meeting.approve import Action, Approved
from evalkit.decisions.meeting.decision_record import latest_decision
from evalkit.decisions.meeting.review import Review
from evalkit.pages.packet import MOST_BYTES, render_minutes, render_packet
from evalkit.pages.packet_run import write_packet

EVIL = '</style><script>window.pwned=1</script><svg onload="window.pwned=1">|`*_'


def approved(**change: object) -> Approved:
    fields = {
        "approved_by": "the council", "rationale": "two of three is not enough", "expires_on": date(2027, 2, 1),
        "decided_on": room.DAY, "basis": "by_definition", "dissent": "bo: too strict",
        "actions": (Action("mend the contract", "anna", date(2026, 12, 15)),),
    }  # fmt: skip
    return Approved(**fields | change)  # type: ignore[arg-type]


def meeting(folder: Path, **options: object) -> Review:
    review = room.opened(folder, **options)
    for case_id in review.agenda.rows:
        review.cast("anna", case_id, "ship")
        review.cast("bo", case_id, "hold" if case_id == "c" else "ship", "half an answer")
    return review


def test_the_packet_holds_votes_agreement_candidates_and_evidence(tmp_path: Path) -> None:
    html = render_packet(meeting(tmp_path), None)
    assert "for the discussion" in html
    assert "Krippendorff" in html
    assert "4 of 5" in html
    assert "The labels are SYNTHETIC" in html
    assert "half an answer" in html
    assert 'class="minutes"' not in html
    assert html.index("<h3>c</h3>") < html.index("<h3>b</h3>"), "split rows come first"


def test_it_asks_nothing_of_the_network_and_runs_no_script(tmp_path: Path) -> None:
    html = render_packet(meeting(tmp_path), None)
    assert "<script" not in html
    assert not re.findall(r'(?:src|href)="(?!data:)[^"]*"|@import|url\(', html)
    assert len(html.encode()) < MOST_BYTES


def test_after_the_decision_it_is_the_minutes(tmp_path: Path) -> None:
    review = meeting(tmp_path)
    review.decide({"default": 0.8}, approved())
    decision = latest_decision(review.folder)
    assert decision is not None
    html, markdown = render_packet(review, decision), render_minutes(review, decision)
    for said in ("the council", "bo: too strict", "mend the contract", "2026-12-15", "2026-12-01", "anna, bo"):
        assert said in html
        assert said in markdown
    assert "default: 0.75 → 0.8, all of 4, all but 1 of 5" in html
    assert "| mend the contract | anna | 2026-12-15 |" in markdown
    assert "c (pass → fail)" in markdown
    assert "is not the one that was decided" in html  # the page was made with the policy of before


def test_the_newest_decision_counts(tmp_path: Path) -> None:
    review = meeting(tmp_path)
    for threshold in (0.8, 0.5):
        review.decide({"default": threshold}, approved())
    found = latest_decision(review.folder)
    assert found is not None
    assert found["policy"]["version"] == "2026-12-01.2"


def test_hostile_text_is_inert_in_both(tmp_path: Path) -> None:
    evil = room.row(EVIL, 3)
    evil["evidence"] |= {"question": EVIL, "answer": EVIL}
    review = meeting(tmp_path, rows=[*room.ROWS, evil], agenda=AgendaOptions(n=9, far=0))
    assert EVIL in review.agenda.rows
    review.cast("anna", EVIL, "hold", EVIL)
    review.decide({"default": 0.8}, approved(rationale=EVIL, dissent=EVIL, actions=(Action(EVIL, EVIL, room.DAY),)))
    decision = latest_decision(review.folder)
    assert decision is not None
    html, markdown = render_packet(review, decision), render_minutes(review, decision)
    for page in (html, markdown):
        assert "<script" not in page
        assert "<svg" not in page
    assert html.count("</style>") == 1
    assert r"\|\`\*\_" in markdown


def test_rows_that_would_make_the_page_too_large_to_mail_are_counted(tmp_path: Path) -> None:
    long = {"question": "q", "answer": "x " * 2_000, "retrieved": [{"text": f"{n} " * 2_000} for n in range(50)]}
    rows = [room.row(f"r{n}", n % 5) | {"evidence": long | {"question": f"q{n}"}} for n in range(60)]
    html = render_packet(meeting(tmp_path, rows=rows, labels=None, agenda=AgendaOptions(n=30, far=10)), None)
    assert len(html.encode()) < MOST_BYTES
    assert re.search(r"The evidence of \d+ of 60 rows is left out", html)


def test_before_anybody_has_voted_there_is_nothing_to_send_round(tmp_path: Path) -> None:
    run = room.gated_run(tmp_path)
    places = {"labels": None, "policy": tmp_path / "policy.toml", "out": tmp_path / "packet.html"}
    with pytest.raises(EvalkitError, match=r"there is no meeting beside this run"):
        write_packet(run, **places)  # type: ignore[arg-type]
    review = room.opened(tmp_path, folder=review_folder(run))
    with pytest.raises(EvalkitError, match=r"nobody has voted yet"):
        write_packet(run, **places)  # type: ignore[arg-type]
    review.cast("anna", "c", "hold")
    with pytest.raises(EvalkitError, match=r"nothing has been decided yet, so there are no minutes"):
        write_packet(run, minutes=tmp_path / "minutes.md", **places)  # type: ignore[arg-type]
    assert not (tmp_path / "packet.html").exists()
