"""Each slip that people make in metrics as a table: what stands there -> all that it becomes."""

from __future__ import annotations

import pytest

from evalkit.mutate.site import Facts
from evalkit.mutate.slips import SLIPS

IDS = Facts(
    inputs=(("x", "list of str"), ("y", "list of str")), reviewed=("x",), produced=("y",), calls=frozenset({"len"})
)
TEXT = Facts(inputs=(("x", "str"),), reviewed=("x",))
PERCENT = Facts(worst="0.0", best="100.0")
CENTRED = Facts(worst="-1.0", best="1.0")
LABELS = Facts(kind="discrete", worst="'fail'", best="'pass'", labels=("pass", "fail"))

TABLE = [
    # counts
    ("numerator", "return len(x) / len(y)", ["return len(y) / len(y)"]),
    ("denominator", "return len(x) / len(y)", ["return len(x) / len(x)"]),
    ("denominator", "return (a + b) / 2", ["return (a + b) / (a + b)"]),
    ("set_operation", "z = x - y", ["z = x & y", "z = x | y", "z = x ^ y"]),
    ("set_operation", "z = x & y", ["z = x - y", "z = x | y", "z = x ^ y"]),
    ("set_operation", "z = x | y", ["z = x - y", "z = x & y", "z = x ^ y"]),
    ("set_operation", "z = x ^ y", ["z = x - y", "z = x & y", "z = x | y"]),
    ("set_operation", "z = x.difference(y)",
     ["z = x.intersection(y)", "z = x.union(y)", "z = x.symmetric_difference(y)"]),
    # guards
    ("guard", "if not x:\n    raise ValueError('empty')\nreturn 1", ["pass\nreturn 1"]),
    ("guard", "if not x:\n    return 0.0\nreturn 1", ["pass\nreturn 1"]),
    ("guard", "if x:\n    y = 1\nelif y:\n    return 2\nreturn 3", ["if x:\n    y = 1\n\nreturn 3"]),
    ("guard", "if x:\n    return 1\nelse:\n    return 2", []),
    ("guard", "for i in x:\n    if not i:\n        continue\n    y = i", ["for i in x:\n    pass\n    y = i"]),
    ("guard", "return x / y if y else 0.0", ["return x / y", "return 0.0"]),
    ("guard", "z = x or 'none'", ["z = x"]),
    ("guard", "if x or y:\n    z = 1", []),
    ("guard", "z = [i for i in x if i]", ["z = [i for i in x if True]"]),
    # texts
    ("normalise_less", "z = x.strip()", ["z = x"]),
    ("normalise_less", "z = x.strip().lower()", ["z = x.strip()", "z = x.lower()"]),
    ("normalise_less", "z = (x + y).casefold()", ["z = (x + y)"]),
    ("normalise_less", "z = x.split()", []),
    # refusals
    ("swallow", "if not x:\n    raise ValueError('empty')\nreturn 1",
     ["try:\n    if not x:\n        raise ValueError('empty')\n    return 1\nexcept Exception:\n    return 0.0",
      "try:\n    if not x:\n        raise ValueError('empty')\n    return 1\nexcept Exception:\n    return 1.0",
      "if not x:\n    return 0.0\nreturn 1",
      "if not x:\n    return 1.0\nreturn 1"]),
    # the score
    ("clamp", "return x / y", ["return min(max(x / y, 0.0), 1.0)"]),
    ("clamp", "return MetricResult(x / y, 'why')", ["return MetricResult(min(max(x / y, 0.0), 1.0), 'why')"]),
    ("round", "return x / y", ["return round(x / y, 2)"]),
    ("percentage", "return x / y", ["return (x / y) * 100"]),
    ("returns_bool", "return x / y", ["return bool(x / y)"]),
    ("numpy_scalar", "return x / y", ["return numpy.float32(x / y)"]),
    ("complement", "return x / y", ["return 1.0 - (x / y)"]),
    # the evidence
    ("reason_thinned", "z = f'{x} of {y!r:>5}'", ["z = f' of {y!r:>5}'", "z = f'{x} of '"]),
    ("reason_thinned", "z = f'{{x}} {x}'", ["z = f'{{x}} '"]),
    ("detail_dropped", "return MetricResult(1.0, detail={'a': x, 'b': [y, 1]})",
     ["return MetricResult(1.0, detail={})",
      "return MetricResult(1.0, detail={'b': [y, 1]})",
      "return MetricResult(1.0, detail={'a': x})"]),
    ("detail_dropped", "return MetricResult(1.0)", []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "original", "expected"), TABLE)
def test_slip(mutants_of, name: str, original: str, expected: list[str]) -> None:
    assert mutants_of(name, original) == expected


ENTRIES = [
    ("deduplicate", IDS, ["x = list(dict.fromkeys(x))", "y = list(dict.fromkeys(y))"]),
    ("normalise_more", IDS, ["x = [item.strip() for item in x]", "x = [item.casefold() for item in x]",
                             "y = [item.strip() for item in y]", "y = [item.casefold() for item in y]"]),
    ("normalise_more", TEXT, ["x = x.strip()", "x = x.casefold()"]),
    ("empty_is_best", IDS, ["if not x:\n    return 1.0", "if not y:\n    return 1.0"]),
    ("inputs_exchanged", IDS, ["x, y = y, x"]),
    ("inputs_exchanged", TEXT, []),
]  # fmt: skip


@pytest.mark.parametrize(("name", "facts", "lines"), ENTRIES)
def test_slip_at_the_entry(mutants_of, name: str, facts: Facts, lines: list[str]) -> None:
    body = '"""What it measures."""\nreturn 1.0'
    expected = [f'"""What it measures."""\n{line}\nreturn 1.0' for line in lines]
    assert mutants_of(name, body, facts=facts) == expected
    assert mutants_of(name, body, facts=facts, is_own=False) == []


def test_the_produced_count_becomes_the_denominator(mutants_of) -> None:
    expected = ["return len(y) / len(y)"]  # numerator's count, and the produced input's, are the same text here
    assert mutants_of("denominator", "return len(y) / len(x)", facts=IDS) == expected
    assert mutants_of("denominator", "return hits / len(x)", facts=IDS) == [
        "return hits / hits",
        "return hits / len(y)",
    ]


def test_a_metric_that_strips_gets_no_strip_added(mutants_of) -> None:
    facts = Facts(inputs=(("x", "str"),), calls=frozenset({"strip", "lower"}))
    assert mutants_of("normalise_more", "return x.strip().lower()", facts=facts) == []


def test_a_percentage_becomes_a_ratio(mutants_of) -> None:
    assert mutants_of("percentage", "return x", facts=PERCENT) == ["return (x) / 100"]
    assert mutants_of("percentage", "return x", facts=Facts(best="5")) == []


def test_the_complement_in_another_range(mutants_of) -> None:
    assert mutants_of("complement", "return x", facts=CENTRED) == ["return -1.0 + 1.0 - (x)"]


@pytest.mark.parametrize("name", ["clamp", "round", "percentage", "returns_bool", "numpy_scalar", "complement"])
def test_a_label_is_not_a_number(mutants_of, name: str) -> None:
    assert mutants_of(name, "return 'pass'", facts=LABELS) == []


def test_a_refusal_becomes_a_label(mutants_of) -> None:
    body = "x = '''two\nlines'''\nraise ValueError(x)"  # moving such lines would change the text: no try around them
    changed = mutants_of("swallow", body, facts=LABELS)
    assert [line.split("\n")[-1].strip() for line in changed] == ["return 'fail'", "return 'pass'"]


def test_every_slip_is_in_a_table() -> None:
    assert {slip.name for slip in SLIPS} == {name for name, _, _ in TABLE} | {name for name, _, _ in ENTRIES}
