"""From several labels to one per case: what settles a case, what stays a conflict, what is stale."""

from __future__ import annotations

import pytest

from evalkit.cases.labels import Label
from evalkit.cases.settle import settle
from evalkit.contract import EvalkitError

OLD, NEW = "sha256:" + "0" * 64, "sha256:" + "1" * 64


def test_one_reviewer_is_single_and_two_who_agree_are_an_agreement() -> None:
    labels = [Label(1, "a", "pass", "r1"), Label(2, "b", "pass", "r1"), Label(3, "b", "pass", "r2")]
    found = settle(labels)
    assert (found["a"].label, found["a"].how) == ("pass", "single")
    assert (found["b"].label, found["b"].how, found["b"].lines) == ("pass", "agreement", (2, 3))


def test_two_against_one_is_a_conflict_and_no_majority() -> None:
    labels = [Label(i, "a", word, f"r{i}") for i, word in enumerate(["pass", "pass", "fail"], 1)]
    found = settle(labels)["a"]
    assert (found.label, found.how) == (None, "conflict")


def test_adjudication_settles_a_conflict_and_keeps_every_label() -> None:
    labels = [Label(1, "a", "pass", "r1"), Label(2, "a", "fail", "r2"), Label(3, "a", "fail", "adjudication")]
    found = settle(labels)["a"]
    assert (found.label, found.how, len(found.labels)) == ("fail", "adjudication", 3)


def test_a_superseded_label_no_longer_disagrees() -> None:
    labels = [Label(1, "a", "pass", "r1"), Label(2, "a", "fail", "r2"), Label(3, "a", "pass", "r2", supersedes=2)]
    assert settle(labels)["a"].how == "agreement"


def test_a_label_of_another_answer_is_stale_and_never_settles() -> None:
    labels = [Label(1, "a", "pass", "r1", seen_hash=OLD), Label(2, "a", "fail", "r2", seen_hash=NEW)]
    found = settle(labels, seen={"a": NEW})["a"]
    assert (found.label, found.how, len(found.stale)) == ("fail", "single", 1)
    gone = settle(labels[:1], seen={"a": NEW})["a"]
    assert (gone.label, gone.how) == (None, "stale")


def test_a_stale_adjudication_does_not_settle_what_is_shown_now() -> None:
    labels = [
        Label(1, "a", "pass", "r1", seen_hash=NEW),
        Label(2, "a", "fail", "r2", seen_hash=NEW),
        Label(3, "a", "fail", "adjudication", seen_hash=OLD),
    ]
    assert settle(labels, seen={"a": NEW})["a"].how == "conflict"


def test_a_label_that_names_no_hash_counts_but_is_not_bound() -> None:
    found = settle([Label(1, "a", "pass", "r1")], seen={"a": NEW})["a"]
    assert (found.label, found.is_bound) == ("pass", False)


@pytest.mark.parametrize(
    ("selections", "expected"),
    [(["random", "random"], "random"), (["random", "targeted"], "targeted"), (["random", "unknown"], "unknown")],
)
def test_only_all_random_is_random(selections: list[str], expected: str) -> None:
    labels = [Label(i, "a", "pass", f"r{i}", selection=word) for i, word in enumerate(selections, 1)]  # type: ignore[arg-type]
    assert settle(labels)["a"].selection == expected


def test_the_adjudicators_own_choice_of_cases_does_not_make_a_random_case_targeted() -> None:
    labels = [
        Label(1, "a", "pass", "r1", selection="random"),
        Label(2, "a", "fail", "r2", selection="random"),
        Label(3, "a", "fail", "adjudication", selection="targeted"),
    ]
    assert settle(labels)["a"].selection == "random"


def test_one_authored_label_makes_the_case_synthetic() -> None:
    labels = [Label(1, "a", "pass", "r1"), Label(2, "a", "pass", "r2", provenance="synthetic")]
    assert settle(labels)["a"].provenance == "synthetic"


def test_several_criteria_or_rubrics_must_be_chosen_between() -> None:
    labels = [Label(1, "a", "pass", "r1", rubric_version="1"), Label(2, "a", "fail", "r1", rubric_version="2")]
    with pytest.raises(EvalkitError, match="2 rubric versions: '1', '2'"):
        settle(labels)
    assert settle(labels, rubric_version="2")["a"].label == "fail"
    other = [*labels, Label(3, "a", "pass", "r1", criterion="polite")]
    with pytest.raises(EvalkitError, match="2 criteria: 'default', 'polite'"):
        settle(other, rubric_version="1")
    with pytest.raises(EvalkitError, match="no label has the criterion 'tone'"):
        settle(other, criterion="tone")


def test_the_number_one_and_the_text_one_disagree() -> None:
    assert settle([Label(1, "a", 1, "r1"), Label(2, "a", "1", "r2")])["a"].how == "conflict"
