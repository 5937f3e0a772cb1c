"""Before the first row is paid for: the request looks as ragas would send it, and the endpoint takes it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from evalkit.contract import EvalkitError, sha256_of
from evalkit.scoring.judging.asking import Asker, OverBudget
from evalkit.scoring.judging.attempt import ProviderFault
from evalkit.scoring.judging.folder import JudgeFolder
from evalkit.scoring.judging.reply import read_reply
from evalkit.scoring.judging.rows import JudgeRows
from evalkit.scoring.judging.verdicts import VerdictStore
from evalkit.scoring.run import installed_versions

__all__ = ["check_connection", "check_shape", "shape_of"]

_PROMPT = "This is a check of the connection, not a row. Reply with any allowed value and the reason 'check'."

_DO = {
    "auth": "check OPENAI_API_KEY and that it belongs to the endpoint",
    "not_found": "check the model's name and OPENAI_BASE_URL",
    "quota": "the account has no credit left",
    "refused_request": "leave a parameter out with --unset NAME, or set it with --set NAME=VALUE",
}


def shape_of(rows: JudgeRows) -> str:
    """Hash everything that decides how a request looks, but for the row itself."""
    facts = {name: value for name, value in rows.maker.configuration.items() if name != "endpoint"}
    return sha256_of({**facts, "declaration": rows.judge.declaration(), **installed_versions()})


async def check_shape(rows: JudgeRows, store: VerdictStore) -> list[str]:
    """Compare a request with the one that ragas itself would send; once for each shape, because ragas loads slowly.

    Raises
    ------
    EvalkitError
        Where they differ: this version of ragas asks differently, and verdicts would not be comparable.
    """
    if installed_versions()["ragas"] is None:
        return ["ragas is not installed: the requests could not be compared with its own"]
    shape = shape_of(rows)
    if store.conforms(shape):
        return []
    from evalkit.scoring.ragas_bridge.judge_request import difference

    # In a thread of its own: importing ragas takes seconds, and a notebook's loop goes on meanwhile.
    if found := await asyncio.to_thread(difference, rows.judge, rows.maker):
        msg = f"the installed ragas would ask differently: {found}"
        raise EvalkitError(msg, do="install the ragas version of the lock file; nothing was sent")
    store.note_conforming(shape)
    return []


async def check_connection(rows: JudgeRows, asker: Asker, home: JudgeFolder, on_note: Callable[[str], object]) -> None:
    """Ask one question that concerns no row, once a run: a wrong key, model or parameter costs one call.

    Raises
    ------
    EvalkitError
        Where the endpoint does not answer; a folder that holds nothing paid for is removed again.
    """
    if any(attempt.error_kind is None for attempt in asker.store.attempts(asker.run_id, kind="preflight")):
        return
    sent = f"parameters as sent: {_shown(rows.maker.request(_PROMPT).body)}"
    try:
        asked = await asker.ask(rows.maker.request(_PROMPT), None, kind="preflight")
    except OverBudget as end:
        raise EvalkitError(f"not even the preflight call fits: {end}", do="raise the budget") from None  # noqa: EM102
    if asked.fault is not None:
        home.discard()
        raise _refused(asked.fault, sent)
    on_note(f"preflight: {rows.maker.request(_PROMPT).body['model']} answers; {sent}")
    if asked.kept is None or "input" in rows.maker.request(_PROMPT).body:
        return
    if (reading := read_reply(rows.judge, asked.kept.reply)).state != "scored":
        on_note(f"preflight: its reply could not be read ({reading.error_kind}: {reading.reason})")


def _refused(fault: ProviderFault, sent: str) -> EvalkitError:
    msg = f"the preflight call failed ({fault.kind}): {fault.message}; {sent}"
    return EvalkitError(msg, do=f"{_DO.get(fault.kind, 'try again later')}; no row was asked")


def _shown(body: dict[str, Any]) -> str:
    shown = {name: value for name, value in body.items() if name not in ("messages", "tools", "tool_choice", "input")}
    if isinstance(shown.get("response_format"), dict):
        shown["response_format"] = shown["response_format"]["type"]
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in shown.items())
