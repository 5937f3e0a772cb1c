"""What a reviewer sees of a case, as one hash: a decision about one answer does not speak for another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.contract import sha256_of

__all__ = ["SEEN", "seen_hash"]

SEEN = ("question", "answer", "retrieved")
"""Parts of the evidence that are shown."""


def seen_hash(evidence: Mapping[str, Any] | None) -> str | None:
    """Hash question, answer and passages as shown; ``None`` where the case carries none of them.

    >>> seen_hash({"answer": "Yes.", "claims": {}}) == seen_hash({"answer": "Yes."})
    True
    """
    seen = {key: evidence[key] for key in SEEN if key in evidence} if evidence else {}
    return sha256_of(seen) if seen else None
