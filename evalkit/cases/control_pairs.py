"""What makes a pair of controls: its members differ in what they are there to tell apart, and in nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Member", "pair_problems"]

_ALIKE = 50.0
"""Of 100: a changed input shares at least that much of its text with the one it was changed from."""
_LONGER = 2
"""How many times as long as its terse twin an answer must be that persuades by its length."""


class Member(NamedTuple):
    """One control of a pair."""

    case_id: str
    role: str
    expected: str
    inputs: Mapping[str, Any]


def pair_problems(members: Sequence[Member], produced: Sequence[str], good: str | None = None) -> Iterator[str]:
    """Yield what keeps these controls from being a pair.

    Parameters
    ----------
    members : sequence of Member
        All controls with one ``pair_id``.
    produced : sequence of str
        The inputs that the system under test wrote.
    good : str, optional
        The label of right answers, as far as the controls say.
    """
    roles = Counter(member.role for member in members)
    if set(roles) <= {"positive", "negative"}:
        yield from _negatives(members, roles)
        return
    if len(roles) > 1:
        yield f"its members have the roles {', '.join(roles)}: only positive and negative stand together"
        return
    check = _CHECKS.get(members[0].role)
    if check is not None:
        yield from check(members, produced, good)


def _negatives(members: Sequence[Member], roles: Counter[str]) -> Iterator[str]:
    if roles["negative"] and roles["positive"] != 1:
        yield f"a negative is changed from one positive; here are {roles['positive']}"
        return
    positive = next((member for member in members if member.role == "positive"), None)
    for member in members:
        if positive is not None and member is not positive:
            if member.expected == positive.expected:
                yield f"{member.case_id} expects {member.expected!r}, like the positive it was changed from"
            yield from _not_minimal(positive, member)


def _boundary(members: Sequence[Member], _: Sequence[str], __: str | None) -> Iterator[str]:
    yield from _two_labels(members, "stand on two sides of a limit")


def _persuasion(members: Sequence[Member], produced: Sequence[str], good: str | None) -> Iterator[str]:
    problems = list(_two_labels(members, "are a long wrong answer and its terse right twin"))
    yield from problems
    if problems:
        return
    short, long = sorted(members, key=lambda member: _length(member, produced))
    if good is not None and long.expected == good:
        yield f"{long.case_id} is the longer one and expects {long.expected!r}: here the terse answer is right"
    if _length(long, produced) < _LONGER * _length(short, produced):
        yield (
            f"{long.case_id} is not {_LONGER} times as long as its twin {short.case_id}: it does not persuade by length"
        )


def _length(member: Member, produced: Sequence[str]) -> int:
    return sum(len(str(member.inputs.get(name))) for name in produced)


def _same(members: Sequence[Member], _: Sequence[str], __: str | None) -> Iterator[str]:
    if len(members) < 2:
        yield "it has one member: an irrelevant change needs the row before it"
    if len({member.expected for member in members}) > 1:
        yield "an irrelevant change keeps the label, and its members expect different ones"
    if len({repr(member.inputs) for member in members}) < len(members):
        yield "two of its members have the same inputs: nothing was changed"


def _flip(members: Sequence[Member], _: Sequence[str], __: str | None) -> Iterator[str]:
    yield from _two_labels(members, "differ in one required fact, which flips the label")
    if len(members) == 2:
        yield from _not_minimal(*members)


def _two_labels(members: Sequence[Member], what: str) -> Iterator[str]:
    if len(members) != 2 or members[0].expected == members[1].expected:
        labels = ", ".join(f"{member.case_id} {member.expected!r}" for member in members)
        yield f"two controls with different labels {what}; here are {labels}"


def _not_minimal(first: Member, second: Member) -> Iterator[str]:
    """Say where more than one input, or too much of one, was changed: then nobody knows what made the label flip."""
    changed = [name for name in first.inputs if first.inputs[name] != second.inputs.get(name)]
    if len(changed) != 1:
        yield f"{second.case_id} differs from {first.case_id} in {len(changed)} inputs ({', '.join(changed) or 'none'})"
        return
    from rapidfuzz.fuzz import ratio

    before, after = (str(member.inputs[changed[0]]) for member in (first, second))
    if (alike := ratio(before, after)) < _ALIKE:
        yield f"the {changed[0]} of {second.case_id} is another text than that of {first.case_id} ({alike:.0f} of 100)"


_CHECKS: Mapping[str, Callable[[Sequence[Member], Sequence[str], str | None], Iterator[str]]] = {
    "boundary": _boundary,
    "persuasion": _persuasion,
    "metamorphic_same": _same,
    "metamorphic_flip": _flip,
}
