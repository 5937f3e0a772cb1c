"""Which statements of a module run again when one of them changes."""

from __future__ import annotations

import pytest

from evalkit.mutate.module import ModuleText

RULES = """\
import re
RULES = []
HEAVY = open("never run again")
def rule(f):
    RULES.append(f)
    return f
@rule
def blank(t):
    return not t
def other(t):
    return t
LIMIT = 3
DOUBLE = LIMIT * 2
def metric(t: str) -> float:
    return all(r(t) for r in RULES)
strict = metric
strict.mark = 1
"""


def run(source: str, *names: str, fresh: tuple[str, ...] = ()) -> list[str]:
    module = ModuleText(source, "their.py")
    start = [module.binding(name) for name in names]
    return [sorted(module.chunks[i].binds)[0] for i in module.affected(start, fresh)]


def test_what_reads_a_changed_name_runs_again_and_nothing_else():
    assert run(RULES, "LIMIT") == ["LIMIT", "DOUBLE"]


def test_what_is_done_to_a_changed_object_is_done_again():
    assert run(RULES, "metric") == ["metric", "strict", "strict"]


def test_a_register_is_built_anew_with_its_decorator():
    # `blank` is registered by the module's own decorator, which writes into RULES.
    assert run(RULES, "metric", "blank", fresh=("RULES",)) == ["RULES", "rule", "blank", "metric", "strict", "strict"]


def test_what_costs_something_is_not_run_for_a_fresh_container():
    assert run("WORDS = set(open('words').read())\nNAMES = {'a'}", fresh=("WORDS", "NAMES")) == ["NAMES"]


def test_imports_never_run_again():
    assert run("import re\nP = re.compile('a')", "re") == []


def test_a_name_that_is_bound_twice_is_bound_twice_again():
    assert run("A = 1\nB = 2\nA = A + 1", "A") == ["A", "A"]


def test_what_replaces_a_name_runs_after_what_made_it():
    module = ModuleText("def f(): pass\nf = len\ng = 1\n", "their.py")
    assert module.affected([0], ()) == [0, 1]


def test_statements_that_share_a_line_stay_together():
    module = ModuleText("a = 1; b = 2\nc = 3", "their.py")
    assert [sorted(chunk.binds) for chunk in module.chunks] == [["a", "b"], ["c"]]


def test_code_keeps_the_lines_of_the_file():
    module = ModuleText("a = 1\n\n\ndef f():\n    raise ValueError\n", "their.py")
    names: dict = {}
    exec(module.compile(1), names)
    assert names["f"].__code__.co_firstlineno == 4
    assert names["f"].__code__.co_filename == "their.py"


def test_a_changed_text_must_be_python():
    with pytest.raises(SyntaxError):
        ModuleText("a = 1", "their.py").compile(0, "a = = 1")


def test_future_annotations_are_kept():
    module = ModuleText("from __future__ import annotations\ndef f(x: Unknown): pass\n", "their.py", flags=0x1000000)
    names: dict = {}
    exec(module.compile(1), names)
    assert names["f"].__annotations__ == {"x": "Unknown"}
