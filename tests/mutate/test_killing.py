"""From a metric and its cases to the matrix; and that nothing a mutant does spoils it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from evalkit.contract import EvalkitError
from evalkit.mutate.killing import matrix_of
from evalkit.mutate.matrix import KillMatrix, Mutant
from evalkit.mutate.runner import Limits
from evalkit.scoring.load import load_metric

HALF = """
    from evalkit.contract import InvalidRow, MetricResult, numeric_metric

    LIMIT = 4

    @numeric_metric()
    def share(n: int) -> MetricResult:
        if n < 0:
            raise InvalidRow("n must not be negative")
        return MetricResult(n / LIMIT, f"{n} of {LIMIT}")
"""
CASES = [
    {"case_id": "none", "n": 0, "oracle": {"value": 0.0, "reason": "0 of 4"}},
    {"case_id": "third", "n": 1, "oracle": {"value": 0.25, "reason": "1 of 4"}},
    {"case_id": "negative", "n": -1, "oracle": {"invalid": "must not be negative"}},
]


@pytest.fixture
def kill(write):
    """Return the function that mutates the metric of a source under some cases, in this process."""

    def run(source: str = HALF, cases: list[dict] = CASES, **options) -> KillMatrix:
        spec, path = write(source, cases)
        return matrix_of(load_metric(spec), path, **options)

    return run


def one(matrix: KillMatrix, operator: str, fragment: str = "") -> Mutant:
    found = [m for m in matrix.mutants if m.operator == operator and fragment in m.diff]
    assert len(found) == 1, found
    return found[0]


# --- what the matrix says -------------------------------------------------------------------------------------------


def test_a_mutant_is_killed_by_value_reason_or_state(kill):
    matrix = kill()
    by = {
        name: (mutant.kills[0].case_id, mutant.kills[0].by, mutant.kills[0].seen)
        for name, mutant in {
            "numerator": one(matrix, "numerator"),
            "reason": one(matrix, "reason_thinned", '+ return MetricResult(n / LIMIT, f" of'),
            "guard": one(matrix, "guard"),
        }.items()
    }
    assert by == {
        "numerator": ("none", "value", "1.0"),
        "reason": ("none", "reason", "of 4"),
        "guard": ("negative", "state", "error: share returned -0.25, outside its range (0.0, 1.0)"),
    }


def test_the_first_killer_ends_a_trial_and_full_runs_all(kill):
    first, full = kill(), kill(full=True)
    assert one(first, "numerator").killed_by == ["none"]
    assert one(full, "numerator").killed_by == ["none", "third"]
    assert [m.status for m in first.mutants] == [m.status for m in full.mutants]
    assert (first.full, full.full) == (False, True)


def test_the_same_inputs_give_the_same_matrix(kill):
    assert kill(full=True).to_json() == kill(full=True).to_json()


def test_a_survivor_comes_with_the_smallest_case_that_kills_it(kill):
    matrix = kill(cases=CASES[1:])
    left = one(matrix, "comparison")  # n < 0 -> n <= 0: only n = 0 tells them apart
    assert left.status == "survived"
    assert left.suggested_case == {
        "case_id": left.suggested_case["case_id"],
        "role": "boundary",
        "contract_version": "0",
        "n": 0,
        "oracle": {"value": 0.0, "reason": "0 of 4"},
    }


def test_the_suggested_cases_kill_what_they_were_suggested_for(kill):
    cases = [CASES[2], {"case_id": "half", "n": 2, "oracle": {"value": 0.5}}]
    before = kill(cases=cases)
    suggested = [m.suggested_case for m in before.of("survived") if m.suggested_case]
    assert len(suggested) > 3
    after = kill(cases=[*cases, *suggested])
    assert {m.id for m in after.of("survived")} == {m.id for m in before.of("survived") if not m.suggested_case}


def test_a_survivor_that_nothing_tells_apart_says_what_was_tried(kill):
    clamp = one(kill(HALF.replace("n / LIMIT,", "min(n, LIMIT) / LIMIT,")), "clamp")
    assert (clamp.status, clamp.suggested_case) == ("survived", None)
    assert "varied inputs tells it from the original: it may be equivalent" in clamp.note


def test_an_operator_without_a_place_is_not_applicable(kill):
    label = one(kill(), "label")
    assert (label.status, label.note) == ("not_applicable", "nothing of the kind in this metric")


def test_cases_without_an_oracle_are_counted(kill):
    matrix = kill(cases=[*CASES, {"case_id": "silent", "n": 3}])
    assert matrix.cases == ("none", "third", "negative")
    assert matrix.facts["cases_without_oracle"] == ["silent"]


def test_a_parameter_may_be_fed_by_another_key(kill):
    cases = [{**case, "count": case["n"]} for case in CASES]
    for case in cases:
        del case["n"]
    matrix = kill(cases=cases[1:], feeds={"n": "count"})
    assert one(matrix, "comparison").suggested_case["count"] == 0


def test_progress_is_told(kill):
    told = []
    matrix = kill(on_mutant=lambda done, of: told.append((done, of)))
    assert told[-1][1] == len([m for m in matrix.mutants if m.status != "not_applicable"])


# --- what a mutant may do -------------------------------------------------------------------------------------------

WILD = """
    import os

    from evalkit.contract import numeric_metric


    def loop():
        while True:
            pass


    def deeper(n):
        return deeper(n + 1)


    @numeric_metric()
    def share(n: int) -> float:
        if n > 91:
            loop()
        if n > 92:
            deeper(n)
        if n > 93:
            [0] * 10**9
        if n > 94:
            os._exit(0)
        if n > 95:
            raise KeyboardInterrupt
        return n / 4
"""


def test_a_mutant_that_hangs_recurses_allocates_or_exits_is_killed_and_the_others_are_judged(kill):
    cases = [{"case_id": "half", "n": 2, "oracle": {"value": 0.5}}]
    matrix = kill(WILD, cases, limits=Limits(seconds=0.5), suggestions=False)
    seen = {m.diff.split("\n")[0]: m.kills[0] for m in matrix.of("killed") if m.operator == "negation"}
    assert [(kill.by, kill.seen.partition(" (")[0][:52]) for kill in seen.values()] == [
        ("time", "did not end within 0.5 s"),
        ("state", "error: RecursionError: maximum recursion depth exceed"[:52]),
        ("memory", "error: MemoryError"),
        ("death", "left the process"),
        ("state", "KeyboardInterrupt escaped"),
    ]
    assert one(matrix, "numerator").kills[0].by == "value"


def test_a_mutant_that_cannot_even_be_built_is_killed(kill):
    matrix = kill(HALF.replace("LIMIT = 4", "LIMIT = 4\n    assert LIMIT == 4"))
    assert one(matrix, "number", "+ LIMIT = 5").kills[0].seen.startswith("cannot be built: AssertionError")


# --- when there is no score -----------------------------------------------------------------------------------------


def test_a_red_baseline_is_no_score_and_names_the_cases(kill):
    wrong = [{**CASES[0], "oracle": {"value": 1.0}}, *CASES[1:]]
    with pytest.raises(EvalkitError, match=r"unmutated metric fails 1 of its 3 cases: none \(value: 0\.0\)"):
        kill(cases=wrong)


ONCE = """
    from evalkit.contract import numeric_metric

    LIMITS = set()
    if "done" not in globals():
        LIMITS.add(4)
        done = True

    @numeric_metric()
    def share(n: int) -> float:
        return n / max(LIMITS)
"""


def test_a_slow_metric_is_told_that_it_may_have_more_time(kill):
    source = HALF.replace("if n < 0:", "import time; time.sleep(0.3)\n        if n < 0:")
    with pytest.raises(EvalkitError, match=r"none \(time: did not end within 0\.1 s\).*more time with --seconds"):
        kill(source, limits=Limits(seconds=0.1))


def test_a_metric_that_cannot_be_built_again_is_refused_by_the_control_without_a_change(kill):
    with pytest.raises(
        EvalkitError, match=r"control without a change was killed.* on third \(state: error: ValueError"
    ):
        kill(ONCE, [{"case_id": "third", "n": 1, "oracle": {"value": 0.25}}])


def test_cases_that_never_read_the_result_are_refused_by_the_destroyed_control(kill):
    with pytest.raises(EvalkitError, match="control with a destroyed result survived: none of 1 cases reads"):
        kill(cases=[{"case_id": "text", "n": "two", "oracle": {"invalid": "n: input should be"}}])


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ([{"case_id": "a", "n": 1}], r"no case says what it should come to \(1 cases without an oracle: a\)"),
        ([], "no case says what it should come to"),
        ([{"case_id": "a", "n": 1, "oracle": {"score": 1}}], "line 1, case 'a': an oracle must be"),
        ([{"n": 1}], "line 1: is not a case: case_id is absent"),
        ([{**CASES[0], "contract_version": "2"}], "is written for contract version '2'; share has '0'"),
    ],
)
def test_cases_that_cannot_be_used(kill, cases, message):
    with pytest.raises(EvalkitError, match=message):
        kill(cases=cases)


def test_equivalents_are_checked_against_what_happened(kill, tmp_path):
    entry = '[[equivalent]]\nid = "{}"\nreason = "r"\nreviewed_by = "us"\non = 2026-11-30\n'
    path = tmp_path / "equivalent.toml"
    left = one(kill(cases=CASES[1:]), "comparison").id
    path.write_text("schema = 1\n" + entry.format(left))
    assert one(kill(cases=CASES[1:], equivalent=path), "comparison").status == "equivalent"
    with pytest.raises(EvalkitError, match=r"calls mutants equivalent that a case kills: .*killed by none"):
        kill(equivalent=path)
    path.write_text("schema = 1\n" + entry.format("gone"))
    with pytest.raises(EvalkitError, match="names mutants that no longer exist: gone"):
        kill(equivalent=path)


# --- other kinds of metrics -----------------------------------------------------------------------------------------


def test_an_async_metric(kill):
    source = """
        from evalkit.contract import numeric_metric

        async def half(n):
            return n / await four()

        async def four():
            return 4

        @numeric_metric()
        async def share(n: int) -> float:
            return await half(n)
    """
    cases = [{"case_id": "third", "n": 1, "oracle": {"value": 0.25}}]
    matrix = kill(source, cases)
    assert one(matrix, "numerator").killed_by == ["third"]
    assert one(matrix, "boundary", "n / await four()\n+ return None").kills[0].by == "state"
    assert one(matrix, "boundary", "+ return 1.0").kills[0].by == "value"


def test_a_plain_value_error_of_the_metric_is_an_invalid_row_in_every_version(kill):
    source = HALF.replace("InvalidRow(", "ValueError(")
    matrix = kill(source)
    assert one(matrix, "exception_message").kills[0].by == "reason"
    assert one(matrix, "exception_type").kills[0].seen.startswith("error: RuntimeError")


def test_a_discrete_metric(kill):
    source = """
        from evalkit.contract import discrete_metric

        @discrete_metric(allowed_values=["pass", "fail"])
        def share(n: int) -> str:
            return "pass" if n > 2 else "fail"
    """
    cases = [
        {"case_id": "two", "n": 2, "oracle": {"value": "fail"}},
        {"case_id": "three", "n": 3, "oracle": {"value": "pass"}},
    ]
    matrix = kill(source, cases)
    assert matrix.of("survived") == []
    assert one(matrix, "label", '+ return "fail" if n > 2').killed_by == ["three"]
    assert one(matrix, "comparison").killed_by == ["two"]


def test_the_user_file_is_not_touched_and_leaves_nothing_behind(kill, tmp_path):
    kill()
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == ["contract.jsonl", "their_metric.py"]
    assert "n / LIMIT" in (tmp_path / "their_metric.py").read_text()


def test_the_module_is_the_same_before_and_after(write):
    spec, path = write(WITH_STATE, CASES)
    metric = load_metric(spec)
    names = metric.function.__globals__
    before, seen, modules = dict(names), dict(names["SEEN"]), set(sys.modules)
    hooks = (list(sys.meta_path), list(sys.path_hooks), list(sys.path))
    matrix_of(metric, path, full=True)
    assert all(names[name] is value for name, value in before.items())
    assert set(names) == set(before)
    assert names["SEEN"] == seen == {}
    assert (list(sys.meta_path), list(sys.path_hooks), list(sys.path)) == hooks
    assert {name.partition(".")[0] for name in set(sys.modules) - modules} <= {"numpy"}


WITH_STATE = HALF.replace("LIMIT = 4", "LIMIT = 4\n    SEEN = {}").replace(
    "if n < 0:", "SEEN[n] = n\n        if n < 0:"
)


def test_the_matrix_is_plain_json(kill):
    assert json.loads(json.dumps(kill().to_json(), allow_nan=False))
