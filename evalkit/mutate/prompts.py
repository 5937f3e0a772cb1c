"""Faulty prompts of a judge: a sentence taken out, placeholders swapped or dropped, labels swapped, no fence.

Nothing is asked here: a variant is another declaration of the judge, which `evalkit.mutate.prompt_trials` tries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

from evalkit.contract.judge import Judge
from evalkit.contract.lint import ContractError
from evalkit.contract.prompt import parse_prompt

__all__ = ["PromptVariant", "Sentence", "prompt_variants", "sentences_of"]

_ENDS = re.compile(
    r"[.!?][\"')\]]*(?=\s|$)"  # the end of a sentence
    r"|:(?=[ \t]*\n)"  # a heading, or the words before a list
    r"|\n(?=[ \t]*(?:\d+[.)]|[-*•])[ \t])"  # the next item of a list
    r"|\n[ \t]*\n"  # a paragraph
)
_NUMBER = re.compile(r"\s*(?:\d+|[a-zA-Z])[.)]?\s*")
_SHORT = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|no)\.$", re.IGNORECASE)
_SLUG_WORDS = 6


class Sentence(NamedTuple):
    """A stretch of a prompt that can be taken out by itself."""

    text: str
    start: int
    end: int


class PromptVariant(NamedTuple):
    """One faulty prompt."""

    id: str
    operator: str
    where: str
    """``prompt`` or ``system_prompt``."""
    text: str
    """The sentence that is gone, or what was done, in words."""
    diff: str
    judge: Judge | None
    """The judge with this prompt; ``None`` where it cannot be declared."""
    refusal: str = ""
    """Why it cannot: the fault is caught before anything is asked."""


def sentences_of(text: str) -> list[Sentence]:
    r"""Split a prompt into sentences, headings and items of lists, each with its place.

    A number before an item belongs to it, and a line break inside a sentence ends nothing.

    Examples
    --------
    >>> [s.text for s in sentences_of('Say "pass" if:\n1. It is right, e.g. whole.\n2. It is\nshort. Else "fail".')]
    ['Say "pass" if:', '1. It is right, e.g. whole.', '2. It is\nshort.', 'Else "fail".']
    """
    found: list[Sentence] = []
    start = 0
    for match in _ENDS.finditer(text):
        chunk = text[start : match.end()]
        if _NUMBER.fullmatch(chunk.strip()) or _SHORT.search(chunk):
            continue
        found.append(_sentence(text, start, match.end()))
        start = match.end()
    found.append(_sentence(text, start, len(text)))
    return [sentence for sentence in found if sentence.text]


def _sentence(text: str, start: int, end: int) -> Sentence:
    chunk = text[start:end]
    left = len(chunk) - len(chunk.lstrip())
    return Sentence(chunk.strip(), start + left, start + left + len(chunk.strip()))


def prompt_variants(judge: Judge) -> list[PromptVariant]:
    """Return every faulty prompt of a judge, in the order of its text.

    Examples
    --------
    >>> judge = Judge(name="right", prompt="Be strict. Is {response} right, given {reference}? Reply pass or fail.")
    >>> [variant.id for variant in prompt_variants(judge)][:3]
    ['sentence_removed:be-strict', 'sentence_removed:reply-pass-or-fail', 'placeholders_swapped:response-reference']
    """
    seen: dict[str, int] = {}
    variants = []
    for variant in (*_sentences(judge), *_placeholders(judge), *_labels(judge), *_fence(judge)):
        seen[variant.id] = number = seen.get(variant.id, 0) + 1
        variants.append(variant._replace(id=f"{variant.id}-{number}") if number > 1 else variant)
    return variants


def _variant(judge: Judge, operator: str, slug: str, text: str, diff: str, **changes: Any) -> PromptVariant:
    where = "system_prompt" if "system_prompt" in changes else "prompt"
    identity = f"{operator}:{slug}"
    try:
        return PromptVariant(identity, operator, where, text, diff, replace(judge, **changes))
    except ContractError as error:
        return PromptVariant(identity, operator, where, text, diff, None, error.message)


def _sentences(judge: Judge) -> Iterator[PromptVariant]:
    names = _names(judge)
    for key, text in (("prompt", judge.prompt), ("system_prompt", judge.system_prompt or "")):
        for sentence in sentences_of(text):
            # What holds a row's text is not taken out with it: dropping a placeholder is a fault of its own.
            if not any(f"{{{name}}}" in sentence.text for name in names):
                rest = f"{text[: sentence.start]}{text[sentence.end :].lstrip(' ')}"
                yield _variant(
                    judge, "sentence_removed", _slug(sentence.text), sentence.text, f"- {sentence.text}", **{key: rest}
                )


def _placeholders(judge: Judge) -> Iterator[PromptVariant]:
    names = _names(judge)
    for a, b in combinations(names, 2):
        changed = re.sub(rf"\{{({a}|{b})\}}", lambda m, a=a, b=b: f"{{{b if m[1] == a else a}}}", judge.prompt)  # type: ignore[misc]
        text = f"{{{a}}} and {{{b}}} change places"
        yield _variant(
            judge,
            "placeholders_swapped",
            f"{a}-{b}",
            text,
            f"- {{{a}}} ... {{{b}}}\n+ {{{b}}} ... {{{a}}}",
            prompt=changed,
        )
    for name in names:
        changed = judge.prompt.replace(f"{{{name}}}", "")
        yield _variant(judge, "placeholder_dropped", name, f"{{{name}}} is gone", f"- {{{name}}}", prompt=changed)


def _labels(judge: Judge) -> Iterator[PromptVariant]:
    labels = judge.allowed_values if isinstance(judge.allowed_values, list) else []
    named = [label for label in labels if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", judge.prompt)]
    if len(named) < 2:
        return
    following = dict(zip(named, [*named[1:], named[0]], strict=True))
    pattern = "|".join(re.escape(label) for label in sorted(named, key=len, reverse=True))
    changed = re.sub(rf"(?<!\w)({pattern})(?!\w)", lambda match: following[match[1]], judge.prompt)
    text = "the labels change places: " + ", ".join(f"{old} becomes {new}" for old, new in following.items())
    diff = f"- {' ... '.join(named)}\n+ {' ... '.join(following[label] for label in named)}"
    yield _variant(judge, "labels_reordered", "-".join(named), text, diff, prompt=changed)


def _fence(judge: Judge) -> Iterator[PromptVariant]:
    if judge.fenced:
        text = "row text stands without tags, and nothing says that it is data"
        yield _variant(judge, "fence_removed", "fence", text, "- <response> ... </response>", fenced=False)


def _names(judge: Judge) -> tuple[str, ...]:
    return parse_prompt(judge.name, judge.prompt, [parameter.name for parameter in judge.parameters]).names


def _slug(text: str) -> str:
    words = re.findall(r"\w+", text.lower())[:_SLUG_WORDS]
    return "-".join(words) or "text"
