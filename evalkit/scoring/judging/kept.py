"""A completion that has been paid for, in the form in which stores and cassettes keep it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit.scoring.judging.attempt import Attempt
from evalkit.scoring.judging.reply import Reply

__all__ = ["Kept"]


class Kept(NamedTuple):
    """A completion with all attempts it took."""

    reply: Reply
    attempts: tuple[Attempt, ...]
    case_id: str | None
    """The case that asked first."""
    prompt_sha256: str
    run_id: str | None = None
    """The run that paid for it."""

    def facts(self) -> dict[str, Any]:
        """Return reply and attempts as plain JSON values."""
        return {"reply": self.reply._asdict(), "attempts": [attempt._asdict() for attempt in self.attempts]}

    @classmethod
    def of(
        cls, facts: Mapping[str, Any], *, case_id: str | None, prompt_sha256: str, run_id: str | None = None
    ) -> Kept:
        """Read what `facts` gave.

        Raises
        ------
        ValueError
            Where a field is absent, unknown or of the wrong kind.
        """
        reply, attempts = facts.get("reply"), facts.get("attempts", [])
        if not isinstance(reply, dict) or not isinstance(attempts, list):
            msg = "reply must be an object and attempts a list"
            raise ValueError(msg)
        try:
            kept = cls(Reply(**reply), tuple(Attempt(**a) for a in attempts), case_id, prompt_sha256, run_id)
        except TypeError as error:
            msg = f"reply or attempts do not have the fields expected ({error})"
            raise ValueError(msg) from error
        texts = (kept.reply.content, kept.reply.refusal, kept.reply.finish_reason, kept.reply.model)
        if not all(isinstance(text, str | None) for text in texts) or not isinstance(kept.reply.choices, int):
            msg = "a field of the reply has the wrong type"
            raise ValueError(msg)
        return kept
