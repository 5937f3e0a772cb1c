"""Rows sorted into blockers: whose they are."""

from __future__ import annotations

import pytest

from evalkit.decisions.rows import _owners
from evalkit.scoring.records import Record

PLAIN = Record(
    1, "a", "default", True, None, None, "scored", 0.5, "half", {}, None, "fail", 1.0, "v1", None, None, "sha256:0",
    None, None, "1", None, {}, "answer", None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        (["retrieval", "answer", "retrieval"], "retrieval"),  # two of three
        (["retrieval", "answer"], "answer"),  # one each: the first in the alphabet
        ([], "answer"),
    ],
)
def test_a_blocker_belongs_to_whom_most_of_its_rows_belong(owners: list[str], expected: str):
    assert _owners([PLAIN._replace(owner=owner) for owner in owners]) == expected
