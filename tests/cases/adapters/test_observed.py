"""What a trace preserved: passages joined to their identity, or read off the prompt that was sent."""

from __future__ import annotations

from typing import Any

from evalkit.cases.adapters import Observed
from evalkit.cases.adapters.join import identified, sent_in
from evalkit.cases.adapters.observed import happened_in, witnessed_by
from evalkit.cases.lookup import Passage
from evalkit.cases.traces import Trace


def happened(observed: Observed, data: dict[str, Any]) -> Any:
    return happened_in(Trace(1, "line 1", data), "a", observed)


def test_texts_that_generation_was_given_get_the_identity_of_their_retrieval() -> None:
    retrieved = [Passage("a", "A"), Passage("b", "B"), Passage("a", "A2")]
    given = [Passage("b"), Passage("a"), Passage("a"), Passage("c")]
    # The first a is the first that was retrieved, the second the second; c was never retrieved.
    assert identified(given, retrieved) == (Passage("b", "B"), Passage("a", "A"), Passage("a", "A2"), Passage("c"))
    assert identified([Passage("a", "own")], retrieved) == (Passage("a", "own"),)


def test_what_was_sent_is_read_off_the_prompt_in_its_order() -> None:
    retrieved = [Passage("Alpha one.", "A"), Passage("Beta\ntwo.", "B"), Passage("Gamma three.", "C")]
    prompt = "Use only these:\nBeta   two.\n---\nAlpha one.\nQuestion: beta?"
    assert sent_in(prompt, retrieved) == (Passage("Beta\ntwo.", "B"), Passage("Alpha one.", "A"))


def test_a_passage_sent_twice_counts_twice() -> None:
    retrieved = [Passage("one", "A"), Passage("one", "A")]
    assert sent_in("one and one", retrieved) == (Passage("one", "A"), Passage("one", "A"))
    assert sent_in("one", retrieved) == (Passage("one", "A"),)


def test_a_passage_inside_a_longer_one_counts_where_it_stands_alone() -> None:
    short, long = Passage("the fee", "S"), Passage("the fee is 5", "L")
    assert sent_in("the fee is 5 | the fee", [short, long]) == (long, short)
    assert set(sent_in("the fee is 5", [short, long]) or ()) == {short, long}  # it is in the prompt all the same


def test_a_prompt_that_holds_none_of_them_tells_nothing() -> None:
    assert sent_in("a summary of the passages", [Passage("one", "A")]) is None
    assert sent_in("one", [Passage("one", "A"), Passage(" ", "B")]) is None  # a blank text is in every prompt
    observed = Observed(answer="out", retrieved="docs", prompt="sent")
    found = happened(observed, {"out": "x", "docs": ["one"], "sent": "nothing of it"})
    assert (found.passages, found.is_from_prompt) == ((Passage("one"),), False)
    found = happened(observed, {"out": "x", "docs": ["one", "two"], "sent": "here: two"})
    assert (found.passages, found.is_from_prompt) == ((Passage("two"),), True)


def test_lost_and_empty_stay_two_facts() -> None:
    observed = Observed(answer="out", retrieved="docs", given="shown")
    assert happened(observed, {"docs": None}).passages is None
    assert happened(observed, {}).passages is None
    assert happened(observed, {"docs": []}).passages == ()
    assert happened(observed, {"docs": ["a"], "shown": []}).passages == ()  # retrieved, and none of it given


def test_the_evaluated_turn_is_counted_from_one() -> None:
    observed = Observed(answer="out", question="q", turns="qs")
    assert happened(observed, {"q": "b", "qs": ["a", "b", "c"]}).turn == 2
    assert happened(observed, {"q": "b", "qs": ["b"]}).turn is None
    assert happened(observed, {"q": "z", "qs": ["a", "b"]}).turn is None


def test_what_was_declared_is_what_can_be_witnessed() -> None:
    assert witnessed_by(None) == frozenset()
    assert witnessed_by(Observed(answer="out")) == {"answer"}
    assert witnessed_by(Observed(answer="out", given="shown", question="q")) == {"answer", "retrieved", "question"}
