from __future__ import annotations

import enum
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from evalkit.contract import make_metric


class Verdict(enum.StrEnum):
    PASS = "pass"


class Grade(enum.IntEnum):
    GOOD = 4


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError


def measured(value: Any, allowed: Any) -> Any:
    def metric(x: str) -> Any:
        return value

    return make_metric(metric, allowed).measure({"x": "row"})


@pytest.mark.parametrize(
    ("value", "allowed", "scored"),
    [
        (0.0, (0.0, 1.0), 0.0), (1.0, (0.0, 1.0), 1.0), (1, (0.0, 1.0), 1.0), (-3, (-5, 5), -3.0),
        (Grade.GOOD, (1, 5), 4.0), (4, range(1, 6), 4), (4.0, range(1, 6), 4), (Grade.GOOD, range(1, 6), 4),
        (6, range(0, 11, 2), 6), (10**9, range(10**12), 10**9), (1e9, range(10**12), 10**9),
    ],
    ids=repr,
)  # fmt: skip
def test_a_number_inside_its_range_is_scored_plainly(value: Any, allowed: Any, scored: float):
    result = measured(value, allowed)
    assert (result.state, result.value) == ("scored", scored)
    assert type(result.value) is (int if isinstance(allowed, range) else float)


@pytest.mark.parametrize(
    ("value", "allowed", "kind", "text"),
    [
        (1.0000000001, (0.0, 1.0), "out_of_range", "metric returned 1.0000000001, outside its range (0.0, 1.0)"),
        (-1, (0.0, 1.0), "out_of_range", "metric returned -1, outside its range (0.0, 1.0)"),
        (6, range(1, 6), "out_of_range", "metric returned 6, outside its range range(1, 6)"),
        (3.5, range(1, 6), "out_of_range", "metric returned 3.5, outside its range range(1, 6)"),
        (5, range(0, 11, 2), "out_of_range", "metric returned 5, outside its range range(0, 11, 2)"),
        (math.nan, (0.0, 1.0), "not_finite", "metric returned nan, not a finite number"),
        (math.inf, (0.0, 1.0), "not_finite", "metric returned inf, not a finite number"),
        (math.nan, range(1, 6), "not_finite", "metric returned nan, not a finite number"),
        (True, (0.0, 1.0), "not_a_number", "metric returned True (bool), not a number"),
        (False, range(2), "not_a_number", "metric returned False (bool), not a number"),
        ("0.5", (0.0, 1.0), "not_a_number", "metric returned '0.5' (str), not a number"),
        (None, (0.0, 1.0), "not_a_number", "metric returned None (NoneType), not a number"),
        ([0.5], (0.0, 1.0), "not_a_number", "metric returned [0.5] (list), not a number"),
        (1j, (0.0, 1.0), "not_a_number", "metric returned 1j (complex), not a number"),
        (Fraction(1, 2), (0.0, 1.0), "not_a_number", "metric returned Fraction(1, 2) (Fraction), not a number"),
        (Unshowable(), (0.0, 1.0), "not_a_number", "<Unshowable that cannot be shown> (Unshowable), not a number"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_is_no_number_of_the_range_is_the_metrics_error(value: Any, allowed: Any, kind: str, text: str):
    result = measured(value, allowed)
    assert (result.state, result.value, result.error_kind) == ("error", None, kind)
    assert result.reason.endswith(text)


@pytest.mark.parametrize("digits", [400, 5000])
@pytest.mark.parametrize("allowed", [(0.0, 1.0), range(3)], ids=repr)
def test_an_integer_beyond_every_float_is_outside_the_range(digits: int, allowed: Any):
    result = measured(10**digits, allowed)
    assert (result.state, result.error_kind) == ("error", "out_of_range")
    assert result.reason.endswith(f", outside its range {allowed!r}")


@pytest.mark.parametrize(
    ("value", "scored"),
    [(np.float64(0.25), 0.25), (np.float32(0.25), 0.25), (np.int64(1), 1.0), (np.array(0.25), 0.25)],
    ids=lambda value: type(value).__name__,
)
def test_a_numpy_scalar_is_converted_once(value: Any, scored: float):
    result = measured(value, (0.0, 1.0))
    assert (result.state, result.value, type(result.value)) == ("scored", scored, float)


@pytest.mark.parametrize("value", [np.bool_(True), np.array([0.5]), np.float64("nan"), np.str_("0.5")], ids=repr)
def test_other_numpy_values_are_not_numbers(value: Any):
    assert measured(value, (0.0, 1.0)).state == "error"


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        ("PASS", "unlisted_label", "metric returned 'PASS', not one of ['pass', 'fail']"),
        ("pass ", "unlisted_label", "metric returned 'pass ', not one of ['pass', 'fail']"),
        (1, "wrong_shape", "metric returned 1 (int), not a label"),
        (True, "wrong_shape", "metric returned True (bool), not a label"),
        (None, "wrong_shape", "metric returned None (NoneType), not a label"),
        (["pass"], "wrong_shape", "metric returned ['pass'] (list), not a label"),
    ],
    ids=repr,
)
def test_a_label_is_exactly_one_of_those_declared(value: Any, kind: str, text: str):
    result = measured(value, ["pass", "fail"])
    assert (result.state, result.error_kind, result.reason) == ("error", kind, text)


@pytest.mark.parametrize("value", ["pass", Verdict.PASS, np.str_("pass")], ids=repr)
def test_a_label_comes_back_as_it_was_declared(value: Any):
    result = measured(value, ["pass", "fail"])
    assert (result.state, result.value, type(result.value)) == ("scored", "pass", str)


@pytest.mark.parametrize("value", [["a", "b"], [2, 1], [{"id": "a"}, None]], ids=repr)
def test_a_ranking_has_its_length(value: Any):
    assert measured(value, 2)[:2] == ("scored", value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["a"], "metric returned ['a'], not a list of 2 items"),
        (("a", "b"), "metric returned ('a', 'b'), not a list of 2 items"),
        ("ab", "metric returned 'ab', not a list of 2 items"),
        ([math.nan, 1.0], "metric returned a ranking with nan in it, which is not plain finite JSON"),
        ([{"a"}, 1.0], "metric returned a ranking with {'a'} in it, which is not plain finite JSON"),
        ([[math.inf], 1], "metric returned a ranking with [inf] in it, which is not plain finite JSON"),
    ],
    ids=repr,
)
def test_a_ranking_of_another_shape_is_an_error(value: Any, text: str):
    result = measured(value, 2)
    assert (result.state, result.error_kind, result.reason) == ("error", "wrong_shape", text)
