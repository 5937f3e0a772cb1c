"""Looking a claim's words up: places to read, never support."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evalkit.cases.lookup import FOUND, Match, Passage, best_passage, look_for, passages_of, same_text


@pytest.mark.parametrize(
    ("claim", "text", "hits", "words", "sighting"),
    [
        # "the", "to" are left out: refund, goes, back, original, payment, method = 6; "Refunds" is a spelling of refund
        # (ratio 92), "go" is not one of "goes" (too short a word to tell): 5 of 6.
        (
            "The refund goes back to the original payment method.",
            "Refunds go back to the original payment method.",
            5,
            6,
            "found",
        ),
        # Two sentences in a row count together: phone in the first, Monday and Friday in the second: 3 of 3.
        ("Phone Monday Friday", "Call us by phone. We answer Monday to Friday.", 3, 3, "found"),
        # ... but not the first with the third: 1 or 2 of 3 words at once.
        ("Phone Monday Friday", "Call by phone. It is free. We answer Monday to Friday.", 2, 3, "unclear"),
        ("Chat is staffed on working days.", "Nothing of the kind.", 0, 4, "absent"),
        # Without spaces, pairs of characters are the words: 返金 / 金は / は元.
        ("返金は元", "返金は元の決済方法に行います。", 3, 3, "found"),
        ("返金は元", "いつでも解約できます。", 0, 3, "absent"),
        ("", "anything", 0, 0, "absent"),
        # A claim of common words only is compared by them: otherwise it had no words at all.
        ("It is on.", "It is on.", 3, 3, "found"),
    ],
)
def test_share_of_words(claim: str, text: str, hits: int, words: int, sighting: str) -> None:
    match = look_for(claim, text)
    assert (match.hits, match.words, match.sighting) == (hits, words, sighting)


@pytest.mark.parametrize(
    ("claim", "text", "lacking"),
    [
        ("Returns are possible within 30 days.", "Returns are possible within 14 days.", ("30",)),
        ("Returns are possible within 30 days.", "Returns are possible within 30 days.", ()),
        ("The label costs 4.90 euros.", "The label costs 4.95 euros.", ("4.90",)),
        ("Open from 8:00 to 20:00.", "Open from 8:00 to 18:00.", ("20:00",)),
        ("From 5 to 7 days.", "From ５ to ７ days.", ()),  # noqa: RUF001 - full-width digits are the same numbers
    ],
)
def test_another_number_is_another_claim(claim: str, text: str, lacking: tuple[str, ...]) -> None:
    match = look_for(claim, text)
    assert match.missing_numbers == lacking
    assert match.sighting == ("absent" if lacking else "found")


def test_a_number_elsewhere_in_the_text_is_not_missing() -> None:
    # Both numbers stand in the text, not in the same sentence; only a number that is nowhere speaks against it.
    assert look_for("Within 30 days, 2 forms.", "Within 30 days. Ask. Bring 2 forms.").missing_numbers == ()


def test_best_passage_prefers_the_right_number_over_more_words() -> None:
    passages = [Passage("You may return the unopened item within 14 days."), Passage("Item: 30 days.")]
    found = best_passage("You may return the unopened item within 30 days.", passages)
    assert found is not None
    assert found.passage.text == "Item: 30 days."
    assert best_passage("anything", []) is None


def test_passages_are_read_as_they_come() -> None:
    mixed = [{"text": "a", "document_id": "d", "revision": 3}, "b", 7, {"document_id": "e"}]
    assert passages_of(mixed) == [Passage("a", "d"), Passage("b"), Passage("", "e")]
    assert passages_of(None) == passages_of("text") == []


def test_same_text_folds_what_does_not_make_another_text() -> None:
    assert same_text("Within\u00a030  DAYS ") == "within 30 days"
    assert same_text("30 days") != same_text("3 0 days")


def test_the_bounds_of_a_sighting() -> None:
    # 7 of 10 = FOUND; 5 of 10 is the lower bound of "unclear"; 4 of 10 lies below it.
    assert [Match(hits, 10, ()).sighting for hits in (7, 6, 5, 4)] == ["found", "unclear", "unclear", "absent"]
    assert Match(7, 10, ()).score == pytest.approx(FOUND)


def test_triage_loads_rapidfuzz_only_for_a_row_that_needs_it() -> None:
    program = (
        "import sys; from evalkit.decisions.triage import needs_triage, triage; import evalkit.decisions.explain\n"
        "print('rapidfuzz' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
