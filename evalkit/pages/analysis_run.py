"""What ``evalkit score`` may add once rows are scored: what a new metric adds, and a domain's analysis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalkit.cases.labels import read_labels
from evalkit.contract import EvalkitError, Metric, Outcome
from evalkit.decisions.adding import Added, what_it_adds
from evalkit.decisions.analysis import Analysis, analyse, check_domain, policies_by_metric
from evalkit.decisions.policy import PolicyFile, read_policy
from evalkit.pages.analysis_page import render_analysis
from evalkit.pages.analysis_text import added_screen, analysis_markdown, analysis_screen
from evalkit.scoring.run import Run, open_run, write_whole
from evalkit.scoring.spilled import json_chunks

__all__ = ["AfterScoring", "Afterwards", "kept_runs", "write_analysis"]


class Afterwards(NamedTuple):
    """What came of it."""

    screen: str
    facts: dict[str, Any]
    """More keys for ``--json``."""
    outcomes: list[Outcome]
    """What the policies say; empty where none was asked."""


@dataclass(frozen=True, kw_only=True)
class AfterScoring:
    """What was asked for besides records; checked before anything is scored."""

    domain: str | None = None
    policies: tuple[Path, ...] = ()
    as_of: date | None = None
    beside: tuple[Path, ...] = ()
    labels: Path | None = None
    criterion: str | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether the run folder is all that was asked for."""
        return self.domain is None and not self.beside

    def check(self, names: Sequence[str]) -> None:
        """Refuse options that would have no effect, before rows are scored.

        Raises
        ------
        EvalkitError
            For an option without the one it serves, or files that cannot be read.
        """
        if self.domain is not None:
            check_domain(self.domain)
        if self.beside and len(names) > 1:
            msg = f"--beside asks what one new metric adds; {len(names)} were given"
            raise EvalkitError(msg, do="add metrics one at a time")
        for option, given, wanted in (
            ("--labels", self.labels, self.beside),
            ("--criterion", self.criterion, self.labels),
            ("--policy", self.policies, self.domain or self.beside),
            ("--as-of", self.as_of, self.policies),
        ):
            if given and not wanted:
                serves = {"--labels": "--beside RUN", "--criterion": "--labels FILE", "--as-of": "--policy FILE"}
                msg = f"{option} has no effect here"
                raise EvalkitError(msg, do=f"give it with {serves.get(option, '--analysis DOMAIN or --beside RUN')}")
        known = [*names, *(str(run.manifest["metric"]["name"]) for run in self._kept())]
        policies_by_metric(self.policies, known)
        if self.labels:
            read_labels(self.labels)

    def _kept(self) -> list[Run]:
        return [run for folder in self.beside for run in kept_runs(folder)]

    def do(self, metrics: Sequence[Metric], runs: Sequence[Run], folder: Path) -> Afterwards:
        """Compare, analyse, write ``analysis.json``, ``.md`` and ``.html`` into `folder`, and say what came of it."""
        added = self._added(runs[0]) if self.beside else None
        screens = [added_screen(added.metric, added.in_words())] if added else []
        facts: dict[str, Any] = {"what_it_adds": added.facts()} if added else {}
        outcomes: list[Outcome] = []
        if self.domain is not None:
            names = [metric.name for metric in metrics]
            policies = policies_by_metric(self._own_policies(names), names)
            day = self.as_of or datetime.now(UTC).date()
            analysis = analyse(self.domain, list(zip(metrics, runs, strict=True)), policies, day, added=added)
            pages = write_analysis(analysis, folder)
            screens.append(analysis_screen(analysis, [str(page) for page in pages]))
            code = analysis.recommendation.exit_code
            outcomes += [] if code is None else [Outcome(code)]
            facts["analysis"] = analysis.facts()["custom_analysis"]
        return Afterwards("\n".join(screens), facts, outcomes)

    def _own_policies(self, names: Sequence[str]) -> Iterator[Path]:
        """Yield the policies of the metrics that were scored; one of a kept run only decides its rows."""
        for path in self.policies:
            policy = read_policy(path).policy
            if policy is not None and policy.metric in names:
                yield path

    def _added(self, new: Run) -> Added:
        kept = self._kept()
        known = [str(run.manifest["metric"]["name"]) for run in (new, *kept)]
        files: dict[str, PolicyFile] = policies_by_metric(self.policies, known)
        policies = {name: file.policy for name, file in files.items() if file.policy}
        labels = read_labels(self.labels).labels if self.labels else ()
        return what_it_adds(new, kept, labels, policies=policies, criterion=self.criterion)


def kept_runs(folder: Path) -> list[Run]:
    """Open a run folder, or all runs of a folder that several metrics were scored into."""
    inside = sorted(path.parent for path in folder.glob("*/manifest.json"))
    if (folder / "manifest.json").exists() or not inside:
        inside = [folder]
    runs = [open_run(path) for path in inside]
    for run in runs:
        run.check()
    return runs


def write_analysis(analysis: Analysis, folder: Path) -> list[Path]:
    """Write the result file, the summary and the page; return where they are, the page first."""
    written: dict[str, bytes | str | Iterable[bytes]] = {
        "analysis.html": render_analysis(analysis),
        "analysis.md": analysis_markdown(analysis),
        "analysis.json": json_chunks(analysis.facts(), orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE),
    }
    for name, content in written.items():
        write_whole(folder / name, content)
    return [folder / name for name in written]
