"""What one more metric adds to those a team has: whether it says something else, is right alone, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.cases.labels import Label
from evalkit.cases.settle import settle
from evalkit.contract import EvalkitError, example_list
from evalkit.decisions.policy import Policy
from evalkit.decisions.rules import rule_of
from evalkit.decisions.wrong_tool_rows import rank_correlation
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run

__all__ = ["Added", "Beside", "what_it_adds"]

_FEWEST = 3


class Beside(NamedTuple):
    """The new metric beside one that was there before."""

    metric: str
    rows: int
    """Rows that both have scored."""
    correlation: float | None
    """Spearman's, over those rows; ``None`` below three of them, or where one side does not vary."""


class Added(NamedTuple):
    """What a new metric adds."""

    metric: str
    beside: tuple[Beside, ...]
    labelled: int
    """Rows with a settled label that the new metric and at least one other have decided."""
    random: int
    """Of these, rows that were drawn at random: only they speak for others."""
    synthetic: int
    """Of these, rows whose labels were made up."""
    alone_right: tuple[str, ...]
    """Case ids on which it agrees with the label and every other metric that decided disagrees."""
    alone_wrong: tuple[str, ...]
    """Case ids on which it disagrees with the label and every other metric that decided agrees."""
    seconds: float | None
    calls: int | None
    """Of a judge: calls that were paid for; ``None`` for a metric that computes."""
    replayed: int
    """Of a judge: verdicts that were recorded before and only read."""
    cost: Any
    """Of a judge, as its run states it."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return self._asdict() | {"beside": [found._asdict() for found in self.beside], "in_words": self.in_words()}

    def in_words(self) -> list[str]:
        """Return the same as sentences; every figure carries its denominator."""
        return [*map(_correlated, self.beside), *self._against_labels(), self._price()]

    def _against_labels(self) -> Iterator[str]:
        if not self.labelled:
            yield "no row has a label and two decisions: whether it is right where the others are not is unknown"
            return
        for word, ids in (("right", self.alone_right), ("wrong", self.alone_wrong)):
            named = f": {example_list(list(ids))}" if ids else ""
            yield f"it alone is {word} on {len(ids)} of {self.labelled} labelled rows{named}"
        made_up = f"; the labels of {self.synthetic} of {self.labelled} are made up" if self.synthetic else ""
        yield f"{self.random} of {self.labelled} labelled rows are said to be drawn at random{made_up}"

    def _price(self) -> str:
        if self.calls is None:
            return f"it computes its value: {self.seconds} s for the run, no call"
        if not self.calls and self.replayed:
            return f"its {self.replayed} verdicts were recorded before: 0 calls here, so this run shows no cost"
        return f"it asks a model: {self.calls} calls, cost {self.cost if self.cost is not None else 'unknown'}"


def _correlated(found: Beside) -> str:
    if found.correlation is None:
        return f"beside {found.metric}: no correlation can be computed over {found.rows} rows that both scored"
    return f"beside {found.metric}: rank correlation {found.correlation:.2f} over {found.rows} rows that both scored"


def what_it_adds(
    new: Run,
    kept: Sequence[Run],
    labels: Iterable[Label] = (),
    *,
    policies: Mapping[str, Policy] | None = None,
    criterion: str | None = None,
) -> Added:
    """Compare the run of a new metric with those of the metrics that are in use, row by row over the same cases.

    When it misleads: a low correlation is no merit by itself (noise has it too), and being right alone counts for
    something only on labels that were drawn at random.

    Parameters
    ----------
    new : Run
        Of the metric to be added.
    kept : sequence of Run
        The baseline: runs of the other metrics over the same file.
    labels : iterable of Label
        What people say of the rows (``pass`` or ``fail``), compared with decisions: those of a gated run, of one of the
        `policies`, or the value itself where that is ``pass`` or ``fail``. A number alone decides nothing.
    policies : mapping, optional
        By metric; they decide in place of what a run holds.
    criterion : str, optional
        Which one, where the labels answer several.

    Raises
    ------
    EvalkitError
        Where a run is over another file, or two runs are of one metric.
    """
    names = [run.manifest["metric"]["name"] for run in (new, *kept)]
    if len(set(names)) != len(names):
        msg = f"two of these runs are of one metric: {', '.join(names)}"
        raise EvalkitError(msg, do="compare two versions of a metric with evalkit compare")
    for run in kept:
        if run.manifest.get("cases_sha256") != new.manifest.get("cases_sha256"):
            msg = "is a run over other cases than the new metric's"
            raise EvalkitError(msg, where=str(run.folder), do="score both over one file")
    own = _by_case(new, policies or {})
    others = {name: _by_case(run, policies or {}) for name, run in zip(names[1:], kept, strict=True)}
    beside = [_beside(name, new, own, run, others[name]) for name, run in zip(names[1:], kept, strict=True)]
    seen = {case_id: record.seen_hash for case_id, record in own.items()}
    settled = settle(labels, criterion=criterion, seen=seen)
    said = {case_id: str(case.label) for case_id, case in settled.items() if case.label is not None}
    compared = list(_decided(own, others.values(), said))
    manifest = new.manifest
    is_judged = bool(manifest.get("judge")) or any(record.judge for record in own.values())
    return Added(
        metric=names[0],
        beside=tuple(beside),
        labelled=len(compared),
        random=sum(settled[row.case_id].selection == "random" for row in compared),
        synthetic=sum(settled[row.case_id].provenance == "synthetic" for row in compared),
        alone_right=tuple(row.case_id for row in compared if row.is_right and not any(row.others_right)),
        alone_wrong=tuple(row.case_id for row in compared if not row.is_right and all(row.others_right)),
        seconds=manifest.get("seconds"),
        calls=manifest.get("calls", 0) if is_judged else None,
        replayed=sum((record.judge or {}).get("cache") == "replay" for record in own.values()),
        cost=manifest.get("cost"),
    )


def _by_case(run: Run, policies: Mapping[str, Policy]) -> dict[str, Record]:
    """Return a run's records with the decision that is compared with a label."""
    policy = policies.get(run.manifest["metric"]["name"])
    rule = rule_of(policy, None) if policy else None
    found = {record.case_id: record for record in run.records() if record.case_id is not None}
    if rule is not None:
        return {case_id: record.ruled(rule(record)) for case_id, record in found.items()}
    return {case_id: _self_decided(record) for case_id, record in found.items()}


def _self_decided(record: Record) -> Record:
    value: Any = record.value
    return record._replace(decision=value) if record.decision is None and value in ("pass", "fail") else record


def _beside(name: str, new: Run, own: Mapping[str, Record], run: Run, other: Mapping[str, Record]) -> Beside:
    pairs = [
        (mine, theirs)
        for case_id, record in own.items()
        if case_id in other
        and (mine := _number(record, new)) is not None
        and (theirs := _number(other[case_id], run)) is not None
    ]
    correlation = rank_correlation([a for a, _ in pairs], [b for _, b in pairs]) if len(pairs) >= _FEWEST else None
    return Beside(name, len(pairs), correlation)


def _number(record: Record, run: Run) -> float | None:
    """Return a value as a number: of labels, whether it passes (without a policy, whether it is the first label)."""
    if isinstance(record.value, str):
        first = run.manifest["metric"]["declaration"]["allowed_values"][0]
        return float(record.value == first if record.decision is None else record.decision == "pass")
    return float(record.value) if isinstance(record.value, int | float) else None


class _Compared(NamedTuple):
    """One labelled row: who agrees with its label."""

    case_id: str
    is_right: bool
    others_right: tuple[bool, ...]


def _decided(
    own: Mapping[str, Record], others: Iterable[Mapping[str, Record]], said: Mapping[str, str]
) -> Iterator[_Compared]:
    others = list(others)
    for case_id, record in own.items():
        word = said.get(case_id)
        beside = [other[case_id].decision for other in others if case_id in other]
        decided = [decision for decision in beside if decision in ("pass", "fail")]
        if word in ("pass", "fail") and record.decision in ("pass", "fail") and decided:
            yield _Compared(case_id, record.decision == word, tuple(decision == word for decision in decided))
