"""Adapters as declarations: what is refused, what feeds a parameter, what changes the fingerprint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evalkit.cases.adapters import Adapter, At, Observed, PassagesAt
from evalkit.cases.adapters.shipped import SHIPPED
from evalkit.contract import EvalkitError


def first_line(text: str) -> str:
    return text.splitlines()[0]


def last_line(text: str) -> str:
    return text.splitlines()[-1]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": " "}, "name must be a non-blank text"),
        ({"revision": 2}, "revision must be a non-blank text"),
        ({"reads": "xml"}, "reads 'xml', which is no format"),
        ({"feeds": {"response": "output"}}, "feeds a parameter with 'output', which is no meaning"),
        ({"optional": ("referense",)}, "calls 'referense' optional or constant, which is no meaning"),
        ({"constant": ("query",)}, "calls 'query' optional or constant, which is no meaning"),
        ({"fields": {"case_id": "id"}}, "fields may not set 'case_id'"),
        ({"answer": "a..b"}, "no path into a trace"),
    ],
)
def test_a_declaration_that_means_nothing_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(EvalkitError, match=told):
        Adapter(**{"name": "mine", "revision": "1", "answer": "out", **change})


def test_meanings_come_before_names() -> None:
    adapter = Adapter(
        name="mine",
        revision="1",
        answer="out",
        question="in",
        retrieved="docs",
        feeds={"candidate": "answer", "passages": "retrieved_passages"},
        fields={"required_claim_ids": "claims"},
    )
    names = ["candidate", "passages", "response", "user_input", "reference", "required_claim_ids", "other"]
    assert adapter.feeds_of(names) == {
        "candidate": "answer",
        "passages": "retrieved_passages",
        "response": "answer",
        "user_input": "question",
        "required_claim_ids": "field:required_claim_ids",
    }  # reference is not mapped, and nothing is called other


def test_whatever_changes_a_row_changes_the_fingerprint() -> None:
    base = Adapter(name="a", revision="1", answer=At(path="out", transform=first_line), retrieved="docs")
    others = [
        replace(base, answer=At(path="out", transform=last_line)),
        replace(base, answer="out"),
        replace(base, revision="2"),
        replace(base, retrieved=PassagesAt(path="docs", text="content")),
        replace(base, retrieved=PassagesAt(path="docs", given="shown")),
        replace(base, observed=Observed(answer="out")),
        replace(base, feeds={"x": "answer"}),
        replace(base, constant=("retrieved",)),
    ]
    assert len({base.fingerprint, *(other.fingerprint for other in others)}) == 1 + len(others)
    assert replace(base, answer=At(path=("out",), transform=first_line)).fingerprint == base.fingerprint


def test_heads_are_every_top_level_key_that_somebody_reads() -> None:
    adapter = Adapter(
        name="a",
        revision="1",
        answer=At(path=("x.y", "z"), otherwise=At(path="w")),
        retrieved=PassagesAt(path="docs", given="shown.texts", ids="ids"),
        fields={"slice": "lang"},
        observed=Observed(answer="log.out"),
    )
    assert adapter.heads() == {"trace_id", "x", "z", "w", "docs", "shown", "ids", "lang", "log"}


def test_the_shipped_mappings_are_named_versioned_and_plain_json() -> None:
    assert sorted(SHIPPED) == ["csv", "openinference", "otel-genai", "plain", "ragas"]
    for name, adapter in SHIPPED.items():
        facts = adapter.facts()
        assert facts["name"] == name
        assert facts["observed"] is not None
        assert adapter.fingerprint == replace(adapter).fingerprint
