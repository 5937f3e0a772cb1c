"""Each general operator as a table: what stands there -> all that it becomes."""

from __future__ import annotations

import pytest

from evalkit.mutate.operators import GENERAL
from evalkit.mutate.site import Facts
from evalkit.mutate.slips import SLIPS

LABELS = Facts(kind="discrete", worst="'fail'", best="'pass'", labels=("pass", "fail", "review"))

TABLE = [
    # arithmetic
    ("arithmetic", "y = x + 1", ["y = x - 1"]),
    ("arithmetic", "y = x - 1", ["y = x + 1"]),
    ("arithmetic", "y = (x + 1) * 2", ["y = (x + 1) / 2", "y = (x - 1) * 2"]),
    ("arithmetic", "y = x / 2", ["y = x * 2"]),
    ("arithmetic", "y = x // 2", ["y = x / 2"]),
    ("arithmetic", "y = x % 2", ["y = x * 2"]),
    ("arithmetic", "y = x ** 2", ["y = x * 2"]),
    ("arithmetic", "x += 1", ["x -= 1"]),
    ("arithmetic", "y = x", []),
    # comparison
    ("comparison", "y = x < 1", ["y = x <= 1"]),
    ("comparison", "y = x <= 1", ["y = x < 1"]),
    ("comparison", "y = x > 1", ["y = x >= 1"]),
    ("comparison", "y = x >= 1", ["y = x > 1"]),
    ("comparison", "y = x == 1", ["y = x != 1"]),
    ("comparison", "y = x != 1", ["y = x == 1"]),
    ("comparison", "y = x in (1, 2)", ["y = x not in (1, 2)"]),
    ("comparison", "y = x not  in (1, 2)", ["y = x in (1, 2)"]),
    ("comparison", "y = x is None", ["y = x is not None"]),
    ("comparison", "y = x is not None", ["y = x is None"]),
    ("comparison", "y = 0 <= x < 1", ["y = 0 < x < 1", "y = 0 <= x <= 1"]),
    ("comparison", "y = (x) < (1)", ["y = (x) <= (1)"]),
    # negation
    ("negation", "if x:\n    y = 1", ["if not x:\n    y = 1"]),
    ("negation", "if not x:\n    y = 1", ["if x:\n    y = 1"]),
    ("negation", "if x < 1:\n    y = 1", ["if not (x < 1):\n    y = 1"]),
    ("negation", "if x == 1:\n    y = 1", []),  # the operator `comparison` does this one
    ("negation", "if not (x or y):\n    y = 1", ["if (x or y):\n    y = 1"]),
    ("negation", "if (y := x):\n    pass", ["if (not (y := x)):\n    pass"]),
    ("negation", "while x.more():\n    y = 1", ["while not x.more():\n    y = 1"]),
    ("negation", "y = 1 if x else 2", ["y = 1 if not x else 2"]),
    ("negation", "y = [i for i in x if i]", ["y = [i for i in x if not i]"]),
    ("negation", "y = not x", ["y = x"]),
    ("negation", "assert x", ["assert not x"]),
    # and, or
    ("and_or", "y = x and y", ["y = x or y"]),
    ("and_or", "y = x or y", ["y = x and y"]),
    ("and_or", "y = (x and y and 1)", ["y = (x or y or 1)"]),
    ("and_or", "y = x and (y or 1)", ["y = x or (y or 1)", "y = x and (y and 1)"]),
    # numbers and truth values
    ("number", "y = 3", ["y = 4", "y = 2"]),
    ("number", "y = 0.85", ["y = 0.86", "y = 0.84"]),
    ("number", "y = 12.5", ["y = 13.5", "y = 11.5"]),
    ("number", "y = -1", ["y = -2", "y = -0"]),
    ("number", "y = True", []),
    ("truth", "y = True", ["y = False"]),
    ("truth", "y = False", ["y = True"]),
    # texts
    ("string", "y = 'none'", ["y = ''"]),
    ("string", 'y = ""', ['y = "mutated"']),
    ("string", "y = r'\\d+'", ["y = ''"]),
    ("string", "y = f'{x} of {y}'", ["y = ''"]),
    ("string", "y = f\"{x} of {','.join(y)}\"", ['y = ""', "y = f\"{x} of {''.join(y)}\""]),
    ("string", '"""What it does."""\ny = 1', []),
    ("string", "return MetricResult(1.0, 'why', detail={'missing': x})",
     ["return MetricResult(1.0, '', detail={'missing': x})"]),
    # what is returned
    ("boundary", "return x", ["return 0.0", "return 1.0"]),
    ("boundary", "return MetricResult(value=x, reason='')",
     ["return MetricResult(value=0.0, reason='')", "return MetricResult(value=1.0, reason='')"]),
    ("boundary", "return 0.0", ["return 1.0"]),
    ("boundary", "return", []),
    # statements
    ("deletion", "x.sort()", ["pass"]),
    ("deletion", "x += 1", ["pass"]),
    ("deletion", "x = x.strip()", ["pass"]),
    ("deletion", "z = x", []),  # it would merely make z unknown
    ("deletion", "z = x\nz = y", ["z = x\npass"]),
    ("deletion", "if x:\n    z = 1\nif y:\n    z = 2", []),
    ("deletion", "x['a'] = 1", ["pass"]),
    ("deletion", "for i in x:\n    break", ["for i in x:\n    continue"]),
    ("deletion", "for i in x:\n    continue", ["for i in x:\n    break"]),
    ("deletion", "raise ValueError('x')", ["pass"]),
    ("deletion", "if x:\n    raise ValueError('x')", []),  # the slip `guard` does this one
    ("deletion", '"""What it does."""\nx.sort()', ['"""What it does."""\npass']),
    # slices and indexes
    ("off_by_one", "y = x[:y]", ["y = x[:y + 1]", "y = x[:y - 1]"]),
    ("off_by_one", "y = x[a + b]", ["y = x[(a + b) + 1]", "y = x[(a + b) - 1]"]),
    ("off_by_one", "y = x['key']", []),
    ("number", "y = x[1:]", ["y = x[2:]", "y = x[0:]"]),
    # order
    ("order", "y = sorted(x)", ["y = list(x)", "y = sorted(x, reverse=True)"]),
    ("order", "y = sorted(x, key=len)", ["y = list(x)", "y = sorted(x, key=len, reverse=True)"]),
    ("order", "y = sorted(x, reverse=True)", ["y = list(x)"]),
    ("order", "y = reversed(x)", ["y = list(x)"]),
    # opposites
    ("opposite", "y = max(x, y)", ["y = min(x, y)"]),
    ("opposite", "y = all(x)", ["y = any(x)"]),
    ("opposite", "y = x.startswith('a')", ["y = x.endswith('a')"]),
    # arguments
    ("swap", "y = f(x, y)", ["y = f(y, x)"]),
    ("swap", "y = f(x, y, 1)", ["y = f(y, x, 1)"]),
    ("swap", "y = max(x, y)", []),
    ("swap", "y = f(*x, y)", []),
    ("swap", "y = f(x, x)", []),
    # exceptions
    ("exception_type", "raise InvalidRow(x)", ["raise RuntimeError(x)"]),
    ("exception_type", "raise ValueError", ["raise RuntimeError"]),
    ("exception_type", "raise KeyError(x)", ["raise ValueError(x)"]),
    ("exception_type", "raise", []),
    ("exception_message", "raise ValueError(f'no {x}')", ['raise ValueError("")']),
    ("exception_message", "raise ValueError", []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "original", "expected"), TABLE)
def test_operator(mutants_of, name: str, original: str, expected: list[str]) -> None:
    assert mutants_of(name, original) == expected


def test_label_becomes_each_other_label(mutants_of) -> None:
    assert mutants_of("label", "return 'pass'", facts=LABELS) == ["return 'fail'", "return 'review'"]
    assert mutants_of("string", "return 'pass'", facts=LABELS) == []


def test_a_discrete_metric_returns_each_label(mutants_of) -> None:
    assert mutants_of("boundary", "return x", facts=LABELS) == ["return 'pass'", "return 'fail'", "return 'review'"]


def test_a_helper_returns_nothing(mutants_of) -> None:
    assert mutants_of("boundary", "return x", is_own=False) == ["return None"]


def test_a_function_inside_the_metric_does_not_hand_over_the_score(mutants_of) -> None:
    body = "def inner():\n    return x\nreturn inner()"
    assert mutants_of("boundary", body) == [body.replace("return inner()", f"return {end}") for end in ("0.0", "1.0")]


def test_a_default_is_changed_under_its_own_name(mutants_of) -> None:
    changed = mutants_of("number", "return x", head="def metric(x, y: int = 3):")
    assert changed == ["return x", "return x"]  # the head changed, the body did not


def test_brackets_comments_and_lines_of_the_author_stay(mutants_of) -> None:
    body = "y = (\n    x  # the counted ones\n    + 1\n)"
    assert mutants_of("arithmetic", body) == [body.replace("+", "-")]


def test_positions_are_right_beyond_ascii(mutants_of) -> None:
    assert mutants_of("comparison", "y = 'ü返金' < x") == ["y = 'ü返金' <= x"]
    assert mutants_of("and_or", "y = f'ü {x or 1}'") == ["y = f'ü {x and 1}'"]


def test_annotations_are_not_mutated(mutants_of) -> None:
    assert mutants_of("string", "y: Literal['a'] = x", head="def metric(x: 'list[str]') -> 'float':") == []


def test_every_operator_has_a_name_of_its_own_and_one_line() -> None:
    operators = (*SLIPS, *GENERAL)
    assert len({operator.name for operator in operators}) == len(operators)
    assert all(operator.name.isidentifier() and "\n" not in operator.description for operator in operators)


def test_every_general_operator_is_in_the_table() -> None:
    assert {operator.name for operator in GENERAL} == {name for name, _, _ in TABLE} | {"label"}
