from __future__ import annotations

import pytest

from evalkit.contract import EvalkitError, Measured
from evalkit.mutate.expect import Oracle, difference, oracle_of, parse_oracle

SCORED = Measured("scored", 0.5, "1 of 2", {"missing": ["a"], "n": 2}, None)
INVALID = Measured("invalid", None, "ids must not be blank", {}, "contract")
ERROR = Measured("error", None, "ZeroDivisionError: division by zero (m.py, line 3, in m)", {}, "exception")


def differs(measured: Measured, oracle: dict) -> str | None:
    found = difference(measured, parse_oracle(oracle, "case a"))
    return found and f"{found.by}: {found.seen}"


@pytest.mark.parametrize(
    ("measured", "oracle", "expected"),
    [
        (SCORED, {"value": 0.5}, None),
        (SCORED, {"value": 0.5, "reason": "1 of 2"}, None),
        (SCORED, {"value": 0.5, "reason": "1 of 2", "detail": {"missing": ["a"], "n": 2}}, None),
        (SCORED, {"value": 0.5 + 1e-10}, None),
        (SCORED, {"value": 0.5 + 1e-8}, "value: 0.5"),
        (SCORED, {"value": "0.5"}, "value: 0.5"),
        (SCORED, {"value": 0.5, "reason": "1 of"}, "reason: 1 of 2"),  # the whole reason, not a fragment
        (SCORED, {"value": 0.5, "detail": {"missing": ["a"]}}, "detail: {'missing': ['a'], 'n': 2}"),
        (SCORED, {"value": 0.5, "detail": {"missing": ["b"], "n": 2}}, "detail: {'missing': ['a'], 'n': 2}"),
        (SCORED, {"invalid": "blank"}, "state: scored: 0.5"),
        (INVALID, {"invalid": "not be blank"}, None),
        (INVALID, {"invalid": "duplicate"}, "reason: ids must not be blank"),
        (INVALID, {"value": 0.0}, "state: invalid: ids must not be blank"),
        (INVALID, {"error": "blank"}, "state: invalid: ids must not be blank"),
        (ERROR, {"error": "division by zero"}, None),
        (ERROR, {"invalid": "division"}, "state: error: ZeroDivisionError: division by zero (m.py, line 3, in m)"),
        (ERROR._replace(reason="MemoryError (m.py)"), {"value": 1.0}, "memory: error: MemoryError (m.py)"),
        (SCORED._replace(value="pass"), {"value": "pass"}, None),
        (SCORED._replace(value=["a", "b"]), {"value": ["b", "a"]}, "value: ['a', 'b']"),
        (SCORED._replace(value=True), {"value": 1}, "value: True"),
    ],
)
def test_difference(measured, oracle, expected):
    assert differs(measured, oracle) == expected


def test_an_address_in_memory_is_not_told_because_it_is_another_each_time():
    bad = ERROR._replace(reason="m returned <object at 0x7f3a9c1b2d40>, not a number")
    assert differs(bad, {"value": 1.0}) == "state: error: m returned <object at 0x>, not a number"


def test_a_long_difference_is_cut():
    found = difference(INVALID._replace(reason="x" * 500), Oracle("scored", 1.0))
    assert found is not None
    assert len(found.seen) == 100


@pytest.mark.parametrize(
    "plain",
    [
        None,
        "value",
        {},
        {"reason": "x"},
        {"value": 1.0, "why": "x"},
        {"value": 1.0, "reason": 3},
        {"value": 1.0, "detail": []},
        {"invalid": ""},
        {"invalid": "x", "value": 1.0},
        {"error": 3},
    ],
)
def test_an_oracle_of_another_shape_is_refused(plain):
    with pytest.raises(EvalkitError, match=r'line 3: an oracle must be .*"invalid": "fragment"'):
        parse_oracle(plain, "contract.jsonl, line 3")


@pytest.mark.parametrize("measured", [SCORED, INVALID, ERROR])
def test_what_a_result_says_of_itself_is_an_oracle_it_fulfils(measured):
    assert difference(measured, parse_oracle(oracle_of(measured), "")) is None
