"""JSON that was written into a text: a CSV cell, a span attribute."""

from __future__ import annotations

from typing import Any

from evalkit.cases.strict_json import JsonProblem, parse_object

__all__ = ["json_text", "json_value"]


def json_value(text: str) -> Any:
    """Parse any JSON value as strictly as a line of cases.

    Raises
    ------
    JsonProblem
        Where it is not one JSON value.

    Examples
    --------
    >>> json_value(' ["a", "b"] '), json_value("null")
    (['a', 'b'], None)
    """
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        msg = "a lone surrogate (half of a character pair) stands in a text: it is no Unicode text"
        raise JsonProblem(msg, kind="bad_utf8") from None
    parsed = parse_object(b'{"value":' + raw + b"}")
    if parsed.keys() != {"value"}:
        msg = "not one JSON value"
        raise JsonProblem(msg, kind="bad_json")
    return parsed["value"]


def json_text(value: Any) -> Any:
    """Return the list or object in a text that holds one; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json_value(value)
        except JsonProblem:
            return value
    return value
