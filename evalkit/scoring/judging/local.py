"""Embeddings computed on this machine: an object with ragas' embedding interface instead of an endpoint."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalkit.contract import EvalkitError, sha256_file
from evalkit.scoring.judging.attempt import ProviderFault
from evalkit.scoring.judging.reply import Reply
from evalkit.scoring.judging.request import JudgeSettings, Request
from evalkit.scoring.judging.sender import OpenAISender, Sender
from evalkit.scoring.load_judge import load_object

__all__ = ["LocalSender", "sender_of", "with_local_embeddings"]


def with_local_embeddings(settings: JudgeSettings) -> JudgeSettings:
    """Load what ``FILE.py:OBJECT`` names as the embedding model; other settings are returned as they are.

    The object has ``embed_text(text)``, as ragas' embeddings have, or is a function of one text. Its name in keys and
    records is the object's with the hash of its file: an edited file is another model.

    Raises
    ------
    EvalkitError
        Where there is no such file or object, or it embeds no text.
    """
    named = settings.embedding_model or ""
    place, _, name = named.rpartition(":")
    if not place.endswith(".py"):
        return settings
    try:
        found = load_object(named)
    except AttributeError:
        msg = f"there is no object {name!r} in {place!r}"
        raise EvalkitError(msg, do="name a file and an object of it: --embeddings path/to/file.py:object") from None
    embed = getattr(found, "embed_text", found)
    if not callable(embed) or isinstance(found, type):
        msg = f"{name!r} of {place!r} has no embed_text, and is no function of a text"
        raise EvalkitError(msg, do="name an embedding object of ragas, or a function that returns a list of numbers")
    model = f"local:{name}@{sha256_file(Path(place))[:23]}"
    own = model if settings.model == named else settings.model  # no path of this machine is recorded
    return replace(settings, model=own, embedding_model=model, embed=embed)


def sender_of(settings: JudgeSettings) -> Sender:
    """Return what sends a run's questions: the OpenAI client, with vectors computed here where the settings say how."""
    return OpenAISender(settings) if settings.embed is None else LocalSender(settings, settings.embed)


class LocalSender:
    """Computes vectors here and sends everything else; without a language model, nothing is sent and no key needed."""

    def __init__(self, settings: JudgeSettings, embed: Callable[[str], Any]) -> None:
        self._settings, self._embed = settings, embed
        self._client: OpenAISender | None = None

    async def send(self, request: Request) -> Reply:
        """Return the vector of a text, or what the endpoint says."""
        if "input" not in request.body:
            self._client = self._client or OpenAISender(self._settings)
            return await self._client.send(request)
        try:
            vector = await asyncio.to_thread(self._embed, request.body["input"])
            content = json.dumps({"value": [float(number) for number in vector]})
        except Exception as error:  # noqa: BLE001 - whatever a foreign model raises is a fault of this text
            msg = f"the embedding object failed ({type(error).__name__}: {error})"
            raise ProviderFault(msg, kind="refused_request") from None
        usage = {"prompt_tokens": 0, "total_tokens": 0, "kind": "embedding"}
        return Reply(1, content, None, "stop", str(request.body["model"]), usage)

    async def close(self) -> None:
        """Close the connections, where there are any."""
        if self._client is not None:
            await self._client.close()
