"""The other half of an audit: untouched traces reach scoring as themselves; what a metric would see of a fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from evalkit.cases.adapters.case import CaseMaker
from evalkit.cases.adapters.checks import Pair
from evalkit.cases.lines import Line
from evalkit.cases.read import Case, LineReader
from evalkit.contract import Metric, sha256_of
from evalkit.contract.judge import Judge
from evalkit.scoring.score import Scorer

__all__ = ["Control", "ControlRoom", "Sight"]

SIGHT_ROWS = 5
"""Rows on which a metric is asked whether it sees a fault."""


class Control(NamedTuple):
    """An untouched trace that stands beside a corruption."""

    corruption: str
    case_id: str | None
    """``None`` where no trace of the file reached scoring."""
    is_same_trace: bool
    """Whether it is a trace that the corruption was planted into; one that failed can never reach scoring."""
    states: Mapping[str, str]
    """By metric, the state it ended in; ``unrun`` is a judge that would be asked."""
    ok: bool
    sentence: str

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return self._asdict() | {"states": dict(self.states)}


class Sight(NamedTuple):
    """How often a metric's result changed under a fault."""

    changed: int
    rows: int


class ControlRoom:
    """Sends rows to scoring, for the metrics that will read them; a judge is never asked."""

    def __init__(
        self,
        maker: CaseMaker,
        metrics: Sequence[Metric],
        amend: Callable[[dict[str, Any]], dict[str, Any]] = lambda case: case,
    ) -> None:
        self._maker, self._amend = maker, amend
        self._scorers = {metric.name: Scorer(metric) for metric in metrics}
        self._readers = {name: LineReader(s.required, s.optional) for name, s in self._scorers.items()}
        self.sights: dict[str, dict[str, Sight]] = {metric.name: {} for metric in metrics}

    def _case(self, pair: Pair) -> dict[str, Any]:
        return self._amend(self._maker.case(pair.adapted, pair.happened))

    def states(self, pair: Pair) -> dict[str, str] | str:
        """Send one row all the way: the states it ends in by metric, or in words where its identity broke."""
        case = self._case(pair)
        raw = orjson.dumps(case)
        read = LineReader().read(Line(1, raw, False))
        if not isinstance(read, Case):
            return read.reason if read else "it became a blank line"
        if read.case_id != pair.happened.trace_id:
            return f"it arrived as {read.case_id!r}"
        if sha256_of(read.fields) != sha256_of(case):
            return "it arrived with another content"
        if "unfit" in case and not self._scorers:
            return f"it is unfit: {case['unfit']['reason']}"
        states: dict[str, str] = {}
        for name, scorer in self._scorers.items():
            item = self._readers[name].read(Line(1, raw, False))
            if item is None:
                return "it became a blank line"
            record = scorer.record(item)
            if record.state not in ("scored", "unrun"):
                return f"{name} calls it {record.state}: {record.reason}"
            if record.case_id != pair.happened.trace_id:
                return f"{name} scored it as {record.case_id!r}"
            states[name] = record.state
        return states

    def look(self, corruption: str, clean: Pair, corrupted: Pair) -> None:
        """Let each metric that costs nothing score both rows, and note whether it tells them apart."""
        for name, scorer in self._scorers.items():
            metric = scorer.metric
            seen = self.sights[name].get(corruption, Sight(0, 0))
            if isinstance(metric, Judge) or seen.rows >= SIGHT_ROWS:
                continue
            before, after = (self._result(scorer, pair) for pair in (clean, corrupted))
            self.sights[name][corruption] = Sight(seen.changed + (before != after), seen.rows + 1)

    def _result(self, scorer: Scorer, pair: Pair) -> tuple[Any, ...]:
        case = self._case(pair)
        inputs = {name: case[key] for name, key in scorer.feeds.items() if key in case}
        measured = scorer.metric.measure(inputs)
        return measured.state, measured.value

    def blind_to(self, metric: str) -> list[str]:
        """Return the faults that changed nothing of a metric's results."""
        return [name for name, sight in self.sights[metric].items() if sight.rows and not sight.changed]
