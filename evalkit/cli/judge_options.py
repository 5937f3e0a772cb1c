"""The options that every command which asks a judge takes, said once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from evalkit.scoring.judge import JudgeSettings

__all__ = [
    "AsOf",
    "Attempts",
    "Budget",
    "Concurrency",
    "Feed",
    "Fresh",
    "JudgeName",
    "Llm",
    "MaxCalls",
    "MaxSeconds",
    "Mode",
    "Model",
    "NoPreflight",
    "Replay",
    "Set",
    "Store",
    "Timeout",
    "Unset",
    "settings_of",
]

JudgeName = Annotated[str, typer.Argument(metavar="JUDGE", help="Named like a METRIC.")]
Replay = Annotated[Path | None, typer.Option(metavar="FILE", help="A cassette to read; nothing is sent.")]
Budget = Annotated[str | None, typer.Option(metavar="AMOUNT", help="Money, in the policy's currency.")]
MaxCalls = Annotated[int | None, typer.Option(metavar="N", min=0, help="Calls, the preflight included.")]
MaxSeconds = Annotated[float | None, typer.Option(metavar="N", min=0, help="No new call after this.")]
Concurrency = Annotated[int, typer.Option(metavar="N", help="Calls under way at a time.")]
Model = Annotated[str | None, typer.Option(metavar="NAME", help="Instead of EVALKIT_JUDGE_MODEL.")]
Mode = Annotated[str, typer.Option(metavar="SHAPE", help="Of the reply: json_object, json_schema or tools.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter to send.")]
Unset = Annotated[list[str] | None, typer.Option(metavar="NAME", help="A parameter to leave out.")]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", help="For one attempt.")]
Attempts = Annotated[int, typer.Option(metavar="N", help="Where the provider fails; never for a verdict.")]
Llm = Annotated[str | None, typer.Option(metavar="FILE.py:OBJECT", help="A ragas llm of another provider.")]
Store = Annotated[Path | None, typer.Option(metavar="FILE", help="Where verdicts are kept.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Ask anew, whatever is kept.")]
NoPreflight = Annotated[bool, typer.Option("--no-preflight", help="Go without the check of the endpoint.")]
Feed = Annotated[list[str] | None, typer.Option("--input", metavar="PARAM=KEY", help="Feed from another key.")]
AsOf = Annotated[str | None, typer.Option(metavar="DATE", help="The day the policy is judged on; today.")]


def settings_of(
    *,
    model: str | None,
    mode: str,
    given: list[str] | None,
    left_out: list[str] | None,
    timeout: float,
    attempts: int,
    concurrency: int,
    replay: Path | None,
    llm: str | None = None,
    embeddings: str | None = None,
) -> JudgeSettings | None:
    """Return how a model is to be asked; ``None`` for a replay.

    A replay is of what was recorded, whatever the environment names; only ``--model`` asks for a comparison.
    """
    from evalkit.pages.judge_command import parse_parameters
    from evalkit.scoring.judge import environment_settings

    settings = environment_settings(
        model=model or ("that of the llm" if llm else None),
        embedding_model=embeddings,
        mode=mode,
        parameters=parse_parameters(given or [], left_out or []),
        timeout=timeout,
        attempts=attempts,
        concurrency=concurrency,
    )
    return settings if replay is None or model else None
