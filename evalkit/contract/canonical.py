"""Canonical JSON and its SHA-256: the one way evalkit turns a value into bytes that can be compared."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson

__all__ = ["canonical_json", "sha256_file", "sha256_of", "sha256_text"]


def canonical_json(value: Any) -> bytes:
    """Return UTF-8 JSON with sorted keys and no white space.

    Non-finite numbers cannot reach this function: reading refuses them in input, and a metric's value is checked.
    """
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def sha256_of(value: Any) -> str:
    """Hash a JSON value by its canonical form.

    >>> sha256_of({"b": 1, "a": [2]}) == sha256_of({"a": [2], "b": 1})
    True
    """
    return "sha256:" + hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()


def sha256_text(text: str) -> str:
    """Hash a text by its UTF-8 bytes."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def sha256_file(path: Path) -> str:
    """Hash a file's bytes without holding them in memory."""
    with path.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()
