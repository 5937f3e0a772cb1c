"""What ``evalkit controls`` prints: each role, each pair, each faulty judge and prompt. 80 columns, plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from evalkit.cases.control_file import ROLES
from evalkit.contract import sha256_file
from evalkit.decisions.controlling.results import ControlResult, PairResult
from evalkit.mutate.matrix import KillMatrix, Mutant
from evalkit.mutate.prompt_trials import PromptPlan, PromptTrials
from evalkit.pages.controls_run import ControlsDone
from evalkit.pages.plain import plain
from evalkit.pages.screen import COLUMNS

__all__ = ["controls_screen"]

_ABOUT = {
    "positive": "right answers",
    "negative": "one thing changed, and wrong",
    "boundary": "two sides of a limit",
    "persuasion": "long and wrong, terse and right",
    "injection": "the answer talks to the judge",
    "missing_evidence": "blocked before the call",
    "evaluator_error": "a failed reply stays an error",
    "metamorphic_same": "changed, and means the same",
    "metamorphic_flip": "one fact changed, label flips",
}
_NAMED = 3
_MARGIN = "    "


def controls_screen(done: ControlsDone, kept: Path | None = None) -> str:
    """Return the text for a terminal; `kept` is where the control run was written, for a policy to freeze."""
    lines = [*_lines(done)]
    if kept is not None:
        lines += ["", *_wrapped(f"control run {kept}, for [frozen] controls of a policy beside it:"), sha256_file(kept)]
    return "\n".join(lines) + "\n"


def _lines(done: ControlsDone) -> Iterator[str]:
    run = done.run
    version = run.judge["contract_version"]
    yield from _wrapped(
        f"{run.judge['name']}, contract {version}, rubric {run.judge['rubric_version']}: {len(run.results)} controls, "
        f"{len(run.pairs)} pairs; model {run.judge['model']}"
    )
    if run.note:
        yield from _wrapped(f"replayed verdicts: {run.note}")
    if run.calls.get("calls"):
        cost, currency = run.calls["cost"], run.calls["currency"]
        priced = f"{cost} {currency}" if cost is not None and currency else "not known (no price given)"
        yield from _wrapped(f"calls: {run.calls['calls']}; cost: {priced}")
    for finding in run.suite.findings:
        yield from _wrapped(f"warning: {finding}")
    yield from _roles(run.results)
    yield from _pairs(run.pairs)
    yield from _missed(run.results)
    if done.judges is not None:
        yield from _judges(done.judges)
    yield from _prompts(done)
    yield ""
    yield from _wrapped(f"{done.outcome.name.upper()} (exit code {int(done.outcome)}): {_verdict(done)}")


def _rule(text: str) -> str:
    return f"-- {text} {'-' * COLUMNS}"[:COLUMNS]


# --- controls -------------------------------------------------------------------------------------------------------


def _roles(results: Sequence[ControlResult]) -> Iterator[str]:
    yield ""
    yield _rule("roles")
    for role in ROLES:
        found = [result for result in results if result.control.role == role]
        count = f"{sum(result.ok for result in found)} of {len(found)}" if found else "none"
        tail = "" if found and all(result.ok for result in found) else "  <- missing" if not found else "  <- not told"
        yield f"{role:<17} {count:>8}  {_ABOUT[role]}{tail}"


def _pairs(pairs: Sequence[PairResult]) -> Iterator[str]:
    if not pairs:
        return
    yield ""
    yield _rule(f"pairs: {sum(pair.ok for pair in pairs)} of {len(pairs)} told")
    for pair in pairs:
        members = ", ".join(f"{member.case_id} {member.came}" for member in pair.members)
        word = "told" if pair.ok else "NOT TOLD"
        yield from _wrapped(f"{pair.pair_id} ({pair.role}): {word}: {members}", hang=_MARGIN)


def _missed(results: Sequence[ControlResult]) -> Iterator[str]:
    missed = [result for result in results if not result.ok]
    if not missed:
        return
    yield ""
    yield _rule(f"not as expected: {len(missed)} of {len(results)} controls")
    for result in missed:
        control = result.control
        yield from _wrapped(
            f"{control.case_id} ({control.role}, line {control.case.line}): expected {control.expected}, came "
            f"{result.came}",
            hang=_MARGIN,
        )
        yield from _wrapped(f"{_MARGIN}people: {control.rationale}", hang=f"{_MARGIN}        ")
        yield from _wrapped(f"{_MARGIN}judge:  {result.answer.reason}", hang=f"{_MARGIN}        ")


# --- what must be caught --------------------------------------------------------------------------------------------


def _judges(matrix: KillMatrix) -> Iterator[str]:
    yield ""
    yield _rule(f"faulty judges: {matrix.in_words()}")
    for mutant in matrix.mutants:
        yield from _judge(mutant)


def _judge(mutant: Mutant) -> Iterator[str]:
    yield from _wrapped(f"{mutant.id}: {mutant.description}", hang=_MARGIN)
    if mutant.kills:
        yield from _wrapped(f"{_MARGIN}caught by {_killers(mutant)}", hang=f"{_MARGIN}  ")
    else:
        word = "SURVIVED" if mutant.status == "survived" else mutant.status.replace("_", " ")
        yield from _wrapped(f"{_MARGIN}{word}: {mutant.note}", hang=f"{_MARGIN}  ")


def _killers(mutant: Mutant) -> str:
    named = ", ".join(f"{kill.case_id} ({kill.seen})" for kill in mutant.kills[:_NAMED])
    return f"{named} and {len(mutant.kills) - _NAMED} more" if len(mutant.kills) > _NAMED else named


def _prompts(done: ControlsDone) -> Iterator[str]:
    if done.plan is None:
        return
    yield ""
    if done.prompts is None:
        yield _rule("faulty prompts: not tried")
        yield from _wrapped(f"{_planned(done.plan)}; {_how(done.plan)}")
        return
    yield _rule(f"faulty prompts: {done.prompts.matrix.in_words()}")
    yield from _wrapped(_planned(done.prompts.plan))
    if done.prompts.plan.note:
        yield from _wrapped(f"replayed verdicts: {done.prompts.plan.note}")
    yield from _tried(done.prompts)


def _planned(plan: PromptPlan) -> str:
    """Say what trying the prompts takes: questions, how many are answered already, calls and their price."""
    head = f"{len(plan.variants)} prompts, {plan.refused} of them refused when declared; {plan.questions} questions"
    if plan.is_replay:
        return f"{head}, {plan.kept} of them recorded"
    cost = "at an unknown price" if plan.cost is None else f"for {_money(plan.cost)} {plan.currency} at most"
    return f"{head}, {plan.kept} of them answered already; {plan.calls} calls {cost}"


def _how(plan: PromptPlan) -> str:
    if plan.is_replay and plan.calls:
        return f"to ask the other {plan.calls}, name a model (--model NAME --prompts)"
    return "--prompts tries them"


def _money(amount: Decimal) -> str:
    return f"{amount:.6f}".rstrip("0").rstrip(".") or "0"


def _tried(trials: PromptTrials) -> Iterator[str]:
    for mutant in trials.matrix.of("killed"):
        yield from _wrapped(f"{_named(mutant)}", hang=_MARGIN)
        yield from _wrapped(f"{_MARGIN}{_caught_by(mutant)}", hang=f"{_MARGIN}  ")
    for status, title in (
        ("equivalent", "changes nothing, reviewed"),
        ("survived", "nothing protects"),
        ("not_applicable", "not tried"),
    ):
        found = trials.matrix.of(status)  # type: ignore[arg-type] # one of the statuses
        if found:
            yield ""
            yield _rule(f"{title}: {len(found)} of {len(trials.matrix.mutants)}")
        is_one = status == "not_applicable" and len(found) > 1 and len({mutant.note for mutant in found}) == 1
        if is_one:
            yield from _wrapped(f"each of them: {found[0].note}", hang=_MARGIN)
        for mutant in found:
            yield from _wrapped(_named(mutant), hang=_MARGIN)
            yield from [] if is_one else _wrapped(f"{_MARGIN}{mutant.note}", hang=_MARGIN)


def _caught_by(mutant: Mutant) -> str:
    first = mutant.kills[0]
    return f"refused: {first.seen}" if first.by == "check" else f"caught by {_killers(mutant)}"


def _named(mutant: Mutant) -> str:
    if mutant.operator == "sentence_removed":
        return f'without "{mutant.description}"'
    return f"{mutant.operator.replace('_', ' ')}: {mutant.description}"


# --- the verdict ----------------------------------------------------------------------------------------------------


def _verdict(done: ControlsDone) -> str:
    run = done.run
    if run.problems:
        more = f" (and {len(run.problems) - 1} more)" if len(run.problems) > 1 else ""
        return f"cannot be judged: {run.problems[0]}{more}"
    if run.wrong:
        return f"{len(run.wrong)} of {len(run.results)} controls are not told apart: this judge certifies nothing"
    if done.prompts is not None and done.prompts.untried:
        left = f"{len(done.prompts.untried)} of {len(done.prompts.matrix.mutants)} prompts were not tried to the end"
        return left + (
            "; name a model (--model NAME) to ask what is not recorded" if done.prompts.plan.is_replay else ""
        )
    survivors = _survivors(done)
    if survivors:
        return f"all {len(run.results)} controls separate, but {' and '.join(survivors)}"
    return f"all {len(run.results)} controls separate, and they catch what is faulty: {_caught(done)}"


def _survivors(done: ControlsDone) -> list[str]:
    found = []
    if done.judges is not None and (left := len(done.judges.of("survived"))):
        found.append(f"{left} of {done.judges.denominator} faulty judges would pass them as well")
    if done.prompts is not None and (left := len(done.prompts.matrix.of("survived"))):
        found.append(f"{left} of {done.prompts.matrix.denominator} faulty prompts would")
    return found


def _caught(done: ControlsDone) -> str:
    parts = []
    if done.judges is not None:
        parts.append(f"{len(done.judges.of('killed'))} of {done.judges.denominator} judges")
    if done.prompts is not None:
        parts.append(f"{len(done.prompts.matrix.of('killed'))} of {done.prompts.matrix.denominator} prompts")
    return ", ".join(parts)


def _wrapped(text: str, hang: str = "  ") -> list[str]:
    lead = text[: len(text) - len(text.lstrip())]
    body = plain(text.strip(), newline=" ")
    return textwrap.wrap(
        body, COLUMNS, initial_indent=lead, subsequent_indent=hang, break_on_hyphens=False, break_long_words=True
    )
