"""The whole of ``evalkit controls``: controls, the faulty judges they must catch, on demand faulty prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalkit.cases.control_file import ControlSuite, read_controls
from evalkit.contract import EvalkitError, Outcome
from evalkit.contract.judge import Judge
from evalkit.decisions.controlling.results import ControlRun
from evalkit.decisions.controlling.running import judge_controls
from evalkit.mutate.equivalent import Reviewed, read_equivalents
from evalkit.mutate.judges import judge_matrix
from evalkit.mutate.matrix import KillMatrix
from evalkit.mutate.prompt_trials import PromptPlan, PromptTrials, plan_prompts, prompts_cassette, try_prompts
from evalkit.pages.judge_command import JudgeAsk, add_report, named_policy, options_of, through_llm
from evalkit.pages.progress import counting
from evalkit.scoring.judge import JudgeOptions
from evalkit.scoring.load_judge import load_judge

__all__ = ["ControlsAsk", "ControlsDone", "control_facts", "run_control_command"]


@dataclass(frozen=True, kw_only=True)
class ControlsAsk:
    """What the command was given."""

    ask: JudgeAsk
    """Judge and settings as for a judge run; its cases are the controls."""
    has_prompts: bool = False
    equivalent: Path | None = None


@dataclass(frozen=True, kw_only=True)
class ControlsDone:
    """A control run, and what the faulty judges and prompts came to."""

    run: ControlRun
    judges: KillMatrix | None
    """``None`` where a control is not told by the honest judge: it could catch no other."""
    plan: PromptPlan | None
    prompts: PromptTrials | None
    """``None`` where faulty prompts were not tried."""

    @property
    def outcome(self) -> Outcome:
        """0 where all separate and nothing faulty gets through; what cannot be judged comes before what is bad."""
        found = [self.run.outcome]
        found += [matrix.outcome for matrix in (self.judges,) if matrix is not None]
        if self.prompts is not None:
            found.append(Outcome.incomplete if self.prompts.untried else self.prompts.matrix.outcome)
        return Outcome.worst(found)


def control_facts(done: ControlsDone) -> dict[str, Any]:
    """Return what ``--json`` writes: plain JSON, without dates, seconds or paths, so that its hash can be frozen."""
    matrices = [matrix for matrix in (done.judges, done.prompts.matrix if done.prompts else None) if matrix]
    mutants = [mutant.to_json() for matrix in matrices for mutant in matrix.mutants]
    counted = {
        status: sum(mutant["status"] == status for mutant in mutants)
        for status in ("killed", "survived", "equivalent", "not_applicable")
    }
    prompts = None
    if done.prompts:
        prompts = {**done.prompts.plan.facts(), "untried": list(done.prompts.untried)}
    return {**done.run.facts(), "outcome": done.outcome.name, **counted, "mutants": mutants, "prompts": prompts}


def run_control_command(asked: ControlsAsk, *, on_note: Callable[[str], object]) -> ControlsDone:
    """Run the controls, then the faulty judges, then, if asked for, the faulty prompts."""
    judge = load_judge(asked.ask.judge)
    suite = read_controls(asked.ask.cases, judge)
    ask, sender = through_llm(judge, asked.ask)
    options = options_of(judge, named_policy(ask), ask)
    options = replace(options, sender=sender, on_note=on_note)
    with counting("controls") as on_rows:
        own = replace(options, on_rows=on_rows)
        if ask.run is not None:
            own = replace(own, before_manifest=add_report)
        run = asyncio.run(judge_controls(judge, suite, own, ask.run))
    is_told = all(result.ok for result in run.results)
    judges = judge_matrix(judge, run) if is_told else None
    if not is_told:
        return ControlsDone(run=run, judges=None, plan=None, prompts=None)
    prompt_options = _for_prompts(judge, suite, ask, options)
    plan = plan_prompts(judge, suite, prompt_options)
    if not asked.has_prompts:
        return ControlsDone(run=run, judges=judges, plan=plan, prompts=None)
    if plan.calls and not plan.is_replay:
        on_note(_announced(plan))
    path, reviewed = _reviewed(asked, suite)
    with counting("prompts") as on_prompt:
        trials = try_prompts(judge, run, prompt_options, plan, reviewed=reviewed, where=path, on_prompt=on_prompt)
    return ControlsDone(run=run, judges=judges, plan=plan, prompts=trials)


def _for_prompts(judge: Judge, suite: ControlSuite, ask: JudgeAsk, options: JudgeOptions) -> JudgeOptions:
    """Replay what was named; else the faulty prompts' own cassette beside the controls."""
    if options.replay is None or ask.replay is not None:
        return options
    return replace(options, replay=prompts_cassette(judge, suite.path) or options.replay)


def _announced(plan: PromptPlan) -> str:
    cost = "unknown (no price given)" if plan.cost is None else f"{plan.cost} {plan.currency} at most"
    return f"faulty prompts: {len(plan.variants) - plan.refused} to try, {plan.calls} calls at most, cost {cost}"


def _reviewed(asked: ControlsAsk, suite: ControlSuite) -> tuple[str, dict[str, Reviewed]]:
    path = asked.equivalent or suite.path.with_name("equivalent.toml")
    if asked.equivalent is None and not path.is_file():
        return path.name, {}
    if not path.is_file():
        msg = "there is no such file of reviewed equivalents"
        raise EvalkitError(msg, where=str(path), do="give its path with --equivalent FILE, or leave the option out")
    return path.name, read_equivalents(path)
