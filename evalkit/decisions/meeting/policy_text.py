"""The text of a policy with other thresholds in it: comments and everything that was not decided stay as they are."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from datetime import date
from typing import Any

import tomlkit

from evalkit.decisions.meeting.meeting import Meeting, Proposal

__all__ = ["policy_diff", "policy_text"]

_OURS = "threshold review "


def policy_text(
    meeting: Meeting, proposal: Proposal, *, values: Mapping[str, Any] | None = None, reviewed_on: date | None = None
) -> str:
    """Return the policy file as it would read under a proposal.

    Parameters
    ----------
    meeting : Meeting
    proposal : mapping of slice to threshold
    values : mapping, optional
        Top-level keys to set; ``None`` takes a key out.
    reviewed_on : date, optional
        Written beside each moved threshold with what it means, unless somebody else's comment stands there.
    """
    document = tomlkit.parse(meeting.policy_file.path.read_bytes().decode("utf-8-sig"))
    for key, value in (values or {}).items():
        if value is None:
            document.pop(key, None)
        else:
            document[key] = _item(value)
    word = "minimum" if meeting.better == "higher" else "maximum"
    slices: Any = document["slices"]
    for name, threshold in proposal.items():
        limits = slices[name]
        if limits.get(word) == threshold and limits.get("decide", "policy") == "policy":
            continue
        limits[word] = threshold
        limits.pop("decide", None)
        if reviewed_on is not None:
            _explain(limits.item(word), meeting.meaning(name, threshold), reviewed_on)
    return tomlkit.dumps(document)


def _item(value: Any) -> Any:
    if isinstance(value, str) and "\n" in value and '"""' not in value and value.replace("\n", "").isprintable():
        return tomlkit.string(value, multiline=True)
    return value


def _explain(item: Any, meaning: str, day: date) -> None:
    old = item.trivia.comment.removeprefix("#").strip()
    if not old or old.startswith(_OURS):
        item.comment(f"{_OURS}{day}{': ' if meaning else ''}{meaning}")


def policy_diff(old: str, new: str) -> str:
    """Return what changes in the file, as a unified diff; empty where nothing does."""
    return "\n".join(
        difflib.unified_diff(old.splitlines(), new.splitlines(), "the policy now", "the policy decided", lineterm="")
    )
