"""One place read: alternatives, decoding, transformations, and every way in which a value is not what it should be."""

from __future__ import annotations

import pytest

from evalkit.cases.adapters import At, PassagesAt
from evalkit.cases.adapters.values import read_error, read_passages, read_text
from evalkit.cases.lookup import Passage


def upper(text: str) -> str:
    return text.upper()


def broken(text: str) -> str:
    raise ValueError(text)


def test_the_first_path_that_leads_to_more_than_null_counts() -> None:
    place = At(path=("new", "old"))
    assert read_text(place, {"new": "n", "old": "o"}).value == "n"
    assert read_text(place, {"new": None, "old": "o"}).value == "o"
    assert read_text(place, {"new": None}).absent is None  # null is written there: lost, not absent
    assert read_text(place, {}).absent == "new is absent"


def test_otherwise_is_asked_last() -> None:
    place = At(path="a", otherwise=At(path="b"))
    assert read_text(place, {"a": "x", "b": "y"}).value == "x"
    assert read_text(place, {"b": "y"}).value == "y"
    assert read_text(place, {}).absent == "b is absent"
    assert read_text(place, {"a": None}) == read_text(At(path="a"), {"a": None})


@pytest.mark.parametrize(
    ("value", "kind"), [(3, "a number"), (["a"], "a list"), ({"a": 1}, "an object"), (True, "true")]
)
def test_only_a_text_is_a_text(value: object, kind: str) -> None:
    read = read_text(At(path="a"), {"a": value})
    assert read.value == value
    assert read.problem is not None
    assert kind in read.problem


def test_a_transformation_keeps_both_forms_and_its_name() -> None:
    read = read_text(At(path="a", transform=upper), {"a": "yes"})
    assert (read.value, read.raw, read.by) == ("YES", "yes", "upper")
    unchanged = read_text(At(path="a", transform=upper), {"a": "YES"})
    assert (unchanged.value, unchanged.by) == ("YES", None)


def test_a_transformation_that_raises_is_named() -> None:
    read = read_text(At(path="a", transform=broken), {"a": "yes"})
    assert read.problem == "could not be transformed: broken raised ValueError: yes"


def test_a_lambda_cannot_transform_because_no_case_could_name_it() -> None:
    with pytest.raises(ValueError, match="a lambda cannot be named"):
        At(path="a", transform=lambda text: text)


@pytest.mark.parametrize(("value", "error"), [("down", "down"), ("", None), (False, None), (None, None), ([], None)])
def test_an_error_is_a_text_or_none(value: object, error: str | None) -> None:
    assert read_error(At(path="e"), {"e": value}).value == error


def test_an_error_that_is_an_object_is_kept_as_json() -> None:
    assert read_error(At(path="e"), {"e": {"type": "timeout"}}).value == '{"type":"timeout"}'


# --- passages -------------------------------------------------------------------------------------------------------


def test_passages_are_texts_or_objects_and_keep_their_identity() -> None:
    place = PassagesAt(path="docs", text=("content", "text"), document_id="meta.id", revision="meta.rev")
    docs = ["bare", {"content": "a", "meta": {"id": 7, "rev": "2"}}, {"text": "b", "passage_id": "p"}]
    assert read_passages(place, {"docs": docs}).value == (
        Passage("bare"),
        Passage("a", "7", "2", None),  # a number that counts documents is an id like any other
        Passage("b", None, None, "p"),
    )


def test_ids_in_a_list_beside_the_texts() -> None:
    place = PassagesAt(path="contexts", ids="ids")
    assert read_passages(place, {"contexts": ["a", "b"], "ids": ["p1", 2]}).value == (
        Passage("a", None, None, "p1"),
        Passage("b", None, None, "2"),
    )
    assert read_passages(place, {"contexts": ["a", "b"], "ids": ["p1"]}).problem == "holds 2 passages; ids names 1 ids"
    assert read_passages(place, {"contexts": ["a"]}).value == (Passage("a"),)


def test_given_selects_in_its_own_order_and_keeps_the_identity() -> None:
    place = PassagesAt(path="docs", given="prompt.contexts")
    docs = [{"text": "a", "document_id": "A"}, {"text": "b", "document_id": "B"}, {"text": "c", "document_id": "C"}]
    read = read_passages(place, {"docs": docs, "prompt": {"contexts": ["c", "a"]}})
    assert read.value == (Passage("c", "C"), Passage("a", "A"))
    assert len(read_passages(place, {"docs": docs, "prompt": {"contexts": None}}).value) == 3


def test_c09_null_absent_empty_and_blank_are_different_facts() -> None:
    place = PassagesAt(path="contexts")
    assert read_passages(place, {"contexts": None}) == (None, None, None, None, None, ())
    assert read_passages(place, {}).absent == "contexts is absent"
    assert read_passages(place, {"contexts": []}).value == ()
    for blank in ([""], ["  "]):
        assert read_passages(place, {"contexts": blank}).notes == ("some passages are blank",)
    assert read_passages(place, {"contexts": ["a", None]}).problem == "item 2 is null, neither a text nor an object"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("['Paris is big', 'Paris is old']", "Python's printed form of a list, not JSON: export it with json.dumps"),
        ("Paris is big", "a text, not a list of passages: if it is one passage, write it as a list of one"),
        ('["Paris"]', "a text that holds a JSON list: declare decode='json'"),
        ({"a": 1}, "an object, not a list of passages"),
    ],
)
def test_c08_contexts_that_arrive_as_text_are_refused_with_the_fix(value: object, told: str) -> None:
    read = read_passages(PassagesAt(path="contexts"), {"contexts": value})
    assert read.value == value  # unchanged, and neither walked over nor wrapped
    assert read.problem is not None
    assert told in read.problem


def test_c08_an_explicit_parse_reads_json_and_never_evaluates() -> None:
    place = PassagesAt(path="contexts", decode="json")
    assert read_passages(place, {"contexts": '["a", "b"]'}).value == (Passage("a"), Passage("b"))
    assert read_passages(place, {"contexts": "null"}).value is None
    problem = read_passages(place, {"contexts": "['a', __import__('os').getcwd()]"}).problem
    assert problem is not None
    assert "never evaluated" in problem


def test_a_passage_without_text_names_the_item_and_the_key() -> None:
    read = read_passages(PassagesAt(path="docs", text="content"), {"docs": [{"content": "a"}, {"id": 1}]})
    assert read.problem == "item 2 has no text: content is absent"
    read = read_passages(PassagesAt(path="docs", text="content"), {"docs": [{"content": 5}]})
    assert read.problem == "item 1 has no text: content is a number"


def test_each_passage_is_transformed() -> None:
    read = read_passages(PassagesAt(path="docs", transform=upper), {"docs": [{"text": "a", "document_id": "A"}]})
    assert (read.value, read.raw, read.by) == ((Passage("A", "A"),), (Passage("a", "A"),), "upper")


def take_apart(item: str) -> dict[str, str]:
    source, text = item.split(": ", 1)
    return {"document_id": source, "text": text}


def test_an_item_whose_parts_stand_in_one_text_is_taken_apart_by_a_named_function() -> None:
    place = PassagesAt(path="docs", item=take_apart)
    assert read_passages(place, {"docs": ["fees: 5 euros"]}).value == (Passage("5 euros", "fees"),)
    problem = read_passages(place, {"docs": ["no source"]}).problem
    assert problem is not None
    assert problem.startswith("item 1 could not be taken apart: take_apart raised ValueError")
    assert place.facts()["item"]["name"] == "take_apart"
