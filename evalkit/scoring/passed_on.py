"""Values of one metric as inputs of another in the same pass: who waits for whom, and the values of one block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from evalkit.contract import EvalkitError, Metric
from evalkit.scoring.records import Record
from evalkit.scoring.score import RowScorer, Scorer
from evalkit.scoring.verdict_inputs import VerdictScorer

__all__ = ["PassedOn"]


class PassedOn:
    """Passes values on, block by block, so that memory does not grow with the file.

    Parameters
    ----------
    metrics : sequence of Metric
    verdicts : mapping
        ``{parameter: name of the metric whose value feeds it}``.

    Raises
    ------
    EvalkitError
        For a parameter that no metric takes, a name that none of them has, or a metric that would feed itself.
    """

    def __init__(self, metrics: Sequence[Metric], verdicts: Mapping[str, str]) -> None:
        self._places = {metric.name: place for place, metric in enumerate(metrics)}
        self._verdicts = verdicts
        self._records: dict[str, dict[str, Record]] = {name: {} for name in verdicts.values()}
        takers = {name: [m for m in metrics if name in {p.name for p in m.parameters}] for name in verdicts}
        for name, source in verdicts.items():
            self._check(name, source, takers[name])
        fed = {metric.name for found in takers.values() for metric in found}
        self.order = sorted(range(len(metrics)), key=lambda place: metrics[place].name in fed)
        """Places of the metrics: those that feed others come first."""

    def _check(self, name: str, source: str, takers: Sequence[Metric]) -> None:
        if not takers:
            msg = f"--verdict names {name!r}, which none of these metrics takes"
            raise EvalkitError(msg, do=f"the metrics are {', '.join(self._places)}")
        if source not in self._places:
            msg = f"--verdict {name}={source} names none of the metrics given"
            raise EvalkitError(msg, do=f"name one of {', '.join(self._places)}, or score {takers[0].name} by itself")
        if any(taker.name in self._records for taker in takers):
            msg = f"{takers[0].name} takes a verdict and is one itself: verdicts are passed on once"
            raise EvalkitError(msg, do="score in two runs, and feed the second with --verdict PARAM=RUN")

    def into(self, scorer: RowScorer) -> RowScorer:
        """Return the scorer of a metric, fed by the others where it takes one of the verdicts."""
        if not isinstance(scorer, Scorer):
            return scorer
        own = {name: self._records[source] for name, source in self._verdicts.items() if name in scorer.feeds}
        return VerdictScorer(scorer, own) if own else scorer

    def next_block(self) -> None:
        """Forget the values of the block before."""
        for records in self._records.values():
            records.clear()

    def noted(self, place: int, records: Iterable[Record | None]) -> Iterator[Record | None]:
        """Let records pass, keeping those of a metric that feeds another."""
        kept = next((self._records[name] for name in self._records if self._places[name] == place), None)
        for record in records:
            if kept is not None and record is not None and record.case_id is not None:
                kept[record.case_id] = record
            yield record
