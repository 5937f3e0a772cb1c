"""Strict JSON for one line: orjson for speed, the standard library for the verdict on anything unusual."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

import orjson

__all__ = ["MAX_DEPTH", "RECORD_DEPTH", "JsonProblem", "parse_object", "parse_plain"]

MAX_DEPTH = 250
"""Deeper nesting than this is refused: orjson writes 254 levels, and a record wraps a case once more."""
RECORD_DEPTH = 254
"""What is read back may be as deep as what orjson writes."""

_INT_LIMIT = 2**63
_DIGITS = bytes(ord("0") if chr(code).isdecimal() and code < 128 else ord(" ") for code in range(256))
_LONG = b"0" * 19


class JsonProblem(ValueError):  # noqa: N818 - a problem of the line, which is what its reader is told
    """Why a line is not a JSON object that can be trusted; `kind` is the record's ``error_kind``."""

    def __init__(self, reason: str, *, kind: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


def parse_object(raw: bytes, *, depth: int = MAX_DEPTH) -> dict[str, Any]:
    """Parse one line into a dict, refusing whatever two parsers could read in two ways.

    Raises
    ------
    JsonProblem
        Not UTF-8, not JSON, not an object, a key twice at any depth, a number that is not finite or does not fit 64
        bits, nesting deeper than `depth`, a lone surrogate.

    Examples
    --------
    >>> parse_object(b'{"case_id": "a", "n": [1, 2.5]}')
    {'case_id': 'a', 'n': [1, 2.5]}
    >>> parse_object(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    evalkit.cases.strict_json.JsonProblem: the key 'a' occurs twice in one object
    """
    try:
        parsed = orjson.loads(raw)
    except orjson.JSONDecodeError:
        _explain(raw, depth)  # raises with the exact reason
        msg = "not valid JSON"
        raise JsonProblem(msg, kind="bad_json") from None
    if type(parsed) is not dict:
        kind = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(type(parsed), "a number")
        msg = f"a JSON object is expected on each line; got {kind}"
        raise JsonProblem(msg, kind="not_object")
    if _is_doubtful(raw, parsed):
        _explain(raw, depth)
    return parsed


def parse_plain(block: bytes, lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """Parse the lines of a block together, or return ``None`` where one of them needs `parse_object` to look at it.

    The checks are those of one line, made once for the whole block: a surplus in one line's count of colons cannot
    make up for what another lacks, because a line never has fewer than its object written out again.
    """
    try:
        parsed = list(map(orjson.loads, lines))
    except orjson.JSONDecodeError:
        return None
    return None if set(map(type, parsed)) != {dict} or _is_doubtful(block, parsed) else parsed


def _is_doubtful(raw: bytes, parsed: Any) -> bool:
    """Tell whether the slow parser must look: cheap byte counts that are never wrong in the direction that matters.

    A key that comes twice takes its colon with it: the parsed object, written out again, then has fewer colons than
    the line. Colons inside texts stay, unless one was written as an escape.
    """
    if b"\\" in raw and b"\\u003" in raw:
        return True
    # orjson reads an integer beyond 64 bits as a float, silently; it takes 19 digits in a row to be one.
    if _LONG in raw.translate(_DIGITS):
        return True
    try:
        return raw.count(b":") != orjson.dumps([[[[parsed]]]]).count(b":")
    except orjson.JSONEncodeError:  # too deep to be written inside a record
        return True


def _explain(raw: bytes, depth: int) -> None:
    """Parse again with the standard library and raise what is wrong; return if nothing is."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        msg = f"not valid UTF-8 (byte 0x{raw[error.start]:02x} at position {error.start + 1})"
        raise JsonProblem(msg, kind="bad_utf8") from None
    if _nesting(text) > depth:
        msg = f"nested deeper than {depth} levels"
        raise JsonProblem(msg, kind="too_deep")
    try:
        parsed = json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            parse_int=_small_int,
        )
    except json.JSONDecodeError as error:
        msg = f"not valid JSON: {error.msg.lower().removesuffix(' at')} at column {error.colno}"
        raise JsonProblem(msg, kind="bad_json") from None
    except RecursionError:
        msg = f"nested deeper than {depth} levels"
        raise JsonProblem(msg, kind="too_deep") from None
    if _has_lone_surrogate(parsed):
        msg = "a lone surrogate (half of a character pair) stands in a text: it is no Unicode text"
        raise JsonProblem(msg, kind="bad_utf8")


def _nesting(text: str) -> int:
    depth = deepest = 0
    # A text may lack its closing quote (a line cut off inside it): what follows is then still text, and read once.
    for mark in re.findall(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', text):
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "]}":
            depth -= 1
    return deepest


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            shown = repr(key) if len(key) <= 60 else f"{key[:57]!r}..."
            msg = f"the key {shown} occurs twice in one object"
            raise JsonProblem(msg, kind="duplicate_key")
        result[key] = value
    return result


def _refuse_constant(word: str) -> Any:
    msg = f"{word} is not a JSON number: write null and say in another field why there is no number"
    raise JsonProblem(msg, kind="not_finite")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        msg = f"the number {text[:20]} is too large to be finite"
        raise JsonProblem(msg, kind="not_finite")
    return value


def _small_int(text: str) -> int:
    if len(text) > 20 or not -_INT_LIMIT <= int(text) < 2 * _INT_LIMIT:
        msg = f"an integer of {len(text.lstrip('-'))} digits does not fit 64 bits: write it as text"
        raise JsonProblem(msg, kind="absurd_digits")
    return int(text)


def _has_lone_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, dict):
        return any(_has_lone_surrogate(key) or _has_lone_surrogate(item) for key, item in value.items())
    return isinstance(value, list) and any(map(_has_lone_surrogate, value))
