"""What a metric promises (`Contract`), what it returns (`MetricResult`), how it says a row is unfit (`InvalidRow`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalkit.contract.words import OWNERS, Better, Owner, Retention

__all__ = ["Contract", "InvalidRow", "MetricResult"]


class InvalidRow(ValueError):  # noqa: N818 - it is the word people read: the row is invalid, nothing went wrong
    """Raised by a metric when the row breaks its contract: the row is *invalid*, and the test-data owner is told."""


@dataclass(frozen=True, slots=True)
class MetricResult:
    """A score that carries its evidence.

    Unlike ragas' class of the same name it is plain data: it pickles, copies and compares, hashes where its value does,
    and refuses to be used as a truth value, so that a failed result is never mistaken for a present one.
    """

    value: float | int | str | list[Any] | None
    """The score, or ``None`` where there is none."""
    reason: str = ""
    """The same finding in words."""
    detail: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The same finding structured, for example ``{"missing": ["refund-method"]}``."""

    def __bool__(self) -> bool:
        msg = "a MetricResult is neither true nor false: compare its .value"
        raise TypeError(msg)


@dataclass(frozen=True, kw_only=True, slots=True)
class Contract:
    """The executable contract of a metric: four questions answered in plain language, and the rules a run enforces.

    The questions are fields, so an unanswered one cannot be overlooked: what one property is measured (`measures`);
    which inputs are reviewed facts and which the system produced (`reviewed`, `produced`); when a row is invalid
    rather than bad (`invalid_when`); who reads the score (`consumed_by`).

    Examples
    --------
    >>> Contract(version="1", measures="share of required claims that are supported",
    ...          reviewed=("required_claim_ids",), produced=("supported_claim_ids",),
    ...          invalid_when=("no claim is required",), consumed_by="the release gate",
    ...          cannot_establish="whether a supported claim is true").version
    '1'
    """

    version: str
    """Changes whenever old scores stop being comparable; rows of different versions are never averaged."""
    measures: str
    """The one property, in a sentence."""
    reviewed: tuple[str, ...]
    """Inputs that people reviewed: reference facts."""
    produced: tuple[str, ...]
    """Inputs that the system under test produced."""
    invalid_when: tuple[str, ...]
    """Plain sentences; each is proven by a contract case."""
    consumed_by: str
    """Which policy or person reads the score."""
    cannot_establish: str
    """What a good score does not show."""
    better: Better = "higher"
    """Whether a higher or a lower value is better."""
    reference_dependent: bool = False
    """Whether the metric needs a reference answer or reference passages."""
    needs_validation: bool = False
    """Whether people must have been compared with the score before it may block for good: for a figure that stands for
    a judgement of a domain rather than for a count or a format. A judge always needs it."""
    allows_missing: Mapping[str, Mapping[Literal["null", "[]"], str]] = field(default_factory=dict)
    """Per input, which kind of missing it accepts and what that means: ``{"retrieved": {"[]": "nothing was found"}}``.
    `null` (lost) and `[]` (none) are different facts; a kind that is not listed makes the row invalid."""
    retention: Mapping[str, Retention] = field(default_factory=dict)
    """Per input or part of the evidence, what a run folder keeps: ``full`` (default), ``excerpt`` or ``hash``."""
    redact: Callable[[str], str] | None = None
    """Applied to every text of a row's inputs, evidence and reason before anything is hashed or written."""
    owners: Mapping[str, Owner] = field(default_factory=dict)
    """Who owns which diagnosis where it differs from the default, keyed by state or first diverging evidence."""

    def __post_init__(self) -> None:
        for name in ("version", "measures", "consumed_by", "cannot_establish"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                msg = f"Contract.{name} must be a non-blank text; got {value!r}: answer the question it asks"
                raise ValueError(msg)
        for name in ("reviewed", "produced", "invalid_when"):
            value = getattr(self, name)
            if isinstance(value, str) or not all(isinstance(item, str) and item.strip() for item in value):
                msg = f"Contract.{name} must be a tuple of non-blank texts; got {value!r}"
                raise ValueError(msg)
            object.__setattr__(self, name, tuple(value))
        if not self.invalid_when:
            msg = "Contract.invalid_when must name at least one way in which a row is invalid rather than bad; got none"
            raise ValueError(msg)
        self._check_choices()

    def _check_choices(self) -> None:
        _check_choice("better", self.better, ("higher", "lower"))
        declared: Mapping[str, Any] = self.allows_missing
        for name, kinds in declared.items():
            if not isinstance(kinds, Mapping) or not kinds:
                msg = f"Contract.allows_missing[{name!r}] must map 'null' or '[]' to what it means; got {kinds!r}"
                raise ValueError(msg)
            for kind in kinds:
                _check_choice(f"allows_missing[{name!r}]", kind, ("null", "[]"))
        for name, choice in self.retention.items():
            _check_choice(f"retention[{name!r}]", choice, ("full", "excerpt", "hash"))
        for name, owner in self.owners.items():
            _check_choice(f"owners[{name!r}]", owner, OWNERS)

    def facts(self) -> dict[str, Any]:
        """Return the contract as plain JSON values (the redaction by name): what manifests and pages show."""
        return {
            "version": self.version,
            "measures": self.measures,
            "reviewed": list(self.reviewed),
            "produced": list(self.produced),
            "invalid_when": list(self.invalid_when),
            "consumed_by": self.consumed_by,
            "cannot_establish": self.cannot_establish,
            "better": self.better,
            "reference_dependent": self.reference_dependent,
            "needs_validation": self.needs_validation,
            "allows_missing": {name: dict(kinds) for name, kinds in self.allows_missing.items()},
            "retention": dict(self.retention),
            "redact": getattr(self.redact, "__name__", "yes") if self.redact else None,
            "owners": dict(self.owners),
        }


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        msg = f"Contract.{name} must be one of {', '.join(allowed)}; got {value!r}"
        raise ValueError(msg)
