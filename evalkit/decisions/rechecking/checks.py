"""What must still hold before anything is paid for: the rehearsal of an upgrade, on what the older run left."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evalkit.contract import EvalkitError, canonical_json, sha256_of
from evalkit.contract.judge import Judge
from evalkit.contract.stepped import SteppedJudge
from evalkit.scoring.judging.reply import Reply, read_reply
from evalkit.scoring.judging.request import JudgeSettings, RequestMaker
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run, installed_versions

__all__ = ["Check", "rehearse"]


class Check(NamedTuple):
    """One thing that an upgrade could break."""

    name: str
    ok: bool | None
    """``None`` where it does not apply here, and the sentence says why."""
    sentence: str


def rehearse(judge: Judge, maker: RequestMaker, old: Run) -> list[Check]:
    """Try everything that needs no model: import, construction, placeholders, shapes, saved files, both call paths.

    When it misleads: that everything still fits together says nothing of what the model now answers.
    """
    return [
        *_ragas_checks(judge, maker),
        _result_shape(judge),
        _serialisation(judge, old),
        _allowed_labels(judge, old),
        _saved_configuration(maker, old),
        _old_records(old),
    ]


def _ragas_checks(judge: Judge, maker: RequestMaker) -> Iterator[Check]:
    names = ("import", "construction", "placeholders", "ragas_result", "sync_and_async")
    why = None
    if installed_versions()["ragas"] is None:
        why = "ragas is not installed here; evalkit asks without it"
    elif isinstance(judge, SteppedJudge):
        why = "a judge of several questions is rehearsed by asking them"
    if why is not None:
        yield from (Check(name, None, why) for name in names)
        return
    # It takes ten seconds to import, so nothing else of this room pays for it.
    from evalkit.scoring.ragas_bridge.rehearse import rehearse_ragas

    # Replayed verdicts may come from a provider that ragas never asks: the library is rehearsed as it would ask.
    usual = maker if maker.facts["provider"] == "openai" else RequestMaker(judge, JudgeSettings(model="rehearsal"))
    yield from (Check(*found) for found in rehearse_ragas(judge, usual))


def _sample(judge: Judge) -> Any:
    allowed = judge.allowed_values
    return [str(i + 1) for i in range(allowed)] if isinstance(allowed, int) else next(iter(allowed))


def _result_shape(judge: Judge) -> Check:
    if isinstance(judge, SteppedJudge):
        return Check("result_shape", None, "a judge of several questions reads its own replies")
    content = json.dumps({"reason": "sample", "value": _sample(judge)})
    read = read_reply(judge, Reply(1, content, None, "stop", None, None))
    ok = read.state == "scored" and bool(read.reason)
    return Check("result_shape", ok, "a reply with value and reason is read" if ok else f"it is not: {read.reason}")


def _serialisation(judge: Judge, old: Run) -> Check:
    declared = judge.declaration()
    try:
        same = copy.deepcopy(judge).declaration() == declared == json.loads(canonical_json(declared))
        first = next(iter(old.records()), None)
        kept = first is None or Record.from_json(first.to_json(), where="a record written now") == first
    except Exception as error:  # noqa: BLE001 - whatever a library raises here is the finding
        return Check("serialisation", False, f"judge or record cannot be written and read back: {error}")
    changed = [name for name, is_same in (("the judge", same), ("a record", kept)) if not is_same]
    if changed:
        return Check("serialisation", False, f"{' and '.join(changed)} changed on the way to a file and back")
    return Check("serialisation", True, "judge and record are written and read back unchanged")


def _allowed_labels(judge: Judge, old: Run) -> Check:
    before = (old.manifest["metric"].get("declaration") or {}).get("allowed_values")
    now = judge.declaration()["allowed_values"]
    if before is None:
        return Check("allowed_labels", None, "the older run did not keep its labels")
    if before == now:
        return Check("allowed_labels", True, f"the labels are those of the older run: {_listed(now)}")
    return Check("allowed_labels", False, f"the labels were {_listed(before)} and are {_listed(now)}: certify again")


def _listed(values: Any) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else str(values)


def _saved_configuration(maker: RequestMaker, old: Run) -> Check:
    name = "saved_configuration"
    saved: Mapping[str, Any] = old.manifest.get("judge") or {}
    configuration = saved.get("configuration")
    if not isinstance(configuration, Mapping):
        return Check(name, False, "the older run names no configuration of a judge: it cannot be gone back to")
    if sha256_of(configuration) != saved.get("configuration_hash"):
        return Check(name, False, "the saved configuration does not have the hash that was saved with it")
    if missing := sorted(maker.configuration.keys() - configuration.keys()):
        return Check(
            name, False, f"the saved configuration lacks {', '.join(missing)}: its verdicts are another judge's"
        )
    changed = sorted(key for key in maker.configuration if maker.configuration[key] != configuration[key])
    return Check(name, True, f"it can be read; changed since: {', '.join(changed) or 'nothing'}")


def _old_records(old: Run) -> Check:
    try:
        old.check()
        count = sum(1 for _ in old.records())
    except EvalkitError as error:
        return Check("old_records", False, f"they cannot be read any more: {error}")
    return Check("old_records", True, f"all {count} records of the older run can be read")
