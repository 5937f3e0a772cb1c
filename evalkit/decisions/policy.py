"""The policy file: reviewed, versioned limits by slice. What it says, and every reason why it cannot be used."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from evalkit.contract import EvalkitError, sha256_file

__all__ = ["Frozen", "Limits", "Override", "Policy", "PolicyFile", "SliceLimits", "next_version", "read_policy"]

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        msg = f"must be a finite number, got {value!r}"
        raise ValueError(msg)
    return value


def _decimal(value: Any) -> Any:
    try:
        amount = Decimal(value) if isinstance(value, str) else None
    except InvalidOperation:
        amount = None
    if amount is None or not amount.is_finite() or amount < 0:
        msg = f'must be a decimal amount in quotes such as "5.00", got {value!r}'
        raise ValueError(msg)
    return amount


Text = Annotated[str, Field(pattern=r"\S")]
Number = Annotated[float, BeforeValidator(_finite)]
Share = Annotated[float, BeforeValidator(_finite), Field(gt=0, lt=1)]
Amount = Annotated[Decimal, BeforeValidator(_decimal)]
Count = Annotated[int, Field(ge=0)]


class SliceLimits(BaseModel):
    """What one slice must reach."""

    model_config = _STRICT

    minimum: Number | None = None
    """Numeric metrics: a row passes at this value or above."""
    maximum: Number | None = None
    """Numeric metrics where lower is better: a row passes at this value or below."""
    review_band: Annotated[Number, Field(ge=0)] = 0.0
    """Width of the band beyond the bound in which a row goes to a person instead of failing."""
    require: tuple[Text, ...] = Field(default=(), strict=False)
    """Discrete metrics: labels that pass."""
    review: tuple[Text, ...] = Field(default=(), strict=False)
    """Discrete metrics: labels that go to a person."""
    max_failures: Count | None = None
    min_pass_rate: Share | None = None
    confidence: Share = 0.95
    max_false_passes: Count | None = None
    max_false_fails: Count | None = None
    critical: bool = False
    decide: Literal["policy", "review"] = "policy"
    """``review``: not certified, so people decide every row."""

    @model_validator(mode="after")
    def _has_one_kind_of_limit(self) -> SliceLimits:
        kinds = [self.minimum is not None, self.maximum is not None, bool(self.require)]
        if sum(kinds) != 1 and not (self.decide == "review" and not any(kinds)):
            msg = "needs exactly one of minimum, maximum and require: a slice without a limit lets everything through"
            raise ValueError(msg)
        if self.max_failures is not None and self.min_pass_rate is not None:
            msg = "has both max_failures and min_pass_rate: keep the one that is meant"
            raise ValueError(msg)
        if self.review and not self.require:
            msg = "has review labels but no require labels: name the labels that pass as well"
            raise ValueError(msg)
        if self.review_band and self.require:
            msg = "has a review_band, which is for numbers; labels that go to a person are listed under review"
            raise ValueError(msg)
        if both := set(self.require) & set(self.review):
            msg = f"lists {sorted(both)} under both require and review"
            raise ValueError(msg)
        return self


class Limits(BaseModel):
    """What the run as a whole must reach; rows are blocking rows."""

    model_config = _STRICT

    invalid: Count = 0
    error: Count = 0
    unrun: Count = 0
    min_scored: Annotated[int, Field(ge=1)] = 1
    cost: Amount | None = None
    currency: Text | None = None


class Frozen(BaseModel):
    """What must not have changed since approval; what differs makes the gate incomplete."""

    model_config = _STRICT

    metric_fingerprint: Text | None = None
    cases_sha256: Text | None = None
    lock_sha256: Text | None = None
    judge: Text | None = None
    controls: Text | None = None


class Override(BaseModel):
    """One row that its approver lets through, as long as it shows what the approver saw."""

    model_config = _STRICT

    case_id: Text
    seen_hash: Text
    approver: Text
    reason: Text
    expires_on: date
    follow_up: Text


class Consequences(BaseModel):
    """What each mistake of the gate costs."""

    model_config = _STRICT

    false_pass: Text
    false_fail: Text


class Observation(BaseModel):
    """A migration's observation window: the old metric is refused after it ends."""

    model_config = _STRICT

    old_metric: Text
    until: date


class Policy(BaseModel):
    """A policy as written; see DESIGN of the file in the README."""

    model_config = _STRICT

    # `schema` and `slices` are the words of the file; pydantic's own attribute of the first name is deprecated.
    format: Literal[1] = Field(alias="schema")
    name: Text
    version: Text
    mode: Literal["block", "report"] = "block"
    metric: Text
    contract_version: Text
    scope: tuple[Text, ...] = Field(default=(), strict=False)
    approved_by: Text | None = None
    approved_on: date | None = None
    expires_on: date | None = None
    rationale: Text | None = None
    consequences: Consequences | None = None
    basis: Literal["by_definition", "calibrated", "provisional"] = "by_definition"
    calibration: Text | None = None
    block_on: Literal["all", "new"] = "all"
    require_contract: bool = False
    votes: Text | None = None
    dissent: str | None = None
    slices: dict[Text, SliceLimits] = Field(min_length=1)
    limits: Limits = Limits()
    frozen: Frozen = Frozen()
    overrides: tuple[Override, ...] = Field(default=(), strict=False)
    prices: dict[str, Any] = Field(default_factory=dict)
    observation: Observation | None = None

    @model_validator(mode="after")
    def _is_reviewed(self) -> Policy:
        missing = [
            name for name in ("approved_by", "approved_on", "expires_on", "rationale") if getattr(self, name) is None
        ]
        if self.mode == "block" and missing:
            msg = f'lacks {", ".join(missing)}: a policy that blocks is approved and bounded (or set mode = "report")'
            raise ValueError(msg)
        if self.basis == "calibrated" and not self.calibration:
            msg = 'has basis = "calibrated" but no calibration = "sha256:…" that says what it rests on'
            raise ValueError(msg)
        if self.limits.cost is not None and self.limits.currency is None:
            msg = "limits.cost needs limits.currency"
            raise ValueError(msg)
        return self

    def facts(self) -> dict[str, Any]:
        """Return the policy as plain JSON values, as it was written."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True) | {"schema": self.format}


def next_version(old: str, day: date) -> str:
    """Return the day, or the day and a number where the policy already has a version of that day.

    >>> next_version("7", date(2026, 12, 1)), next_version("2026-12-01.2", date(2026, 12, 1))
    ('2026-12-01', '2026-12-01.3')
    """
    head, _, number = old.partition(".")
    if head != day.isoformat():
        return day.isoformat()
    return f"{head}.{int(number) + 1 if number.isdecimal() else 2}"


class PolicyFile(NamedTuple):
    """A policy file as far as it can be used."""

    path: Path
    sha256: str
    policy: Policy | None
    """``None`` where the file cannot be used; `problems` then says why."""
    problems: list[str]


def read_policy(path: Path | str) -> PolicyFile:
    """Read a policy; everything wrong with its content is listed in ``problems``, all at once.

    Raises
    ------
    EvalkitError
        Where there is no such file.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        content = tomllib.loads(text)
    except OSError as error:
        msg = f"the policy cannot be read ({error.strerror or error})"
        raise EvalkitError(msg, where=str(path), do="give the path of a policy.toml with --policy") from error
    except (ValueError, RecursionError) as error:  # TOML's own, no UTF-8, an integer of 5,000 digits, absurd depth
        return PolicyFile(path, sha256_file(path), None, [f"{path.name} is not TOML: {error}"])
    try:
        policy = Policy.model_validate(content)
    except ValidationError as error:
        return PolicyFile(path, sha256_file(path), None, [_problem(path.name, found) for found in error.errors()])
    return PolicyFile(path, sha256_file(path), policy, [])


def _problem(file: str, found: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in found["loc"])
    where = f"{file}: {place}" if place else file
    if found["type"] == "extra_forbidden":
        return f"{where} is an unknown key{_nearest(found['loc'])}"
    if found["type"] == "missing":
        return f"{where} is absent"
    text = found["msg"].removeprefix("Value error, ")
    came = "" if found["type"] == "value_error" else f"; got {found['input']!r}"
    return f"{where} {text[0].lower()}{text[1:]}{came}"


def _nearest(location: tuple[int | str, ...]) -> str:
    from rapidfuzz import process

    models: dict[str, type[BaseModel]] = {
        "limits": Limits, "frozen": Frozen, "overrides": Override, "consequences": Consequences,
        "observation": Observation, "slices": SliceLimits,
    }  # fmt: skip
    model = models.get(str(location[0]), Policy) if len(location) > 1 else Policy
    known = [field.alias or name for name, field in model.model_fields.items()]
    found = process.extractOne(str(location[-1]), known, score_cutoff=60)
    return f"; did you mean {found[0]!r}?" if found else f"; known here: {', '.join(known)}"
