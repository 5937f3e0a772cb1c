"""What a reviewer saw, as one hash."""

from __future__ import annotations

from evalkit.cases.seen import seen_hash
from evalkit.scoring.retention import keeper


def test_only_what_is_shown_counts() -> None:
    shown = {"question": "q", "answer": "a", "retrieved": None}
    assert seen_hash(shown) == seen_hash({**shown, "claims": {"c": "x"}, "reference": "r"})
    assert len({seen_hash({**shown, part: "other"}) for part in shown} | {seen_hash(shown)}) == 4
    assert seen_hash({"claims": {}}) is None
    assert seen_hash(None) is None


def test_a_run_and_an_import_hash_alike() -> None:
    evidence = {"question": "q", "answer": "a", "retrieved": [{"text": "p"}]}
    assert keeper(None)({"response": "a"}, evidence).seen_hash == seen_hash(evidence)
