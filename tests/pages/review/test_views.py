from __future__ import annotations

from pathlib import Path

import meeting_room as room
import pytest

from evalkit.decisions.meeting.confusion import confusion_at
from evalkit.decisions.meeting.review import Review
from evalkit.pages.review import views
from evalkit.pages.review.page import blind_text, mixed_scores
from evalkit.pages.review.pictures import distribution, distribution_chart
from evalkit.pages.review.render import discussed_html, discussed_row
from evalkit.pages.review.tables import Table, table_html
from evalkit.pages.review.templating import diff_html

EVIL = '<script>alert(1)</script><svg onload=alert(1)>\x1b[31m"|`'


@pytest.fixture
def review(tmp_path: Path) -> Review:
    return room.opened(tmp_path)


def test_the_candidates_say_what_each_threshold_would_do(review: Review) -> None:
    table = views.candidates_table(review.meeting, "default", 0.75)
    rows = {row[0]: row[1:] for row in table.rows}
    # At 0.8 the rows c (bad) and d (good) fail: one bad row less passes, one good row more fails.
    assert rows["0.75 (policy)"][1:4] == ("5 of 7", "1 of 3", "0 of 4")
    assert rows["0.8"][1:4] == ("3 of 7", "0 of 3", "1 of 4")
    assert [row[-1] for row in table.rows] == ["2", "1", "0", "2", "3"]


def test_the_line_of_a_slice_has_every_denominator(review: Review) -> None:
    table = views.confusion_table(confusion_at(review.meeting, {"default": 0.8}))
    cells = dict(zip(table.columns, table.rows[0], strict=True))
    assert cells["bad rows that pass"] == "0 of 3 (0 to 70.8 %)"  # 1 - 0.025**(1/3) = 0.7076
    assert cells["good rows that fail"].startswith("1 of 4 (")
    assert cells["certified"] == "no: labels not drawn at random"


def test_the_borderline_runs_from_the_best_row_down_across_the_line(review: Review) -> None:
    table = views.borderline_table(review.meeting, "default", 0.8, 2)
    assert [(row[1], row[2]) for row in table.rows] == [
        ("above", "1.0"), ("above", "0.8"), ("below", "0.75"), ("below", "0.75"),
    ]  # fmt: skip
    assert table.caption == "Nearest to 0.8: 2 of 4 below, 2 of 3 above"


def test_one_score_with_two_verdicts_is_named_with_its_rows(review: Review) -> None:
    assert mixed_scores(review.meeting, "default").rows == [("0.75", "d", "c", "1", "1")]


def test_votes_show_both_rounds_and_split_rows_first(review: Review) -> None:
    first, second = list(review.agenda.rows)[:2]
    review.cast("anna", first, "ship")
    review.cast("bo", first, "ship")
    review.cast("anna", second, "ship")
    review.cast("bo", second, "hold")
    review.open_votes("bo")
    review.cast("bo", first, "cannot_tell")
    review.mark("anna", second, "contract_unclear")
    table = views.votes_table(review.meeting, review.tally(), {})
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert table.rows[0][0] == second
    assert (rows[second]["split"], rows[second]["needs"]) == ("split", "contract unclear (anna)")
    assert rows[first]["bo"] == "ship → cannot tell"
    assert views.agreement_table(review.tally()).rows[0][1] == "1 of 2"


def test_a_long_flip_list_says_how_much_is_left_out(review: Review) -> None:
    table = views.flips_table(review.meeting.flips({"default": 1.0}), most=1)
    assert (len(table.rows), table.left_out, table.note()) == (1, 2, "1 of 3 rows are shown")
    assert "1 of 3 rows are shown" in table_html(table)


def test_no_text_of_a_row_is_markup_anywhere(tmp_path: Path) -> None:
    evil = room.row(EVIL, 3)
    evil["evidence"] |= {
        "question": EVIL, "answer": EVIL, "claims": dict.fromkeys(room.CLAIMS[:4], EVIL),
        "retrieved": [{"document_id": EVIL, "text": EVIL}], "citations": [{"claim_id": EVIL, "span": EVIL}],
    }  # fmt: skip
    review = room.opened(tmp_path, rows=[*room.ROWS, evil])
    row = discussed_row(review.meeting, review.meeting.by_id[EVIL], {"default": 0.8}, None)
    pages = [
        discussed_html(row),
        table_html(views.borderline_table(review.meeting, "default", 0.75, 9)),
        table_html(views.flips_table(review.meeting.flips({"default": 0.8}))),
        table_html(Table(EVIL, (EVIL, EVIL), [("a", EVIL)])),
        diff_html(f"+{EVIL}"),
    ]
    for page in pages:
        assert "<script" not in page
        assert "<svg" not in page
        assert "&lt;script&gt;" in page
    assert "\x1b" not in "".join(pages[:3])


def test_a_row_says_what_both_policies_make_of_it_and_what_would_flip_it(review: Review) -> None:
    html = discussed_html(discussed_row(review.meeting, review.meeting.by_id["c"], {"default": 0.8}, None))
    assert "the policy now says pass" in html
    assert "the row would pass with channel in supported_claim_ids" in html
    assert "✗ missing" in html


def test_what_a_voter_sees_as_plain_text_tells_no_score(review: Review) -> None:
    text = blind_text(review)
    assert text.startswith("Row 1 of ")
    assert "[The window is so.]" in text
    assert "supported" not in text


def test_the_chart_draws_counts_and_its_rule_is_a_parameter(review: Review) -> None:
    counted = distribution(review.meeting, "default")
    assert counted.frame["rows"].sum() == 7
    by_label = counted.frame.groupby("label_word")["rows"].sum().to_dict()
    assert by_label == {"people say fail (faint)": 3, "people say pass (full)": 4}
    spec = distribution_chart(counted, 0.8, title=EVIL).to_dict()
    assert [p for p in spec["params"] if p["name"] == "threshold"] == [{"name": "threshold", "value": 0.8}]
    assert spec["layer"][1]["transform"] == [{"calculate": "threshold", "as": "rule"}]
    assert "\x1b" not in str(spec)


def test_fifty_thousand_rows_are_counted_before_they_are_drawn(tmp_path: Path) -> None:
    ids = [f"c{n}" for n in range(97)]
    rows = [{"case_id": f"r{n}", "required_claim_ids": ids, "supported_claim_ids": ids[: n % 98]} for n in range(2_000)]
    review = room.opened(tmp_path, rows=rows, labels=None)
    counted = distribution(review.meeting, "default")
    assert len(counted.frame) <= 20
    assert counted.frame["rows"].sum() == 2_000
