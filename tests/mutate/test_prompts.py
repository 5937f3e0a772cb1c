"""Faulty prompts: how a text is taken apart, and what is planted."""

from __future__ import annotations

import pytest
from judges import CONTRACT, JUDGE

from evalkit.contract.judge import Judge
from evalkit.metrics.refund_answer import refund_answer
from evalkit.mutate.prompts import PromptVariant, prompt_variants, sentences_of

TEXTS = {
    "One. Two? Three!": ["One.", "Two?", "Three!"],
    "It is right, e.g. whole, or 2.5 times as long. Else not.": [
        "It is right, e.g. whole, or 2.5 times as long.",
        "Else not.",
    ],
    "Pass if:\n1. It is right.\n2. It is short.\nElse fail.": [
        "Pass if:",
        "1. It is right.",
        "2. It is short.",
        "Else fail.",
    ],
    "- right\n- short and\n  sweet\n\nElse fail": ["- right", "- short and\n  sweet", "Else fail"],
    'Say "pass." or "fail." Then stop.': ['Say "pass."', 'or "fail."', "Then stop."],
    "A line\nthat goes on. And ends.": ["A line\nthat goes on.", "And ends."],
    "Heading:\nText.": ["Heading:", "Text."],
    "Ratio: good.": ["Ratio: good."],
    "  \n\n ": [],
    "": [],
}


@pytest.mark.parametrize("text", TEXTS)
def test_sentences_have_their_place_and_nothing_is_lost(text: str) -> None:
    found = sentences_of(text)
    assert [sentence.text for sentence in found] == TEXTS[text]
    assert [text[sentence.start : sentence.end] for sentence in found] == TEXTS[text]
    assert "".join("".join(s.text for s in found).split()) == "".join(text.split())


def by_id(judge: Judge) -> dict[str, PromptVariant]:
    variants = prompt_variants(judge)
    found = {variant.id: variant for variant in variants}
    assert len(found) == len(variants)
    return found


def test_s2_20_each_sentence_of_the_bundled_prompt_is_removed_in_turn() -> None:
    variants = by_id(refund_answer)
    removed = [variant for variant in variants.values() if variant.operator == "sentence_removed"]
    assert len(removed) == 14
    whole = "".join(refund_answer.prompt.split())
    for variant in removed:
        assert variant.judge is not None
        assert len("".join(variant.judge.prompt.split())) == len(whole) - len("".join(variant.text.split()))
        assert variant.text not in variant.judge.prompt
    # together they are all of the prompt but its placeholders
    kept = "".join("".join(variant.text.split()) for variant in removed)
    assert len(kept) == len(whole) - len("{user_input}{reference}{response}")


def test_placeholders_are_swapped_in_pairs_and_dropped_one_by_one() -> None:
    variants = by_id(refund_answer)
    swapped = variants["placeholders_swapped:reference-response"]
    assert swapped.judge is not None
    assert "The reviewed reference:\n{response}" in swapped.judge.prompt
    assert "The answer to judge:\n{reference}" in swapped.judge.prompt
    assert sum(variant.operator == "placeholders_swapped" for variant in variants.values()) == 3
    dropped = variants["placeholder_dropped:reference"]
    assert dropped.judge is None
    assert dropped.refusal == "the prompt of refund_answer never uses its input 'reference': the judge would not see it"


def test_without_a_contract_a_dropped_placeholder_is_no_refusal() -> None:
    bare = Judge(name="bare", prompt="Is {response} right, given {reference}?")
    dropped = by_id(bare)["placeholder_dropped:reference"]
    assert dropped.judge is not None
    assert dropped.judge.prompt == "Is {response} right, given ?"


def test_labels_change_places_as_words_only() -> None:
    prompt = 'Is {response} with its passages right, given {reference}? Reply "pass", else fail; no failure passes.'
    judge = Judge(name="right", prompt=prompt, contract=CONTRACT)
    swapped = by_id(judge)["labels_reordered:pass-fail"].judge
    assert swapped is not None
    assert swapped.prompt == prompt.replace('"pass", else fail', '"fail", else pass')
    assert swapped.allowed_values == ["pass", "fail"]
    assert not [v for v in prompt_variants(JUDGE) if v.operator == "labels_reordered"]  # it names none


def test_three_labels_move_on_by_one() -> None:
    judge = Judge(name="r", prompt="{response}: good, fair or bad?", allowed_values=["good", "fair", "bad"])
    moved = by_id(judge)["labels_reordered:good-fair-bad"].judge
    assert moved is not None
    assert moved.prompt == "{response}: fair, bad or good?"


def test_the_fence_is_removed_where_there_is_one() -> None:
    variant = by_id(JUDGE)["fence_removed:fence"]
    assert variant.judge is not None
    assert variant.judge.render({"response": "a", "reference": "b"}) == "Is a right, given b?"
    open_judge = Judge(name="right", prompt="Is {response} right, given {reference}?", fenced=False)
    assert "fence_removed:fence" not in by_id(open_judge)


def test_the_system_prompt_is_taken_apart_too() -> None:
    judge = Judge(name="r", prompt="Is {response} right?", system_prompt="Be strict. Be strict.")
    found = [v for v in by_id(judge).values() if v.where == "system_prompt"]
    assert [variant.id for variant in found] == ["sentence_removed:be-strict", "sentence_removed:be-strict-2"]
    assert [variant.judge.system_prompt for variant in found if variant.judge] == ["Be strict.", "Be strict. "]
