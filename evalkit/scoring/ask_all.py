"""Judges among several metrics: asked first, each into a run folder of its own, then read like any other record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evalkit.cases.read import BadLine, Case
from evalkit.contract import EvalkitError, Metric
from evalkit.contract.judge import Judge
from evalkit.contract.own_loop import run_coroutine
from evalkit.scoring.judge import JudgeOptions, run_judge
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run
from evalkit.scoring.score import Scorer

__all__ = ["RunScorer", "ask_judges"]


class RunScorer:
    """Gives each line the record that a judge's run has for it; offers what `evalkit.scoring.score.Scorer` offers.

    Parameters
    ----------
    judge : Judge
    run : Run
        Over the file that is read.
    feeds : mapping, optional
        Those of the run.
    """

    def __init__(self, judge: Judge, run: Run, feeds: Mapping[str, str] | None = None) -> None:
        scorer = Scorer(judge, feeds)
        self.metric = judge
        self.required, self.optional, self.reviewed = scorer.required, scorer.optional, scorer.reviewed
        self._records = {record.line: record for record in run.records()}

    def record(self, item: Case | BadLine) -> Record:
        """Return the record of one line."""
        return self._records[item.line]


def ask_judges(
    metrics: Sequence[Metric],
    cases: Path,
    folder: Path | str | None,
    options: JudgeOptions,
    feeds: Sequence[Mapping[str, str]],
) -> dict[str, RunScorer]:
    """Ask each judge among the metrics, one after the other, into ``FOLDER/NAME``; the others are left out.

    What the options limit (budget, calls, seconds) holds for each judge's run by itself.

    Raises
    ------
    EvalkitError
        Where no folder is given, or a run cannot work at all (see `evalkit.scoring.judge.run_judge`).
    """
    found: dict[str, RunScorer] = {}
    for metric, own in zip(metrics, feeds, strict=True):
        if not isinstance(metric, Judge):
            continue
        if folder is None:
            msg = f"{metric.name} is a judge: what it says is kept in a run folder, and none is named"
            raise EvalkitError(msg, do='give folder="runs/first": each judge has a folder of its own in it')
        # On evalkit's own loop: a notebook's is busy with the cell that asks for this.
        done = run_coroutine(run_judge(metric, cases, Path(folder) / metric.name, replace(options, feeds=own)))
        found[metric.name] = RunScorer(metric, done.run, own)
    return found
