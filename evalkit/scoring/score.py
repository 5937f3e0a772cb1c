"""Metric and cases in, records out: the one path on which anything is scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from evalkit.cases.read import BadLine, Case, CaseFile
from evalkit.contract import EvalkitError, Measured, Metric, sha256_of
from evalkit.contract.preparation import FAULT
from evalkit.contract.words import CASE_KEYS
from evalkit.scoring.preparation import form_recorder
from evalkit.scoring.records import Record
from evalkit.scoring.retention import RedactionFailed, keeper, redactor

__all__ = ["RowScorer", "Scorer", "score_cases"]

_LINEAGE = (
    "system_revision", "rubric_version", "evidence_version", "response_sha256", "source", "stratum",
    "prevalence_weight", "provenance", "role", "pair_id",
)  # fmt: skip


@lru_cache(maxsize=256)
def _lineage_of(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Choose what is kept of a row's lineage by its keys, which most rows of a file share."""
    return tuple(key for key in _LINEAGE if key in keys)


class RowScorer(Protocol):
    """What gives each line of a file its record: computed, replayed, or from verdicts of earlier runs."""

    required: tuple[str, ...]
    """Top-level keys without which a row cannot be scored."""
    optional: tuple[str, ...]
    reviewed: tuple[str, ...]
    """The metric's reviewed inputs, from which the number of claims of a row may be read."""

    def record(self, item: Case | BadLine) -> Record:
        """Return the record of one line; never raises for what is in the row."""


class Scorer:
    """A metric made ready for one file: which key feeds which parameter, what is kept, and the record of each row.

    Parameters
    ----------
    metric : Metric
    feeds : mapping, optional
        ``{parameter: key}`` where a parameter is fed by a key of another name (``--input PARAM=KEY``).
    """

    def __init__(self, metric: Metric, feeds: Mapping[str, str] | None = None) -> None:
        self.metric = metric
        self.feeds = _checked_feeds(metric, feeds or {})
        self.required = tuple(self.feeds[p.name] for p in metric.parameters if p.required)
        self.optional = tuple(self.feeds[p.name] for p in metric.parameters if not p.required)
        self.reviewed = metric.contract.reviewed if metric.contract else ()
        self._pairs = tuple(self.feeds.items())
        self._keys = frozenset(self.feeds.values())
        self._keep = keeper(metric.contract)
        self._redact = redactor(metric.contract)
        self._has_redaction = bool(metric.contract and metric.contract.redact)
        self._forms = form_recorder(metric) if metric.preparation else None
        self._owner_of = {"invalid": "test-data", "error": "metric", "unrun": "metric"} | dict(
            metric.contract.owners if metric.contract else {}
        )

    def record(self, item: Case | BadLine) -> Record:
        """Return the record of one line; never raises for what is in the row or for what the metric does with it."""
        try:
            return self._bad_line(item) if isinstance(item, BadLine) else self._case(item)
        except RedactionFailed as failed:
            return self._unredacted(item, failed)

    def _case(self, case: Case) -> Record:
        fields = case.fields
        if self._has_redaction and (names := self._telling_names(case)):
            return self._nameless(case, names)
        inputs = {name: fields[key] for name, key in self._pairs if key in fields}
        kept = self._keep(inputs, fields.get("evidence"))
        measured = self._measure(case, inputs)
        state, value = measured.state, measured.value
        lineage = {key: self._redact(fields[key]) for key in _lineage_of(tuple(fields))}
        if self._forms is not None:
            lineage |= self._forms(measured)
        return Record(
            case.line, case.case_id, case.slice, case.blocking,
            fields.get("family"), fields.get("partition"),
            state, self._redact(value) if type(value) is list else value,
            self._redact(measured.reason), self._redact(measured.detail), measured.error_kind,
            None, None, None,
            kept.inputs, kept.evidence, kept.input_hash, kept.evidence_hash, kept.seen_hash,
            self.metric.version, fields.get("requirement_set_version"),
            lineage,
            None if state == "scored" else self._owner(case, measured), None,
        )  # fmt: skip

    def _owner(self, case: Case, measured: Measured) -> str:
        if measured.error_kind == FAULT:
            return "adapter"  # whoever changes what a case says before the metric sees it
        return str(case.fields["unfit"]["owner"]) if measured.error_kind == "unfit" else self._owner_of[measured.state]

    def _measure(self, case: Case, inputs: Mapping[str, Any]) -> Measured:
        wanted = case.fields.get("contract_version")
        if wanted is not None and wanted != self.metric.version:
            reason = (
                f"contract change: the row is written for contract version {wanted!r}, {self.metric.name} has "
                f"{self.metric.version!r}; rows of different versions are not compared"
            )
            return Measured("invalid", None, reason, {}, "contract_version")
        unfit = case.fields.get("unfit")
        # Whoever prepared the case says so; where it names inputs, it speaks to metrics that take one of them.
        if unfit is not None and (not unfit.get("inputs") or not self._keys.isdisjoint(unfit["inputs"])):
            return Measured("invalid", None, unfit["reason"], {}, "unfit")
        return self.metric.measure(inputs)

    def _bad_line(self, line: BadLine) -> Record:
        return Record(
            line.line, self._redact(line.case_id), self._redact(line.slice), line.blocking, None, None,
            "invalid", None, self._redact(line.reason), {}, line.error_kind, None, None, None,
            None, None, line.sha256, None, None, self.metric.version, None, {}, self._owner_of["invalid"], None,
        )  # fmt: skip

    def _telling_names(self, case: Case) -> list[str]:
        """Return the keys that name this row and hold what the redaction takes out: they are written everywhere."""
        named = {"case_id": case.case_id, "slice": case.slice}
        named |= {key: case.fields[key] for key in ("family", "partition") if key in case.fields}
        return [key for key, text in named.items() if self._redact(text) != text]

    def _nameless(self, case: Case, names: list[str]) -> Record:
        """Return the record of a row whose name may not be written, and so may be no name."""
        reason = f"{' and '.join(names)} would be redacted: a row needs a name that says nothing of what is in it"
        return Record(
            case.line, self._redact(case.case_id), self._redact(case.slice), case.blocking, None, None,
            "invalid", None, reason, {}, "redacted_name", None, None, None,
            None, None, sha256_of(case.fields), None, None, self.metric.version, None, {}, self._owner_of["invalid"],
            None,
        )  # fmt: skip

    def _unredacted(self, item: Case | BadLine, failed: RedactionFailed) -> Record:
        """Return the record of a row of which nothing may be kept, because its redaction failed."""
        sha256 = item.sha256 if isinstance(item, BadLine) else sha256_of(item.fields)
        reason = f"the contract's redaction {failed}: nothing of this row is kept"
        return Record(
            item.line, item.case_id, item.slice, item.blocking, None, None,
            "error", None, reason, {}, "redaction", None, None, None,
            None, None, sha256, None, None, self.metric.version, None, {}, self._owner_of["error"], None,
        )  # fmt: skip


def _checked_feeds(metric: Metric, feeds: Mapping[str, str]) -> dict[str, str]:
    names = [parameter.name for parameter in metric.parameters]
    if unknown := [name for name in feeds if name not in names]:
        msg = f"--input names {unknown[0]!r}, which {metric.name} does not take"
        raise EvalkitError(msg, do=f"its parameters are {', '.join(names)}")
    chosen = {name: feeds.get(name, name) for name in names}
    if taken := [name for name, key in chosen.items() if key in CASE_KEYS and name not in feeds]:
        msg = f"the parameter {taken[0]!r} of {metric.name} has the name of a reserved key of every case"
        raise EvalkitError(msg, do=f"say which key feeds it: --input {taken[0]}=KEY")
    return chosen


def score_cases(
    metric: Metric, cases: Path | str | Iterable[Case | BadLine], *, feeds: Mapping[str, str] | None = None
) -> Iterator[Record]:
    """Score cases one by one, in input order: one record for each line that is not blank.

    Parameters
    ----------
    metric : Metric
    cases : path or iterable of Case and BadLine
        A path is read strictly, duplicate case ids included.
    feeds : mapping, optional
        ``{parameter: key}``, where a parameter is fed by a key of another name.

    Examples
    --------
    >>> from evalkit.metrics.evidence_coverage import evidence_coverage
    >>> row = Case(1, "a", "default", True, {"required_claim_ids": ["x", "y"], "supported_claim_ids": ["x"]})
    >>> [(record.state, record.value, record.reason) for record in score_cases(evidence_coverage, [row])]
    [('scored', 0.5, 'supported=1; required=2; missing=y')]
    """
    scorer = Scorer(metric, feeds)
    if isinstance(cases, str | Path):
        cases = CaseFile(cases, scorer.required, scorer.optional)
    return map(scorer.record, cases)
