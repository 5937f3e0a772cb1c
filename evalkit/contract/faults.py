"""The one exception that reaches a user: what was expected, what came, where, and what to do."""

from __future__ import annotations

__all__ = ["EvalkitError", "example_list"]


class EvalkitError(Exception):
    """Something evalkit cannot go on with; shown as plain lines, never as a traceback; the outcome is *incomplete*.

    Parameters
    ----------
    message : str
        What was expected and what came (values with ``!r``), ending without a full stop.
    where : str, optional
        File, line, case or key.
    do : str, optional
        What mends it.
    """

    def __init__(self, message: str, *, where: str = "", do: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.do = do

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        do = f"; {self.do}" if self.do else ""
        return f"{where}{self.message}{do}"

    def _render_traceback_(self) -> list[str]:
        """Let a notebook show the message alone, as the command line does."""
        return [f"evalkit: {self}"]


def example_list(items: list[str], most: int = 5) -> str:
    """Join at most `most` examples and say how many were left out.

    >>> example_list(["a", "b", "c"], most=2)
    'a, b (and 1 more)'
    """
    shown = ", ".join(items[:most])
    return f"{shown} (and {len(items) - most} more)" if len(items) > most else shown
