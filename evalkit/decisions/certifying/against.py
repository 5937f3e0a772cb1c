"""One slice's decisions beside people's labels: counts first, then each row on which they part, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from evalkit.cases.settle import Settled
from evalkit.cases.shape import PARTITIONS
from evalkit.contract import Metric
from evalkit.decisions.binomial import exact_interval
from evalkit.decisions.certifying.causes import draft_line
from evalkit.decisions.policy import SliceLimits
from evalkit.scoring.records import Record

__all__ = [
    "CONFIDENCE",
    "DRAFTS_NAME",
    "Labelled",
    "compare_rows",
    "disagreement_drafts",
    "reading_of",
    "total_of",
]

DRAFTS_NAME = "disagreements.jsonl"
"""In a run folder: the disagreements that nobody has classified, ready to be filled in."""

CONFIDENCE = 0.95
"""Of the exact two-sided intervals beside every rate."""

Said = Literal["pass", "fail", "review"]


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """The blocking rows of one slice (and of one partition of it, where the cases are split)."""

    slice: str
    partition: str | None = None
    counts: bool = True
    """Whether the policy's limits are held against these rows: where cases are split, held-out rows only."""
    is_open: bool = True
    """False while held-out rows stay unseen: no error of theirs has been looked at."""
    states: Mapping[str, int] = field(default_factory=Counter)
    good: list[Record] = field(default_factory=list)
    """Scored rows that people call a pass."""
    bad: list[Record] = field(default_factory=list)
    """Scored rows that people call a fail."""
    unsure: list[Record] = field(default_factory=list)
    """Scored rows that people themselves would send to a person."""
    unlabelled: list[Record] = field(default_factory=list)
    """Without a label that still fits what the row shows."""
    conflicts: list[Record] = field(default_factory=list)
    """Reviewers disagree, and nobody has adjudicated."""
    unknown: list[Record] = field(default_factory=list)
    """Labelled with a word that is no label here."""
    overridden: list[Record] = field(default_factory=list)
    """Disagreements that an override in force lets stand."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What people said, by case id."""
    causes: Mapping[str, str] = field(default_factory=dict)
    """The earliest cause of each classified disagreement, by case id."""
    random: int = 0
    """Labelled rows that were drawn at random: only these speak for rows that nobody labelled."""
    synthetic: int = 0
    """Labelled rows that were authored, or whose labels were."""

    @property
    def n(self) -> int:
        """Scored rows with a settled label."""
        return len(self.good) + len(self.bad) + len(self.unsure)

    @property
    def eligible(self) -> int:
        """Blocking rows, whatever became of them."""
        return sum(self.states.values())

    @property
    def false_passes(self) -> list[Record]:
        """Passed by the policy, failed by people."""
        return [record for record in self.bad if record.decision == "pass"]

    @property
    def false_fails(self) -> list[Record]:
        """Failed by the policy, passed by people."""
        return [record for record in self.good if record.decision == "fail"]

    @property
    def disagreements(self) -> list[Record]:
        """Every row on which decision and label part, false passes first."""
        return [*self.false_passes, *self.false_fails]

    @property
    def unclassified(self) -> list[Record]:
        """Disagreements whose cause nobody has written down."""
        return [record for record in self.disagreements if str(record.case_id) not in self.causes]

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values: counts, rates with their intervals, and the case ids of what is wrong."""
        return {
            "slice": self.slice, "partition": self.partition, "counts": self.counts, "open": self.is_open,
            "eligible": self.eligible, "completed": self.states.get("scored", 0),
            "errored": self.states.get("error", 0), "invalid": self.states.get("invalid", 0),
            "unrun": self.states.get("unrun", 0), "n": self.n, "random": self.random, "synthetic": self.synthetic,
            "people_fail": len(self.bad), "people_pass": len(self.good), "people_review": len(self.unsure),
            **(self._errors() if self.is_open else {}),
            **{name: _ids(getattr(self, name)) for name in ("unlabelled", "conflicts", "unknown")},
        }  # fmt: skip

    def _errors(self) -> dict[str, Any]:
        named = ("false_passes", "false_fails", "overridden", "unclassified")
        decided = Counter((people, r.decision) for people, rows in self.by_label() for r in rows)
        return {
            **{name: _ids(getattr(self, name)) for name in named},
            "false_pass_interval": _interval(len(self.false_passes), len(self.bad)),
            "false_fail_interval": _interval(len(self.false_fails), len(self.good)),
            "confusion": [{"people": a, "decision": b, "count": n} for (a, b), n in sorted(decided.items(), key=repr)],
            "causes": dict(Counter(self.causes.values())),
            "caused": dict(self.causes),
            "weighted": _weighted(self),
        }

    def by_label(self) -> Iterator[tuple[Said, list[Record]]]:
        """Yield the labelled rows by what people said of them."""
        yield "pass", self.good
        yield "fail", self.bad
        yield "review", self.unsure


def _ids(records: Iterable[Record]) -> list[str | None]:
    return [record.case_id for record in records]


def _interval(k: int, n: int) -> list[float] | None:
    """Return the exact interval of a rate; ``None`` over nothing."""
    return list(exact_interval(k, n, CONFIDENCE)[:2]) if n else None


def _weighted(found: Labelled) -> dict[str, Any] | None:
    """Weight the rates to production, where strata were sampled more or less often than they occur there."""
    weights = {record.lineage.get("prevalence_weight") for record in (*found.good, *found.bad)}
    if len(weights) < 2 or None in weights:
        return None
    # Imported where it is needed: it draws numpy in, and most gates have no strata.
    from evalkit.decisions.calibrating.pairing import LabelledRow
    from evalkit.decisions.calibrating.weighting import weighted_rates

    def row(record: Record, is_bad: bool) -> LabelledRow:
        lineage, passes = record.lineage, float(record.decision == "pass")
        return LabelledRow(
            str(record.case_id), record.slice, passes, is_bad, None, "random", "production", None, None, None, "", None,
            (), lineage.get("stratum"), None, lineage["prevalence_weight"],
        )  # fmt: skip

    rows = [*(row(r, True) for r in found.bad), *(row(r, False) for r in found.good)]
    rates = weighted_rates(rows, 0.5, "higher")
    return rates.facts() if rates else None


def reading_of(label: str | int | float, limits: SliceLimits, metric: Metric) -> Said | None:
    """Read a label as the policy reads a verdict; labels stay words, and one that nobody knows is ``None``."""
    word = str(label)
    if word in limits.review:
        return "review"
    if word in (limits.require or ("pass",)):
        return "pass"
    known = metric.allowed_values if isinstance(metric.allowed_values, list) else []
    return "fail" if word == "fail" or word in known else None


def compare_rows(
    name: str, records: Iterable[Record], settled: Mapping[str, Settled], limits: SliceLimits, metric: Metric
) -> list[Labelled]:
    """Compare one slice's blocking rows with their labels, partition by partition; an empty slice gives one line."""
    groups: dict[str | None, list[Record]] = {}
    for record in records:
        if record.slice == name and record.blocking:
            groups.setdefault(record.partition, []).append(record)
    is_split = groups.keys() - {None}
    return [
        _compared(rows, settled, limits, metric, slice=name, partition=partition, counts=_counts(partition, is_split))
        for partition in (None, *PARTITIONS)
        if (rows := groups.get(partition)) is not None
    ] or [Labelled(slice=name)]


def _counts(partition: str | None, is_split: Collection[object]) -> bool:
    return partition == "held_out" if is_split else True


def _compared(
    records: Sequence[Record], settled: Mapping[str, Settled], limits: SliceLimits, metric: Metric, **where: Any
) -> Labelled:
    placed: dict[str, list[Record]] = {name: [] for name in _PLACES}
    labels: dict[str, str] = {}
    random = synthetic = 0
    for record in records:
        if record.state != "scored":
            continue
        case = settled.get(str(record.case_id))
        place = _place(case, limits, metric)
        placed[place].append(record)
        if case is not None and place in ("good", "bad", "unsure"):
            labels[str(record.case_id)] = str(case.label)
            random += case.selection == "random"
            synthetic += {case.provenance, record.lineage.get("provenance", "production")} != {"production"}
    states = Counter[str](record.state for record in records)
    fields: dict[str, Any] = {**where, **placed}
    return Labelled(**fields, states=states, labels=labels, random=random, synthetic=synthetic)


_PLACES = ("good", "bad", "unsure", "unlabelled", "conflicts", "unknown")


def _place(case: Settled | None, limits: SliceLimits, metric: Metric) -> str:
    if case is None or case.how == "stale":
        return "unlabelled"
    if case.label is None:
        return "conflicts"
    return {"pass": "good", "fail": "bad", "review": "unsure", None: "unknown"}[reading_of(case.label, limits, metric)]


def total_of(compared: Sequence[Labelled]) -> dict[str, Any] | None:
    """Add up the rows that count, after every slice has been looked at: agreement, kappa, what a constant would get."""
    from evalkit.decisions.agreement import cohen_kappa

    rows = [
        (str(record.decision), people)
        for found in compared
        if found.counts and found.is_open
        for people, group in found.by_label()
        for record in group
    ]
    if not rows:
        return None
    kappa = cohen_kappa([decision for decision, _ in rows], [people for _, people in rows])
    return {key: value for key, value in kappa.facts().items() if key != "table"}


def disagreement_drafts(compared: Iterable[Labelled]) -> bytes:
    """Return a line for each disagreement without a cause, ready for a reviewer (see `causes.draft_line`)."""
    return b"".join(
        orjson.dumps(draft_line(record, found.labels[str(record.case_id)]), option=orjson.OPT_APPEND_NEWLINE)
        for found in compared
        if found.is_open
        for record in found.unclassified
    )
