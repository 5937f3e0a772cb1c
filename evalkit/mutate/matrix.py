"""The kill matrix: which case catches which planted fault. One picture for metrics, policies, judges and adapters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from evalkit.contract import EvalkitError, Outcome

__all__ = ["By", "Kill", "KillMatrix", "Mutant", "Status"]

Status = Literal["killed", "survived", "equivalent", "not_applicable"]
By = Literal["value", "reason", "detail", "state", "decision", "outcome", "check", "time", "memory", "death"]
"""What gave the fault away: a wrong value, reason, detail or state, a row's decision, a gate's outcome, the check of an
audit; or the mutant had to be stopped (time, memory, death)."""

_STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, slots=True)
class Kill:
    """One case that caught a fault."""

    case_id: str
    by: By
    seen: str = ""
    """What came instead of what the case expects, in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One planted fault and what became of it."""

    id: str
    """Stable while unrelated lines move, so that a reviewed file can name it."""
    operator: str
    description: str = ""
    """The operator in one line."""
    layer: str = "metric"
    """What carries the fault: ``metric``, ``policy``, ``gate``, ``judge``, ``prompt`` or ``adapter``."""
    where: str = ""
    """The function, constant or key that carries it."""
    line: int | None = None
    diff: str = ""
    status: Status = "survived"
    kills: tuple[Kill, ...] = ()
    suggested_case: Mapping[str, Any] | None = None
    """For a survivor, the smallest case found that would kill it."""
    note: str = ""
    """Why it is equivalent or not applicable; for a survivor without a suggestion, what was tried."""

    def __post_init__(self) -> None:
        if self.status not in _STATUSES:
            msg = f"a mutant's status is one of {', '.join(_STATUSES)}; got {self.status!r}"
            raise ValueError(msg)
        if (self.status == "killed") != bool(self.kills):
            msg = f"mutant {self.id!r} is {self.status} with {len(self.kills)} kills: killed means at least one"
            raise ValueError(msg)

    @property
    def killed_by(self) -> list[str]:
        """The ids of the cases that caught it, in the order of the file."""
        return [kill.case_id for kill in self.kills]

    def to_json(self) -> dict[str, Any]:
        """Return the mutant as plain JSON values."""
        return {
            "id": self.id,
            "layer": self.layer,
            "operator": self.operator,
            "description": self.description,
            "where": self.where,
            "line": self.line,
            "diff": self.diff,
            "status": self.status,
            "killed_by": self.killed_by,
            "kills": [{"case_id": k.case_id, "by": k.by, "seen": k.seen} for k in self.kills],
            "suggested_case": dict(self.suggested_case) if self.suggested_case is not None else None,
            "note": self.note,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Mutant:
        """Read what `to_json` wrote."""
        kept = {name: value for name, value in plain.items() if name not in ("killed_by", "kills")}
        return cls(**kept, kills=tuple(Kill(**kill) for kill in plain["kills"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class KillMatrix:
    """All planted faults of one subject against one suite of cases.

    Examples
    --------
    >>> caught = Mutant(id="a", operator="number", status="killed", kills=(Kill("half", "value"),))
    >>> matrix = KillMatrix(subject="share", cases=("half",), mutants=(caught, Mutant(id="b", operator="string")))
    >>> matrix.score, matrix.in_words(), matrix.outcome.name
    (0.5, 'killed 1 of 2', 'quality_failed')
    """

    subject: str
    cases: tuple[str, ...]
    """The ids of the cases that were used, in the order of the file."""
    mutants: tuple[Mutant, ...]
    full: bool = False
    """Whether each mutant met every case; otherwise `killed_by` holds the first killer only."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else describes the run: contract version, fingerprint, files."""

    def __post_init__(self) -> None:
        ids = [mutant.id for mutant in self.mutants]
        if len(set(ids)) != len(ids):
            twice = next(i for i in ids if ids.count(i) > 1)
            msg = f"two mutants have the id {twice!r}"
            raise ValueError(msg)

    def of(self, status: Status, layer: str | None = None) -> list[Mutant]:
        """Return the mutants with this status, in order."""
        return [m for m in self.mutants if m.status == status and layer in (None, m.layer)]

    @property
    def denominator(self) -> int:
        """How many mutants count: all, less the equivalent and the not applicable ones."""
        return len(self.of("killed")) + len(self.of("survived"))

    @property
    def score(self) -> float | None:
        """Killed over `denominator`; ``None`` where nothing could be planted."""
        return len(self.of("killed")) / self.denominator if self.denominator else None

    @property
    def outcome(self) -> Outcome:
        """``passed`` when every mutant that counts was killed; *incomplete* when there was none."""
        if not self.denominator:
            return Outcome.incomplete
        return Outcome.quality_failed if self.of("survived") else Outcome.passed

    def in_words(self) -> str:
        """Return the score with its denominator and what was left out of it."""
        killed, out = len(self.of("killed")), []
        out = [
            f"{len(found)} {word}"
            for word, found in (
                ("equivalent", self.of("equivalent")),
                ("not applicable", self.of("not_applicable")),
            )
            if found
        ]
        aside = f" ({len(self.mutants)} in all, without {' and '.join(out)})" if out else ""
        return f"killed {killed} of {self.denominator}{aside}"

    def to_json(self) -> dict[str, Any]:
        """Return the matrix as plain JSON values; the same inputs give the same bytes."""
        return {
            "subject": self.subject,
            "score": self.score,
            "killed": len(self.of("killed")),
            "survived": len(self.of("survived")),
            "equivalent": len(self.of("equivalent")),
            "not_applicable": len(self.of("not_applicable")),
            "denominator": self.denominator,
            "outcome": self.outcome.name,
            "full": self.full,
            "facts": dict(self.facts),
            "cases": list(self.cases),
            "mutants": [mutant.to_json() for mutant in self.mutants],
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> KillMatrix:
        """Read what `to_json` wrote."""
        try:
            mutants = tuple(Mutant.from_json(mutant) for mutant in plain["mutants"])
            return cls(
                subject=plain["subject"],
                cases=tuple(plain["cases"]),
                mutants=mutants,
                full=plain["full"],
                facts=plain["facts"],
            )
        except (KeyError, TypeError, ValueError) as error:
            msg = f"this is not a kill matrix as evalkit writes it: {error!r}"
            raise EvalkitError(msg, do="write it with `evalkit mutate ... --json FILE`") from error

    def together(self, *others: KillMatrix) -> KillMatrix:
        """Return one matrix with the mutants and cases of several layers."""
        parts: Sequence[KillMatrix] = (self, *others)
        return KillMatrix(
            subject=self.subject,
            cases=tuple(dict.fromkeys(case for part in parts for case in part.cases)),
            mutants=tuple(mutant for part in parts for mutant in part.mutants),
            full=all(part.full for part in parts),
            facts={name: fact for part in reversed(parts) for name, fact in part.facts.items()}
            | {"suites": {mutant.layer: list(part.cases) for part in parts for mutant in part.mutants}},
        )

    def part(self, layer: str) -> KillMatrix:
        """Return one layer's mutants and the cases that were tried on them."""
        cases = self.facts.get("suites", {}).get(layer, self.cases)
        return replace(self, cases=tuple(cases), mutants=tuple(m for m in self.mutants if m.layer == layer))
