"""A threshold review: rows, labels and policy side by side, and what each proposed threshold would do to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from evalkit.cases.labels import LabelFile, read_labels
from evalkit.cases.settle import Settled
from evalkit.contract import EvalkitError, Metric
from evalkit.contract.words import Better
from evalkit.decisions.calibrate import CalibrateOptions, Calibration, calibrate
from evalkit.decisions.calibrating.flips import FlipLedger, flips_between
from evalkit.decisions.calibrating.pairing import better_of
from evalkit.decisions.calibrating.scored import ScoredCases, scored_cases
from evalkit.decisions.calibrating.thresholds import in_claims
from evalkit.decisions.meeting.borderline import RankedRows
from evalkit.decisions.meeting.candidates import Candidate, candidates_of
from evalkit.decisions.policy import Policy, PolicyFile, read_policy
from evalkit.decisions.rules import rule_of
from evalkit.scoring.ledger import denominator_of
from evalkit.scoring.records import Record, Ruling

__all__ = ["Meeting", "Proposal", "open_meeting"]

Proposal = Mapping[str, float]
"""By slice, the threshold that is proposed; slices that are not named keep the policy's."""


class _SliceData(NamedTuple):
    ranked: RankedRows
    values: Counter[float]
    denominators: Counter[int]
    scored: int
    """Rows with a number that the meeting may look at."""


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """What a meeting works on. It decides nothing: it says what each proposal would do."""

    metric: Metric
    cases: Path
    """A file of cases or a run folder."""
    scored: ScoredCases
    policy_file: PolicyFile
    labels: LabelFile | None
    calibration: Calibration | None
    """``None`` without labels."""
    seed: int = 0
    """Of the lot that draws among rows of one value."""
    run_id: str = ""
    """Of the run, or the hash of the file of cases."""

    @property
    def records(self) -> tuple[Record, ...]:
        """Every line that is not blank, in input order."""
        return self.scored.records

    @property
    def policy(self) -> Policy:
        """The policy under review."""
        assert self.policy_file.policy is not None  # noqa: S101 - open_meeting refuses a policy that cannot be read
        return self.policy_file.policy

    @property
    def better(self) -> Better:
        """Whether a high value is a good one."""
        return better_of(self.metric)

    @cached_property
    def settled(self) -> Mapping[str, Settled]:
        """What people's labels come to, by case id; those of held-out rows stay unseen."""
        found = self.calibration.pairing.settled if self.calibration else {}
        return {case_id: case for case_id, case in found.items() if case_id not in self._hidden}

    @cached_property
    def _hidden(self) -> frozenset[str]:
        return frozenset(str(record.case_id) for record in self.records if record.partition == "held_out")

    @property
    def held_out(self) -> int:
        """Rows that the meeting does not look at: whoever chooses on them cannot certify on them any more."""
        return len(self._hidden)

    @cached_property
    def by_id(self) -> Mapping[str, Record]:
        """The records by case id."""
        return {record.case_id: record for record in self.records if record.case_id is not None}

    @cached_property
    def slices(self) -> list[str]:
        """The slices that can be reviewed: they have scored rows, and the policy knows them."""
        return [name for name, data in self._data.items() if data.scored]

    def bound(self, name: str) -> float | None:
        """Return the policy's threshold of a slice; ``None`` where people decide every row."""
        limits = self.policy.slices[name]
        return limits.minimum if limits.minimum is not None else limits.maximum

    def threshold(self, name: str, proposal: Proposal) -> float | None:
        """Return the threshold of a slice under a proposal."""
        return proposal.get(name, self.bound(name))

    def ranked(self, name: str) -> RankedRows:
        """Return a slice's scored rows, sorted."""
        return self._data[name].ranked

    def denominators(self, name: str) -> list[int]:
        """Return the numbers of claims of a slice's rows; empty where the score is no share of them."""
        return sorted(self._data[name].denominators)

    def meaning(self, name: str, threshold: float) -> str:
        """Say a threshold in claims; empty where the score is no share of them."""
        sizes = self.denominators(name)
        return in_claims(threshold, sizes, self.better) if sizes else ""

    def candidates(self, name: str, keep: Iterable[float | None] = ()) -> list[Candidate]:
        """Return the thresholds of a slice that decide differently; the policy's own is always among them."""
        data = self._data[name]
        certified = self.calibration.certified.get(name) if self.calibration else None
        wanted = [self.bound(name), certified, *keep]
        return candidates_of(data.values, data.denominators, better=self.better, keep=wanted)

    def policy_with(self, proposal: Proposal) -> Policy:
        """Return the policy as it would be under a proposal.

        Raises
        ------
        EvalkitError
            For a slice that the policy does not know, or a threshold outside the metric's range.
        """
        for name, threshold in proposal.items():
            self._check(name, threshold)
        word = "minimum" if self.better == "higher" else "maximum"
        changed = {
            name: limits.model_copy(update={word: proposal[name], "decide": "policy"}) if name in proposal else limits
            for name, limits in self.policy.slices.items()
        }
        return self.policy.model_copy(update={"slices": changed})

    def flips(self, proposal: Proposal) -> FlipLedger:
        """List the rows that a proposal decides differently from the policy."""
        moved = {name for name, threshold in proposal.items() if threshold != self.bound(name)}
        rows = [record for record in self.records if record.slice in moved]
        old, new = self._old, rule_of(self.policy_with(proposal), self.metric)
        found = flips_between(rows, lambda record: old[record.line], new, self.settled)
        unmoved = sum(n for name, n in self._decided.items() if name not in moved)
        return found._replace(compared=found.compared + unmoved)

    @cached_property
    def _old(self) -> Mapping[int, Ruling]:
        rule = rule_of(self.policy, self.metric)
        return {record.line: rule(record) for record in self.records}

    @cached_property
    def _decided(self) -> Counter[str]:
        """Rows that the policy decides, by slice."""
        scored = (record for record in self.records if record.state == "scored")
        return Counter(record.slice for record in scored if self._old[record.line].decision is not None)

    @cached_property
    def _data(self) -> Mapping[str, _SliceData]:
        reviewed = self.metric.contract.reviewed if self.metric.contract else ()
        grouped: dict[str, list[Record]] = {name: [] for name in self.policy.slices}
        for record in self.records:
            is_number = record.state == "scored" and isinstance(record.value, int | float)
            if is_number and record.slice in grouped and record.partition != "held_out":
                grouped[record.slice].append(record)
        found = {}
        for name, rows in grouped.items():
            sizes = [denominator_of(r.detail, r.inputs, reviewed) for r in rows]
            # One row whose number of claims is unknown, and "in claims" would not be true of all of them.
            known = Counter(k for k in sizes if k) if all(sizes) and self._is_share(rows, sizes) else Counter[int]()
            values = Counter(float(r.value) for r in rows)  # type: ignore[arg-type]
            found[name] = _SliceData(RankedRows(rows, self.better, self.seed), values, known, len(rows))
        return found

    def _is_share(self, rows: Iterable[Record], sizes: Iterable[int | None]) -> bool:
        shares = [float(r.value) * (k or 0) for r, k in zip(rows, sizes, strict=True)]  # type: ignore[arg-type]
        return all(abs(share - round(share)) <= 1e-9 for share in shares)

    def _check(self, name: str, threshold: float) -> None:
        if name not in self.policy.slices:
            msg = f"the policy has no slice {name!r}"
            raise EvalkitError(msg, do=f"its slices are {', '.join(map(repr, self.policy.slices))}")
        allowed = self.metric.allowed_values
        assert isinstance(allowed, tuple | range)  # noqa: S101 - open_meeting takes numeric metrics only
        if not allowed[0] <= threshold <= allowed[-1]:
            span = f"{allowed[0]!r} to {allowed[-1]!r}"
            msg = f"the threshold {threshold!r} lies outside the range of {self.metric.name}, {span}"
            raise EvalkitError(msg, do="give a threshold inside the range")


def open_meeting(
    metric: Metric,
    cases: Path,
    policy: Path,
    labels: Path | None = None,
    *,
    options: CalibrateOptions | None = None,
    seed: int = 0,
) -> Meeting:
    """Bring rows, labels and policy together.

    Parameters
    ----------
    metric : Metric
        With numbers: labels have no threshold.
    cases : Path
        A run folder, or a file of cases, which is scored.
    policy : Path
        The policy under review.
    labels : Path, optional
        What people said of these rows; without them there are no error counts and no certificates.
    options : CalibrateOptions, optional
        Held-out rows stay unseen whatever they say: a meeting is no place to spend them.
    seed : int

    Raises
    ------
    EvalkitError
        For a metric without numbers, a policy that cannot be read or is of another metric, and everything that reading
        cases and labels refuses.
    """
    if metric.kind != "numeric":
        msg = f"{metric.name} gives {metric.kind} values: there is no threshold to review"
        raise EvalkitError(msg, do="review its labels instead: evalkit calibrate")
    policy_file = read_policy(policy)
    if policy_file.policy is None:
        msg = f"the policy cannot be used: {'; '.join(policy_file.problems)}"
        raise EvalkitError(msg, where=policy.name, do="mend the policy file")
    if (policy_file.policy.metric, policy_file.policy.contract_version) != (metric.name, metric.version):
        found = f"{policy_file.policy.metric!r}, contract {policy_file.policy.contract_version!r}"
        msg = f"the policy is of {found}; the metric given is {metric.name!r}, contract {metric.version!r}"
        raise EvalkitError(msg, where=policy.name, do="give the policy of this metric")
    label_file = read_labels(labels) if labels else None
    scored = scored_cases(metric, cases)
    found_calibration = None
    if label_file:
        chosen = options or CalibrateOptions()
        found_calibration = calibrate(metric, scored.records, label_file.labels, _blind_to_held_out(chosen))
    return Meeting(
        metric=metric,
        cases=cases,
        scored=scored,
        policy_file=policy_file,
        labels=label_file,
        calibration=found_calibration,
        seed=seed,
        run_id=_run_id(cases, scored),
    )


def _blind_to_held_out(options: CalibrateOptions) -> CalibrateOptions:
    from dataclasses import replace

    return replace(options, ledger=None)


def _run_id(cases: Path, scored: ScoredCases) -> str:
    if cases.is_dir():
        from evalkit.scoring.run import open_run

        return str(open_run(cases).manifest.get("run_id"))
    return f"cases {scored.cases_sha256[:19]}"
