from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evalkit import evidence_coverage, score_cases
from evalkit.cases.read import Case
from evalkit.decisions.meeting.borderline import RankedRows, agenda_rows
from evalkit.scoring.records import Record


def records(values: list[int], slice_name: str = "default") -> list[Record]:
    ids = list("abcdefghij")
    cases = [
        Case(n, f"{slice_name}-{n}", slice_name, True, {"required_claim_ids": ids, "supported_claim_ids": ids[:value]})
        for n, value in enumerate(values, start=1)
    ]
    return list(score_cases(evidence_coverage, cases))


@given(st.lists(st.integers(0, 10), max_size=30), st.integers(0, 10), st.integers(1, 6), st.integers(0, 3))
def test_the_neighbourhood_is_the_nearest_rows_on_each_side(values: list[int], at: int, n: int, seed: int) -> None:
    ranked = RankedRows(records(values), "higher", seed)
    near = ranked.around(at / 10, n)
    below, above = [v for v in values if v / 10 < at / 10], [v for v in values if v / 10 >= at / 10]
    assert (near.n_below, near.n_above) == (len(below), len(above))
    assert [r.value for r in near.above] == [v / 10 for v in sorted(above)[:n]]
    assert [r.value for r in near.below] == [v / 10 for v in sorted(below, reverse=True)[:n]]
    far = ranked.far(near, 4, seed)
    taken = [r.case_id for r in (*near.below, *near.above, *far)]
    assert len(taken) == len(set(taken))
    assert len(far) == min(4, len(values) - len(near.below) - len(near.above))


def test_a_row_at_the_threshold_passes_also_where_lower_is_better() -> None:
    rows = records([2, 5, 5, 9])
    assert [r.value for r in RankedRows(rows, "higher").around(0.5, 5).above] == [0.5, 0.5, 0.9]
    lower = RankedRows(rows, "lower").around(0.5, 5)
    assert [r.value for r in lower.above] == [0.5, 0.5, 0.2]
    assert [r.value for r in lower.below] == [0.9]


def test_which_rows_of_one_score_are_looked_at_is_drawn_by_lot_and_the_same_each_time() -> None:
    rows = records([5] * 20)
    drawn = {seed: tuple(r.case_id for r in RankedRows(rows, "higher", seed).around(0.5, 3).above) for seed in range(6)}
    assert len(set(drawn.values())) > 1
    shuffled = RankedRows(rows[::-1], "higher", 1).around(0.5, 3).above
    assert tuple(r.case_id for r in shuffled) == drawn[1]


def test_the_agenda_mixes_far_rows_in_and_hides_which_they_are() -> None:
    slices: dict[str, Any] = {name: RankedRows(records(list(range(11)), name), "higher", 7) for name in ("a", "b")}
    rows = agenda_rows(slices, {"a": 0.5, "b": 0.8}, n=2, far=2, seed=7)
    ids = [record.case_id for record in rows]
    # Two below, two above and two far ones a slice.
    assert len(ids) == len(set(ids)) == 12
    near = {f"a-{n}" for n in (4, 5, 6, 7)} | {f"b-{n}" for n in (7, 8, 9, 10)}
    assert near <= set(ids)
    assert [r.value for r in rows] != sorted(r.value for r in rows)
    assert ids == [r.case_id for r in agenda_rows(slices, {"a": 0.5, "b": 0.8}, n=2, far=2, seed=7)]
    assert ids != [r.case_id for r in agenda_rows(slices, {"a": 0.5, "b": 0.8}, n=2, far=2, seed=8)]
