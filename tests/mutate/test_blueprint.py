"""A metric built again in a copy of its module: the same behaviour, and nothing of the module touched."""

from __future__ import annotations

import dataclasses
import sys

import pytest

from evalkit.contract import EvalkitError
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.mutate.blueprint import Versions, blueprint_of
from evalkit.mutate.plant import plant
from evalkit.scoring.load import load_metric

WEB = '''
    """A metric with everything around it that people write."""
    import functools
    import re
    from dataclasses import dataclass

    from evalkit.contract import InvalidRow, MetricResult, numeric_metric

    STOP = {"the", "a"}
    LIMIT = 3
    WORD = re.compile(r"[a-z]+")
    SEEN = {}
    RULES = []


    def rule(function):
        RULES.append(function)
        return function


    @rule
    def not_blank(text):
        return bool(text.strip())


    @rule
    def is_short(text):
        return len(text.split()) <= LIMIT


    @functools.lru_cache(maxsize=None)
    def words(text):
        return tuple(word for word in WORD.findall(text.lower()) if word not in STOP)


    lengths = {"words": lambda text: len(words(text))}


    @dataclass
    class Pair:
        answer: tuple
        reference: tuple

        @property
        def shared(self):
            return len(set(self.answer) & set(self.reference))


    def make(floor):
        @numeric_metric()
        def overlap(answer: str, reference: str) -> MetricResult:
            if not all(check(answer) for check in RULES):
                raise InvalidRow("answer breaks a rule")
            SEEN[answer] = True
            value = Pair(words(answer), words(reference)).shared / lengths["words"](reference)
            return MetricResult(value if value > floor else 0.0, f"row {len(SEEN)}")

        return overlap


    overlap = make(0.25)


    def unrelated():
        raise RuntimeError("never called")
'''


@pytest.fixture
def web(user_file):
    return load_metric(f"{user_file(WEB)}:overlap")


def test_everything_that_the_metric_reaches_is_a_unit_the_metric_first(web):
    names = [unit.name for unit in blueprint_of(web).units]
    assert names[0] == "make.overlap"
    assert set(names[1:]) == {
        "not_blank", "is_short", "words", "lengths", "Pair.shared", "LIMIT", "STOP", "WORD", "SEEN", "RULES", "overlap",
    }  # fmt: skip


def test_built_without_a_change_it_gives_the_same(web):
    again = blueprint_of(web).build()
    row = {"answer": "red car", "reference": "the red bus"}
    assert again.function is not web.function
    assert again.measure(row) == web.measure(row)
    assert again.measure({"answer": " ", "reference": "x"}).reason == "answer breaks a rule"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 3", "LIMIT = 2"),  # a constant of the module
        ("overlap = make(0.25)", "overlap = make(0.26)"),  # what the closure holds
        ("return len(set(self.answer) & set(self.reference))", "return len(set(self.answer) - set(self.reference))"),
        ("return bool(text.strip())", "return None"),  # a function in a register
        ("return bool(text.strip())", "return bool(text)"),  # and the register holds no old one beside it
        ("return len(text.split()) <= LIMIT", "return len(text.split()) < LIMIT"),
        ('STOP = {"the", "a"}', 'STOP = {"", "a"}'),
        ('WORD = re.compile(r"[a-z]+")', 'WORD = re.compile("")'),
    ],
)
def test_a_change_anywhere_reaches_the_metric(web, before, after):
    planting = plant(web)
    planted = next(m for m in planting.mutants if m.diff == f"- {before}\n+ {after}")
    rows = [
        {"answer": "red car x", "reference": "the red bus"},
        {"answer": "b", "reference": "the b c d"},
        {"answer": "b", "reference": "b c d e"},
        {"answer": "red car", "reference": "the the the red"},
        {"answer": " ", "reference": "x"},
        {"answer": "b", "reference": " ".join("bcdefghijkl"[:4])},
    ]
    original, mutant = planting.blueprint.build(), planting.blueprint.build(planted.change)
    kept = [original.measure(row)[:3] != mutant.measure(row)[:3] for row in rows]
    if before.startswith("overlap = make"):
        # 0.25 < v <= 0.26 is a score of 6/23: no row above has it
        row = {"answer": "b", "reference": "b c"}
        assert original.measure(row).value == mutant.measure(row).value == 0.5
    else:
        assert any(kept)


def test_each_building_starts_with_fresh_containers_and_caches(web):
    blueprint = blueprint_of(web)
    row = {"answer": "red car", "reference": "the red bus"}
    assert [blueprint.build().measure(row).reason for _ in range(3)] == ["row 1"] * 3


NESTED = """
    from evalkit.contract import MetricResult, numeric_metric

    LOADED = []

    def load():
        LOADED.append(1)
        return {"a"}

    WORDS = load()
    if True:
        SEEN = {}

    @numeric_metric()
    def share(n: int) -> MetricResult:
        SEEN[n] = True
        WORDS.add(str(n))
        return MetricResult(0.5, f"{len(SEEN)} {len(WORDS)}")
"""


def test_a_container_is_fresh_wherever_it_is_made_and_nothing_is_loaded_again(user_file):
    metric = load_metric(f"{user_file(NESTED)}:share")
    blueprint = blueprint_of(metric)
    assert [blueprint.build().measure({"n": 1}).reason for _ in range(2)] == ["1 2", "1 2"]
    assert metric.function.__globals__["LOADED"] == [1]
    assert metric.function.__globals__["WORDS"] == {"a"}


def test_the_module_is_the_same_before_and_after(web):
    names = web.function.__globals__
    before, modules, path = dict(names), set(sys.modules), list(sys.meta_path)
    insides = repr({name: names[name] for name in ("STOP", "SEEN", "RULES", "LIMIT")})
    planting = plant(web)
    for planted in planting.mutants[:20]:
        planting.blueprint.build(planted.change).measure({"answer": "red car", "reference": "the red bus"})
    assert all(names[name] is value for name, value in before.items())
    assert set(names) == set(before)
    assert repr({name: names[name] for name in ("STOP", "SEEN", "RULES", "LIMIT")}) == insides
    assert {name.partition(".")[0] for name in set(sys.modules) - modules} <= {"numpy"}
    assert sys.meta_path == path


def test_the_lines_of_an_error_are_those_of_the_file(user_file):
    source = """
        from evalkit.contract import numeric_metric

        @numeric_metric()
        def share(n: int) -> float:
            if n > 0:
                return 1.0
            return helper(n)


        def helper(n):
            return 1 / n
    """
    metric = load_metric(f"{user_file(source)}:share")
    original = metric.measure({"n": 0})
    assert blueprint_of(metric).build().measure({"n": 0}) == original
    assert "line 12, in helper" in original.reason


THEIRS = """
from evalkit.contract import numeric_metric

@numeric_metric()
def share(n: int) -> float:
    return n / 2
"""


def test_a_contract_that_was_attached_in_another_file_stays(user_file):
    user_file(THEIRS, "theirs.py")
    ours = user_file(
        """
        from evalkit.contract import Contract, attach
        from theirs import share as theirs
        share = attach(theirs, Contract(version="7", measures="m", reviewed=(), produced=("n",),
                                        invalid_when=("never",), consumed_by="us", cannot_establish="much"))
        """
    )
    metric = load_metric(f"{ours}:share")
    planting = plant(metric)
    halves = next(m for m in planting.mutants if m.diff.endswith("return n / 3"))
    assert planting.blueprint.build().version == "7"
    assert planting.blueprint.build(halves.change).measure({"n": 1}).value == pytest.approx(1 / 3)


def test_code_without_a_file_is_refused():
    names: dict = {"__name__": "prompt"}
    source = (
        "from evalkit.contract import numeric_metric\n@numeric_metric()\ndef typed(n: int) -> float:\n    return 1.0\n"
    )
    exec(compile(source, "<stdin>", "exec"), names)
    with pytest.raises(EvalkitError, match=r"source of typed cannot be read.*'<stdin>'; save the metric in a .py file"):
        blueprint_of(names["typed"])


def test_a_c_extension_is_refused():
    with pytest.raises(EvalkitError, match="has no Python function behind it"):
        blueprint_of(dataclasses.replace(evidence_coverage, function=len))


def test_a_metric_without_a_name_of_its_own_is_refused(user_file):
    source = """
        from evalkit.contract import numeric_metric

        def make():
            @numeric_metric()
            def share(n: int) -> float:
                return 1.0
            return share

        class Box:
            metric = make()
    """
    metric = load_metric(f"{user_file(source)}:Box.metric")
    with pytest.raises(EvalkitError, match="assign it to a name at the top level"):
        blueprint_of(metric)


def test_s35_a_mutant_of_a_prepared_metric_is_measured_behind_its_hooks():
    def lower(supported_claim_ids: list[str]) -> list[str]:
        return [claim.lower() for claim in supported_claim_ids]

    metric = load_metric("evidence_coverage").prepared(supported_claim_ids=lower)
    row = {"required_claim_ids": ["a"], "supported_claim_ids": ["A"]}
    blueprint = blueprint_of(metric)
    assert Versions(metric).measure(blueprint.function())(row).value == blueprint.build().measure(row).value == 1.0
