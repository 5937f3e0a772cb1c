"""The shape of a case's reserved keys, and keys that are one slip of the finger away from a known one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from evalkit.cases.identity import fold
from evalkit.contract.words import CASE_KEYS, OWNERS

__all__ = ["PARTITIONS", "NearKeys", "is_near", "shape_problem"]

PARTITIONS = ("development", "calibration", "held_out")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_weight(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_unfit(value: object) -> bool:
    if not isinstance(value, dict) or not _is_text(value.get("reason")) or value.get("owner") not in OWNERS:
        return False
    inputs = value.get("inputs", [])
    return isinstance(inputs, list) and all(map(_is_text, inputs))


class _Check(NamedTuple):
    key: str
    is_right: Callable[[Any], bool]
    expected: str


_EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "slice": (_is_text, "a non-blank text (leave it out for 'default')"),
    "blocking": (lambda value: isinstance(value, bool), "true or false"),
    "family": (_is_text, "a non-blank text"),
    "partition": (lambda value: value in PARTITIONS, f"one of {', '.join(PARTITIONS)}"),
    "contract_version": (_is_text, 'a non-blank text, for example "1"'),
    "requirement_set_version": (_is_text, 'a non-blank text, for example "2026-11"'),
    "system_revision": (_is_text, "a non-blank text"),
    "rubric_version": (_is_text, "a non-blank text"),
    "evidence_version": (_is_text, "a non-blank text"),
    "response_sha256": (_is_text, "a non-blank text"),
    "generation": (lambda value: isinstance(value, dict), "an object"),
    "stratum": (_is_text, "a non-blank text"),
    "prevalence_weight": (_is_weight, "a number above 0"),
    "provenance": (lambda value: value in ("production", "synthetic"), "production or synthetic"),
    "oracle": (lambda value: isinstance(value, dict), 'an object such as {"value": 1.0, "reason": "…"}'),
    "role": (_is_text, "a non-blank text"),
    "pair_id": (_is_text, "a non-blank text"),
    "rationale": (lambda value: isinstance(value, str), "a text"),
    "unfit": (_is_unfit, 'an object {"reason": "…", "owner": "…", "inputs": [names, or left out for all]}'),
}


def shape_problem(fields: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the reserved keys of a case, or ``None``."""
    case_id = fields.get("case_id")
    if not isinstance(case_id, str) or not case_id.strip() or not (case_id.isprintable() or fold(case_id)):
        return _case_id_problem(fields)  # an id of invisible characters alone is blank to everybody
    for key, is_right, expected in _checks_of(tuple(fields)):
        if not is_right(fields[key]):
            return f"{key} must be {expected}; got {_short(fields[key])}"
    return _evidence_problem(fields["evidence"]) if "evidence" in fields else None


@lru_cache(maxsize=256)
def _checks_of(keys: tuple[str, ...]) -> tuple[_Check, ...]:
    """Choose the checks of a row by its keys, which most rows of a file share."""
    return tuple(_Check(key, *_EXPECTED[key]) for key in keys if key in _EXPECTED)


def _case_id_problem(fields: Mapping[str, Any]) -> str:
    if "case_id" in fields:
        return f"case_id must be a non-blank text; got {_short(fields['case_id'])}"
    near = [key for key in fields if is_near(key, "case_id")]
    hint = f"; {near[0]!r} is one slip away: rename it" if near else ""
    return f"case_id is absent{hint}"


def _evidence_problem(evidence: Any) -> str | None:
    if not isinstance(evidence, dict):
        return f"evidence must be an object; got {_short(evidence)}"
    for key in ("question", "answer"):
        if not isinstance(evidence.get(key), str | None):
            return f"evidence.{key} must be a text or null; got {_short(evidence[key])}"
    for key in ("citations", "retrieved"):
        items = evidence.get(key)
        if items is not None and not (isinstance(items, list) and set(map(type, items)) <= {dict}):
            return f"evidence.{key} must be a list of objects or null; got {_short(items)}"
    claims = evidence.get("claims")
    if claims is not None and not (isinstance(claims, dict) and set(map(type, claims.values())) <= {str}):
        return f"evidence.claims must map claim ids to texts; got {_short(claims)}"
    return None


def _short(value: Any) -> str:
    shown = repr(value)
    return f"{type(value).__name__} {shown if len(shown) <= 60 else shown[:57] + '...'}"


_MOST_KINDS = 256
"""Of rows by their keys: a file in which every row has other keys must not fill the memory."""


class NearKeys:
    """Finds keys that nobody reads but that are one slip away from one that somebody does.

    Beside a required key that is absent such a key makes the row invalid; beside an optional one it is a finding.
    """

    def __init__(self, required: tuple[str, ...], optional: tuple[str, ...]) -> None:
        self._required = required
        self._known = CASE_KEYS | set(required) | set(optional)
        self._near: dict[str, list[str]] = {}
        self._unread_of: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.found: dict[str, int] = {}
        """How many rows have each suspicious key, by the sentence that says so."""

    def problem(self, fields: Mapping[str, Any]) -> str | None:
        """Return why the row is invalid, noting what is only suspicious."""
        for key in self._unread(tuple(fields)):
            absent = next((known for known in self._near_keys(key) if known not in fields), None)
            if absent is None:
                continue
            if absent in self._required:
                return f"{absent} is absent, but the unknown key {key!r} is one slip away from it: rename it"
            sentence = f"the unknown key {key!r} is one slip away from {absent!r}, which is absent"
            self.found[sentence] = self.found.get(sentence, 0) + 1
        return None

    def findings(self) -> list[str]:
        """Return one sentence for each suspicious key, with the number of rows that have it."""
        return [f"{sentence} ({count} rows)" for sentence, count in sorted(self.found.items())]

    def _unread(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Return the keys that nobody reads, in the line's order; most rows of a file have the same."""
        if (unread := self._unread_of.get(keys)) is None:
            unread = tuple(key for key in keys if key not in self._known)
            if len(self._unread_of) < _MOST_KINDS:
                self._unread_of[keys] = unread
        return unread

    def _near_keys(self, key: str) -> list[str]:
        """Known keys that may be meant, required ones first."""
        if key not in self._near:
            near = [known for known in sorted(self._known) if is_near(key, known)]
            self._near[key] = sorted(near, key=lambda known: known not in self._required)
        return self._near[key]


def is_near(key: str, known: str) -> bool:
    """Tell whether a key is one slip of the finger away from a known one."""
    from rapidfuzz.distance import OSA

    plain = key.casefold().replace("-", "_").replace(" ", "_").strip("_")
    return len(known) > 3 and (plain == known or OSA.distance(plain, known, score_cutoff=1) <= 1)
