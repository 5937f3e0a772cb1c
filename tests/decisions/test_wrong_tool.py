"""S1.14: each sign that a threshold is the wrong tool, seen where it is and not seen where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
from labelled_rows import SHARE, label, record, words

from evalkit.decisions.calibrating.pairing import Reading, pair
from evalkit.decisions.calibrating.thresholds import sweep_rows
from evalkit.decisions.calibrating.wrong_tool import wrong_tool_warnings


def warnings_of(rows: list[dict[str, Any]]) -> list[str]:
    records, labels = [], []
    for i, given in enumerate(rows):
        fields = dict(given)
        said, value = fields.pop("label"), fields.pop("value")
        made = record(f"c{i}", value, **fields)
        records.append(made)
        labels.append(label(made, said, i + 1))
    paired = pair(SHARE, records, labels, Reading()).rows
    return wrong_tool_warnings(paired, sweep_rows(paired, "higher"))


def healthy(n: int = 40) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {"value": round(float(rng.beta(2, 5) if i % 2 else rng.beta(5, 2)), 3), "label": "fail" if i % 2 else "pass"}
        for i in range(n)
    ]


def test_healthy_data_gets_no_warning() -> None:
    assert warnings_of(healthy()) == []


def test_few_labels_of_one_kind() -> None:
    rows = [row for row in healthy(60) if row["label"] == "pass"] + [
        row for row in healthy() if row["label"] == "fail"
    ][:3]
    assert any(warning.startswith("sparse: 3 of 33 rows are labelled fail") for warning in warnings_of(rows))


def test_a_score_that_does_not_predict_the_labels() -> None:
    rng = np.random.default_rng(4)
    rows = [{"value": float(rng.random()), "label": "fail" if i % 2 else "pass"} for i in range(60)]
    assert any("the score does not tell good from bad" in warning for warning in warnings_of(rows))


def test_one_required_item_everywhere_should_be_a_discrete_metric() -> None:
    rows = [{"value": float(i % 2), "label": "pass" if i % 2 else "fail", "detail": {"required": 1}} for i in range(24)]
    (warning,) = warnings_of(rows)
    assert "all 24 rows have one required item" in warning
    assert "discrete metric" in warning


def test_few_distinct_values() -> None:
    rows = [{"value": (0.0, 0.5, 1.0)[i % 3], "label": "pass" if i % 3 == 2 else "fail"} for i in range(30)]
    (warning,) = warnings_of(rows)
    assert "only 3 distinct values (1, 0.5, 0)" in warning
    same = [{"value": 0.5, "label": "pass" if i % 2 else "fail"} for i in range(30)]
    assert any("no threshold tells them apart" in warning for warning in warnings_of(same))


def test_one_missing_item_that_is_unacceptable_by_itself() -> None:
    rows = healthy()
    rows += [{"value": 0.75, "label": "fail", "detail": {"missing": ["deadline"]}} for _ in range(8)]
    rows += [{"value": 0.75, "label": "pass", "detail": {"missing": ["greeting"]}} for _ in range(8)]
    (warning,) = [warning for warning in warnings_of(rows) if "Boolean" in warning]
    assert "all 8 rows that miss only 'deadline' are labelled fail, but 0 of 8" in warning


def test_a_score_that_rewards_length() -> None:
    rows = [
        {"value": i / 40, "label": "pass" if i >= 20 else "fail", "text": words(f"t{i}") + " more" * (i + 1)}
        for i in range(40)
    ]
    assert any("the score rewards length: among the 20 good rows" in warning for warning in warnings_of(rows))


def test_several_populations_in_one_slice() -> None:
    rows = healthy()
    for i, row in enumerate(rows):
        row["lineage"] = {"stratum": "phone" if row["label"] == "fail" and i % 4 else "web"}
    (warning,) = [warning for warning in warnings_of(rows) if "populations" in warning]
    assert "bad rows by stratum: phone 20 of 20, web 0 of 20" in warning
