"""One paid try at a question, and how a provider fails: what may pass, what stops the run, what may cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["IN_DOUBT", "Attempt", "ProviderFault"]

IN_DOUBT = "in_doubt"
"""The kind of an attempt whose process died before its answer was recorded: it may have been paid for."""


class Attempt(NamedTuple):
    """What one HTTP call came to; every one is kept, the first failure too."""

    number: int
    sent_at: str
    latency_ms: float | None
    status: int | None
    """HTTP status; ``None`` where no answer came."""
    error_kind: str | None
    """``None`` for a completion, readable or not; otherwise how the provider failed."""
    message: str | None
    """What the provider said, cut and redacted."""
    usage: Mapping[str, Any] | None
    cost: str | None
    """Decimal; ``None`` where it is not known."""


class ProviderFault(Exception):  # noqa: N818 - the provider's, not ours
    """A call without a completion.

    Parameters
    ----------
    message : str
    kind : str
        ``timeout``, ``connection``, ``rate_limited``, ``request_timeout``, ``server_error`` may pass and are tried
        again; ``refused_request``, ``filtered``, ``bad_body`` concern this row; ``auth``, ``not_found`` and ``quota``
        concern every row.
    status : int, optional
    retry_after : float, optional
        Seconds that the provider asks to wait.
    """

    def __init__(self, message: str, *, kind: str, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.retry_after = retry_after

    @property
    def may_pass(self) -> bool:
        """Whether the same call may succeed a moment later."""
        return self.kind in ("timeout", "connection", "rate_limited", "request_timeout", "server_error")

    @property
    def concerns_all(self) -> bool:
        """Whether every further call would fail the same way."""
        return self.kind in ("auth", "not_found", "quota")

    @property
    def may_cost(self) -> bool:
        """Whether the provider may have computed, and charged for, an answer that did not arrive."""
        return self.kind in ("timeout", "connection", "bad_body")
