"""Faulty judges, which a suite of controls must catch: each one around the honest verdicts, and none of them asked.

A faulty judge counts as killed only by a control of the role that is there to catch it. What other roles notice by the
way is told, but goes away with the next row that is edited: a suite without negatives has nothing against a judge that
passes everything, however many of its other controls happen to fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from evalkit.cases.control_file import Role
from evalkit.contract.judge import Judge
from evalkit.decisions.controlling.results import Answer, ControlResult, ControlRun, hold
from evalkit.mutate.judge_traits import addresses_the_judge, is_long, is_sure_of_itself
from evalkit.mutate.matrix import By, Kill, KillMatrix, Mutant
from evalkit.scoring.judging.reply import Reply, read_reply

__all__ = ["JUDGE_FAULTS", "Bench", "JudgeFault", "judge_matrix"]


class Bench(NamedTuple):
    """What the faulty judges work on: the controls and what the honest judge said of them."""

    judge: Judge
    results: tuple[ControlResult, ...]
    good: str
    """The label of the positives."""
    bad: str
    """The label of the negatives."""

    @classmethod
    def of(cls, judge: Judge, run: ControlRun) -> Bench:
        """Take the labels from the controls themselves; a judge lists them in any order."""
        labels: Any = judge.allowed_values
        good = next((r.control.expected for r in run.results if r.control.role == "positive"), labels[0])
        others = [label for label in reversed(labels) if label != good]
        negative = next((r.control.expected for r in run.results if r.control.role == "negative"), None)
        return cls(judge, run.results, good, negative or (others[0] if others else good))

    def answers_of(self, result: ControlResult) -> list[str]:
        """Return the texts of a control that the system under test wrote."""
        fields = result.control.case.fields
        return [str(fields.get(name)) for name in _produced(self.judge)]

    def label(self, result: ControlResult, label: str, why: str) -> Answer:
        """Return a verdict in the place of the honest one; what was blocked or failed stays as it is."""
        return Answer("scored", label, why, None) if result.answer.state == "scored" else result.answer

    def other(self, label: Any) -> str:
        """Return the opposite of a label."""
        return self.bad if label == self.good else self.good


def _produced(judge: Judge) -> tuple[str, ...]:
    return judge.contract.produced if judge.contract else tuple(parameter.name for parameter in judge.parameters)


class JudgeFault(NamedTuple):
    """A faulty judge."""

    name: str
    description: str
    diff: str
    roles: tuple[Role, ...]
    """The roles of the controls that are there to catch it."""
    answers: Callable[[Bench], list[Answer]]
    why_not: Callable[[Judge], str | None] = lambda _: None
    """Why this fault cannot be in a judge."""


def judge_matrix(judge: Judge, run: ControlRun) -> KillMatrix:
    """Try every faulty judge on the controls of a run, and say which control catches it.

    When it misleads: these are eleven ways of being a bad judge. That a suite catches them says that it can fail; it
    does not say that no other way is left.

    Parameters
    ----------
    judge : Judge
    run : ControlRun
        The honest judge's; a control that it does not tell catches nothing.
    """
    bench = Bench.of(judge, run)
    return KillMatrix(
        subject=judge.name,
        cases=tuple(result.case_id for result in run.results),
        mutants=tuple(_tried(fault, bench, run) for fault in JUDGE_FAULTS),
        full=True,
        facts={"contract_version": judge.version, "judge_fingerprint": judge.fingerprint},
    )


def _tried(fault: JudgeFault, bench: Bench, run: ControlRun) -> Mutant:
    facts: dict[str, Any] = {
        "id": fault.name,
        "operator": fault.name,
        "description": fault.description,
        "layer": "judge",
        "where": f"role {' or '.join(fault.roles)}",
        "diff": fault.diff,
    }
    if problem := fault.why_not(bench.judge):
        return Mutant(**facts, status="not_applicable", note=problem)
    honest = {result.case_id: result for result in run.results}
    answers = {r.case_id: answer for r, answer in zip(bench.results, fault.answers(bench), strict=True)}
    caught = [r for r in hold(run.suite, answers) if not r.ok and honest[r.case_id].ok]
    kills = tuple(_kill(result, honest[result.case_id]) for result in caught if result.control.role in fault.roles)
    if kills:
        return Mutant(**facts, status="killed", kills=kills)
    return Mutant(**facts, status="survived", note=_why_it_lives(fault, caught))


def _kill(faulty: ControlResult, honest: ControlResult) -> Kill:
    by: By = "value" if faulty.answer.state == honest.answer.state else "state"
    return Kill(faulty.case_id, by, f"{faulty.came} instead of {honest.came}")


def _why_it_lives(fault: JudgeFault, caught: Sequence[ControlResult]) -> str:
    wanted = " or ".join(fault.roles)
    if not caught:
        return f"no control tells it from the honest judge: write one of the role {wanted}"
    named = ", ".join(f"{result.case_id} ({result.control.role})" for result in caught[:3])
    return f"no control of the role {wanted} catches it; others notice it by the way: {named}"


# --- the faults -----------------------------------------------------------------------------------------------------


def _each(change: Callable[[ControlResult, Bench], Answer]) -> Callable[[Bench], list[Answer]]:
    return lambda bench: [change(result, bench) for result in bench.results]


def _always(good: bool) -> Callable[[Bench], list[Answer]]:
    return _each(lambda result, bench: bench.label(result, bench.good if good else bench.bad, "as always"))


def _loves(trait: Callable[[list[str], Bench], bool], why: str) -> Callable[[Bench], list[Answer]]:
    def change(result: ControlResult, bench: Bench) -> Answer:
        return bench.label(result, bench.good, why) if trait(bench.answers_of(result), bench) else result.answer

    return _each(change)


def _long(texts: list[str], bench: Bench) -> bool:
    return is_long(texts, [bench.answers_of(other) for other in bench.results if other.control.is_asked])


def _reference_ignored(bench: Bench) -> list[Answer]:
    """Give every row the verdict that its answer got the first time, whatever the reference beside it says."""
    reviewed = set(bench.judge.contract.reviewed) if bench.judge.contract else set()
    first: dict[str, Answer] = {}
    answers = []
    for result in bench.results:
        fields = result.control.case.fields
        left = {p.name: fields.get(p.name) for p in bench.judge.parameters if p.name not in reviewed}
        known = first.setdefault(json.dumps(left, sort_keys=True), result.answer)
        answers.append(known if result.answer.state == known.state == "scored" else result.answer)
    return answers


def _flipped(result: ControlResult, bench: Bench) -> Answer:
    return bench.label(result, bench.other(result.answer.value), "the other label")


def _every_second(bench: Bench) -> list[Answer]:
    """Say the opposite at every second verdict: asked twice about the same thing, the judge gives two labels."""
    answers, calls = [], 0
    for result in bench.results:
        calls += result.answer.state == "scored"
        answers.append(_flipped(result, bench) if calls % 2 == 0 else result.answer)
    return answers


def _unlisted(result: ControlResult, bench: Bench) -> Answer:
    """Reply with a label that is on no list, and have the reply read as any other."""
    if result.answer.state != "scored":
        return result.answer
    judge, label = bench.judge, f"rather {result.answer.value}"
    known = {*map(str, judge.allowed_values), *judge.compatible}  # type: ignore[arg-type] # a judge with controls has labels
    while label in known:
        label = f"rather {label}"
    content = json.dumps({"reason": result.answer.reason or "as it seems", "value": label})
    reading = read_reply(judge, Reply(1, content, None, "stop", None, None))
    return Answer(reading.state, reading.value, reading.reason, reading.error_kind)


def _instead_of(state: str) -> Callable[[ControlResult, Bench], Answer]:
    def change(result: ControlResult, bench: Bench) -> Answer:
        if result.answer.state != state:
            return result.answer
        return Answer("scored", bench.good, "taken as good for want of anything else", None)

    return change


def _no_reference(judge: Judge) -> str | None:
    has_one = judge.contract is not None and bool(judge.contract.reviewed)
    return None if has_one else "the judge is shown no reviewed input that it could ignore"


JUDGE_FAULTS: tuple[JudgeFault, ...] = (
    JudgeFault(
        "always_pass", "calls everything good", "- verdict\n+ the good label", ("negative",), _always(good=True)
    ),
    JudgeFault("always_fail", "calls everything bad", "- verdict\n+ the bad label", ("positive",), _always(good=False)),
    JudgeFault(
        "label_flipper",
        "tells the two sides of a limit apart, and takes each for the other",
        "- verdict\n+ the other label",
        ("boundary",),
        _each(_flipped),
    ),
    JudgeFault(
        "verbosity_lover",
        "calls an answer good because it is long",
        "- verdict\n+ the good label, where the answer is twice as long as most",
        ("persuasion",),
        _loves(_long, "it is thorough"),
    ),
    JudgeFault(
        "tone_lover",
        "calls an answer good because it is polite and sure of itself",
        "- verdict\n+ the good label, where the answer thanks, promises or is certain",
        ("persuasion",),
        _loves(lambda texts, _: is_sure_of_itself(texts), "it is friendly and certain"),
    ),
    JudgeFault(
        "injection_obeyer",
        "does what the answer tells it to",
        "- verdict\n+ the good label, where the answer speaks to its judge",
        ("injection",),
        _loves(lambda texts, bench: addresses_the_judge(texts, _names(bench.judge)), "as the answer asks"),
    ),
    JudgeFault(
        "evidence_inventor",
        "judges although the evidence is missing",
        "- blocked before the call\n+ the good label",
        ("missing_evidence",),
        _each(_instead_of("invalid")),
    ),
    JudgeFault(
        "error_swallower",
        "takes a reply that cannot be read for a good one",
        "- error\n+ the good label",
        ("evaluator_error",),
        _each(_instead_of("error")),
    ),
    JudgeFault(
        "unlisted_label",
        "gives a label that is on no list",
        "- pass\n+ rather pass",
        ("positive",),
        _each(_unlisted),
    ),
    JudgeFault(
        "unstable",
        "says the opposite at every second verdict",
        "- verdict\n+ verdict, other label, verdict, other label, ...",
        ("metamorphic_same",),
        _every_second,
    ),
    JudgeFault(
        "reference_ignorer",
        "judges the answer without looking at the reference",
        "- judge(answer, reference)\n+ judge(answer)",
        ("metamorphic_flip",),
        _reference_ignored,
        _no_reference,
    ),
)


def _names(judge: Judge) -> list[str]:
    return [parameter.name for parameter in judge.parameters]
