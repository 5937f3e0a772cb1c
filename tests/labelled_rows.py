"""Scored records and labels made by hand, for the tests of everything that decides by labels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from evalkit.cases.labels import Label
from evalkit.contract import Contract, Metric, make_metric, sha256_text
from evalkit.scoring.records import Record


def share(found: float) -> float:
    return found


CONTRACT = Contract(
    version="1",
    measures="a share",
    reviewed=(),
    produced=("found",),
    invalid_when=("nothing was found",),
    consumed_by="tests",
    cannot_establish="anything",
)
SHARE: Metric = make_metric(share, (0.0, 1.0), name="share", contract=CONTRACT)
WORD: Metric = make_metric(share, ["pass", "fail", "unsure"], name="word")


def words(case_id: str, n: int = 12) -> str:
    """Return words that no other case has: texts of two cases are never alike by accident."""
    digest = hashlib.sha256(case_id.encode()).hexdigest() * 2
    return " ".join(digest[i * 5 : i * 5 + 5] for i in range(n))


def record(case_id: str, value: Any = 1.0, **more: Any) -> Record:
    """Return the record of one case; ``value=None`` makes it invalid."""
    text = more.pop("text", words(case_id))
    fields: dict[str, Any] = dict.fromkeys(Record._fields)
    fields |= {
        "line": 1,
        "case_id": case_id,
        "slice": "s",
        "blocking": True,
        "state": "invalid" if value is None else "scored",
        "value": value,
        "reason": "",
        "detail": {},
        "inputs": {"found": value},
        "evidence": {"question": text, "answer": ""},
        "input_hash": "sha256:0",
        "seen_hash": sha256_text(text),
        "contract_version": "1",
        "lineage": {},
    }
    return Record(**fields | more)


def label(of: Record, word: str, line: int = 1, **more: Any) -> Label:
    """Return a random label of a record, bound to what it shows."""
    fields: dict[str, Any] = {"reviewer": "r1", "seen_hash": of.seen_hash, "selection": "random"}
    return Label(line, str(of.case_id), word, **fields | more)


def world(
    values: Iterable[tuple[float, str | None]],
    *,
    prefix: str = "c",
    label_more: dict[str, Any] | None = None,
    **more: Any,
) -> tuple[list[Record], list[Label]]:
    """Return records and labels from (value, label) pairs; a label of ``None`` leaves the case unlabelled."""
    records: list[Record] = []
    labels: list[Label] = []
    for i, (value, said) in enumerate(values):
        made = record(f"{prefix}{i}", value, **more)
        records.append(made)
        if said is not None:
            labels.append(label(made, said, i + 1, **(label_more or {})))
    return records, labels


def separable(n_fail: int, n_pass: int = 10, passing: int = 0) -> list[tuple[float, str]]:
    """Return bad rows at 0.0 (`passing` of them at 1.0) and good rows at 1.0."""
    return [(1.0, "fail")] * passing + [(0.0, "fail")] * (n_fail - passing) + [(1.0, "pass")] * n_pass
