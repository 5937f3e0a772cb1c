"""The whole of ``evalkit recheck``: rehearse, then the controls, then the frozen set; and what is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalkit.cases.control_file import read_controls
from evalkit.cases.labels import read_labels
from evalkit.cases.lines import check_cases_file
from evalkit.cases.proposed import write_proposed
from evalkit.cases.settle import Settled, settle
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError, sha256_file
from evalkit.contract.judge import Judge
from evalkit.decisions.controlling.results import ControlRun
from evalkit.decisions.controlling.running import judge_controls
from evalkit.decisions.policy import Policy, PolicyFile, read_policy
from evalkit.decisions.rechecking.checks import rehearse
from evalkit.decisions.rechecking.recheck import Recheck
from evalkit.decisions.rechecking.rollback import ROLLBACK_NAME, rollback_facts
from evalkit.decisions.rechecking.transitions import Compared, compare_runs
from evalkit.pages.judge_command import JudgeAsk, add_report, named_policy, options_of, through_llm
from evalkit.pages.progress import counting
from evalkit.scoring.judge import JudgeOptions, request_maker, run_judge
from evalkit.scoring.judging.budget import Budget
from evalkit.scoring.judging.cassette import read_cassette
from evalkit.scoring.judging.folder import JudgeFolder
from evalkit.scoring.load_judge import load_judge
from evalkit.scoring.run import Run, new_run_id, open_run, write_whole

__all__ = ["RecheckAsk", "RecheckDone", "run_recheck"]


@dataclass(frozen=True, kw_only=True)
class RecheckAsk:
    """What the command was given."""

    ask: JudgeAsk
    """How the judge is asked; its `cases` are the frozen set."""
    against: Path
    controls: Path | None = None
    labels: Path | None = None
    proposed: Path | None = None
    rollback: Path | None = None


class RecheckDone(NamedTuple):
    """A finished recheck."""

    found: Recheck
    judge: Judge
    old: Run
    new: Run | None
    """``None`` where the rehearsal or the controls ended it."""
    calls: int
    policy: Policy | None
    rollback: Path | None
    proposals: int | None

    @property
    def facts(self) -> dict[str, Any]:
        """What ``--json`` writes."""
        return {
            "schema": 1,
            "command": f"recheck {self.judge.name}",
            "against": self.old.manifest.get("run_id"),
            "run_id": self.new.manifest.get("run_id") if self.new else None,
            "calls": self.calls,
            "proposed": self.proposals,
            **self.found.facts(),
        }


def run_recheck(recheck: RecheckAsk, *, on_note: Callable[[str], object]) -> RecheckDone:
    """Ask a judge again about a frozen set, once everything that costs nothing has been tried.

    A live recheck asks anew, whatever is kept: an endpoint that answers differently under the same name shows in no
    other way. An interrupted one goes on under the same ``--run``.
    """
    judge, ask = load_judge(recheck.ask.judge), recheck.ask
    old, policy = open_run(recheck.against), named_policy(ask)
    folder = ask.run or Path("runs") / f"recheck-{new_run_id()}"
    if recheck.proposed and recheck.proposed.exists():
        msg = "exists already, and proposals are never overwritten"
        raise EvalkitError(msg, where=str(recheck.proposed), do="give --proposed a new name")
    ask, sender = through_llm(judge, replace(ask, is_fresh=ask.replay is None))
    options = replace(options_of(judge, policy, ask), sender=sender, on_note=on_note)
    found = _rehearsed(judge, ask, options, old)
    rollback = _write_rollback(recheck.rollback or folder.with_name(f"{folder.name}.{ROLLBACK_NAME}"), old)
    done = RecheckDone(found, judge, old, None, 0, policy, rollback, None)
    if not found.is_ready:
        return done
    if recheck.controls:
        found = _with_controls(found, judge, recheck.controls, options, _frozen(ask.policy))
        done = done._replace(found=found, calls=int((found.controls.calls if found.controls else {}).get("calls") or 0))
        if found.controls is not None and not found.controls.separated:
            return done  # what cannot tell its controls apart is not worth a call more
    return _on_the_set(recheck, ask.cases, folder, options, done)


def _rehearsed(judge: Judge, ask: JudgeAsk, options: JudgeOptions, old: Run) -> Recheck:
    if old.manifest["metric"].get("name") != judge.name or old.manifest.get("judge") is None:
        msg = f"is no run of the judge {judge.name!r}: it is one of {old.manifest['metric'].get('name')!r}"
        raise EvalkitError(msg, where=str(old.folder), do="give the run of the judge that is to be rechecked")
    check_cases_file(ask.cases, "give the frozen set with --cases")
    cassette = read_cassette(options.replay) if options.replay else None
    maker = request_maker(judge, options.settings, cassette)
    is_same = sha256_file(ask.cases) == old.manifest.get("cases_sha256")
    return Recheck(checks=rehearse(judge, maker, old), is_same_set=is_same)


def _write_rollback(path: Path, old: Run) -> Path:
    """Write what going back takes, before anything is asked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, orjson.dumps(rollback_facts(old), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return path


def _with_controls(
    found: Recheck, judge: Judge, controls: Path, options: JudgeOptions, frozen: Mapping[str, Any] | None
) -> Recheck:
    suite = read_controls(controls, judge)
    # The verdicts of the controls are not the run's: they keep their own folder for as long as they are read.
    plain = replace(options, export=None, critical=frozenset(), replay=_replay_beside(options, suite.path, judge))
    run = asyncio.run(judge_controls(judge, suite, plain))
    return replace(found, controls=run, controls_changed=_changed(run, frozen))


def _replay_beside(options: JudgeOptions, controls: Path, judge: Judge) -> Path | None:
    """Replay what lies beside the controls, where the recheck itself replays what lies beside its set."""
    if options.replay is None:
        return None
    beside = controls.parent / f"{judge.name}.cassette.jsonl"
    is_neighbour = options.replay.name == beside.name and beside.is_file()
    return beside if is_neighbour else options.replay


def _frozen(policy: Path | None) -> Mapping[str, Any] | None:
    """Return the control run that the policy has frozen, where it lies beside it."""
    file: PolicyFile | None = read_policy(policy) if policy else None
    wanted = file.policy.frozen.controls if file and file.policy else None
    for path in sorted(policy.parent.glob("*.json")) if policy and wanted else ():
        if sha256_file(path).removeprefix("sha256:") == str(wanted).removeprefix("sha256:"):
            try:
                return parse_object(path.read_bytes())
            except JsonProblem:
                return None
    return None


def _changed(run: ControlRun, frozen: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Name the controls that come out otherwise than under the version that the policy has frozen."""
    then = {one.get("case_id"): (one.get("state"), one.get("value")) for one in (frozen or {}).get("controls", [])}
    now = {one["case_id"]: (one["state"], one["value"]) for one in run.facts()["controls"]}
    return tuple(case_id for case_id, came in now.items() if case_id in then and then[case_id] != came)


def _on_the_set(
    recheck: RecheckAsk, cases: Path, folder: Path, options: JudgeOptions, done: RecheckDone
) -> RecheckDone:
    with counting("rows judged") as on_rows:
        budget = _rest(options.budget, done.found.controls)
        options = replace(options, budget=budget, on_rows=on_rows, before_manifest=_beside(done.old))
        ran = asyncio.run(run_judge(done.judge, cases, folder, options))
    compared = compare_runs(done.judge, done.old, ran.run, done.policy, _settled(recheck.labels, ran.run))
    proposals = _propose(recheck.proposed, cases, compared, ran.run, done.old) if recheck.proposed else None
    return done._replace(
        found=replace(done.found, compared=compared), new=ran.run, calls=done.calls + ran.facts["calls"],
        proposals=proposals,
    )  # fmt: skip


def _rest(budget: Budget, controls: ControlRun | None) -> Budget:
    """Return what the controls left of the budget: it is one for the whole recheck."""
    used = controls.calls if controls else {}
    calls, charged = int(used.get("calls") or 0), Decimal(used.get("charged") or 0)
    return replace(
        budget,
        calls=None if budget.calls is None else max(0, budget.calls - calls),
        cost=None if budget.cost is None else max(Decimal(0), budget.cost - charged),
    )


def _beside(old: Run) -> Callable[[JudgeFolder, dict[str, Any]], object]:
    raw = orjson.dumps(rollback_facts(old), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def add(home: JudgeFolder, manifest: dict[str, Any]) -> None:
        home.add(ROLLBACK_NAME, raw)
        add_report(home, manifest)

    return add


def _settled(labels: Path | None, run: Run) -> Mapping[str, Settled]:
    if labels is None:
        return {}
    seen = {str(record.case_id): record.seen_hash for record in run.records()}
    return settle(read_labels(labels).labels, seen=seen)


def _propose(path: Path, cases: Path, compared: Compared, new: Run, old: Run) -> int:
    """Write every row whose verdict changed as a proposal for people to look at."""
    ids = {"by": "recheck", "run_id": new.manifest.get("run_id"), "against": old.manifest.get("run_id")}
    why = {
        found.case_id: ids | {"old": found.old, "new": found.new, "attributed_to": found.attributed_to}
        for found in compared.transitions
    }
    return write_proposed(path, cases, why)
