from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.decisions.meeting.candidates import candidates_of, nearest_candidate


def passing(values: Counter[float], threshold: float, better: str) -> int:
    return sum(n for v, n in values.items() if (v >= threshold if better == "higher" else v <= threshold))


@given(
    st.lists(
        st.one_of(st.floats(0, 1, allow_nan=False), st.sampled_from([1 / 3, 2 / 3, 0.75, 0.8])), min_size=1, max_size=40
    ),
    st.sampled_from(["higher", "lower"]),
    st.lists(st.floats(0, 1, allow_nan=False), max_size=3),
)
def test_each_candidate_passes_what_it_says_and_together_they_are_all_there_is(
    values: list[float], better: str, keep: list[float]
) -> None:
    counts = Counter(values)
    found = candidates_of(counts, [], better=better, keep=keep)  # type: ignore[arg-type]
    for candidate in found:
        assert candidate.passing == passing(counts, candidate.threshold, better)
        assert candidate.of == len(values)
    assert {c.passing for c in found} == {passing(counts, v, better) for v in counts}
    # A threshold that was named is there as it was written, unless no row would pass it.
    for number in keep:
        if passing(counts, number, better):
            assert number in [c.threshold for c in found]


def test_a_stretch_is_named_by_a_number_that_people_write() -> None:
    found = candidates_of({0.0: 1, 0.5: 1, 2 / 3: 1, 5 / 6: 1, 1.0: 1}, [2, 3, 6], better="higher")
    assert [c.threshold for c in found] == [0.0, 0.5, 0.66, 0.83, 1.0]
    assert found[2].meaning == "all of 2, all but 1 of 3, all but 2 of 6"


def test_where_lower_is_better_the_number_lies_on_the_other_side() -> None:
    found = candidates_of({0.0: 1, 1 / 3: 1, 1.0: 1}, [], better="lower")
    assert [(c.threshold, c.passing) for c in found] == [(1.0, 3), (0.34, 2), (0.0, 1)]


def test_many_thresholds_are_thinned_out_but_never_the_policys() -> None:
    values = {i / 5000: 1 for i in range(5001)}
    found = candidates_of(values, [], better="higher", keep=[0.12345], most=50)
    assert len(found) <= 51
    assert 0.12345 in [c.threshold for c in found]
    assert found[nearest_candidate(found, 0.12345)].threshold == 0.12345


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_no_rows_give_no_candidates(better: str) -> None:
    assert candidates_of({}, [], better=better) == []  # type: ignore[arg-type]
