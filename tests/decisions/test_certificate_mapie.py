"""MAPIE, an independent implementation of Learn-then-Test, never certifies a threshold that evalkit does not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from evalkit.decisions.calibrating.certificate import certify
from evalkit.decisions.calibrating.sweep import sweep

Floats = NDArray[np.float64]


def mapie_valid(values: Floats, bad: NDArray[np.bool_], risk: float, level: float, cuts: Floats) -> list[float]:
    from mapie.risk_control import BinaryClassificationController

    def probabilities(x: Any) -> Floats:
        return np.column_stack([1 - x[:, 0], x[:, 0]])

    controller = BinaryClassificationController(
        probabilities,
        risk="fpr",
        target_level=risk,
        confidence_level=1 - level,
        list_predict_params=cuts,
        fwer_method="fixed_sequence",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MAPIE warns where nothing is valid, which is an answer here
        controller.calibrate(values[:, None], (~bad).astype(int))
    return sorted(np.ravel(controller.valid_predict_params).tolist())


@pytest.mark.slow
@pytest.mark.parametrize(("risk", "level"), [(0.05, 0.05), (0.2, 0.1), (0.1, 0.05)])
def test_mapie_never_certifies_more(risk: float, level: float) -> None:
    rng, agreeing = np.random.default_rng(11), 0
    for n in (40, 60, 90, 150, 300, 600) * 3:
        bad = rng.random(n) < 0.5
        values = np.where(bad, rng.beta(2, 4, n), rng.beta(4, 2, n))
        found = sweep(values, bad)
        ours = set(found.thresholds[: certify(found, risk, level).n_certified].tolist())
        theirs = mapie_valid(values, bad, risk, level, found.thresholds)
        assert set(theirs) <= ours
        agreeing += len(set(theirs)) > 0
    assert agreeing > 3  # it does certify something, or the comparison would be empty


def test_mapie_overcounts_errors_by_a_ceiling_where_we_count_them() -> None:
    # 13 of 411 bad rows pass: P(X <= 13), X ~ Binomial(411, 0.05) = 0.048; MAPIE's p-value is 0.080.
    values = np.concatenate([np.full(13, 0.9), np.full(398, 0.1), np.full(50, 0.9)])
    bad = np.array([True] * 411 + [False] * 50)
    assert certify(sweep(values, bad), 0.05, 0.05).certified == 0.9
    assert mapie_valid(values, bad, 0.05, 0.05, np.array([0.9])) == []
