"""Two runs of one judge over one frozen set: each verdict that changed, what it is put down to, and who is right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from evalkit.cases.settle import Settled
from evalkit.contract.judge import Judge
from evalkit.decisions.certifying.against import reading_of
from evalkit.decisions.explaining.differences import first_divergence
from evalkit.decisions.explaining.divergence import owner_of
from evalkit.decisions.explaining.kept import Difference
from evalkit.decisions.explaining.run_facts import RunFacts
from evalkit.decisions.explaining.sides import Sides
from evalkit.decisions.policy import Policy, SliceLimits
from evalkit.decisions.rules import rule_of
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run

__all__ = ["Compared", "Direction", "Transition", "compare_runs", "critical_first"]

Direction = Literal["broken", "mended", "open"]


class Transition(NamedTuple):
    """One row whose verdict is another one than it was."""

    case_id: str
    slice: str
    blocking: bool
    critical: bool
    """Whether the policy calls its slice critical."""
    old: str
    """Decision, else value, else state."""
    new: str
    attributed_to: str
    """``ragas_version``, `judge_model`, `prompt`, `parser`, `policy`, or another word of an explanation; ``none`` where
    nothing that was kept differs."""
    also: tuple[str, ...]
    owner: str | None
    label: str | None
    """What people say, where they agree."""
    direction: Direction
    """``broken``: people said what it was. ``mended``: they say what it is. ``open``: nobody has said."""
    sentence: str

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return self._asdict() | {"also": list(self.also)}


class Compared(NamedTuple):
    """What became of the set."""

    rows: int
    transitions: tuple[Transition, ...]
    lost: tuple[str, ...]
    """Blocking rows that had a verdict and have none now."""
    strangers: tuple[str, ...]
    """Case ids that only one of the runs has, or whose inputs are not those of the other run."""

    @property
    def unchanged(self) -> int:
        """Rows with the same verdict."""
        return self.rows - len(self.transitions) - len(self.lost) - len(self.strangers)


def compare_runs(judge: Judge, old: Run, new: Run, policy: Policy | None, settled: Mapping[str, Settled]) -> Compared:
    """Compare the verdicts of two runs row by row, in the order of the set.

    With a policy it is the decisions that are compared: the older ones as they were made, if a policy made them.
    """
    reader = _Reader(judge, old, new, policy, settled)
    before = {str(record.case_id): record for record in old.records() if record.case_id is not None}
    after = {str(record.case_id): record for record in new.records() if record.case_id is not None}
    transitions: list[Transition] = []
    lost: list[str] = []
    strangers = [case_id for case_id in (*before, *after) if (case_id in before) != (case_id in after)]
    for case_id, now in after.items():
        was = before.get(case_id)
        if was is None:
            continue
        if was.input_hash != now.input_hash or was.seen_hash != now.seen_hash:
            strangers.append(case_id)
        elif was.state == "scored" and now.state != "scored" and now.blocking:
            lost.append(case_id)
        elif (found := reader.transition(was, now)) is not None:
            transitions.append(found)
    return Compared(len(before.keys() | after.keys()), tuple(transitions), tuple(lost), tuple(strangers))


class _Reader:
    def __init__(self, judge: Judge, old: Run, new: Run, policy: Policy | None, settled: Mapping[str, Settled]) -> None:
        self._judge, self._policy, self._settled = judge, policy, settled
        self._rule = rule_of(policy, judge) if policy else None
        self._has_decisions = old.manifest.get("policy") is not None
        self._old = RunFacts(old.manifest)
        now = new.manifest | ({"policy": policy.facts()} if policy and self._has_decisions else {})
        self._new = RunFacts(now)

    def transition(self, was: Record, now: Record) -> Transition | None:
        if self._rule is not None:
            now = now.ruled(self._rule(now))
            was = was if self._has_decisions else was.ruled(self._rule(was))
        old, new = _word(was), _word(now)
        if old == new:
            return None
        found = first_divergence(Sides(was, now, self._old, self._new))
        word, sentence = str(found.first), _told(found.difference) if found.difference else ""
        if word in ("none", "state") and (drift := _other_model(was, now)):
            word, sentence = "judge_model", drift
        said = self._said(now)
        return Transition(
            case_id=str(now.case_id),
            slice=now.slice,
            blocking=now.blocking,
            critical=self._limits(now).critical,
            old=old,
            new=new,
            attributed_to=word,
            also=tuple(found.also),
            owner="judge" if word == "none" else owner_of(word, self._new.promises),  # type: ignore[arg-type]  # a word of an explanation
            label=said,
            direction="open" if said is None else "mended" if said == new else "broken" if said == old else "open",
            sentence=sentence or "nothing that was kept differs: the same question has another answer now",
        )

    def _limits(self, record: Record) -> SliceLimits:
        return (self._policy.slices.get(record.slice) if self._policy else None) or SliceLimits(decide="review")

    def _said(self, record: Record) -> str | None:
        """Return people's label in the words of the verdicts: a decision under a policy, else the label itself."""
        case = self._settled.get(str(record.case_id))
        if case is None or case.label is None:
            return None
        return str(case.label) if self._policy is None else reading_of(case.label, self._limits(record), self._judge)


def _told(difference: Difference) -> str:
    """Return what differs, with both values where they are short enough to be read in one line."""
    old, new = (_MARKS.sub("", text) for text in difference.shown)
    is_short = bool(old) and bool(new) and max(len(old), len(new)) <= _SHORT
    return f"{difference.text} ({old} -> {new})" if is_short else difference.text


_SHORT = 40
_MARKS = re.compile(r"\[-|-\]|\{\+|\+\}")
"""What marks the differing part of a longer text; of two short values both are read whole."""


def _word(record: Record) -> str:
    return record.decision or (str(record.value) if record.state == "scored" else record.state)


def _other_model(was: Record, now: Record) -> str | None:
    """Say where the endpoint answered with another model, although the same one was asked for."""
    names = [(record.judge or {}).get("model_returned") for record in (was, now)]
    if None in names or names[0] == names[1]:
        return None
    return f"the endpoint answered as {names[0]!r} and now answers as {names[1]!r}"


def critical_first(transitions: tuple[Transition, ...]) -> Iterator[Transition]:
    """Yield critical transitions first, broken ones before others, else in the order of the set."""
    order = {"broken": 0, "open": 1, "mended": 2}
    yield from sorted(transitions, key=lambda found: (not found.critical, order[found.direction]))
