"""The whole of ``evalkit judge``: load, check what would be refused later, ask, and say what came of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.contract import EvalkitError, Outcome, sha256_file
from evalkit.contract.judge import Judge
from evalkit.contract.stepped import SteppedJudge
from evalkit.decisions.certifying.instability import repeated_facts
from evalkit.decisions.fitness import Subject, unfit
from evalkit.decisions.gate import GateOptions, gate
from evalkit.decisions.outcome_file import facts_of
from evalkit.decisions.policy import Policy, read_policy
from evalkit.pages.judge_screen import judge_screen, prompt_screen
from evalkit.pages.progress import counting
from evalkit.scoring.counted import count_records
from evalkit.scoring.judge import DEFAULT_STORE, JudgeOptions, JudgeRun, neighbour_cassette, request_maker, run_judge
from evalkit.scoring.judging.budget import Budget, Price, price_of
from evalkit.scoring.judging.cassette import read_cassette
from evalkit.scoring.judging.folder import JudgeFolder
from evalkit.scoring.judging.kinds import rows_of
from evalkit.scoring.judging.local import sender_of, with_local_embeddings
from evalkit.scoring.judging.request import JudgeSettings
from evalkit.scoring.judging.sender import Sender
from evalkit.scoring.load_judge import load_judge, load_object
from evalkit.scoring.run import Run, lock_hash

__all__ = [
    "JudgeAsk",
    "JudgeDone",
    "Through",
    "add_report",
    "ask_judge",
    "named_policy",
    "options_of",
    "parse_amount",
    "parse_parameters",
    "show_prompt",
    "through_llm",
]


@dataclass(frozen=True, kw_only=True)
class JudgeAsk:
    """What the command was given."""

    judge: str
    cases: Path
    run: Path | None = None
    settings: JudgeSettings | None = None
    llm: str | None = None
    """``file.py:object``: a ragas llm to ask instead of the OpenAI client."""
    policy: Path | None = None
    replay: Path | None = None
    store: Path = DEFAULT_STORE
    budget: str | None = None
    max_calls: int | None = None
    max_seconds: float | None = None
    is_fresh: bool = False
    repeat: int = 1
    has_preflight: bool = True
    export: Path | None = None
    as_of: date | None = None
    feeds: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_limit(self) -> bool:
        """True where a limit was given, which only a run that asks can reach."""
        return not (self.budget is None and self.max_calls is None and self.max_seconds is None)


class JudgeDone(NamedTuple):
    """A finished command."""

    screen: str
    facts: dict[str, Any]
    outcome: Outcome | int


def parse_amount(text: str | None) -> Decimal | None:
    """Read an amount of money such as 5.00."""
    if text is None:
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        msg = f"--budget must be an amount such as 5.00; got {text!r}"
        raise EvalkitError(msg)
    return amount


def parse_parameters(given: list[str], left_out: list[str]) -> dict[str, Any]:
    """Read ``--set NAME=VALUE`` (JSON where it is JSON, text otherwise) and ``--unset NAME``."""
    parameters: dict[str, Any] = dict.fromkeys(left_out)
    for pair in given:
        name, separator, value = pair.partition("=")
        if not name or not separator or name in parameters:
            msg = f"--set must be NAME=VALUE, once for each name; got {pair!r}"
            raise EvalkitError(msg, do="for example --set temperature=0 --unset top_p")
        try:
            parameters[name] = json.loads(value)
        except ValueError:
            parameters[name] = value
    return parameters


def ask_judge(ask: JudgeAsk, *, on_note: Any) -> JudgeDone:
    """Run the judge; with a policy, its limits hold during the run and decide the rows after it."""
    judge, policy = load_judge(ask.judge), named_policy(ask)
    ask, sender = through_llm(judge, ask)
    if ask.run is None:
        msg = "a judge's run needs a folder"
        raise EvalkitError(msg, do="give --run DIR (or --show-prompt CASE_ID, which asks nothing)")
    options = replace(options_of(judge, policy, ask), sender=sender, before_manifest=add_report, on_note=on_note)
    _check_policy(judge, policy, ask, options.replay)
    if options.replay is not None and ask.replay is None and ask.has_limit:
        on_note(
            "nothing is asked, and no limit is used: no model is named; --model NAME or EVALKIT_JUDGE_MODEL asks one"
        )
    with counting("rows judged") as on_rows:
        done = asyncio.run(run_judge(judge, ask.cases, ask.run, replace(options, on_rows=on_rows)))
    return _concluded(judge, ask, done)


def options_of(judge: Judge, policy: Policy | None, ask: JudgeAsk) -> JudgeOptions:
    """Return how a judge is run, as the command was told and as the policy allows."""
    price = _price(judge, policy, ask.settings)
    return JudgeOptions(
        settings=ask.settings,
        replay=_replay(judge, ask),
        store=ask.store,
        is_fresh=ask.is_fresh,
        repeat=ask.repeat,
        budget=_budget(policy, ask, price),
        price=price,
        critical=frozenset(name for name, limits in policy.slices.items() if limits.critical)
        if policy
        else frozenset(),
        feeds=ask.feeds,
        has_preflight=ask.has_preflight,
        export=ask.export,
    )


class Through(NamedTuple):
    """A command whose settings are those of a ragas llm, where one is named."""

    ask: JudgeAsk
    sender: Sender | None


def through_llm(judge: Judge, ask: JudgeAsk) -> Through:
    """Take the settings from a ragas llm, where one is named, and ask through it."""
    if ask.settings is not None:
        ask = replace(ask, settings=with_local_embeddings(ask.settings))
    if ask.llm is None or ask.replay is not None:
        return Through(ask, None)
    from evalkit.scoring.ragas_bridge.judge_llm import RagasSender, settings_of

    llm = load_object(ask.llm)
    own = {name: getattr(ask.settings, name) for name in ("timeout", "attempts", "concurrency")} if ask.settings else {}
    given = ask.settings
    own |= {name: getattr(given, name) for name in ("embedding_model", "embed")} if given else {}
    settings = settings_of(llm, judge, **own)
    embeddings = sender_of(given) if given and isinstance(judge, SteppedJudge) and judge.embeds else None
    return Through(replace(ask, settings=settings), RagasSender(llm, judge, settings, embeddings))


def named_policy(ask: JudgeAsk) -> Policy | None:
    """Read the policy that was named, refusing one that cannot be used."""
    if ask.policy is None:
        return None
    found = read_policy(ask.policy)
    if found.policy is None:
        msg = f"the policy cannot be used: {found.problems[0]}"
        raise EvalkitError(msg, where=str(ask.policy), do="mend it; nothing was asked")
    return found.policy


def _replay(judge: Judge, ask: JudgeAsk) -> Path | None:
    """Choose what is replayed: what was named, else, where no model is, the cassette beside the cases."""
    if ask.replay is not None or ask.settings is not None:
        return ask.replay
    return neighbour_cassette(judge, ask.cases)


def _check_policy(judge: Judge, policy: Policy | None, ask: JudgeAsk, replay: Path | None) -> None:
    """Refuse to pay for rows that this policy could not decide afterwards: labels, version, dates, frozen judge."""
    if policy is None or ask.policy is None:
        return
    maker = request_maker(judge, ask.settings, read_cassette(replay) if replay else None)
    subject = Subject(
        metric_fingerprint=judge.fingerprint,
        cases_sha256=sha256_file(ask.cases),
        lock_sha256=lock_hash(Path.cwd()),
        judge=maker.configuration_hash,
    )
    blockers = unfit(read_policy(ask.policy), judge, subject, ask.as_of or datetime.now(UTC).date())
    if blockers:
        first = blockers[0]
        raise EvalkitError(first.sentence, where=str(ask.policy), do=f"{first.do}; nothing was asked")


def _price(judge: Judge, policy: Policy | None, settings: JudgeSettings | None) -> Price | None:
    if policy is None or settings is None:
        return None
    embeds = isinstance(judge, SteppedJudge) and judge.embeds and settings.embed is None
    beside = settings.embedding_model if embeds else None
    is_alone = isinstance(judge, SteppedJudge) and not judge.asks
    model = beside if is_alone and beside else settings.model
    return price_of(policy.prices, model, policy.limits.currency, embedding_model=beside)


def _budget(policy: Policy | None, ask: JudgeAsk, price: Price | None) -> Budget:
    limit = policy.limits.cost if policy else None
    given = parse_amount(ask.budget)
    if given is not None and limit is not None and given > limit:
        msg = f"--budget {given} is more than the policy allows ({limit})"
        raise EvalkitError(msg, do="lower it, or have the policy changed")
    cost = limit if given is None else given
    if given is None and price is None:  # the policy's limit is the gate's then; something else must bound the run
        cost = None
    return Budget(cost=cost, calls=ask.max_calls, seconds=ask.max_seconds)


def add_report(home: JudgeFolder, manifest: dict[str, Any]) -> None:
    """Add the page of a judge's run to its folder."""
    from evalkit.pages.report import render_report

    run = Run(home.folder, {"run_id": home.run_id} | manifest)
    reviewed = (manifest["metric"].get("contract") or {}).get("reviewed", ())
    home.add("report.html", render_report(run, None, count_records(run.records_path, reviewed)))


def _concluded(judge: Judge, ask: JudgeAsk, done: JudgeRun) -> JudgeDone:
    facts: dict[str, Any] = {"ledger": done.ledger.facts(), **done.facts, "findings": done.findings}
    facts["repeated"] = repeated_facts(done.facts["repeated"])
    if ask.policy is None:
        is_whole = done.ledger.total(blocking=True) == done.ledger.total(blocking=True, state="scored") > 0
        outcome = Outcome.passed if is_whole else Outcome.incomplete
        return JudgeDone(judge_screen(judge.name, done, None), facts | {"outcome": outcome.name}, outcome)
    result = gate(judge, done.run.folder, ask.policy, options=GateOptions(as_of=ask.as_of))
    parameters = {"cases": ask.cases.name, "policy": ask.policy.name}
    run_id = str(done.run.manifest["run_id"])
    decided = facts_of(result, run_id=run_id, command=f"judge {judge.name}", parameters=parameters)
    return JudgeDone(judge_screen(judge.name, done, decided), facts | decided, result.exit_code)


def show_prompt(ask: JudgeAsk, case_id: str) -> JudgeDone:
    """Render exactly what would be sent for one case; nothing is asked."""
    from evalkit.cases.read import CaseFile

    judge = load_judge(ask.judge)
    replay = _replay(judge, ask)
    nobody = "(no model named)"
    named = ask.settings or (None if replay else JudgeSettings(model=nobody, embedding_model=nobody))
    maker = request_maker(judge, named, read_cassette(replay) if replay else None)
    rows = rows_of(judge, maker, ask.feeds)
    for item in CaseFile(ask.cases, rows.required, rows.optional):
        if item.case_id == case_id:
            record, request = rows.prepare(item)
            if request is None:
                msg = f"nothing would be sent for case {case_id!r}: it is invalid ({record.reason})"
                raise EvalkitError(msg, where=f"{ask.cases}, line {record.line}", do="mend the row")
            request = rows.first_sent(request)
            facts = {"case_id": case_id, "key": request.key, "body": request.body}
            return JudgeDone(prompt_screen(request), facts, Outcome.passed)
    msg = f"there is no case {case_id!r}"
    raise EvalkitError(msg, where=str(ask.cases), do="name a case_id of this file")
