"""Ids that last, and mutants that differ."""

from __future__ import annotations

from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.mutate.plant import plant
from evalkit.scoring.load import load_metric

SOURCE = """
from evalkit.contract import InvalidRow, numeric_metric


def half(n):
    return n / 2


@numeric_metric()
def share(n: int) -> float:
    if n < 0:
        raise InvalidRow("negative")
    if n > 2:
        raise InvalidRow("too many")
    return half(n)
"""


def ids(user_file, source: str) -> list[str]:
    return [mutant.id for mutant in plant(load_metric(f"{user_file(source)}:share")).mutants]


def test_ids_stay_while_unrelated_lines_move(user_file):
    before = ids(user_file, SOURCE)
    moved = SOURCE.replace("def half", "# a comment\n\nUNUSED = 3\n\n\ndef half")
    assert ids(user_file, moved) == before


def test_ids_stay_when_the_statement_is_laid_out_anew(user_file):
    before = ids(user_file, SOURCE)
    laid_out = SOURCE.replace("return half(n)", "return (  # all of it\n        half(n)\n    )")
    assert ids(user_file, laid_out) == before
    assert ids(user_file, SOURCE.replace("n / 2", "n  /  2")) == before


def test_an_edited_statement_has_new_ids_and_the_others_keep_theirs(user_file):
    before, after = ids(user_file, SOURCE), ids(user_file, SOURCE.replace("n / 2", "n / 4"))
    assert not {name for name in before if name.startswith("half:")} & set(after)
    assert [name for name in before if name.startswith("share:")] == [n for n in after if n.startswith("share:")]


def test_equal_statements_under_different_guards_have_different_ids(user_file):
    same = SOURCE.replace('InvalidRow("too many")', 'InvalidRow("negative")')
    raised = [name for name in ids(user_file, same) if ":exception_message:" in name]
    assert len(raised) == len(set(raised)) == 2
    # Without the first guard, the second keeps the id that it had: a review never passes on to another statement.
    rest = same.replace('    if n < 0:\n        raise InvalidRow("negative")\n', "")
    assert [name for name in ids(user_file, rest) if ":exception_message:" in name] == raised[1:]


def test_no_two_mutants_are_the_same_and_none_is_the_original():
    planting = plant(evidence_coverage)
    texts = [(m.change.chunk, m.diff, m.line) for m in planting.mutants]
    assert len(set(texts)) == len(texts)
    assert len({m.id for m in planting.mutants}) == len(planting.mutants)


def test_the_metric_comes_first_each_function_in_the_order_of_its_text():
    mutants = plant(evidence_coverage).mutants
    wheres = [m.where for m in mutants]
    assert list(dict.fromkeys(wheres)) == ["evidence_coverage", "_claim_ids"]
    lines = [m.line for m in mutants if m.where == "_claim_ids"]
    assert lines == sorted(lines)


def test_what_found_nothing_to_change_is_named():
    idle = [operator.name for operator in plant(evidence_coverage).idle]
    assert idle == ["number", "truth", "label", "deletion", "off_by_one", "default"]


def test_the_diff_shows_the_lines_of_the_author():
    mutants = plant(evidence_coverage).mutants
    diffs = [m.diff for m in mutants if m.operator.name == "numerator"]
    assert diffs == [
        "- value=len(supported) / len(required),\n+ value=len(required) / len(required),",
    ]
    whole = [m.diff for m in mutants if m.operator.name == "guard" and m.line == 62]
    assert whole == [
        '- if not required:\n-     msg = "required_claim_ids must not be empty"\n-     raise InvalidRow(msg)\n+ pass'
    ]


def test_a_default_is_changed(user_file):
    source = """
        from evalkit.contract import numeric_metric

        @numeric_metric()
        def share(n: int, of: int = 4) -> float:
            return n / of
    """
    planting = plant(load_metric(f"{user_file(source)}:share"))
    changed = {m.diff.split("+ ")[1]: m for m in planting.mutants if m.operator.name == "default"}
    assert list(changed) == [f"def share(n: int, of: int = {n}) -> float:" for n in (5, 3)]
    measure = planting.blueprint.build(changed["def share(n: int, of: int = 5) -> float:"].change).measure
    assert (measure({"n": 1}).value, measure({"n": 1, "of": 4}).value) == (0.2, 0.25)
