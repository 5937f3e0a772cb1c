"""Comparisons of what a judge was and is: rubric, prompt, model, settings, library, labels, parser; then the state."""

from __future__ import annotations

from typing import Any, NamedTuple

from evalkit.decisions.explaining.kept import Difference, Shown, differs, mark
from evalkit.decisions.explaining.run_facts import RunFacts
from evalkit.decisions.explaining.sides import Compare, Sides
from evalkit.scoring.records import Record

__all__ = ["JUDGE_KEYS", "judge_differs", "judge_part", "ragas_version", "state"]

JUDGE_KEYS = {
    "rubric": ("rubric", "rubric_version", "rubric_sha256"),
    "prompt": ("prompt", "prompt_sha256", "system_prompt", "system_prompt_sha256", "rendered_prompt_sha256"),
    "judge_model": ("model", "judge_model"),
    "provider_settings": ("provider", "provider_settings", "settings", "endpoint", "mode"),
    "labels": ("labels", "allowed_values", "compatibility_map", "compatible"),
    "parser": ("parser", "parser_version", "response_schema", "renderer", "ignore_case", "fenced", "output"),
}
"""Keys of a record's `judge`, of a manifest's `judge` and of a judge's declaration, by the evidence that each is."""


class _Found(NamedTuple):
    key: str
    old: Any
    new: Any


def judge_part(word: str, name: str) -> Compare:
    """Return the comparison of one part of a judge, asked of the record first and of the run after it."""

    def compare(sides: Sides) -> Difference | None:
        if word != "rubric" and not sides.is_judged:
            return None  # a rubric is named in the row's lineage too
        for key in JUDGE_KEYS[word]:
            found = _Found(key, _of(sides.old, sides.old_run, key), _of(sides.new, sides.new_run, key))
            if None not in found[1:] and differs(found.old, found.new):
                return Difference(f"judge.{key}", f"{name} changed", mark(found.old, found.new))
        return None

    return compare


def _of(record: Record, run: RunFacts, key: str) -> Any:
    for source in (record.judge or {}, run.judge, run.declaration, record.lineage):
        if (found := source.get(key)) is not None:
            return found
    return None


def judge_differs(sides: Sides) -> bool:
    """Tell whether a part of the judge differs: then that part is named, and not its source as a whole."""
    parts = (judge_part(word, word) for word in JUDGE_KEYS)
    return sides.is_judged and any(compare(sides) is not None for compare in (*parts, ragas_version))


def ragas_version(sides: Sides) -> Difference | None:
    """Compare the library, where it can have had a say in the value."""
    before, after = (_ragas_of(*side) for side in ((sides.old, sides.old_run), (sides.new, sides.new_run)))
    if before == after or not (sides.is_judged or sides.old_run.uses_ragas or sides.new_run.uses_ragas):
        return None
    return Difference("ragas", f"ragas went from {before} to {after}", Shown(str(before), str(after)))


def _ragas_of(record: Record, run: RunFacts) -> Any:
    return (record.judge or {}).get("ragas_version") or run.manifest.get("ragas")


def state(sides: Sides) -> Difference | None:
    """Compare the states, where nothing that was kept differs but how the row ended."""
    if sides.old.state == sides.new.state:
        return None
    reason = sides.new.reason or sides.old.reason
    text = f"nothing else that was kept differs; the row is {sides.new.state} now: {reason}"
    return Difference("state", text, Shown(sides.old.state, sides.new.state))
