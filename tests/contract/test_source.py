from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evalkit.contract import numeric_metric
from evalkit.contract.source import reach_of
from evalkit.scoring.load import load_metric

WORDS = {"a": 1}
TABLE = [len]


def count(x: str) -> int:
    return helper(x) + WORDS.get(x, 0)


def helper(x: str) -> int:
    return count(x) if not x else len(x)  # the two call each other


def made_with(least: int) -> Callable[[str], float]:
    def metric(x: str) -> float:
        return float(len(x) > least)

    return metric


class Reader:
    limit = 3

    def read(self, x: str) -> int:
        return helper(x[: self.limit])


def reads(x: str) -> int:
    return Reader().read(x)


# --- reach ----------------------------------------------------------------------------------------------------------


def test_reach_holds_the_function_first_then_helpers_and_constants_of_its_module():
    reach = reach_of(count)
    assert list(reach.functions) == ["count", "helper"]
    assert reach.functions["helper"] is helper
    assert reach.constants == {"WORDS": {"a": 1}}
    assert reach.classes == {}


def test_reach_holds_what_a_closure_holds_under_its_own_name():
    reach = reach_of(made_with(2))
    assert list(reach.functions) == ["made_with.<locals>.metric"]
    assert reach.constants == {"made_with.<locals>.metric.least": 2}


def test_reach_follows_a_class_of_the_module_through_its_methods():
    reach = reach_of(reads)
    assert reach.classes == {"Reader": Reader}
    assert list(reach.functions) == ["reads", "helper", "count"]


def test_reach_goes_through_another_metric_of_the_module():
    assert "helper" in reach_of(composed.function).functions


@numeric_metric()
def inner(x: str) -> float:
    return 1.0 / helper(x)


@numeric_metric()
def composed(x: str) -> float:
    return inner(x) / 2


def test_reach_of_what_is_no_function_is_empty():
    assert reach_of(len) == ({}, {}, {})


# --- fingerprint ----------------------------------------------------------------------------------------------------

BEFORE = '''
    import re
    from functools import partial

    from evalkit import numeric_metric

    WEIGHT = 2
    STOP = {"a", "the"}
    PATTERN = re.compile("x" * 300 + "y")
    LEAST = 1


    class Reader:
        limit = 3

        def read(self, text: str) -> str:
            return text[: self.limit]


    def longest(text: str) -> int:
        return len(text)


    def shortest(text: str) -> int:
        return 1


    RULES = {"longest": longest, "both": [shortest]}
    bound = partial(longest)


    def words(text: str) -> list[str]:
        """Split it."""
        return [word for word in text.split() if word not in STOP]


    @numeric_metric(allowed_values=(0.0, 1.0))
    def half(text: str) -> float:
        return 0.5


    @numeric_metric(allowed_values=(0.0, 1.0))
    def mine(text: str, least: int = LEAST) -> float:
        """Say what it measures."""
        rules = [RULES["longest"], *RULES["both"], bound]
        kept = [Reader().read(word) for word in words(text) if not PATTERN.match(word)]
        return half(text) + WEIGHT * len(kept) * len(rules) / 1000
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Say what it measures."""', '"""Say it in other words."""'),
        ('"""Split it."""', ""),
        ("return half(text) + WEIGHT", "# a comment\n        return  half( text )+WEIGHT"),
        ("WEIGHT = 2", "WEIGHT = 2\n    UNUSED = 3"),
        ('{"a", "the"}', '{"the", "a"}'),
        ("import re\n", "import os\n    import re\n"),
    ],
    ids=["docstring", "helper's docstring", "comment and layout", "unused constant", "order of a set", "unused import"],
)
def test_a_fingerprint_does_not_change_with_what_computes_nothing(user_file: Callable[..., Path], old: str, new: str):
    before, after = fingerprints(user_file, old, new)
    assert before == after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("WEIGHT * len(kept)", "WEIGHT + len(kept)"),
        ("text: str, least: int", "text: str | None, least: int"),
        ("text.split()", 'text.split(",")'),
        ("WEIGHT = 2", "WEIGHT = 3"),
        ('{"a", "the"}', '{"a", "an"}'),
        ('"x" * 300 + "y"', '"x" * 300 + "z"'),
        ('"x" * 300 + "y"', '"x" * 300 + "y", re.IGNORECASE'),
        ("LEAST = 1", "LEAST = 2"),
        ("limit = 3", "limit = 4"),
        ("text[: self.limit]", "text[self.limit :]"),
        ("return len(text)", "return len(text) + 1"),
        ("return 1\n", "return 2\n"),
        ("return 0.5", "return 0.25"),
        ('"both": [shortest]', '"both": [longest]'),
        ("(0.0, 1.0))\n    def mine", "(0.0, 2.0))\n    def mine"),
        ("(0.0, 1.0))\n    def mine", '(0.0, 1.0), name="yours")\n    def mine'),
    ],
    ids=[
        "code", "annotation", "helper", "constant", "set", "long pattern", "flags of a pattern",
        "constant in a default", "attribute of a class", "method", "function in a table", "in a list in a table",
        "another metric", "table", "allowed values", "name",
    ],
)  # fmt: skip
def test_a_fingerprint_changes_with_whatever_computes(user_file: Callable[..., Path], old: str, new: str):
    before, after = fingerprints(user_file, old, new)
    assert before != after


def fingerprints(user_file: Callable[..., Path], old: str, new: str) -> tuple[str, str]:
    assert BEFORE.count(old) == 1
    user_file(BEFORE)
    before = load_metric("mine.py:mine").fingerprint
    user_file(BEFORE.replace(old, new))
    return before, load_metric("mine.py:mine").fingerprint


def test_a_fingerprint_changes_with_what_a_closure_holds():
    def fingerprint(least: int) -> str:
        return numeric_metric(name="made")(made_with(least)).fingerprint

    assert fingerprint(1) == fingerprint(1)
    assert fingerprint(1) != fingerprint(2)


def test_a_fingerprint_is_the_same_in_every_process(user_file: Callable[..., Path]):
    user_file(BEFORE)
    code = "from evalkit.scoring.load import load_metric; print(load_metric('mine.py:mine').fingerprint)"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed}, check=True, capture_output=True, text=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }  # fmt: skip
    assert seen == {load_metric("mine.py:mine").fingerprint}


def test_a_function_without_source_is_still_told_from_another():
    def typed_in(body: str) -> str:
        names: dict[str, object] = {}
        exec(f"def metric(x: str) -> float:\n    return {body}", names)
        return numeric_metric(name="typed")(names["metric"]).fingerprint  # type: ignore[arg-type]

    assert typed_in("len(x) / 9") == typed_in("len(x)  /  9")
    assert typed_in("len(x) / 9") != typed_in("len(x) / 8")
    assert typed_in("max(len(c) for c in x)") != typed_in("max(ord(c) for c in x)")
