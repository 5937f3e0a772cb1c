"""What a whole file looks like, and what of that stops a run before any judge is called."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.cases.adapters.checks import Pair
from evalkit.cases.adapters.meanings import Adapted, Problem
from evalkit.cases.adapters.observed import Happened
from evalkit.cases.adapters.profile import FILE_CHECKS, FileProfile
from evalkit.cases.lookup import Passage

MAPPED = frozenset({"question", "answer", "retrieved", "reference", "reference_contexts", "error"})


def profile_of(rows: list[dict[str, Any]], **options: Any) -> FileProfile:
    profile = FileProfile(**{"mapped": MAPPED, "needed": frozenset({"answer"}), **options})
    for number, row in enumerate(rows):
        values = {"trace_id": f"t{number}", "number": number, "where": f"line {number}", **row}
        profile.add(Pair(Adapted(**values), Happened(trace_id="t"), MAPPED, MAPPED))
    return profile


def stops(profile: FileProfile) -> dict[str, list[str]]:
    found = {name: list(check.find(profile)) for name, check in FILE_CHECKS.items()}
    return {name: sentences for name, sentences in found.items() if sentences}


def rows(n: int, **same: Any) -> list[dict[str, Any]]:
    return [{"question": f"q{i}", "answer": f"a{i}", **same} for i in range(n)]


def test_counts_with_their_denominators() -> None:
    profile = profile_of(
        [
            {"question": "q", "answer": "x", "reference": "x ", "retrieved": (Passage("p"),)},
            {"question": "q", "answer": " ", "retrieved": ()},
            {"answer": None, "absent": (Problem("question", "run.question is absent"),)},
            {"question": 5, "answer": "y", "problems": (Problem("question", "question is a number"),)},
            {"unusable": "it has no id"},
        ]
    )
    facts = {name: field.facts() for name, field in profile.fields.items()}
    assert profile.rows == 5
    # Five rows, of which one gives none: 4. The question stands in 3 of them, once as a number.
    assert {k: facts["question"][k] for k in ("rows", "present", "blank", "distinct", "wrong_type")} == {
        "rows": 4,
        "present": 3,
        "blank": 0,
        "distinct": 2,
        "wrong_type": 1,
    }
    assert facts["question"]["absent"] == {"run.question is absent": 1}
    assert (facts["answer"]["present"], facts["answer"]["blank"]) == (3, 1)
    assert facts["answer"]["equal_to"]["reference"] == {"rows": 1, "of": 1}  # outer white space says nothing
    assert (facts["retrieved"]["present"], facts["retrieved"]["blank"]) == (2, 1)


def test_a_field_that_says_the_same_in_every_row_stops_the_run() -> None:
    same = [{"question": "You are a helpful assistant.", "answer": f"a{i}"} for i in range(3)]
    assert stops(profile_of(same)) == {
        "no_constant_field": ["question says the same in all 3 rows that have it: it is not read from the trace"]
    }
    assert stops(profile_of(same[:2])) == {}  # two samples of one question are no mapping fault
    assert stops(profile_of(same, constant=frozenset({"question"}))) == {}
    assert stops(profile_of([*same, {"question": "else", "answer": "a"}])) == {}


@pytest.mark.parametrize("blank", ["", "  ", ()])
def test_a_field_that_is_blank_in_every_row_stops_the_run(blank: Any) -> None:
    meaning = "retrieved" if blank == () else "reference"
    assert stops(profile_of(rows(2, **{meaning: blank}))) == {
        "no_blank_field": [f"{meaning} is blank in all 2 rows that have it"]
    }


def test_a_needed_field_that_stands_nowhere_stops_the_run_and_an_optional_one_does_not() -> None:
    nowhere = [{"question": f"q{i}", "absent": (Problem("answer", "out.text is absent"),)} for i in range(4)]
    assert stops(profile_of(nowhere)) == {"no_absent_field": ["answer stands in none of 4 rows (out.text is absent)"]}
    assert stops(profile_of(rows(4))) == {}
    needed = profile_of(rows(4), needed_fields=frozenset({"required_claim_ids"}))
    assert stops(needed) == {"no_absent_field": ["required_claim_ids stands in none of 4 rows"]}


@pytest.mark.parametrize(
    ("equal", "of", "stopped"),
    [
        (20, 20, True),
        (19, 20, True),  # 19 / 20 = 0.95
        (18, 20, False),  # 0.90
        (19, 19, False),  # fewer than twenty rows that have both
        (1, 1, False),  # a one-row file is not stopped by it
    ],
)
def test_d01_retrieved_equal_to_the_reference_on_nearly_all_rows_stops_the_run(
    equal: int, of: int, stopped: bool
) -> None:
    gold = [(Passage(f"gold {i}", "d"),) for i in range(of)]
    made = [
        {
            "question": f"q{i}",
            "answer": f"a{i}",
            # Another identity is no other text: it is the text that a metric reads.
            "retrieved": (Passage(f"gold {i}"),) if i < equal else (Passage("other"),),
            "reference_contexts": gold[i],
        }
        for i in range(of)
    ]
    assert ("retrieved_differs_from_reference" in stops(profile_of(made))) is stopped


def test_the_reference_answer_stands_for_passages_where_there_are_none() -> None:
    made = [
        {"question": f"q{i}", "answer": f"a{i}", "retrieved": (Passage(f"r{i}"),), "reference": f"r{i}"}
        for i in range(20)
    ]
    assert stops(profile_of(made)) == {
        "retrieved_differs_from_reference": [
            "retrieved equals the reference on 20 of 20 rows that have both: the test set is measured"
        ]
    }


def test_one_id_for_two_traces_stops_the_run() -> None:
    assert stops(profile_of([*rows(2), {"trace_id": "t0", "question": "x", "answer": "y"}])) == {
        "ids_are_distinct": ["1 trace ids stand for more than one trace: 't0' (2)"]
    }
