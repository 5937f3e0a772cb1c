"""Splits by family, leaks across partitions, and near-duplicates: what belongs together stays together."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from labelled_rows import words

from evalkit.cases.near_duplicates import MOST_TEXTS, near_duplicates, text_of
from evalkit.cases.partitions import Member, leaks, refuse_leaks, split_by_family
from evalkit.contract import EvalkitError


def member(case_id: str, **more: object) -> Member:
    fields: dict[str, object] = {
        "slice": "s",
        "family": None,
        "partition": None,
        "text": words(case_id),
        "label": "pass",
    }
    return Member(case_id=case_id, **fields | more)  # type: ignore[arg-type]


def crowd(n: int) -> list[Member]:
    return [
        member(f"c{i}", family=f"f{i // 3}", slice="ab"[i // 3 % 2], label="fail" if i // 3 % 3 else "pass")
        for i in range(n)
    ]


def test_a_family_never_crosses_partitions() -> None:
    members = crowd(120)
    split = split_by_family(members, rng=np.random.default_rng(0)).partition
    places: dict[str, set[str]] = {}
    for m in members:
        places.setdefault(str(m.family), set()).add(split[m.case_id])
    assert all(len(where) == 1 for where in places.values())
    assert set(split.values()) == {"development", "calibration", "held_out"}


def test_each_slice_and_label_is_spread_in_the_wanted_shares() -> None:
    members = crowd(600)
    split = split_by_family(members, rng=np.random.default_rng(1))
    counts, sizes = split.counts(members), Counter((m.slice, m.label) for m in members)
    for (name, label), size in sizes.items():
        for partition, share in (("development", 0.2), ("calibration", 0.4), ("held_out", 0.4)):
            assert counts[partition, name, label] == pytest.approx(share * size, abs=3)


def test_the_same_seed_splits_alike_and_another_one_does_not() -> None:
    members = crowd(90)
    once, again, other = (split_by_family(members, rng=np.random.default_rng(seed)).partition for seed in (5, 5, 6))
    assert once == again
    assert once != other


def test_near_duplicates_that_nobody_declared_are_kept_together_and_named() -> None:
    text = words("original")
    for seed in range(20):
        split = split_by_family(
            [member("a", text=text), member("b", text=text.upper()), *map(member, "cdefgh")],
            rng=np.random.default_rng(seed),
        )
        assert split.partition["a"] == split.partition["b"]
        assert [(pair.first, pair.second) for pair in split.joined] == [("a", "b")]


def test_leaks_are_found_and_refused_naming_both_cases() -> None:
    shared = words("shared")
    members = [
        member("a", family="f", partition="development"), member("b", family="f", partition="held_out"),
        member("c", text=shared, partition="calibration"), member("d", text=shared, partition="held_out"),
        member("e", text=shared), member("g", text=shared, partition="calibration"),
    ]  # fmt: skip
    found = [leak.sentence() for leak in leaks(members)]
    assert found[0] == "'a' (development) and 'b' (held_out): both of family 'f'"
    assert found[1] == "'c' (calibration) and 'd' (held_out): near-duplicates (100 of 100)"
    assert len(found) == 3
    with pytest.raises(EvalkitError, match="3 pairs of cases cross partitions: 'a'"):
        refuse_leaks(members)


def test_within_one_partition_and_without_any_nothing_leaks() -> None:
    text = words("same")
    assert leaks([member("a", text=text, partition="held_out"), member("b", text=text, partition="held_out")]) == []
    assert leaks([member("a", text=text), member("b", text=text)]) == []


@pytest.mark.parametrize(
    "shares", [{"development": 0.5}, {"development": 1.5, "held_out": -0.5}, {"train": 1.0}, {}]
)  # fmt: skip
def test_shares_that_do_not_add_up_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(EvalkitError, match="shares must be above 0, add up to 1"):
        split_by_family([member("a")], rng=np.random.default_rng(0), shares=shares)


def test_word_order_case_and_punctuation_do_not_hide_a_copy_and_another_text_is_none() -> None:
    texts = {
        "a": "The refund takes five days, as a rule.",
        "b": "As a rule the refund takes FIVE days",
        "c": words("c"),
    }
    assert [(pair.first, pair.second) for pair in near_duplicates(texts)] == [("a", "b")]
    assert near_duplicates({"a": "", "b": "  "}) == []


def test_beyond_the_limit_only_equal_texts_are_found() -> None:
    texts = {f"c{i}": words(f"c{i}", 4) for i in range(MOST_TEXTS)} | {"copy": words("c7", 4)}
    assert [(pair.first, pair.second) for pair in near_duplicates(texts)] == [("c7", "copy")]


def test_a_rows_text_is_what_a_reviewer_reads_or_the_inputs_that_are_texts() -> None:
    assert text_of({"x": 1}, {"question": "q", "answer": None}) == "q"
    assert text_of({"ids": ["a", "b"], "score": 0.5, "response": "r"}, None) == "r"
    assert text_of({"x": 1}, {"question": {"sha256": "0", "excerpt": None}}) == ""


def test_a_verdict_or_a_name_is_too_short_to_be_a_copy() -> None:
    assert near_duplicates({"a": "pass", "b": "pass"}) == []
    assert len(near_duplicates({"a": "one two three four", "b": "one two three four"})) == 1
