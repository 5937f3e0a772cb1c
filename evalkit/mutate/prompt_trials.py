"""Tries a judge's faulty prompts on its controls: first how many calls that takes, then what comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.control_file import ControlSuite
from evalkit.contract.judge import Judge
from evalkit.decisions.controlling.results import ControlResult, ControlRun
from evalkit.decisions.controlling.running import run_controls
from evalkit.mutate.equivalent import Reviewed, check_equivalents
from evalkit.mutate.matrix import By, Kill, KillMatrix, Mutant
from evalkit.mutate.prompts import PromptVariant, prompt_variants
from evalkit.scoring.judge import Budget, JudgeOptions, request_maker
from evalkit.scoring.judging.cassette import read_cassette
from evalkit.scoring.judging.preflight import shape_of
from evalkit.scoring.judging.request import Request
from evalkit.scoring.judging.rows import JudgeRows, Recorded
from evalkit.scoring.judging.verdicts import VerdictStore

__all__ = ["PromptPlan", "PromptTrials", "plan_prompts", "prompts_cassette", "try_prompts"]


class PromptPlan(NamedTuple):
    """What trying the faulty prompts takes, at most."""

    variants: tuple[PromptVariant, ...]
    refused: int
    """Prompts that cannot even be declared: caught without a call."""
    questions: int
    """Different questions over all other prompts."""
    kept: int
    """Questions that are answered already, by the cassette or the store."""
    calls: int
    """Questions that would be asked; in a replay, those that stay unanswered."""
    cost: Decimal | None
    """What these calls cost at most; ``None`` without a price."""
    currency: str | None
    is_replay: bool
    note: str
    """Where replayed verdicts come from, in the words of their cassette."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        kept = {name: value for name, value in self._asdict().items() if name not in ("variants", "cost")}
        return {"prompts": len(self.variants), **kept, "cost": None if self.cost is None else str(self.cost)}


class PromptTrials(NamedTuple):
    """What came of the faulty prompts."""

    plan: PromptPlan
    matrix: KillMatrix
    untried: tuple[str, ...]
    """Prompts that were not tried to the end, and why."""


def prompts_cassette(judge: Judge, controls: Path) -> Path | None:
    """Return the cassette of faulty prompts beside the controls, ``NAME.prompts.cassette.jsonl``, if there is one."""
    path = controls.parent / f"{judge.name}.prompts.cassette.jsonl"
    return path if path.is_file() else None


def plan_prompts(judge: Judge, suite: ControlSuite, options: JudgeOptions) -> PromptPlan:
    """Count what trying the faulty prompts would take; nothing is asked."""
    variants = tuple(prompt_variants(judge))
    cassette = read_cassette(options.replay) if options.replay else None
    store = None if cassette else VerdictStore(options.store)
    recorded: Recorded = cassette or store  # type: ignore[assignment] # one of the two is there
    try:
        questions: dict[str, Request] = {}
        for variant in variants:
            if variant.judge is not None:
                rows = JudgeRows(variant.judge, request_maker(variant.judge, options.settings, cassette))
                prepared = (rows.prepare(control.case).request for control in suite.controls if control.is_asked)
                questions |= {request.key: request for request in prepared if request is not None}
        left = [request for key, request in questions.items() if recorded.find(key) is None or options.is_fresh]
    finally:
        if store:
            store.close()
    price = options.price
    return PromptPlan(
        variants=variants,
        refused=sum(variant.judge is None for variant in variants),
        questions=len(questions),
        kept=len(questions) - len(left),
        calls=len(left),
        cost=sum((price.most(request) for request in left), Decimal(0)) if price else None,
        currency=price.currency if price else None,
        is_replay=cassette is not None,
        note=cassette.note if cassette else "",
    )


def try_prompts(
    judge: Judge,
    run: ControlRun,
    options: JudgeOptions,
    plan: PromptPlan,
    *,
    reviewed: Mapping[str, Reviewed] | None = None,
    where: str = "equivalent.toml",
    on_prompt: Callable[[int], object] = lambda _: None,
) -> PromptTrials:
    """Ask the controls under each faulty prompt: what no control notices is a sentence that nothing protects.

    Parameters
    ----------
    judge : Judge
    run : ControlRun
        The honest judge's; a control that it does not tell catches nothing.
    options : JudgeOptions
        Those of the honest run. Its budget holds for both: what that run has used is no longer there.
    plan : PromptPlan
    reviewed : mapping, optional
        Faulty prompts that people found to be as good, by id.
    where : str
        Of that file, for messages.
    on_prompt : callable
        Told of each prompt that is done.
    """
    purse = _Purse(options.budget)
    purse.pay(run.calls)
    mutants: list[Mutant] = []
    untried: list[str] = []
    _note_shape(judge, plan.variants, options)
    for variant in plan.variants:
        mutant = _refused(variant) if variant.judge is None else None
        if mutant is None and variant.judge is not None:
            own = replace(options, budget=purse.left(), has_preflight=False, export=None)
            found = run_controls(variant.judge, run.suite, own)
            purse.pay(found.calls)
            mutant = _judged(variant, found, run)
        assert mutant is not None  # noqa: S101 - a variant has a judge or a refusal
        if mutant.status == "not_applicable":
            untried.append(f"{mutant.id}: {mutant.note}")
        mutants.append(mutant)
        on_prompt(1)
    settled = check_equivalents(reviewed or {}, mutants, where)
    cases = tuple(result.case_id for result in run.results if result.control.is_asked)
    facts = {"contract_version": judge.version, "judge_fingerprint": judge.fingerprint}
    matrix = KillMatrix(subject=judge.name, cases=cases, mutants=tuple(settled), full=True, facts=facts)
    return PromptTrials(plan, matrix, tuple(untried))


class _Purse:
    """A budget that several runs share."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._calls = 0
        self._cost = Decimal(0)
        self._started = time.monotonic()

    def pay(self, used: Mapping[str, Any]) -> None:
        self._calls += int(used.get("calls") or 0)
        self._cost += Decimal(used.get("charged") or used.get("cost") or 0)

    def left(self) -> Budget:
        budget = self._budget
        gone = time.monotonic() - self._started
        return Budget(
            cost=None if budget.cost is None else max(budget.cost - self._cost, Decimal(0)),
            calls=None if budget.calls is None else max(budget.calls - self._calls, 0),
            seconds=None if budget.seconds is None else max(budget.seconds - gone, 0.0),
        )


def _note_shape(judge: Judge, variants: Iterable[PromptVariant], options: JudgeOptions) -> None:
    """Note that these requests look as ragas would send them where the judge's do: only their words differ."""
    if options.settings is None:
        return
    with VerdictStore(options.store) as store:
        if store.conforms(shape_of(JudgeRows(judge, request_maker(judge, options.settings, None)))):
            for variant in variants:
                if variant.judge is not None:
                    maker = request_maker(variant.judge, options.settings, None)
                    store.note_conforming(shape_of(JudgeRows(variant.judge, maker)))


# --- one prompt -----------------------------------------------------------------------------------------------------


def _facts(variant: PromptVariant) -> dict[str, Any]:
    return {
        "id": variant.id,
        "operator": variant.operator,
        "description": " ".join(variant.text.split()),
        "layer": "prompt",
        "where": variant.where,
        "diff": variant.diff,
    }


def _refused(variant: PromptVariant) -> Mutant:
    kill = Kill("(declaration)", "check", variant.refusal)
    return Mutant(**_facts(variant), status="killed", kills=(kill,))


def _judged(variant: PromptVariant, found: ControlRun, honest: ControlRun) -> Mutant:
    told = {result.case_id for result in honest.results if result.ok}
    caught = [r for r in found.results if not r.ok and r.case_id in told and _has_reply(r)]
    if caught:
        return Mutant(**_facts(variant), status="killed", kills=tuple(_kill(result) for result in caught))
    silent = [r for r in found.results if not r.ok and not _has_reply(r)]
    if silent:
        note = f"{len(silent)} of {len(found.results)} controls have no verdict ({silent[0].answer.reason})"
        return Mutant(**_facts(variant), status="not_applicable", note=f"not tried to the end: {note}")
    note = "no control notices that it is gone: write one that needs it, or take it out of the prompt"
    if variant.operator != "sentence_removed":
        note = "no control notices: write one that this prompt would judge otherwise"
    return Mutant(**_facts(variant), status="survived", note=note)


def _has_reply(result: ControlResult) -> bool:
    """Whether the judge spoke: what a provider or a budget prevents says nothing of a prompt."""
    return result.answer.state == "scored" or (result.answer.state == "error" and result.answer.is_reply)


def _kill(result: ControlResult) -> Kill:
    by: By = "value" if result.answer.state == "scored" else "state"
    return Kill(result.case_id, by, f"{result.came} instead of {result.control.expected}")
