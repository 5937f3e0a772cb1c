"""Two runs row by row: what changed, the first evidence that differs, and whose it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from evalkit.contract import Metric
from evalkit.decisions.explaining.differences import first_divergence
from evalkit.decisions.explaining.divergence import Divergence, owner_of
from evalkit.decisions.explaining.explanation import Change, Explained, Explanation, standing_of
from evalkit.decisions.explaining.paired_runs import PairedRuns, RowPair
from evalkit.decisions.explaining.run_facts import RunFacts, compare_facts
from evalkit.decisions.explaining.searches import Search
from evalkit.decisions.explaining.sides import Sides, Value
from evalkit.decisions.triage import needs_triage, triage
from evalkit.scoring.records import Record
from evalkit.scoring.retention import is_kept_in_full
from evalkit.scoring.run import Run

__all__ = ["explain_two"]

_HASHES = attrgetter("input_hash", "evidence_hash")


def explain_two(
    new: Run, old: Run, metric: Metric | None, notes: list[str], on_rows: Callable[[int], object]
) -> Explanation:
    """Explain what changed from `old` to `new`; `metric` is the one that made `new`, or ``None``."""
    facts = RunFacts(new.manifest)
    old_facts = RunFacts(old.manifest)
    search = Search(metric, facts)
    reader = PairedRuns(old, new)
    compare = _PairExplainer(old_facts, facts, metric, search)
    rows: list[Explained] = []
    pairs = 0
    for pair in reader:
        pairs += 1
        on_rows(1)
        if (explained := compare(pair)) is not None:
            rows.append(explained)
    rows.sort(key=_line_of)
    differ, same = compare_facts(old_facts, facts)
    total = pairs + reader.identical
    return Explanation(
        new=facts,
        old=old_facts,
        rows=tuple(rows),
        total=total,
        unchanged=total - len(rows),
        unchanged_throughout=reader.identical + compare.unchanged_throughout,
        differ=tuple(differ),
        same=tuple(same),
        notes=(*notes, *_cautions(old_facts, facts), *search.notes()),
    )


def _line_of(row: Explained) -> tuple[bool, int]:
    standing = row.new or row.old
    return (row.new is None, standing.line if standing else 0)


class _PairExplainer:
    def __init__(self, old: RunFacts, new: RunFacts, metric: Metric | None, search: Search) -> None:
        self._old, self._new = old, new
        self._search = search
        self.unchanged_throughout = 0
        """Rows with another line, but the same result, inputs and evidence."""
        self._is_one_metric = old.metric.get("name") == new.metric.get("name")
        self._rescore = _rescorer(metric) if metric and old.metric != new.metric else None
        self._are_decided = old.policy is not None and new.policy is not None

    def __call__(self, pair: RowPair) -> Explained | None:
        if pair.old is None or pair.new is None:
            return self._alone(pair)
        change = self._change(pair.old, pair.new)
        if change is None:
            self.unchanged_throughout += _HASHES(pair.old) == _HASHES(pair.new)
            return None
        diverged = first_divergence(Sides(pair.old, pair.new, self._old, self._new, self._rescore))
        text = diverged.difference.text if diverged.difference else _nothing_differs(pair.old, pair.new)
        return Explained(
            pair.new.case_id, change, diverged.first, self._owner(diverged.first, pair.new),
            standing_of(pair.old), standing_of(pair.new), f"{_went(change, pair.old, pair.new)}: {text}",
            diverged.difference, diverged.also, would_flip=self._search.of(pair.new),
        )  # fmt: skip

    def _change(self, old: Record, new: Record) -> Change | None:
        if old.state != new.state:
            return "state"
        if self._are_decided and old.decision != new.decision:
            return "decision"
        return "value" if self._is_one_metric and old.value != new.value else None

    def _owner(self, word: Divergence, new: Record) -> str | None:
        if word == "state" and new.owner is not None:
            return new.owner
        return owner_of(word, self._new.promises, state=new.state)

    def _alone(self, pair: RowPair) -> Explained:
        record = pair.new or pair.old
        assert record is not None  # noqa: S101 - a pair has at least one side
        word = record.decision or record.state
        if pair.new is None:
            sentence = f"is not in the new run (line {record.line} of the old one, {word} there)"
        else:
            sentence = f"is new in this run ({word})"
            if needs_triage(record):
                sentence += f": {triage(record, self._new.metric.get('contract')).sentence}"
        return Explained(
            record.case_id, "appeared" if pair.new else "vanished", "dataset", owner_of("dataset", self._new.promises),
            standing_of(pair.old), standing_of(pair.new), sentence,
        )  # fmt: skip


def _rescorer(metric: Metric) -> Callable[[Mapping[str, Any]], Value | None]:
    def rescore(inputs: Mapping[str, Any]) -> Value | None:
        if not all(is_kept_in_full(value) for value in inputs.values()):
            return None
        return Value(metric.measure(inputs).value)

    return rescore


def _went(change: Change, old: Record, new: Record) -> str:
    before, after = (record.decision or record.state for record in (old, new))
    return "its value changed" if change == "value" else f"went from {before} to {after}"


def _nothing_differs(old: Record, new: Record) -> str:
    cut = sorted(
        name
        for values in (old.inputs, new.inputs, old.evidence, new.evidence)
        for name, value in (values or {}).items()
        if not is_kept_in_full(value)
    )
    lost = f", or what differs was not kept ({', '.join(dict.fromkeys(cut))})" if cut else ""
    evidence = "" if old.evidence and new.evidence else "; these rows carry no evidence beside their inputs"
    return f"nothing that was kept differs: the metric does not always give the same value{lost}{evidence}"


def _cautions(old: RunFacts, new: RunFacts) -> Iterator[str]:
    if old.metric.get("name") != new.metric.get("name"):
        yield (
            f"two metrics, {old.metric.get('name')!r} and {new.metric.get('name')!r}: rows are matched by case id, "
            "their values are not compared"
        )
    elif old.metric.get("contract_version") != new.metric.get("contract_version"):
        yield "a contract change: values of different contract versions are listed side by side, not compared"
    if (old.policy is None) != (new.policy is None):
        yield "only one of the runs was judged under a policy: states and values are compared, decisions are not"
    redactions = [(run.metric.get("contract") or {}).get("redact") for run in (old, new)]
    if redactions[0] != redactions[1]:
        yield "the redaction changed between the runs: kept texts differ for that reason too"
