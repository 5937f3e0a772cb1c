"""What a run folder keeps of a row: the contract's redaction first, then full, excerpt or hash for each key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from evalkit.cases.seen import seen_hash
from evalkit.contract import Contract, canonical_json, sha256_of

__all__ = [
    "EXCERPT_LENGTH",
    "Kept",
    "RedactionFailed",
    "form_keeper",
    "is_kept_in_full",
    "keeper",
    "redactor",
]

EXCERPT_LENGTH = 200
"""Characters of an excerpt: enough to recognise a passage, not enough to republish it."""


class RedactionFailed(Exception):  # noqa: N818 - what happened, told in the row's record
    """The contract's redaction raised or gave no text; the message quotes nothing, as it may be what had to go."""


class Kept(NamedTuple):
    """The parts of a row as they are written, with hashes of their redacted, uncut form."""

    inputs: Mapping[str, Any]
    evidence: Mapping[str, Any] | None
    input_hash: str
    evidence_hash: str | None
    seen_hash: str


def redactor(contract: Contract | None) -> Callable[[Any], Any]:
    """Return the contract's redaction applied to every text inside a JSON value (keys included).

    Whatever would be written as JSON is walked through: a text inside a tuple or a dataclass is written, too.
    """
    if contract is None or contract.redact is None:
        return lambda value: value
    redact = contract.redact

    def text_of(text: str) -> str:
        return _redacted(redact, text)

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return text_of(value)
        if isinstance(value, dict):
            return {text_of(key) if isinstance(key, str) else key: walk(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [walk(item) for item in value]
        if value is None or isinstance(value, bool | int | float):
            return value
        try:
            return walk(orjson.loads(orjson.dumps(value)))
        except TypeError:
            return value  # it cannot be written either, and the record then says so

    return walk


def _redacted(redact: Callable[[str], str], text: str) -> str:
    try:
        redacted: object = redact(text)
    except Exception as error:
        msg = f"raised {type(error).__name__}"
        raise RedactionFailed(msg) from error
    if not isinstance(redacted, str):
        msg = f"gave back {type(redacted).__name__}, not a text"
        raise RedactionFailed(msg)
    return redacted


def keeper(contract: Contract | None) -> Callable[[Mapping[str, Any], Mapping[str, Any] | None], Kept]:
    """Compile the contract's retention into a function of one row's inputs and evidence."""
    redact = redactor(contract)
    cut = _cuts(contract)

    def keep(inputs: Mapping[str, Any], evidence: Mapping[str, Any] | None) -> Kept:
        input_hash = sha256_of(inputs)
        if evidence is None:
            return Kept(inputs, None, input_hash, None, input_hash)
        # A reviewer sees question, answer and passages; the inputs, where a case carries none of them.
        return Kept(inputs, evidence, input_hash, sha256_of(evidence), seen_hash(evidence) or input_hash)

    def keep_less(inputs: Mapping[str, Any], evidence: Mapping[str, Any] | None) -> Kept:
        kept = keep(redact(inputs), redact(evidence))
        return kept._replace(inputs=_cut(kept.inputs, cut), evidence=kept.evidence and _cut(kept.evidence, cut))

    return keep_less if cut or (contract and contract.redact) else keep


def form_keeper(contract: Contract | None) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Compile the contract's retention into a function of prepared inputs: what is kept of each, and its hash."""
    redact, cut = redactor(contract), _cuts(contract)

    def keep(forms: Mapping[str, Any]) -> dict[str, Any]:
        clean = {name: redact(form) for name, form in forms.items()}
        kept = _cut(clean, cut)
        return {name: {"form": kept[name], "sha256": sha256_of(form)} for name, form in clean.items()}

    return keep


def _cuts(contract: Contract | None) -> dict[str, str]:
    """Return the keys of which less than all is kept."""
    return {key: choice for key, choice in (contract.retention if contract else {}).items() if choice != "full"}


def _cut(values: Mapping[str, Any], cut: Mapping[str, str]) -> Mapping[str, Any]:
    return {key: _short(value, cut[key]) if key in cut else value for key, value in values.items()}


def _short(value: Any, choice: str) -> Any:
    if value is None:
        return None  # that it is missing is not a secret, and hashing it would hide the fact
    text = value if isinstance(value, str) else canonical_json(value).decode()
    return {"sha256": sha256_of(value), "excerpt": text[:EXCERPT_LENGTH] if choice == "excerpt" else None}


def is_kept_in_full(value: Any) -> bool:
    """Tell a value kept as it was from one that is only known by hash or excerpt."""
    return not (isinstance(value, Mapping) and set(value) == {"sha256", "excerpt"})
