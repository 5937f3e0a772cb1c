"""Several metrics over one file in one pass: each line is read once, and each metric has its own records and ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.cases.identity import Resolved, resolve_ids
from evalkit.cases.lines import Line, check_cases_file, lines_of, read_blocks, starts_with_bom
from evalkit.cases.read import BOM_FINDING, BadLine, Case, LineReader
from evalkit.cases.shape import NearKeys
from evalkit.contract import EvalkitError, Metric
from evalkit.contract.lint import lint_name
from evalkit.scoring.ledger import Ledger
from evalkit.scoring.load import as_metric
from evalkit.scoring.parts import Collector, MemorySink, NoSink, RecordSink, Streamed, part_of
from evalkit.scoring.passed_on import PassedOn
from evalkit.scoring.records import Record
from evalkit.scoring.score import RowScorer
from evalkit.scoring.scorer_of import replay_notes, scorer_of

if TYPE_CHECKING:
    import pandas as pd

    from evalkit.scoring.judge import JudgeOptions

__all__ = ["ScoredAll", "check_names", "score_all", "stream_all"]

_IDENTITY = ("line", "case_id", "slice", "blocking")


class ScoredAll:
    """What several metrics say of the same lines.

    Attributes
    ----------
    metrics : tuple of Metric
        In the order given.
    records : mapping of str to tuple of Record
        By the metric's name: one record for each line that is not blank, in input order.
    ledgers : mapping of str to Ledger
    findings : mapping of str to list of str
        What was noticed about the file, for each metric.
    """

    def __init__(
        self, metrics: Sequence[Metric], streamed: Sequence[Streamed], records: Sequence[tuple[Record, ...]]
    ) -> None:
        self.metrics = tuple(metrics)
        names = [metric.name for metric in metrics]
        self.records: Mapping[str, tuple[Record, ...]] = dict(zip(names, records, strict=True))
        self.ledgers: Mapping[str, Ledger] = {n: found.ledger for n, found in zip(names, streamed, strict=True)}
        self.findings: Mapping[str, list[str]] = {n: found.findings for n, found in zip(names, streamed, strict=True)}

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row a line, in input order: ``line, case_id, slice, blocking``, then three columns for each metric.

        The column of the metric's name holds the value, ``NAME_state`` what the row is to this metric, and
        ``NAME_reason`` why. Where nothing was scored the value is NA, whatever else is there; ``frame.attrs["kinds"]``
        says of each metric which kind of values it gives, ``frame.attrs["names"]`` what its author calls it.
        """
        import pandas as pd

        first = self.records[self.metrics[0].name]
        columns: dict[str, Any] = {
            "line": pd.array([r.line for r in first], dtype="Int64"),
            "case_id": pd.array([r.case_id for r in first], dtype="string"),
            "slice": pd.array([r.slice for r in first], dtype="string"),
            "blocking": pd.array([r.blocking for r in first], dtype="boolean"),
        }
        for metric in self.metrics:
            rows = self.records[metric.name]
            columns[metric.name] = _values(metric, rows)
            columns[f"{metric.name}_state"] = pd.array([r.state for r in rows], dtype="string")
            columns[f"{metric.name}_reason"] = pd.array([r.reason for r in rows], dtype="string")
        frame = pd.DataFrame(columns)
        frame.attrs["kinds"] = {metric.name: metric.kind for metric in self.metrics}
        frame.attrs["names"] = {metric.name: metric.display_name for metric in self.metrics}
        return frame


def _values(metric: Metric, records: Sequence[Record]) -> Any:
    import pandas as pd

    values: list[Any] = [record.value for record in records]
    if metric.kind == "ranking":
        return pd.Series([pd.NA if value is None else value for value in values], dtype="object")
    if metric.kind == "discrete":
        return pd.array(values, dtype="string")
    return pd.array(values, dtype="Int64") if isinstance(metric.allowed_values, range) else pd.array(values, "Float64")


def score_all(
    metrics: Iterable[Any],
    cases: Path | str,
    *,
    feeds: Mapping[str, str] | None = None,
    verdicts: Mapping[str, str] | None = None,
    ask: JudgeOptions | None = None,
    folder: Path | str | None = None,
) -> ScoredAll:
    """Score a file of cases by several metrics in one pass.

    Each metric's records are those it would have alone: a row that is unfit for one of them, or on which one of them
    fails, is still scored by the others.

    Parameters
    ----------
    metrics : iterable of metrics
        evalkit metrics, or metric objects of ragas. Without `ask` no judge is asked: verdicts recorded in
        ``NAME.cassette.jsonl`` beside the cases are read, and without them its rows are *unrun*.
    cases : path
        A ``.jsonl`` file.
    feeds : mapping, optional
        ``{parameter: key}`` for parameters that another key feeds; it holds for each metric that has the parameter.
    verdicts : mapping, optional
        ``{parameter: metric}`` for parameters that take the value of another of these metrics on the same row. A row
        that this one did not score keeps its state there: no verdict is made up.
    ask : JudgeOptions, optional
        How the judges among them are asked: budget, store, and in its ``settings`` the model, the seconds for one
        attempt (``timeout``), calls at a time (``concurrency``), attempts where the provider fails (``attempts``) and
        how long it may ask to wait (``max_wait``).
    folder : path, optional
        Where each judge's run is kept, in ``FOLDER/NAME``; needed with `ask`.

    Raises
    ------
    EvalkitError
        For two metrics of one name, a name that would hide another column, a feed that no metric takes, or a file that
        cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from evalkit import discrete_metric, evidence_coverage
    >>> @discrete_metric()
    ... def polite(answer: str) -> str:
    ...     return "pass" if "please" in answer else "fail"
    >>> path = Path(tempfile.mkdtemp()) / "cases.jsonl"
    >>> _ = path.write_text('{"case_id": "a", "answer": "please wait", "required_claim_ids": []}')
    >>> scored = score_all([evidence_coverage, polite], path)
    >>> scored.frame[["evidence_coverage_state", "polite"]].to_dict("records")
    [{'evidence_coverage_state': 'invalid', 'polite': 'pass'}]
    """
    found = [as_metric(metric) for metric in metrics]
    kept = [MemorySink() for _ in found]
    asked = _asked(found, Path(cases), folder, ask, feeds) if ask else {}
    streamed = stream_all(found, Path(cases), kept, feeds=feeds, verdicts=verdicts, asked=asked)
    return ScoredAll(found, streamed, [tuple(sink.records()) for sink in kept])


def _asked(
    metrics: Sequence[Metric],
    cases: Path,
    folder: Path | str | None,
    ask: JudgeOptions,
    feeds: Mapping[str, str] | None,
) -> Mapping[str, RowScorer]:
    from evalkit.scoring.ask_all import ask_judges  # which only judges need

    check_names(metrics)
    return ask_judges(metrics, cases, folder, ask, _shared(feeds or {}, metrics))


def check_names(metrics: Sequence[Metric]) -> None:
    """Refuse metrics whose columns would hide each other, or a column that every frame and record has."""
    if not metrics:
        msg = "at least one metric is needed"
        raise EvalkitError(msg)
    taken = dict.fromkeys(_IDENTITY, "the row")
    for metric in metrics:
        lint_name(metric.name)
        for column in (metric.name, f"{metric.name}_state", f"{metric.name}_reason"):
            if column in taken:
                msg = (
                    f"two of these metrics have the same name: {metric.name}"
                    if taken[column] == metric.name
                    else f"the column {column!r} of {metric.name} is already that of {taken[column]}"
                )
                raise EvalkitError(msg, do="rename one, or score them in two runs")
            taken[column] = metric.name


def stream_all(
    metrics: Sequence[Metric],
    path: Path,
    sinks: Sequence[RecordSink] | None = None,
    *,
    feeds: Mapping[str, str] | None = None,
    verdicts: Mapping[str, str] | None = None,
    asked: Mapping[str, RowScorer] | None = None,
    on_rows: Callable[[int], object] = lambda _: None,
) -> list[Streamed]:
    """Score every line of a file by each metric, reading each line once; one sink and one result a metric."""
    check_names(metrics)
    check_cases_file(path)
    passed_on = PassedOn(metrics, verdicts or {})
    scorers = [
        passed_on.into((asked or {}).get(metric.name) or scorer_of(metric, path, own))
        for metric, own in zip(metrics, _shared(feeds or {}, metrics), strict=True)
    ]
    sinks = sinks or [NoSink() for _ in metrics]

    def one_pass(resolved: Resolved) -> _Pass:
        reader = LineReader(duplicates=resolved.duplicates)
        near = [NearKeys(scorer.required, scorer.optional) for scorer in scorers]
        collectors = [Collector(sink, _silent) for sink in sinks]
        for block in read_blocks(path):
            items = [_Read(line, reader.read(line)) for line in lines_of(block)]
            passed_on.next_block()
            for place in passed_on.order:
                scorer, keys = scorers[place], near[place]
                records = passed_on.noted(place, (_record(scorer, keys, item) for item in items))
                collectors[place].add(part_of(records, None, scorer.reviewed))
            on_rows(collectors[0].ledger.lines)
        return _Pass(collectors, near)

    # As in `stream_cases`: duplicate case ids are rare, so the file is read again only where there are some.
    collectors, near = one_pass(Resolved({}, []))
    resolved = resolve_ids(path, collectors[0].index.suspects())
    if resolved.duplicates:
        for sink in sinks:
            sink.restart()
        collectors, near = one_pass(resolved)
    bom = [BOM_FINDING] if starts_with_bom(path) else []
    return [
        collector.finish([*bom, *resolved.twins, *keys.findings(), *_notes(metric, path, asked or {})])
        for metric, collector, keys in zip(metrics, collectors, near, strict=True)
    ]


def _notes(metric: Metric, path: Path, asked: Mapping[str, RowScorer]) -> list[str]:
    named = f"{metric.name} is what its author calls {metric.display_name!r}"
    renamed = [named] if metric.display_name != metric.name else []
    return renamed + ([] if metric.name in asked else replay_notes(metric, path))


class _Pass(NamedTuple):
    """What one pass over the file left, a part for each metric."""

    collectors: list[Collector]
    near: list[NearKeys]


def _silent(_: int) -> None:
    """Progress is told once for all metrics."""


class _Read(NamedTuple):
    """A line and what it is before any metric has looked at it."""

    line: Line
    item: Case | BadLine | None


def _record(scorer: RowScorer, keys: NearKeys, read: _Read) -> Record | None:
    item = read.item
    if isinstance(item, Case) and (problem := keys.problem(item.fields)):
        sha256 = "sha256:" + hashlib.sha256(read.line.raw).hexdigest()
        item = BadLine(item.line, item.case_id, problem, "misspelt_key", sha256, item.slice, item.blocking)
    return None if item is None else scorer.record(item)


def _shared(feeds: Mapping[str, str], metrics: Sequence[Metric]) -> list[dict[str, str]]:
    """Give each metric the feeds of its own parameters."""
    names = [{parameter.name for parameter in metric.parameters} for metric in metrics]
    if unknown := [name for name in feeds if not any(name in own for own in names)]:
        msg = f"--input names {unknown[0]!r}, which none of these metrics takes"
        raise EvalkitError(msg, do=f"their parameters are {', '.join(sorted(set().union(*names)))}")
    return [{name: key for name, key in feeds.items() if name in own} for own in names]
