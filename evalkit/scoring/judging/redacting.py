"""A reply before it is written: the contract's redaction, applied so that the verdict inside stays readable."""

from __future__ import annotations

import json

from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import Contract
from evalkit.scoring.retention import redactor

__all__ = ["redacted_text"]


def redacted_text(contract: Contract | None, text: str | None) -> str | None:
    """Redact what a model said before a store or a record keeps it.

    Where it is the JSON object that was asked for, every text in it is redacted except the verdict: a redaction of
    digits must not turn a score of 0.85 into something else.
    """
    if text is None or contract is None or contract.redact is None:
        return text
    redact = redactor(contract)
    try:
        found = parse_object(text.strip().encode("utf-8", "surrogatepass"))
    except JsonProblem:
        return str(redact(text))
    return json.dumps({key: value if key == "value" else redact(value) for key, value in found.items()})
