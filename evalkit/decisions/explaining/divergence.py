"""The words for what diverged first, the order they are asked in, and who owns each: the map a red build is read by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from evalkit.contract import Contract, Owner

__all__ = ["ORDER", "OWNER_OF", "Divergence", "Promises", "earliest", "owner_of", "promises_of", "word_of_input"]

Divergence = Literal[
    "contract", "required_set", "policy", "metric", "adapter", "dataset", "reference", "retrieval",
    "document_identity", "answer", "attribution", "supported_set", "rubric", "prompt", "judge_model",
    "provider_settings", "ragas_version", "labels", "parser", "state", "none",
]  # fmt: skip

ORDER: tuple[Divergence, ...] = get_args(Divergence)
"""From what people agreed on, through what the system did, to what the judge made of it: the first that differs is
where to look, because everything after it may differ only in consequence."""

OWNER_OF: Mapping[Divergence, Owner | None] = {
    "contract": "test-data", "required_set": "test-data", "dataset": "test-data", "reference": "test-data",
    "policy": "policy",
    "metric": "metric", "ragas_version": "metric",
    "adapter": "adapter",
    "retrieval": "retrieval",
    "document_identity": "attribution", "attribution": "attribution", "supported_set": "attribution",
    "answer": "answer",
    "rubric": "rubric", "labels": "rubric",
    "prompt": "judge", "judge_model": "judge", "parser": "judge",
    "provider_settings": "provider",
    "none": None,
}  # fmt: skip
"""``state`` is absent: it belongs to the owner of the state the row is in now."""

_STATE_OWNERS: Mapping[str, Owner] = {"invalid": "test-data", "error": "metric", "unrun": "metric"}


class Promises(NamedTuple):
    """As much of a contract as an explanation needs; also readable from the manifest of an old run."""

    reviewed: frozenset[str]
    produced: frozenset[str]
    owners: Mapping[str, str]


def promises_of(contract: Contract | Mapping[str, Any] | None) -> Promises:
    """Read the roles and owners of a contract, of its facts in a manifest, or of a metric that has none."""
    if contract is None:
        return Promises(frozenset(), frozenset(), {})
    if isinstance(contract, Contract):
        return Promises(frozenset(contract.reviewed), frozenset(contract.produced), contract.owners)
    return Promises(
        frozenset(contract.get("reviewed") or ()),
        frozenset(contract.get("produced") or ()),
        contract.get("owners") or {},
    )


def owner_of(divergence: Divergence, promises: Promises, *, state: str = "scored") -> str | None:
    """Name who looks first at a divergence; a contract's own `owners` win over the map.

    >>> owner_of("document_identity", promises_of(None))
    'attribution'
    >>> owner_of("state", promises_of(None), state="error")
    'metric'
    """
    if divergence == "none":
        return None
    if divergence == "state":
        return promises.owners.get(state, _STATE_OWNERS.get(state))
    return promises.owners.get(divergence, OWNER_OF[divergence])


def earliest(divergences: Sequence[Divergence]) -> Divergence:
    """Return the one that comes first in `ORDER` (``none`` for no divergence at all).

    >>> earliest(["answer", "retrieval"])
    'retrieval'
    """
    return min(divergences, key=ORDER.index, default="none")


def word_of_input(name: str, value: object, promises: Promises) -> Divergence:
    """Say which evidence a metric's own input is: by its role in the contract, then by what inputs are usually called.

    >>> word_of_input("required_claim_ids", ["a"], promises_of({"reviewed": ["required_claim_ids"]}))
    'required_set'
    >>> word_of_input("response", "Yes.", promises_of(None))
    'answer'
    """
    if "reference" in name:
        return "reference"
    if name in promises.reviewed:
        return "required_set" if isinstance(value, list) else "dataset"
    for word, parts in _USUAL_NAMES.items():
        if any(part in name for part in parts):
            return word
    if name in promises.produced:
        return "supported_set" if isinstance(value, list) else "answer"
    return "dataset"


_USUAL_NAMES: Mapping[Divergence, tuple[str, ...]] = {
    "retrieval": ("retrieved", "context", "passage"),
    "attribution": ("citation",),
    "answer": ("response", "answer", "output"),
}
