from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalkit.contract import EvalkitError
from evalkit.pages.notebooks.figures import Expected, accept, differences, read_expected

WANTED = Expected("passed", {"mean": 0.5, "rows": 3, "best": "a", "none": None}, 1e-9, {"mean": 0.01})
SAME = {"mean": 0.5, "rows": 3, "best": "a", "none": None}


def test_what_is_within_its_tolerance_does_not_differ() -> None:
    assert differences(WANTED, "passed", SAME) == []
    assert differences(WANTED, "passed", SAME | {"mean": 0.509, "rows": 3.0}) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"mean": 0.5101}, "mean: expected 0.5 within 0.01, got 0.5101"),
        ({"rows": 4}, "rows: expected 3 within 1e-09, got 4"),
        ({"rows": None}, "rows: expected 3 within 1e-09, got None"),
        ({"rows": True}, "rows: expected 3 within 1e-09, got True"),
        ({"best": "b"}, "best: expected 'a' within 1e-09, got 'b'"),
        ({"none": 0}, "none: expected None within 1e-09, got 0"),
        ({"new": 1}, "new = 1 is not among the expected figures"),
    ],
)
def test_every_other_figure_is_named_with_both_values(change: dict[str, object], said: str) -> None:
    (found,) = differences(WANTED, "passed", SAME | change)  # type: ignore[arg-type]
    assert str(found) == said


def test_an_absent_figure_differs_from_one_that_is_null() -> None:
    absent = {key: value for key, value in SAME.items() if key != "none"}
    (found,) = differences(WANTED, "passed", absent)  # type: ignore[arg-type]
    assert str(found) == "none = None was expected and is absent"


def test_the_outcome_is_the_first_figure() -> None:
    assert str(differences(WANTED, "incomplete", SAME)[0]) == "outcome: expected 'passed', got 'incomplete'"  # type: ignore[arg-type]


def test_accepting_keeps_the_tolerances_that_somebody_set(tmp_path: Path) -> None:
    path = tmp_path / "expected" / "page.json"
    assert read_expected(path) is None
    accept(path, "page", "passed", {"mean": 0.6}, WANTED._replace(tolerance=0.5, tolerances={"mean": 0.1, "gone": 1.0}))
    facts = json.loads(path.read_text())
    assert (facts["tolerance"], facts["tolerances"]) == (0.5, {"mean": 0.1})
    again = read_expected(path)
    assert again is not None
    assert differences(again, "passed", {"mean": 0.6}) == []


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"outcome": "passed", "figures": {}, "tolerance": "wide"}'])
def test_a_damaged_file_says_how_to_write_it_anew(tmp_path: Path, text: str) -> None:
    path = tmp_path / "page.json"
    path.write_text(text)
    with pytest.raises(EvalkitError, match="write it anew with evalkit notebooks NAME --accept"):
        read_expected(path)
