"""What a judge said of its controls, held against what people expect: by control, by pair, by role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evalkit.cases.control_file import ROLES, Control, ControlSuite
from evalkit.contract import Outcome

__all__ = ["Answer", "ControlResult", "ControlRun", "PairResult", "hold", "pair_results"]

SCHEMA = 1


class Answer(NamedTuple):
    """What came of one control."""

    state: str
    value: Any
    reason: str
    error_kind: str | None
    is_reply: bool = True
    """Whether the judge itself said it; not so where the provider failed, or nothing was asked."""


class ControlResult(NamedTuple):
    """One control and what came of it."""

    control: Control
    answer: Answer
    ok: bool

    @property
    def case_id(self) -> str:
        """The control's id."""
        return self.control.case_id

    @property
    def came(self) -> str:
        """The label, or the state where there is none."""
        return str(self.answer.value) if self.answer.state == "scored" else self.answer.state

    @property
    def is_wrong(self) -> bool:
        """Whether there is a verdict, and it is not the one expected: the judge does not tell this control."""
        return not self.ok and self.answer.state == "scored"

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        control, answer = self.control, self.answer
        return {
            "case_id": control.case_id,
            "role": control.role,
            "pair_id": control.pair_id,
            "expected": control.expected,
            "value": answer.value,
            "state": answer.state,
            "ok": self.ok,
            "reason": answer.reason,
            "error_kind": answer.error_kind,
            "rationale": control.rationale,
        }


class PairResult(NamedTuple):
    """Controls that are compared with each other."""

    pair_id: str
    role: str
    """Of its members; a negative's pair with its positive is one of the role negative."""
    members: tuple[ControlResult, ...]

    @property
    def ok(self) -> bool:
        """Whether each member came out as expected; only then was what lies between them told."""
        return all(member.ok for member in self.members)

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        ids = [member.case_id for member in self.members]
        return {"pair_id": self.pair_id, "role": self.role, "case_ids": ids, "ok": self.ok}


def hold(suite: ControlSuite, answers: Mapping[str, Answer]) -> tuple[ControlResult, ...]:
    """Hold each answer against what is expected.

    A control that expects a label wants exactly it; one that expects the state ``invalid`` or ``error`` wants that
    state, and so that no verdict came.
    """
    return tuple(
        ControlResult(control, answers[control.case_id], _is_as_expected(control, answers[control.case_id]))
        for control in suite.controls
    )


def _is_as_expected(control: Control, answer: Answer) -> bool:
    if control.is_asked:
        return answer.state == "scored" and answer.value == control.expected
    return answer.state == control.expected


def pair_results(results: Iterable[ControlResult]) -> tuple[PairResult, ...]:
    """Group results by pair, in the order of the file."""
    found: dict[str, list[ControlResult]] = {}
    for result in results:
        if result.control.pair_id is not None:
            found.setdefault(result.control.pair_id, []).append(result)
    return tuple(
        PairResult(pair_id, "negative" if len({m.control.role for m in of}) > 1 else of[0].control.role, tuple(of))
        for pair_id, of in found.items()
    )


@dataclass(frozen=True, kw_only=True)
class ControlRun:
    """A judge's controls under one configuration, and what came of them."""

    suite: ControlSuite
    judge: Mapping[str, Any]
    """Its name, fingerprint, configuration hash, versions and model: what this run speaks for."""
    results: tuple[ControlResult, ...]
    note: str = ""
    """Where replayed verdicts come from, in the words of their cassette."""
    calls: Mapping[str, Any] = field(default_factory=dict)
    """Calls, tokens and cost, as in a judge run's manifest."""

    @property
    def pairs(self) -> tuple[PairResult, ...]:
        """The pairs, in the order of the file."""
        return pair_results(self.results)

    @property
    def separated(self) -> bool:
        """Whether every role is there and every control came out as expected."""
        return not self.suite.absent and all(result.ok for result in self.results)

    @property
    def wrong(self) -> tuple[ControlResult, ...]:
        """Controls with a verdict that is not the one expected."""
        return tuple(result for result in self.results if result.is_wrong)

    @property
    def unjudged(self) -> tuple[ControlResult, ...]:
        """Controls without the verdict that they need."""
        return tuple(result for result in self.results if not result.ok and not result.is_wrong)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the judge cannot be judged by these controls; empty where it can."""
        absent = [f"no control of the role {role}" for role in self.suite.absent]
        return (*absent, *(_without_verdict(result) for result in self.unjudged))

    @property
    def outcome(self) -> Outcome:
        """``passed`` where all separate; what cannot be judged is *incomplete*, and never called bad."""
        if self.problems:
            return Outcome.incomplete
        return Outcome.quality_failed if self.wrong else Outcome.passed

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values: the same run gives the same bytes, so that a policy can freeze their hash."""
        return {
            "schema": SCHEMA,
            "separated": self.separated,
            "outcome": self.outcome.name,
            "judge": dict(self.judge),
            "controls_sha256": self.suite.sha256,
            "note": self.note,
            "problems": list(self.problems),
            "roles": {role: _counts(r for r in self.results if r.control.role == role) for role in ROLES},
            "pairs": [pair.facts() for pair in self.pairs],
            "controls": [result.facts() for result in self.results],
        }


def _counts(results: Iterable[ControlResult]) -> dict[str, int]:
    found = list(results)
    return {"controls": len(found), "ok": sum(result.ok for result in found)}


def _without_verdict(result: ControlResult) -> str:
    answer, control = result.answer, result.control
    return f"{control.case_id} ({control.role}) expects {control.expected!r} and is {answer.state}: {answer.reason}"
