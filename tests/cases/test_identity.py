from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.cases import identity
from evalkit.cases.identity import DuplicateLines, IdIndex, fold, resolve_ids
from evalkit.cases.read import BadLine, CaseFile


def written(folder: Path, ids: list[str]) -> Path:
    path = folder / "cases.jsonl"
    path.write_text("".join(json.dumps({"case_id": case_id}) + "\n" for case_id in ids))
    return path


def findings(folder: Path, ids: list[str]) -> list[str]:
    file = CaseFile(written(folder, ids))
    list(file)
    return file.findings


@pytest.mark.parametrize(
    ("one", "other", "marks"),
    [
        ("row-1", "ROW-1", ["U+0072 U+006F U+0077", "U+0052 U+004F U+0057"]),
        ("row1", "\uff52ow1", ["U+0072", "U+FF52"]),
        ("caf\u00e9", "cafe\u0301", ["U+00E9", "U+0065 U+0301"]),
        ("a", "a\u200b", ["U+200B"]),
        ("a", "a ", ["U+0020"]),
        ("a", "a\u00ad", ["U+00AD"]),
        ("a", "a\ufe0f", ["U+FE0F"]),
        ("a", "\u2066a\u2069", ["U+2066 U+2069"]),
        ("a", "a\u034f", ["U+034F"]),
        ("a", "a\u3164", ["U+3164"]),
        ("a", "a\U000e0101", ["U+E0101"]),
        ("a b", "a\u00a0b", ["U+0020", "U+00A0"]),
        ("stra\u00dfe", "strasse", ["U+00DF"]),
    ],
    ids=ascii,
)
def test_twins_are_told_with_the_characters_that_differ(tmp_path: Path, one: str, other: str, marks: list[str]):
    (sentence,) = findings(tmp_path, [one, other, "far away"])
    assert sentence.startswith(f"case ids that look alike but are different: {one!r} (line 1")
    assert f"{other!r} (line 2" in sentence
    for mark in marks:
        assert mark in sentence


def test_twins_are_only_told_and_stay_cases(tmp_path: Path):
    items = list(CaseFile(written(tmp_path, ["a", "A"])))
    assert [item.case_id for item in items] == ["a", "A"]
    assert not any(isinstance(item, BadLine) for item in items)


@pytest.mark.parametrize(("one", "other"), [("row-1", "row-2"), ("a.b", "a-b"), ("1", "l"), ("ab", "ba")])
def test_ids_that_people_can_tell_apart_are_no_twins(tmp_path: Path, one: str, other: str):
    assert findings(tmp_path, [one, other]) == []


def test_one_id_may_be_duplicate_and_twin(tmp_path: Path):
    file = CaseFile(written(tmp_path, ["a", "A", "a"]))
    reasons = [item.reason if isinstance(item, BadLine) else item.case_id for item in file]
    assert reasons == [
        "case_id 'a' occurs more than once: also on line 3", "A", "case_id 'a' occurs more than once: also on line 1",
    ]  # fmt: skip
    assert len(file.findings) == 1


@settings(max_examples=200)
@given(
    st.lists(st.one_of(st.sampled_from(["a", "A", "b", "a ", "\u00e9", "e\u0301"]), st.text(max_size=3)), max_size=8)
)
def test_duplicates_are_exactly_the_ids_that_occur_twice(tmp_path_factory, ids):
    ids = [case_id for case_id in ids if case_id.strip() and case_id.isprintable()]
    path = written(tmp_path_factory.mktemp("ids"), ids)
    index = IdIndex()
    for case_id in ids:
        index.add(case_id)
    resolved = resolve_ids(path, index.suspects())
    expected = {c: tuple(i for i, other in enumerate(ids, 1) if other == c) for c in ids if ids.count(c) > 1}
    assert resolved.duplicates == {case_id: DuplicateLines(lines) for case_id, lines in expected.items()}
    groups: dict[str, set[str]] = {}
    for case_id in ids:
        groups.setdefault(fold(case_id), set()).add(case_id)
    assert len(resolved.twins) == sum(len(group) > 1 for group in groups.values())


def test_nothing_rests_on_the_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # Every id gets the same hash: all are looked at again, and only the true pair is a duplicate.
    monkeypatch.setattr(identity, "hash", lambda _: 7, raising=False)
    file = CaseFile(written(tmp_path, ["a", "b", "c", "b"]))
    assert [isinstance(item, BadLine) for item in file] == [False, True, False, True]
    assert file.findings == []


@given(st.lists(st.sampled_from(["a", "a b", "", " ", "ROW-1", "row-1", "\t", "é", "\uff41", "x\u200b"]), max_size=5))
def test_ids_remembered_together_are_those_remembered_one_by_one(case_ids: list[str]) -> None:
    together, apart = IdIndex(), IdIndex()
    together.add_all(case_ids)
    for case_id in case_ids:
        apart.add(case_id)
    assert together.hashes == apart.hashes
