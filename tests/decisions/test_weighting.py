"""Production rates from strata that were sampled at different rates."""

from __future__ import annotations

import pytest
from labelled_rows import SHARE, label, record

from evalkit.decisions.calibrating.pairing import LabelledRow, Reading, pair
from evalkit.decisions.calibrating.weighting import weighted_rates


def rows_of(*facts: tuple[float, str, str, float | None]) -> tuple[LabelledRow, ...]:
    records, labels = [], []
    for i, (value, said, stratum, weight) in enumerate(facts):
        lineage = {"stratum": stratum} | ({"prevalence_weight": weight} if weight is not None else {})
        made = record(f"c{i}", value, lineage=lineage)
        records.append(made)
        labels.append(label(made, said, i + 1))
    return pair(SHARE, records, labels, Reading()).rows


def test_weighted_rates_by_hand_and_the_oversampled_stratum_is_marked() -> None:
    # web stands for 9 rows each, phone for 1. Bad: web passes (9), phone fails (1), so 9 of 10 pass.
    # Good: web passes (9), phone fails (1): 1 of 10 fails. Passes: 9 bad and 9 good.
    rows = rows_of(
        (1.0, "fail", "web", 9.0), (0.0, "fail", "phone", 1.0), (1.0, "pass", "web", 9.0), (0.0, "pass", "phone", 1.0)
    )  # fmt: skip
    found = weighted_rates(rows, 0.5, "higher")
    assert found is not None
    assert found.false_pass_rate == pytest.approx(0.9)
    assert found.false_fail_rate == pytest.approx(0.1)
    assert found.bad_among_passes == pytest.approx(0.5)
    assert (found.strata["phone"].is_oversampled, found.strata["web"].is_oversampled) == (True, False)


def test_equal_or_absent_weights_change_nothing_and_give_nothing() -> None:
    assert weighted_rates(rows_of((1.0, "fail", "a", 2.0), (0.0, "pass", "b", 2.0)), 0.5, "higher") is None
    assert weighted_rates(rows_of((1.0, "fail", "a", None), (0.0, "pass", "b", 2.0)), 0.5, "higher") is None
