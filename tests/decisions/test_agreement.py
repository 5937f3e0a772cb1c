"""Agreement: known answers by hand, scikit-learn's kappa, and the cases in which it is not defined."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from evalkit.cases.labels import Label
from evalkit.cases.settle import settle
from evalkit.decisions.agreement import agreement_of, cohen_kappa, krippendorff_alpha


def test_kappa_by_hand() -> None:
    # WiCE's counts of GPT-4 against people: 59 fail/fail, 19 fail/pass, 18 pass/pass, 4 pass/fail (human, judge).
    # observed (59 + 18) / 100 = 0.77; expected 0.78 * 0.63 + 0.22 * 0.37 = 0.5728; kappa 0.1972 / 0.4272 = 0.4616
    people = ["fail"] * 78 + ["pass"] * 22
    judge = ["fail"] * 59 + ["pass"] * 19 + ["pass"] * 18 + ["fail"] * 4
    found = cohen_kappa(judge, people)
    assert (found.n, found.agree, found.share) == (100, 77, 0.77)
    assert found.kappa == pytest.approx(0.1972 / 0.4272)
    assert (found.base_label, found.base_count) == ("fail", 78)


def test_kappa_is_scikit_learns() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.choice(["x", "y", "z"], 40).tolist(), rng.choice(["x", "y", "z"], 40).tolist()
        assert cohen_kappa(a, b).kappa == pytest.approx(cohen_kappa_score(a, b))


def test_j03_one_class_is_not_defined_rather_than_perfect_or_nan() -> None:
    found = cohen_kappa(["pass"] * 10, ["pass"] * 10)
    assert (found.kappa, found.note, found.share) == (None, "not defined: one class", 1.0)


def test_j03_high_agreement_low_kappa_and_the_constant_judge_beside_it() -> None:
    people = ["pass"] * 95 + ["fail"] * 5
    judge = ["fail"] * 1 + ["pass"] * 98 + ["fail"] * 1
    found = cohen_kappa(judge, people)
    assert (found.share, round(found.kappa or 0, 2), found.base_count) == (0.95, 0.26, 95)
    assert "only 5 of 100 rows have the rarer label" in found.note
    constant = cohen_kappa(["pass"] * 100, people)
    assert (constant.share, constant.kappa) == (0.95, 0.0)


def test_over_nothing_nothing_is_defined() -> None:
    found = cohen_kappa([], [])
    assert (found.share, found.kappa, found.note) == (None, None, "not defined: no row has both labels")
    assert krippendorff_alpha([]).note == "not defined: no case has two labels"
    assert krippendorff_alpha([["a"], ["b"]]).note == "not defined: no case has two labels"
    assert krippendorff_alpha([["a", "a"]]).note == "not defined: one class"


def test_alpha_by_hand() -> None:
    # Three cases, two labels each: (a, a), (b, b), (a, b). n = 6 labels, 3 a and 3 b.
    # observed disagreement: 2 of the 6 ordered pairs within cases = 1/3
    # expected: 2 * 3 * 3 / (6 * 5) = 18/30; alpha = 1 - (1/3) / (3/5) = 4/9
    found = krippendorff_alpha([["a", "a"], ["b", "b"], ["a", "b"], ["a"]])
    assert found.value == pytest.approx(4 / 9)
    assert (found.cases, found.labels) == (3, 6)


def test_alpha_on_an_interval_scale_by_hand() -> None:
    # (1, 1), (2, 3): observed (0 + 0 + 1 + 1) / 4 = 1/2; pairs over all of {1, 1, 2, 3}: ordered squared
    # differences 2 * (0 + 1 + 4 + 1 + 4 + 1) = 22 over 4 * 3 = 12; alpha = 1 - 0.5 / (22 / 12) = 8/11
    assert krippendorff_alpha([[1, 1], [2, 3]], is_interval=True).value == pytest.approx(8 / 11)
    assert krippendorff_alpha([["a", "b"]], is_interval=True).note == "not defined: the labels are no numbers"


def test_only_independent_blind_labels_are_compared() -> None:
    labels = [
        Label(1, "a", "pass", "r1"), Label(2, "a", "fail", "r2"), Label(3, "a", "fail", "adjudication"),
        Label(4, "b", "pass", "r1"), Label(5, "b", "pass", "r2", blind=False),
        Label(6, "c", "pass", "r1"), Label(7, "c", "pass", "r2"),
        Label(8, "d", "fail", "r1"), Label(9, "d", "pass", "r3"),
    ]  # fmt: skip
    found = agreement_of(settle(labels).values())
    assert (found.pairs_agreeing, found.pairs_compared, found.share) == (1, 3, 1 / 3)
    assert (found.seen_labels, found.adjudicated, found.conflicts) == (1, 1, 1)
    assert [(pair.first, pair.second, pair.kappa.n) for pair in found.pairs] == [("r1", "r2", 2), ("r1", "r3", 1)]


def test_facts_are_plain_and_hold_no_number_for_what_is_not_defined() -> None:
    facts = agreement_of(settle([Label(1, "a", "pass", "r1")]).values()).facts()["human_human"]
    assert facts["share"] is None
    assert facts["alpha_nominal"]["value"] is None
    assert cohen_kappa([], []).facts()["constant_baseline"]["kappa"] is None
