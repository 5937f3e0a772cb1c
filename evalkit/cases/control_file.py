"""Controls from JSON Lines: labelled cases that prove a judge can tell. A line out of order refuses the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from evalkit.cases.control_pairs import Member, pair_problems
from evalkit.cases.read import BadLine, Case, CaseFile
from evalkit.contract import EvalkitError, sha256_file, sha256_of
from evalkit.contract.judge import Judge

__all__ = ["ROLES", "Control", "ControlSuite", "Role", "read_controls"]

Role = Literal[
    "positive", "negative", "boundary", "persuasion", "injection", "missing_evidence", "evaluator_error",
    "metamorphic_same", "metamorphic_flip",
]  # fmt: skip
ROLES: tuple[Role, ...] = get_args(Role)
"""The kinds of control; a suite that lacks one proves nothing of what that one is there for."""

_STATES: Mapping[str, str] = {"missing_evidence": "invalid", "evaluator_error": "error"}
"""What a control expects where no verdict may come: blocked before the call, or an error that stays one."""
_PAIRED = frozenset({"negative", "boundary", "persuasion", "metamorphic_same", "metamorphic_flip"})
_OWN_KEYS = ("expected", "reply", "source_version")
_MOST = 5
_DO = "mend the lines; nothing was asked"


class Control(NamedTuple):
    """One labelled case and what it is there for."""

    case: Case
    role: Role
    expected: str
    """A label of the judge, or the state ``invalid`` or ``error``."""
    pair_id: str | None
    rationale: str
    """Why people expect that, in words."""
    source_version: str
    """The version of the rubric that it was written against."""
    reply: Mapping[str, Any] | None
    """For an evaluator error, the recorded reply that must not become a verdict."""
    inputs_hash: str
    """Of the judge's inputs: what would be asked."""

    @property
    def case_id(self) -> str:
        """Its id, unique in the file."""
        return self.case.case_id

    @property
    def is_asked(self) -> bool:
        """Whether the judge has to be asked: neither blocked before the call nor answered by a recorded reply."""
        return self.role not in _STATES


class ControlSuite(NamedTuple):
    """A file of controls as read."""

    path: Path
    sha256: str
    controls: tuple[Control, ...]
    findings: tuple[str, ...]

    def of(self, role: str) -> list[Control]:
        """Return the controls of one role, in the order of the file."""
        return [control for control in self.controls if control.role == role]

    @property
    def pairs(self) -> dict[str, list[Control]]:
        """Controls by pair, in the order of the file."""
        found: dict[str, list[Control]] = {}
        for control in self.controls:
            if control.pair_id is not None:
                found.setdefault(control.pair_id, []).append(control)
        return found

    @property
    def absent(self) -> list[Role]:
        """Return the roles of which there is no control."""
        return [role for role in ROLES if not self.of(role)]

    def without(self, role: str) -> ControlSuite:
        """Return the suite as it would be without the controls of one role."""
        return self._replace(controls=tuple(control for control in self.controls if control.role != role))


def read_controls(path: Path | str, judge: Judge) -> ControlSuite:
    """Read a file of controls for a judge, or refuse it with everything that is wrong with it.

    Each line is a case with ``role``, ``expected``, ``rationale``, ``evidence`` (what the rationale rests on),
    ``source_version`` (of the rubric) and, where its role compares, ``pair_id``. A control that gives no reason, or was
    written for another version of the rubric, is refused: it would pass or fail for what nobody has looked at.

    Raises
    ------
    EvalkitError
        At most five problems are spelt out; the rest is counted.
    """
    path = Path(path)
    if not path.is_file():
        msg = "there is no such file of controls"
        raise EvalkitError(msg, where=str(path), do="give the path of a .jsonl file")
    if not isinstance(judge.allowed_values, list):
        msg = f"{judge.name} gives {judge.kind} values, and controls hold a judge to labels"
        raise EvalkitError(msg, where=str(path), do="give a judge with labels")
    file = CaseFile(path, optional=(*_OWN_KEYS, *(p.name for p in judge.parameters)))
    controls: list[Control] = []
    problems: list[str] = []
    for item in file:
        found = _control(item, judge)
        if isinstance(found, Control):
            controls.append(found)
        else:
            problems.append(f"line {item.line}{f' ({item.case_id})' if item.case_id else ''}: {found}")
    if not problems:
        problems = [*_contradictions(controls), *_pairs(controls, judge)]
    if not controls and not problems:
        problems = ["it holds no control"]
    if problems:
        raise EvalkitError(_listed(problems), where=str(path), do=_DO)
    return ControlSuite(path, sha256_file(path), tuple(controls), tuple(file.findings))


def _listed(problems: list[str]) -> str:
    more = f"; and {len(problems) - _MOST} more" if len(problems) > _MOST else ""
    head = f"{len(problems)} problem{'s' if len(problems) > 1 else ''} in the controls: "
    return head + "; ".join(problems[:_MOST]) + more


# --- one line -------------------------------------------------------------------------------------------------------


def _control(item: Case | BadLine, judge: Judge) -> Control | str:
    """Return the control of a line, or why it is none."""
    if isinstance(item, BadLine):
        return item.reason
    fields = item.fields
    problem = next(_line_problems(fields, judge), None)
    if problem is not None:
        return problem
    return Control(
        case=item,
        role=fields["role"],
        expected=fields["expected"],
        pair_id=fields.get("pair_id"),
        rationale=fields["rationale"],
        source_version=fields["source_version"],
        reply=fields.get("reply"),
        inputs_hash=sha256_of({p.name: fields.get(p.name) for p in judge.parameters}),
    )


def _line_problems(fields: Mapping[str, Any], judge: Judge) -> Iterator[str]:
    role = fields.get("role")
    if role not in ROLES:
        yield f"role must be one of {', '.join(ROLES)}; got {role!r}"
    yield from _wrong_expected(fields, judge)
    if not _is_text(fields.get("rationale")):
        yield "rationale is missing: say why people expect that"
    evidence = fields.get("evidence")
    if not isinstance(evidence, dict) or not any(evidence.values()):
        yield 'evidence is missing: name what the rationale rests on, for example {"reference": "returns policy, 2"}'
    yield from _stale(fields, judge)
    if role in _PAIRED and not _is_text(fields.get("pair_id")):
        yield f"pair_id is missing: a control of the role {role} is compared with another one"
    if role == "evaluator_error" and not isinstance(fields.get("reply"), dict):
        yield 'reply is missing: record the reply that failed, for example {"content": "It is fine."}'
    if role != "evaluator_error" and "reply" in fields:
        yield f"reply is for the role evaluator_error; the verdict of a control of the role {role} is asked for"


def _wrong_expected(fields: Mapping[str, Any], judge: Judge) -> Iterator[str]:
    expected, state = fields.get("expected"), _STATES.get(str(fields.get("role")))
    labels: Any = judge.allowed_values
    if state is not None and expected != state:
        yield f"expected must be {state!r} for the role {fields['role']}; got {expected!r}"
    if state is None and expected not in labels:
        yield f"expected must be a label of {judge.name} ({', '.join(labels)}); got {expected!r}"


def _stale(fields: Mapping[str, Any], judge: Judge) -> Iterator[str]:
    version = fields.get("source_version")
    if not _is_text(version):
        yield f"source_version is missing: the version of the rubric it was written against ({judge.rubric_version!r})"
    elif version != judge.rubric_version:
        yield _other("source_version", version, judge.rubric_version, judge)
    for key, now in (("rubric_version", judge.rubric_version), ("contract_version", judge.version)):
        if key in fields and fields[key] != now:
            yield _other(key, fields[key], now, judge)
    found, known = fields.get("evidence_version"), judge.evidence_versions
    if known and found is not None and found not in known:
        yield f"it is stale: evidence_version {found!r} is none of {judge.name}'s ({', '.join(known)})"


def _other(key: str, found: Any, now: str, judge: Judge) -> str:
    return f"it is stale: {key} is {found!r}, {judge.name} is at {now!r}; review it against the new version"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


# --- between lines --------------------------------------------------------------------------------------------------


def _contradictions(controls: list[Control]) -> Iterator[str]:
    """Find controls that would ask the same and expect something else."""
    first: dict[str, Control] = {}
    for control in controls:
        other = first.setdefault(control.inputs_hash, control)
        if other.expected != control.expected:
            yield (
                f"line {control.case.line} ({control.case_id}): it has the inputs of {other.case_id}, but expects "
                f"{control.expected!r} instead of {other.expected!r}"
            )


def _pairs(controls: list[Control], judge: Judge) -> Iterator[str]:
    names = [parameter.name for parameter in judge.parameters]
    produced = judge.contract.produced if judge.contract else tuple(names)
    found: dict[str, list[Member]] = {}
    for control in controls:
        if control.pair_id is not None:
            inputs = {name: control.case.fields.get(name) for name in names}
            member = Member(control.case_id, control.role, control.expected, inputs)
            found.setdefault(control.pair_id, []).append(member)
    good = next((control.expected for control in controls if control.role == "positive"), None)
    for pair_id, members in found.items():
        yield from (f"pair {pair_id!r}: {problem}" for problem in pair_problems(members, produced, good))
