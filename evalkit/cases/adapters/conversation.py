"""Named transformations for rows that hold a conversation: which message is the question, which the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["last_assistant_message", "last_user_message", "only_text", "user_messages"]

_USER, _ASSISTANT = ("human", "user"), ("ai", "assistant")


def user_messages(conversation: Any) -> list[str] | None:
    """Return what the user said, turn by turn; ``None`` where there is no conversation."""
    return _said(conversation, _USER)


def last_user_message(conversation: Any) -> Any:
    """Return the question of the last turn; a question that is a text already is its own.

    >>> last_user_message([{"type": "human", "content": "a?"}, {"type": "ai", "content": "b"}])
    'a?'
    """
    found = _said(conversation, _USER)
    return found[-1] if found else conversation


def last_assistant_message(conversation: Any) -> str | None:
    """Return the answer of the last turn; ``None`` where the conversation does not end with one."""
    found = _said(conversation, _ASSISTANT)
    is_last = bool(found) and conversation[-1].get("content") == (found or [""])[-1]
    return found[-1] if found and is_last else None


def only_text(texts: Any) -> Any:
    """Return the text in a list of one; anything else is left as it is, for its own diagnosis."""
    return texts[0] if isinstance(texts, list) and len(texts) == 1 else texts


def _said(conversation: Any, roles: tuple[str, ...]) -> list[str] | None:
    if not isinstance(conversation, list) or not all(isinstance(message, Mapping) for message in conversation):
        return None
    return [
        message["content"]
        for message in conversation
        if str(message.get("type", message.get("role"))) in roles and isinstance(message.get("content"), str)
    ]
