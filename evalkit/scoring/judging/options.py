"""How a judge is run: model, budget, store, and what the environment says of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit.contract import EvalkitError
from evalkit.scoring.judging.budget import Budget, Price
from evalkit.scoring.judging.folder import JudgeFolder
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.judging.request import PUBLIC_ENDPOINT, JudgeSettings
from evalkit.scoring.judging.sender import Sender
from evalkit.scoring.repeats import MOST_REPEATS

__all__ = ["DEFAULT_STORE", "JudgeOptions", "environment_settings"]

DEFAULT_STORE = Path(".evalkit/verdicts.sqlite")


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """How a judge is run. Without `settings` nothing is ever sent: recorded verdicts are replayed."""

    settings: JudgeSettings | None = None
    replay: Path | None = None
    """A cassette (``.jsonl``) whose verdicts are read; a question it does not hold is left *unrun*."""
    store: Path = DEFAULT_STORE
    """Where verdicts are kept; a question that was asked before costs nothing."""
    given: Mapping[str, Kept] = field(default_factory=dict)
    """Replies that stand for themselves, by key: the recorded failure of a control is never asked for."""
    is_fresh: bool = False
    """Ask everything anew; the verdicts kept earlier stay, and count again in the next run."""
    budget: Budget = field(default_factory=Budget)
    """What a live run may use; it must say something."""
    price: Price | None = None
    critical: frozenset[str] = frozenset()
    """Slices that are asked first."""
    feeds: Mapping[str, str] = field(default_factory=dict)
    repeat: int = 1
    """How often each question is asked; every verdict is kept and paid for."""
    has_preflight: bool = True
    export: Path | None = None
    """A cassette to write from this run."""
    sender: Sender | None = None
    """Another way to the model than the OpenAI client."""
    before_manifest: Callable[[JudgeFolder, dict[str, Any]], object] = lambda *_: None
    """Called when all records are written: adds the other files of the run."""
    on_rows: Callable[[int], object] = lambda _: None
    on_note: Callable[[str], object] = lambda _: None
    """Told what the preflight found."""

    def __post_init__(self) -> None:
        if not 1 <= self.repeat <= MOST_REPEATS:
            msg = f"--repeat must be a number from 1 to {MOST_REPEATS}; got {self.repeat!r}"
            raise EvalkitError(msg, do="an odd number leaves no ties between two labels")

    def check_declared(self) -> None:
        """Refuse a live run that nothing limits, or whose limit could not be kept."""
        budget = self.budget
        if not budget.is_declared:
            msg = "a live judge run needs a budget, declared before it"
            mend = "give --budget 5.00 (with prices in the policy), --max-calls N or --max-seconds N"
            raise EvalkitError(msg, do=mend)
        if budget.cost is not None and self.price is None:
            model = self.settings.model if self.settings else ""
            msg = f"a budget of {budget.cost} cannot be kept without the price of {model!r}"
            mend = f'put [prices."{model}"] with input and output into the policy, or give --max-calls N instead'
            raise EvalkitError(msg, do=mend)


def environment_settings(environment: Mapping[str, str] = os.environ, **given: Any) -> JudgeSettings | None:
    """Read the usual variables; ``None`` where no model is named, by them or by `given`.

    Parameters
    ----------
    environment : mapping
        ``EVALKIT_JUDGE_MODEL``, ``EVALKIT_EMBEDDING_MODEL``, ``OPENAI_API_KEY``, ``OPENAI_BASE_URL``.
    given : Any
        Fields of `JudgeSettings` that win over the environment; ``None`` stands for not given.
    """
    given = {name: value for name, value in given.items() if value is not None}
    named = given.pop("embedding_model", None)
    embeddings = named or environment.get("EVALKIT_EMBEDDING_MODEL", "").strip()
    # A metric that only compares texts asks no other model than the one it was given for that.
    model = given.pop("model", None) or environment.get("EVALKIT_JUDGE_MODEL", "").strip() or named
    if not model:
        return None
    defaults: dict[str, Any] = {
        "api_key": environment.get("OPENAI_API_KEY") or None,
        "endpoint": (environment.get("OPENAI_BASE_URL") or PUBLIC_ENDPOINT).rstrip("/"),
        "embedding_model": embeddings or None,
    }
    return JudgeSettings(model=model, **defaults | given)
