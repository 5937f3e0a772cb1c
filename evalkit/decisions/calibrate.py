"""From scores and labels to a threshold that means something, slice by slice, or to how many labels are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from evalkit.cases.labels import Label
from evalkit.cases.partitions import Member, refuse_leaks
from evalkit.contract import EvalkitError, Metric, Outcome
from evalkit.decisions.agreement import Agreement, Kappa, agreement_of, cohen_kappa
from evalkit.decisions.calibrating.certificate import Certificate, Family, certify, family_of, labels_needed
from evalkit.decisions.calibrating.held_out import HeldOut, HeldOutSlice, LookContext, certify_held_out
from evalkit.decisions.calibrating.pairing import LabelledRow, Pairing, Reading, pair
from evalkit.decisions.calibrating.sample import Sample, partition_in_use, sample_of
from evalkit.decisions.calibrating.sweep import Sweep, auroc
from evalkit.decisions.calibrating.thresholds import Threshold, denominators_of, is_pass, sweep_rows, threshold_table
from evalkit.decisions.calibrating.wrong_tool import wrong_tool_warnings
from evalkit.scoring.records import Record

__all__ = ["CalibrateOptions", "Calibration", "SliceCalibration", "calibrate"]


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """What is asked of the labels."""

    max_false_pass: float = 0.05
    """The largest acceptable share of bad rows that pass."""
    confidence: float = 0.95
    """Of all certificates together, one-sided."""
    reading: Reading = field(default_factory=Reading)
    slices: tuple[str, ...] = ()
    """All, where none is named."""
    ledger: Path | None = None
    """The hold-out ledger; without one the held-out rows stay unseen."""
    purpose: str = "calibrate"
    looked_on: str = ""
    """ISO date for the ledger."""
    metric_fingerprint: str = ""
    """Of the metric that scored the records, for the ledger."""

    def __post_init__(self) -> None:
        for name in ("max_false_pass", "confidence"):
            value = getattr(self, name)
            if not isinstance(value, float) or not 0.0 < value < 1.0:
                option = name.replace("_", "-")
                msg = f"--{option} must be a number between 0 and 1, both excluded; got {value!r}"
                raise EvalkitError(msg, do=f"for example --{option} {0.05 if name == 'max_false_pass' else 0.95}")


@dataclass(frozen=True, kw_only=True)
class SliceCalibration:
    """What the labels say of one slice (or of all slices pooled, which is described and never certified)."""

    name: str
    states: Counter[str]
    fates: Counter[str]
    partitions: Mapping[str, int]
    """Scored rows by partition; ``""`` for none."""
    sample: Sample
    sweep: Sweep
    certificate: Certificate
    table: tuple[Threshold, ...]
    denominators: Mapping[int, int]
    warnings: tuple[str, ...]
    is_discrete: bool = False
    held_out: HeldOutSlice | None = None
    is_described_only: bool = False
    """The table is over rows that were not drawn at random, because there are no others."""

    @property
    def candidate(self) -> float | None:
        """The threshold certified on the calibration rows (a slice that is refused is not tested at all)."""
        return self.certificate.certified

    @property
    def certified(self) -> float | None:
        """The threshold that may be used; on held-out rows, once these were opened."""
        return self.held_out.certified if self.held_out else self.candidate

    @property
    def labels_needed(self) -> int:
        """Labelled fails still missing, if none of them passes the strictest threshold."""
        if self.held_out and self.candidate is not None:
            return self.held_out.labels_needed
        return self.certificate.labels_needed

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why the slice is refused, whatever its numbers are."""
        return (*self.sample.refusals, *(self.held_out.sample.refusals if self.held_out else ()))

    @property
    def auroc(self) -> float | None:
        """How often a good row scores better than a bad one."""
        return auroc(self.sweep)

    @property
    def rows(self) -> tuple[LabelledRow, ...]:
        """The rows that the table is over."""
        return self.sample.rows or self.sample.targeted

    def shown(self) -> Threshold | None:
        """Return the line of the table to look at first: the certified threshold, else the strictest."""
        lines = [line for line in self.table if line.threshold == self.candidate]
        return next(iter(lines or self.table), None)

    def mistakes(self, *, is_bad: bool) -> list[str]:
        """Name the rows on which score and label part at the shown threshold: bad ones that pass, or good that fail."""
        line = self.shown()
        if line is None:
            return []
        wrong = (row for row in self.rows if row.is_bad is is_bad)
        return [row.case_id for row in wrong if is_pass(row.value, line.threshold, self.sweep.better) is is_bad]


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The whole result."""

    metric: Metric
    options: CalibrateOptions
    pairing: Pairing
    partition: str | None
    """The partition that thresholds were chosen on; ``None`` where the cases have none."""
    family: Family
    slices: Mapping[str, SliceCalibration]
    overall: SliceCalibration
    people: Agreement
    metric_people: Kappa
    """Decisions at each slice's shown threshold, against the labels."""
    held_out: HeldOut | None

    @property
    def is_synthetic(self) -> bool:
        """Whether any slice rests on authored labels."""
        return any(part.sample.is_synthetic for part in self.slices.values())

    @property
    def certified(self) -> dict[str, float]:
        """Certified thresholds by slice."""
        return {name: part.certified for name, part in self.slices.items() if part.certified is not None}

    @property
    def outcome(self) -> Outcome:
        """*Passed* where every slice is certified; *incomplete* where nothing was scored; else people must decide."""
        if not self.pairing.rows:
            return Outcome.incomplete
        return Outcome.passed if len(self.certified) == len(self.slices) else Outcome.review_required


def calibrate(
    metric: Metric, records: Iterable[Record], labels: Iterable[Label], options: CalibrateOptions | None = None
) -> Calibration:
    """Find the lowest threshold of each slice whose false-pass rate is certified.

    Where the cases are split, thresholds are chosen on the calibration partition; development rows are only counted,
    and held-out rows are opened only with a ledger, once (see `held_out`). Without partitions all rows are used, and
    the certificate holds if the metric was finished before these labels were looked at.

    Parameters
    ----------
    metric : Metric
    records : iterable of Record
        From `score_cases` or a run.
    labels : iterable of Label
        From `read_labels`.
    options : CalibrateOptions, optional

    Raises
    ------
    EvalkitError
        For families or near-duplicates across partitions, a slice that does not occur, a spent held-out partition, and
        everything that `pair` refuses.
    """
    options = options or CalibrateOptions()
    pairing = pair(metric, records, labels, options.reading)
    names = _names(pairing, options.slices)
    refuse_leaks(_members(pairing.rows, names))
    partition = partition_in_use(pairing.rows)
    samples = {name: sample_of(pairing, name, partition) for name in names}
    delta = 1.0 - options.confidence
    open_to_test = {name: sample.n_fail for name, sample in samples.items() if not sample.refusals}
    family = family_of(open_to_test, options.max_false_pass, delta)
    slices = {name: _slice(pairing, sample, family, options) for name, sample in samples.items()}
    held_out = _held_out(metric, pairing, slices, options) if options.ledger and partition else None
    if held_out:
        slices = {name: replace(part, held_out=held_out.slices[name]) for name, part in slices.items()}
    return Calibration(
        metric=metric,
        options=options,
        pairing=pairing,
        partition=partition,
        family=family,
        slices=slices,
        overall=_overall(pairing, samples, options),
        people=agreement_of(pairing.settled.values()),
        metric_people=_metric_people(pairing, slices.values()),
        held_out=held_out,
    )


def _names(pairing: Pairing, wanted: tuple[str, ...]) -> list[str]:
    known = pairing.slices
    if unknown := [name for name in wanted if name not in known]:
        msg = f"no case has the slice {unknown[0]!r}"
        raise EvalkitError(msg, do=f"the slices are {', '.join(map(repr, known)) or 'none'}")
    return [name for name in known if not wanted or name in wanted]


def _members(rows: Iterable[LabelledRow], names: Iterable[str]) -> list[Member]:
    wanted = set(names)
    return [Member(r.case_id, r.slice, r.family, r.partition, r.text) for r in rows if r.slice in wanted]


def _slice(pairing: Pairing, sample: Sample, family: Family, options: CalibrateOptions) -> SliceCalibration:
    name = sample.slice
    rows = sample.rows or sample.targeted
    found = sweep_rows(rows, pairing.better, is_discrete=pairing.is_discrete)
    is_tested = name in family.levels and bool(sample.rows)
    certificate = certify(found, options.max_false_pass, family.level(name), is_tested=is_tested)
    if not sample.rows:
        # Rows that were not drawn at random are described by the same table, and say nothing of any others.
        missing = labels_needed(0, 0, options.max_false_pass, family.level(name))
        certificate = certificate._replace(n_fail=0, bound=None, labels_needed=missing)
    denominators = {} if pairing.is_discrete else denominators_of(rows)
    return SliceCalibration(
        name=name,
        states=Counter(pairing.states[name]),
        fates=Counter({str(fate): n for fate, n in pairing.fates.get(name, {}).items()}),
        partitions=Counter(row.partition or "" for row in pairing.rows if row.slice == name),
        sample=sample,
        sweep=found,
        certificate=certificate,
        table=threshold_table(
            rows,
            found,
            certificate,
            confidence=options.confidence,
            denominators=denominators,
            is_discrete=pairing.is_discrete,
            is_drawn=bool(sample.rows),
        ),
        denominators=denominators,
        warnings=tuple(wrong_tool_warnings(rows, found, is_discrete=pairing.is_discrete)),
        is_discrete=pairing.is_discrete,
        is_described_only=bool(rows) and not sample.rows,
    )


def _overall(pairing: Pairing, samples: Mapping[str, Sample], options: CalibrateOptions) -> SliceCalibration:
    """Pool the slices. A limit for a mixture hides its worst slice, so it is described and not certified."""
    pooled = Sample(
        slice="overall",
        rows=tuple(row for sample in samples.values() for row in sample.rows),
        targeted=tuple(row for sample in samples.values() for row in sample.targeted),
        left_out=sum((Counter(sample.left_out) for sample in samples.values()), Counter()),
        refusals=(),
        is_synthetic=any(sample.is_synthetic for sample in samples.values()),
    )
    states = {"overall": sum((pairing.states[name] for name in samples), Counter())}
    fates = {"overall": sum(pairing.fates.values(), Counter())}
    rows = tuple(row._replace(slice="overall") for row in pairing.rows if row.slice in samples)
    merged = pairing._replace(rows=rows, states=states, fates=fates)
    return _slice(merged, pooled, Family("not certified", {}, 1.0 - options.confidence, 0.0), options)


def _held_out(
    metric: Metric, pairing: Pairing, slices: Mapping[str, SliceCalibration], options: CalibrateOptions
) -> HeldOut:
    assert options.ledger is not None  # noqa: S101 - the caller has just looked
    question = {
        "max_false_pass": options.max_false_pass,
        "confidence": options.confidence,
        "criterion": options.reading.criterion,
        "rubric_version": options.reading.rubric_version,
    }
    fingerprint = options.metric_fingerprint or metric.fingerprint
    context = LookContext(options.looked_on, options.purpose, metric.name, metric.version, fingerprint, question)
    return certify_held_out(
        pairing,
        {name: part.candidate for name, part in slices.items()},
        risk=options.max_false_pass,
        confidence=options.confidence,
        ledger=options.ledger,
        context=context,
    )


def _metric_people(pairing: Pairing, parts: Iterable[SliceCalibration]) -> Kappa:
    decided: list[str] = []
    labelled: list[str] = []
    for part in parts:
        line = part.shown()
        if line is None:
            continue
        for row in part.rows:
            decided.append("pass" if is_pass(row.value, line.threshold, pairing.better) else "fail")
            labelled.append("fail" if row.is_bad else "pass")
    return cohen_kappa(decided, labelled)
