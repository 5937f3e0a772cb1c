"""What must hold before a judge is asked; each failure is named, costs nothing and makes the row *invalid*."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit.cases.read import Case
from evalkit.contract import EvalkitError, Owner, sha256_text
from evalkit.contract.judge import Judge

__all__ = ["Unmet", "check_feeds", "unmet"]

_ANSWERS = {"oracle", "role", "rationale", "gold", "gold_label", "label", "labels", "human_label", "expected_label"}
"""Keys of a case that say how it should be judged."""


class Unmet(NamedTuple):
    """A precondition that a case does not meet."""

    kind: str
    reason: str
    owner: Owner


def unmet(judge: Judge, case: Case, inputs: Mapping[str, Any]) -> Unmet | None:
    """Check what only the whole case can tell: its rubric and evidence versions, and the hash of the captured output.

    That each input is present, of the right type and not blank is `Judge.measure`'s to say; that its contract version
    is the judge's, the scorer's.
    """
    return (
        _rubric(judge, case.fields.get("rubric_version"))
        or _evidence(judge, case.fields.get("evidence_version"))
        or _output(judge, case.fields.get("response_sha256"), inputs)
    )


def _rubric(judge: Judge, wanted: str | None) -> Unmet | None:
    if wanted is None or wanted == judge.rubric_version:
        return None
    reason = (
        f"the case is written for rubric version {wanted!r}, {judge.name} judges by {judge.rubric_version!r}: "
        "review the case against the new rubric, or judge it by the old one"
    )
    return Unmet("rubric_version", reason, "rubric")


def _evidence(judge: Judge, found: str | None) -> Unmet | None:
    known = judge.evidence_versions
    if not known or found in known:
        return None
    came = "is absent" if found is None else f"{found!r} is not one that {judge.name} may be shown"
    return Unmet("evidence_version", f"evidence_version {came}; known are {', '.join(known)}", "test-data")


def _output(judge: Judge, stated: str | None, inputs: Mapping[str, Any]) -> Unmet | None:
    if stated is None:
        return None
    name = output_of(judge)
    if name is None:
        reason = f"the case states response_sha256, but {judge.name} does not say which input is the captured output"
        return Unmet("response_sha256", reason, "metric")
    found = sha256_text(str(inputs.get(name)))
    if found.removeprefix("sha256:") == stated.lower().removeprefix("sha256:"):
        return None
    reason = (
        f"{name} is not the output that was captured: its hash is {found[:19]}…, the case states {stated[:19]}…; "
        "nothing is judged that the system did not say"
    )
    return Unmet("response_sha256", reason, "adapter")


def output_of(judge: Judge) -> str | None:
    """Name the input that is the captured output: the declared one, else ``response``, else the only text produced."""
    if judge.output:
        return judge.output
    produced = judge.contract.produced if judge.contract else tuple(p.name for p in judge.parameters)
    texts = [name for name in produced if name not in judge.lists]
    if "response" in texts:
        return "response"
    return texts[0] if len(texts) == 1 else None


def check_feeds(judge: Judge, feeds: Mapping[str, str]) -> None:
    """Refuse to feed the judge from a key that says what its verdict should be."""
    for name, key in feeds.items():
        if key in _ANSWERS:
            msg = f"--input {name}={key} would show {judge.name} how the case should be judged"
            raise EvalkitError(msg, do="feed it from what was asked, answered or reviewed")
